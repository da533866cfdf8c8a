// SPDX-License-Identifier: Apache-2.0
#include "tidemark/store/tier_store.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "tidemark/base/error.h"
#include "tidemark/store/checksum.h"
#include "tidemark/store/mapped_file.h"

namespace tidemark {

TierSpec host(Bytes bytes) { return {.name = "host", .bytes = bytes}; }
TierSpec disk(std::string folder, Bytes bytes) {
  return {.name = "disk", .bytes = bytes, .folder = std::move(folder)};
}

TierStore::TierStore(const TierSpec& spec, Bytes bytes, int slots)
    : name_(spec.folder.empty() ? fmt::format("'{}'", spec.name)
                                : fmt::format("'{}' in '{}'", spec.name, spec.folder)),
      fault_(spec.fault),
      bytes_(bytes),
      slots_(static_cast<std::size_t>(slots)) {
  if (spec.folder.empty()) {
    if (bytes > 0) {
      void* memory = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (memory == MAP_FAILED)
        fail(Error::Kind::out_of_memory, "[tier] the system refused {} for tier {}", format_bytes(bytes),
             name_);
      memory_ = static_cast<std::byte*>(memory);
    }
  } else {
    file_ = std::make_unique<TierFile>(spec.folder, bytes);
    out_.file = file_->stream(spec.use_ring);
    in_.file = file_->stream(spec.use_ring);
  }
  for (Stream* s : {&out_, &in_}) s->queue.resize(slots_.size() + 1);
  try {
    out_.thread = std::thread([this] { serve(out_, true); });
    in_.thread = std::thread([this] { serve(in_, false); });
  } catch (const std::system_error& e) {
    finish();
    fail(Error::Kind::device, "[tier] no thread for the copies of {}: {}", name_, e.what());
  }
}

TierStore::~TierStore() { finish(); }

void TierStore::finish() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  for (Stream* s : {&out_, &in_}) {
    s->work.notify_all();
    if (s->thread.joinable()) s->thread.join();
  }
  if (memory_ != nullptr) munmap(memory_, static_cast<std::size_t>(bytes_));
  memory_ = nullptr;
}

const char* TierStore::method() const { return file_ ? out_.file->name() : "memcpy"; }

void TierStore::start(Stream& stream, int slot) {
  Slot& s = slots_[static_cast<std::size_t>(slot)];
  {
    const std::lock_guard lock(mutex_);
    TIDEMARK_CHECK(!s.busy, "two copies of one slot at a time in tier {}", name_);
    s.busy = true;
    s.outcome = 0;
    s.bad_sum = false;
    stream.queue[(stream.first + stream.count++) % stream.queue.size()] = slot;
  }
  stream.work.notify_one();
}

void TierStore::write(int slot, Bytes offset, const std::byte* from, Bytes bytes) {
  Slot& s = slots_[static_cast<std::size_t>(slot)];
  s.offset = offset, s.bytes = bytes, s.from = from, s.outside = false;
  start(out_, slot);
}

void TierStore::read(int slot, std::byte* to) {
  Slot& s = slots_[static_cast<std::size_t>(slot)];
  s.to = to, s.outside = false;
  start(in_, slot);
}

void TierStore::copy(int slot, bool out, std::byte* to, const std::byte* from, Bytes bytes) {
  Slot& s = slots_[static_cast<std::size_t>(slot)];
  s.to = to, s.from = from, s.bytes = bytes, s.outside = true;
  start(out ? out_ : in_, slot);
}

void TierStore::carry_out(FileStream* file, bool out, Slot& s) {
  const auto n = static_cast<std::size_t>(s.bytes);
  if (n == 0) return;
  if (s.outside && file != nullptr) {
    s.outcome = MappedFile::copy(s.to, s.from, s.bytes);
    MappedFile::leave(out ? s.to : s.from, s.bytes);
  } else if (s.outside) {
    std::memcpy(s.to, s.from, n);
  } else if (file == nullptr) {
    std::memcpy(out ? memory_ + s.offset : s.to, out ? s.from : memory_ + s.offset, n);
  } else if (out) {
    s.sum = checksum(s.from, s.bytes);
    s.outcome = fault_ ? fault_(FileOp::write, const_cast<std::byte*>(s.from), s.bytes) : 0;
    if (s.outcome == 0) s.outcome = file->write(s.from, s.bytes, s.offset);
  } else {
    s.outcome = file->read(s.to, s.bytes, s.offset);
    if (s.outcome == 0 && fault_) s.outcome = fault_(FileOp::read, s.to, s.bytes);
    s.bad_sum = s.outcome == 0 && checksum(s.to, s.bytes) != s.sum;
  }
}

