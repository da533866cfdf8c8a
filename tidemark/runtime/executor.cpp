// SPDX-License-Identifier: Apache-2.0
#include "tidemark/runtime/executor.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>

#include "tidemark/base/error.h"
#include "tidemark/base/text.h"
#include "tidemark/runtime/compiled_part.h"
#include "tidemark/store/checksum.h"

namespace tidemark {
namespace {

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::int64_t work_ns() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

}  // namespace

Executor::Executor(std::shared_ptr<const Program> program, std::shared_ptr<Device> device,
                   std::shared_ptr<std::byte> arena, std::span<const TierSpec> tiers)
    : program_(std::move(program)), device_(std::move(device)), arena_(std::move(arena)) {
  if (!arena_) arena_ = device_->allocate(program_->arena_bytes);
  stores_.resize(program_->tiers.size());
  for (std::size_t k = 0; k < stores_.size() && device_->computes(); ++k) {
    const ProgramTier& tier = program_->tiers[k];
    if (tier.slots.empty()) continue;
    TIDEMARK_CHECK(k < tiers.size() && tiers[k].name == tier.name, "no tier '{}' was given to run with",
                   tier.name);
    stores_[k] = std::make_unique<TierStore>(tiers[k], tier.bytes, static_cast<int>(tier.slots.size()));
  }
  pointers_.resize(program_->places.size(), nullptr);
  bound_.resize(program_->residents.size(), nullptr);
  for (std::size_t i = 0; i < program_->places.size(); ++i) {
    const Place& p = program_->places[i];
    if (p.resident < 0) pointers_[i] = arena_.get() + p.offset;
  }
}

void Executor::bind(std::span<void* const> residents) {
  TIDEMARK_CHECK(residents.size() == program_->residents.size(), "{} resident buffers given, {} wanted",
                 residents.size(), program_->residents.size());
  if (std::equal(residents.begin(), residents.end(), bound_.begin())) return;
  std::copy(residents.begin(), residents.end(), bound_.begin());
  for (std::size_t i = 0; i < program_->places.size(); ++i) {
    const Place& p = program_->places[i];
    if (p.resident >= 0)
      pointers_[i] = static_cast<std::byte*>(residents[static_cast<std::size_t>(p.resident)]) + p.offset;
  }
}

void* Executor::output(std::size_t i, std::span<void* const> residents) const {
  const Place& p = program_->outputs[i];
  std::byte* base = p.resident < 0 ? arena_.get()
                                   : static_cast<std::byte*>(residents[static_cast<std::size_t>(p.resident)]);
  return base + p.offset;
}

void Executor::drain() {
  for (const auto& store : stores_) {
    if (store) store->drain();
  }
}

bool Executor::run(std::span<void* const> residents, Timeline* timeline) {
  if (timeline != nullptr && timeline->work) timeline->work_begin_ns = work_ns();
  bind(residents);
  try {
    if (carry_out(residents, timeline)) return true;
  } catch (...) {
    drain();
    throw;
  }
  drain();
  return false;
}

void Executor::start_copy(const Instr& instr, void* at, std::span<void* const> residents) {
  const ProgramTier::Slot& slot =
      program_->tiers[static_cast<std::size_t>(instr.tier)].slots[static_cast<std::size_t>(instr.slot)];
  TierStore& store = *stores_[static_cast<std::size_t>(instr.tier)];
  auto* here = static_cast<std::byte*>(at);
  const bool out = instr.kind == Instr::Kind::evict;
  if (slot.input >= 0) {
    auto* there = static_cast<std::byte*>(residents[static_cast<std::size_t>(slot.input)]);
    store.copy(instr.slot, out, out ? there : here, out ? here : there, slot.bytes);
  } else if (out) {
    store.write(instr.slot, slot.offset, here, slot.bytes);
  } else {
    store.read(instr.slot, here);
  }
}

void Executor::verify_repeats() {
  std::size_t buffers = 0;
  for (const Place& p : program_->places) buffers = std::max(buffers, static_cast<std::size_t>(p.buffer + 1));
  fingerprints_ = std::make_unique<Fingerprints>();
  fingerprints_->sums.resize(buffers);
  fingerprints_->known.resize(buffers);
}

// A loop that ends early leaves the rest of its record as it was: that is no value of anybody's.
void Executor::clear_outputs(const Instr& instr) {
  const auto first = static_cast<std::size_t>(instr.first_place);
  for (std::int32_t o = 0; o < instr.outputs; ++o) {
    const std::size_t at = first + static_cast<std::size_t>(instr.inputs + o);
    auto* begin = static_cast<std::byte*>(pointers_[at]);
    const std::byte* end = begin + program_->places[at].bytes;
    bool in_place = false;
    for (std::size_t i = first; i < first + static_cast<std::size_t>(instr.inputs); ++i) {
      const auto* in = static_cast<const std::byte*>(pointers_[i]);
      in_place |= in < end && begin < in + program_->places[i].bytes;
    }
    if (!in_place) std::memset(begin, 0, static_cast<std::size_t>(end - begin));
  }
}

void Executor::compare(const Instr& instr, std::size_t index) {
  for (std::int32_t o = 0; o < instr.outputs; ++o) {
    const auto at = static_cast<std::size_t>(instr.first_place + instr.inputs + o);
    const Place& place = program_->places[at];
    const auto b = static_cast<std::size_t>(place.buffer);
    if (!instr.repeats) {
      fingerprints_->known[b] = 0;
      continue;
    }
    const std::uint64_t sum = checksum(pointers_[at], place.bytes);
    if (fingerprints_->known[b] && fingerprints_->sums[b] != sum) {
      fail(Error::Kind::internal,
           "[verify] '{}' (output {} of instruction {}) is not what it was when it was first made",
           program_->task_names[index], o, index);
    }
    fingerprints_->sums[b] = sum;
    fingerprints_->known[b] = 1;
  }
}

namespace {
// Bad data has the name of the task that met it; it and copies that fail tell which state has its next version already.
class Running : public ErrorContext {
 public:
  explicit Running(const Program& program) : program_(program) {}
  std::size_t at = 0;
  std::string complete(Error::Kind kind, std::string message) const override {
    if (const std::string name = name_of_task(); kind == Error::Kind::data && !name.empty())
      message += fmt::format(", in '{}'", name);
    if (kind == Error::Kind::data || kind == Error::Kind::io) message += behind_updates();
    return outer() == nullptr ? message : outer()->complete(kind, std::move(message));
  }