void TierStore::serve(Stream& stream, bool out) {
  std::unique_lock lock(mutex_);
  for (;;) {
    stream.work.wait(lock, [&] { return stop_ || stream.count > 0; });
    if (stream.count == 0) return;
    Slot& s = slots_[static_cast<std::size_t>(stream.queue[stream.first])];
    stream.first = (stream.first + 1) % stream.queue.size();
    --stream.count;
    lock.unlock();
    carry_out(stream.file.get(), out, s);
    lock.lock();
    s.busy = false;
    done_.notify_all();
  }
}

void TierStore::wait(int slot, const char* what) {
  std::unique_lock lock(mutex_);
  Slot& s = slots_[static_cast<std::size_t>(slot)];
  done_.wait(lock, [&] { return !s.busy; });
  if (s.outcome == kShortCopy) {
    fail(Error::Kind::io, "[tier] {} ended in the middle of '{}': fewer than its {} bytes were there", name_,
         what, s.bytes);
  }
  if (s.outcome != 0)
    fail(Error::Kind::io, "[tier] copying '{}' ({}) with {} failed: {}", what, format_bytes(s.bytes), name_,
         std::strerror(s.outcome));
  if (s.bad_sum) fail(Error::Kind::io, "[tier] '{}' came back from {} with a wrong checksum", what, name_);
}

void TierStore::drain() {
  std::unique_lock lock(mutex_);
  done_.wait(
      lock, [&] { return std::none_of(slots_.begin(), slots_.end(), [](const Slot& s) { return s.busy; }); });
}

namespace {

// Seconds to copy so many bytes out, and in again.
std::pair<double, double> trial(const TierSpec& spec, Bytes bytes) {
  TierStore store(spec, bytes, 1);
  std::vector<std::byte> data(static_cast<std::size_t>(bytes), std::byte{1});
  using Clock = std::chrono::steady_clock;
  const auto seconds = [&](auto&& f) {
    double least = 1e30;
    for (int repeat = 0; repeat < 3; ++repeat) {
      const auto begin = Clock::now();
      f();
      store.wait(0, "a trial of its rates");
      least = std::min(least, std::chrono::duration<double>(Clock::now() - begin).count());
    }
    return std::max(least, 1e-9);
  };
  const double out = seconds([&] { store.write(0, 0, data.data(), bytes); });
  return {out, seconds([&] { store.read(0, data.data()); })};
}

}  // namespace

TierSpec measured(TierSpec spec) {
  if (spec.bytes <= 0)
    fail(Error::Kind::usage, "[tiers] '{}' has a capacity of {} bytes vs at least one", spec.name,
         spec.bytes);
  // As problems have them (docs/format.md).
  constexpr double kLeastRate = 1e-12, kMostRate = 1e30, kUsualLatency = 2e-5;
  for (const double rate : {spec.write_bytes_per_second, spec.read_bytes_per_second}) {
    if (!(rate <= kMostRate) || (rate > 0 && rate < kLeastRate))
      fail(Error::Kind::usage,
           "[tiers] '{}' has a rate of {} bytes a second; give a finite one, or 0 to have it measured",
           spec.name, rate);
  }
  if (!(spec.latency_seconds <= kMostRate))
    fail(Error::Kind::usage, "[tiers] '{}' has a latency of {} seconds; give a finite one", spec.name,
         spec.latency_seconds);
  if (spec.latency_seconds < 0) spec.latency_seconds = kUsualLatency;
  if (spec.write_bytes_per_second > 0 && spec.read_bytes_per_second > 0) return spec;
  TierSpec plain = spec;
  plain.fault = nullptr;
  constexpr Bytes kLeast = 64_KiB, kMost = 16_MiB;
  for (Bytes bytes = std::min(kMost, std::max<Bytes>(spec.bytes, 4096));;
       bytes = std::max(kLeast, bytes / 16)) {
    try {
      const auto [out, in] = trial(plain, bytes);
      if (spec.write_bytes_per_second <= 0) spec.write_bytes_per_second = static_cast<double>(bytes) / out;
      if (spec.read_bytes_per_second <= 0) spec.read_bytes_per_second = static_cast<double>(bytes) / in;
      break;
    } catch (const Error& e) {
      // Less room there than a long trial takes may be enough for the copies.
      if (e.kind() != Error::Kind::io || bytes <= kLeast) throw;
    }
  }
  if (spec.latency_seconds <= 0) spec.latency_seconds = kUsualLatency;
  return spec;
}

}  // namespace tidemark