 private:
  const CompiledPart* compiled(std::size_t i) const {
    return dynamic_cast<const CompiledPart*>(program_.instrs[i].kernel);
  }
  std::string name_of_task() const {
    const CompiledPart* part = compiled(at);
    return part != nullptr && part->tasks().size() == 1 ? part->tasks()[0].name : program_.task_names[at];
  }
  // What was moved in holds the next version then; what the caller still has was copied before.
  std::string behind_updates() const {
    constexpr std::size_t kNamed = 4;
    std::vector<std::string> updated;
    for (std::size_t i = 0; i < at; ++i) {
      if (const CompiledPart* part = compiled(i)) {
        for (const CompiledPart::Task& t : part->tasks()) {
          if (t.updates) updated.push_back("'" + t.name + "'");
        }
      } else if (writes_state(program_, program_.instrs[i])) {
        updated.push_back("'" + program_.task_names[i] + "'");
      }
    }
    if (updated.empty()) return "";
    const std::size_t more = updated.size() > kNamed ? updated.size() - kNamed : 0;
    updated.resize(updated.size() - more);
    return fmt::format("; behind the update{} of {}{}", updated.size() + more > 1 ? "s" : "",
                       join(updated, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
  }

  const Program& program_;
};
}  // namespace

bool Executor::carry_out(std::span<void* const> residents, Timeline* timeline) {
  Running running(*program_);
  if (fingerprints_) std::fill(fingerprints_->known.begin(), fingerprints_->known.end(), 0);
  for (std::size_t i = 0; i < program_->instrs.size(); ++i) {
    const Instr& instr = program_->instrs[i];
    running.at = i;
    void* const* first = pointers_.data() + instr.first_place;
    const bool compared = fingerprints_ && instr.kind == Instr::Kind::run && device_->computes();
    if (compared && instr.repeats) clear_outputs(instr);
    const std::int64_t begin = timeline != nullptr ? now_ns() : 0;
    const std::span<const Place> places(program_->places.data() + instr.first_place,
                                        static_cast<std::size_t>(instr.inputs + instr.outputs + 1));
    if (instr.kind == Instr::Kind::run || !device_->computes()) {
      device_->launch(instr, places,
                      {{first, static_cast<std::size_t>(instr.inputs)},
                       {first + instr.inputs, static_cast<std::size_t>(instr.outputs)},
                       first[instr.inputs + instr.outputs]});
    } else if (instr.kind == Instr::Kind::wait) {
      stores_[static_cast<std::size_t>(instr.tier)]->wait(instr.slot, program_->task_names[i].c_str());
    } else {
      start_copy(instr, first[0], residents);
    }
    if (instr.kind == Instr::Kind::run && instr.kernel->can_overflow() && instr.kernel->overflowed()) {
      overflowed_ = program_->task_names[i];
      return false;
    }
    if (compared) compare(instr, i);
    if (timeline != nullptr && i < timeline->entries.size())
      timeline->entries[i] = {begin, now_ns(), instr.live, instr.task, timeline->work ? work_ns() : 0};
  }
  return true;
}

}  // namespace tidemark
