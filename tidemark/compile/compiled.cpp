// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/compiled.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <limits>

#include "tidemark/compile/arena.h"
#include "tidemark/compile/correction.h"
#include "tidemark/compile/loop_choices.h"
#include "tidemark/compile/loops.h"
#include "tidemark/compile/other_budgets.h"
#include "tidemark/compile/parts.h"
#include "tidemark/compile/plan_notes.h"
#include "tidemark/compile/planning.h"
#include "tidemark/compile/tiers.h"
#include "tidemark/emit/emit.h"
#include "tidemark/front/eager.h"
#include "tidemark/store/checksum.h"
#include "tidemark/store/mapped_file.h"

namespace tidemark {

namespace {

// Kernels wait for nothing: where the wall clock is ahead of the work done, other programs had the cores. With copies under way
// only the wall clock tells.
class Stopwatch {
 public:
  double seconds(bool cores_only) const {
    const double wall = now(CLOCK_MONOTONIC) - wall_, work = now(CLOCK_PROCESS_CPUTIME_ID) - work_;
    return cores_only ? std::min(wall, work) : wall;
  }

 private:
  static double now(clockid_t id) {
    timespec t{};
    clock_gettime(id, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  }
  double wall_ = now(CLOCK_MONOTONIC), work_ = now(CLOCK_PROCESS_CPUTIME_ID);
};

const CompileOptions& checked(const CompileOptions& options) {
  if (!(options.time_limit >= 0))
    fail(Error::Kind::usage, "[compile] .time_limit = {} vs seconds from 0 on", options.time_limit);
  return options;
}

// What the budget leaves for an arena beside the resident bytes; fractions have become bytes.
Bytes most_arena(const Budget& memory, const plan::Plan& plan, const Program& program) {
  if (memory.kind == Budget::Kind::unlimited) return std::numeric_limits<Bytes>::max();
  const Bytes resident = plan.peak - program.arena_bytes;
  return memory.kind == Budget::Kind::bytes ? std::max(memory.bytes - resident, program.arena_bytes) : program.arena_bytes;
}

}  // namespace

Budget Budget::minimum() {
  Budget b;
  b.kind = Kind::minimum;
  return b;
}

std::shared_ptr<const DeviceProfile> profile_for(const CompileOptions& options, const Device& device) {
  const int threads = device.threads();
  if (!options.profile) return std::make_shared<const DeviceProfile>(cpu_profile(threads));
  if (options.profile->device.starts_with("cpu") && options.profile->threads != threads) {
    fail(Error::Kind::usage, "[compile] the profile is of {} threads vs {} of the device; measure one with tidemark profile --model-threads {}",
         options.profile->threads, threads, threads);
  }
  return options.profile;
}

Compiled::Compiled(Graph graph, const CompileOptions& given, std::shared_ptr<Device> device,
                   std::shared_ptr<SharedArena> arena)
    : options_(checked(given)),
      asked_(given.memory),
      profile_(*profile_for(given, *device)),
      device_(std::move(device)),
      arena_(std::move(arena)) {
  if (!arena_) arena_ = std::make_shared<SharedArena>(SharedArena{.device = device_});
  CompileOptions& options = options_;
  options.device = device_;
  pose_options_ = PoseOptions{.threads = device_->threads(),
                              .profile = &profile_,
                              .name = options.name,
                              .regions = std::make_shared<RegionCache>()};
  for (const TierSpec& tier : options.tiers) tiers_.push_back(measured(tier));
  pose_options_.tiers = tiers_;
  verify_ = options.verify;
  traced_ = std::make_shared<const Graph>(std::move(graph));
  PlannedParts planned = plan_parts(*traced_, options, pose_options_, tiers_);
  parts_ = planned.parts;
  if (!planned.why.empty()) notes_.push_back(planned.why);
  posed_ = std::move(planned.posed);
  tiers_ = left_by_loops(this->graph(), tiers_);
  fallback_ = planned.planned.fallback;
  plan_ = std::move(planned.planned.plan);
  program_ = std::make_shared<const Program>(std::move(planned.planned.program));
  make_native();
  residents_.resize(program_->residents.size());
  on_disk_.resize(residents_.size());
  updated_by_.assign(this->graph().inputs.size(), -1);
  for (const auto& [in, out] : this->graph().updates) updated_by_[static_cast<std::size_t>(in)] = out;
  arena_->users.push_back(this);
  start_correction();
}

Compiled::~Compiled() {
  correction_.reset();
  std::erase(arena_->users, this);
}

void Compiled::adopt(Planned planned) {
  executor_.reset();
  marginal_.reset();
  plan_ = std::move(planned.plan);
  program_ = std::make_shared<const Program>(std::move(planned.program));
  fallback_ = std::move(planned.fallback);
  make_native();
  residents_.resize(program_->residents.size());
  if (arena_->users.size() == 1 && arena_->bytes != program_->arena_bytes) arena_->release();
}

void Compiled::make_native() {
  if (!options_.native) return;
  program_ = std::make_shared<const Program>(with_native_parts(posed_.binding, *program_, pose_options_, {.cache = options_.native_cache}));
}

void Compiled::start_correction() {
  // Where lossy methods are allowed, another plan may give other bits; a device that is not there is never measured.
  if (!options_.correct || !options_.plan_file.empty() || !options_.allow.empty() || options_.verify || options_.native || device_->name() != "cpu" || !profile_.device.starts_with("cpu")) return;
  correction_ = std::make_unique<Correction>(problem().tasks.size(), [this, fastest = MeasuredPlan{}](const Correction::Learned& learned, const std::function<bool()>& stop) mutable {
    Correction::Replanned next{.posed = posed_, .profile = profile_, .planned = {}};
    correct(next.posed, next.profile, learned.times, device_->threads());
    if (overflowed_) leave_overflowing(next.posed);
    CompileOptions options = options_;
    if (options.memory.kind == Budget::Kind::minimum) options.memory = plan_.peak;
    next.planned = plan_again(next.posed, options, tiers_, {.from = &plan_, .stop = stop});
    const std::size_t tasks = problem().tasks.size();
    if (next.posed.problem.tasks.size() != tasks) return next;  // with a gate
    const MeasuredPlan running{plan_, fallback_, tasks, learned.seconds};
    if (std::optional<MeasuredPlan> known = go_on_with(next.posed.problem, running, fastest, next.planned.plan, learned.last)) {
      next.planned.program = lower(next.posed.problem, known->plan, next.posed.binding);
      next.planned.plan = std::move(known->plan);
      next.planned.fallback = std::move(known->fallback);
    }
    return next;
  }, Correction::Options{.cores_only = tiers_.empty()});
}

// Planning allocates nothing: the arena comes with the first run. A device that refuses it gets the next smaller plan.
void Compiled::ensure_executor() {
  if (executor_ && executor_->arena() == arena_->memory) return;
  constexpr int kTries = 24;
  for (int attempt = 0;; ++attempt) {
    try {
      arena_->hold(program_->arena_bytes, most_arena(options_.memory, plan_, *program_));
      break;
    } catch (const Error& refused) {
      if (refused.kind() != Error::Kind::out_of_memory || attempt == kTries) throw;
      if (!options_.plan_file.empty())
        fail(Error::Kind::out_of_memory,
             "{}, under the plan in '{}'; leave .plan_file away to have a smaller one planned",
             refused.what(), options_.plan_file);
      correction_.reset();  // its thread reads what changes now
      const Bytes before = plan_.peak;
      CompileOptions options = options_;
      options.memory = plan_.peak - std::max<Bytes>(program_->arena_bytes / 8, 1);
      options.planner.clear();
      Planned smaller;
      try {
        smaller = plan_again(posed_, options, tiers_, {});
      } catch (const Error& e) {
        if (e.kind() != Error::Kind::infeasible) throw;
        fail(Error::Kind::out_of_memory, "{}; and no smaller plan was found: {}", refused.what(), e.what());
      }
      adopt(std::move(smaller));
      notes_.push_back(fmt::format("{}; planned for {} instead of {}, {:.3g} s a step", refused.what(), format_bytes(plan_.peak),
                                   format_bytes(before), plan_.seconds));
      options_.memory = options.memory;
      start_correction();
    }
  }
  arena_->make_room(*this);
  executor_ = std::make_unique<Executor>(program_, device_, arena_->memory, tiers_);
  if (verify_) executor_->verify_repeats();
}

Prediction Compiled::prediction() const {
  if (!correction_) return {.predicted = plan_.seconds};
  return {plan_.seconds, correction_->measured(), correction_->corrections(), correction_->recording() || correction_->busy()};
}

void Compiled::wait_for_correction() {
  if (correction_) correction_->wait();
}

std::string Compiled::saved_plan() const {
  std::string text = plan::write_plan(problem(), plan_);
  const std::string choices = loop_choices(graph(), pose_options_);
  if (!choices.empty()) text.insert(text.rfind('}'), ",\n\"x_loops\": " + choices);
  PlanNotes notes{.seconds = posed_.maker_seconds};
  if (asked_.kind == Budget::Kind::fraction && options_.memory.kind == Budget::Kind::bytes)
    notes.fraction = asked_.fraction, notes.bytes = options_.memory.bytes;
  notes.parts = parts_;
  if (fallback_) notes.fallback = plan::write_plan(problem(), fallback_->plan);
  return with_notes(std::move(text), notes);
}

std::string Compiled::emitted() const {
  return emit_program(posed_.binding, lower(posed_.problem, plan_, posed_.binding), pose_options_);
}

std::shared_ptr<Storage> Compiled::storage_of(std::size_t input, const Tensor& argument, bool given_up) {
  const plan::TierId tier = problem().buffers[static_cast<std::size_t>(program_->residents[input])].start;
  const bool disk = tier >= 0 && tiers_[static_cast<std::size_t>(tier)].can_fail();
  const bool updated = updated_by_[input] >= 0;
  const bool there = !disk || on_disk_[input].last.lock() == argument.storage();
  if (there && (!updated || given_up)) return argument.storage();
  const Bytes bytes = argument.type().bytes();
  std::shared_ptr<Storage> storage;
  if (!disk) {
    storage = Storage::allocate(bytes);
  } else {
    OnDisk& own = on_disk_[input];
    if (!updated) {
      // By contents, not by address: the caller may have changed them in place meanwhile.
      const std::uint64_t sum = checksum(argument.storage()->data(), bytes);
      if (own.copy && own.sum == sum) return own.copy;
      own = {.sum = sum};
      // Another shape may have been given the same.
      own.last = own.copy = arena_->copy_of({tier, bytes, sum});
      if (own.copy) return own.copy;
    }
    auto file = std::make_shared<MappedFile>(tiers_[static_cast<std::size_t>(tier)].folder, bytes);
    std::byte* data = file->data();
    storage = Storage::lend(data, bytes, std::move(file));
    own.last = storage;
    if (!updated) {
      own.copy = storage;
      arena_->on_disk[{tier, bytes, own.sum}] = storage;
    }
  }
  if (bytes > 0) std::memcpy(storage->data(), argument.storage()->data(), static_cast<std::size_t>(bytes));
  return storage;
}

Tensors Compiled::run(const Tensors& arguments, std::span<const char> given_up, Timeline* timeline) {
  const Graph& g = graph();
  std::vector<std::shared_ptr<Storage>> storages(arguments.size());
  TIDEMARK_CHECK(arguments.size() == g.inputs.size(), "{} inputs given, {} wanted", arguments.size(),
                 g.inputs.size());
  arena_->take_back();
  if (correction_) {
    if (std::optional<Correction::Replanned> next = correction_->take()) {
      posed_ = std::move(next->posed);
      profile_ = std::move(next->profile);
      adopt(std::move(next->planned));
    }
  }
  ensure_executor();
  const Stopwatch watch;  // what the caller waits for: copied arguments and made results are part of a step
  Bytes resident = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Tensor& t = arguments[i];
    if (t.type() != g.type(g.inputs[i])) {
      fail(Error::Kind::usage, "[compiled] argument {} ({}) is {} vs {} when it was traced", i, g.value(g.inputs[i]).name,
           to_string(t.type()), to_string(g.type(g.inputs[i])));
    }
    if (!t.concrete() && t.id() < 0)
      fail(Error::Kind::usage,
           "[compiled] argument {} ({}) has a type and no contents (abstract), which is enough to plan with; "
           "run it with a tensor that has some",
           i, g.value(g.inputs[i]).name);
    if (!t.concrete())
      fail(Error::Kind::usage,
           "[compiled] argument {} ({}) is a value being traced vs one with contents: a compiled function cannot be differentiated or "
           "compiled again; transform the function first, then compile: compile(grad(f))",
           i, g.value(g.inputs[i]).name);
    storages[i] = storage_of(i, t, i < given_up.size() && given_up[i] && t.held_by_at_most(2, 1));
    residents_[i] = storages[i]->data();
    const plan::Buffer& buffer = problem().buffers[static_cast<std::size_t>(program_->residents[i])];
    if (buffer.resident) resident += round_up(t.type().bytes(), problem().align);
  }
  Timeline* recorded = timeline != nullptr || !correction_ ? timeline : correction_->record(program_->instrs.size());
  // Another plan may have come between since it was sized.
  if (timeline != nullptr && timeline->entries.size() != program_->instrs.size())
    timeline->entries.assign(program_->instrs.size(), {});
  heap_.before(!correction_ || !correction_->busy());
  const bool fits = executor_->run(residents_, recorded);
  heap_.after();
  if (!fits) {
    TIDEMARK_CHECK(fallback_ != nullptr, "a codec overflowed under a plan that has none beside it");
    // What a codec made did not fit its slot. Nothing has been updated: the step starts over under the plan without such codecs.
    notes_.push_back(fmt::format("'{}' did not fit its slot; the step started over without codecs that can overflow, {:.3g} s a step instead of {:.3g}",
                                 executor_->overflowed(), fallback_->plan.seconds, plan_.seconds));
    // What was measured and planned is of the plan that is left; corrections of the other begin anew, without such codecs.
    correction_.reset();
    overflowed_ = true;
    adopt(Planned(*fallback_));
    start_correction();
    storages.clear();
    return run(arguments, given_up, timeline);
  }
  // Without what of the arena only other shapes use.
  measured_ = resident + arena_->measured - (arena_->bytes - program_->arena_bytes);
  Tensors outputs;
  outputs.reserve(g.outputs.size());
  arena_->lent.clear();
  for (std::size_t o = 0; o < g.outputs.size(); ++o) {
    const Place& place = program_->outputs[o];
    const Type& type = g.type(g.outputs[o]);
    if (place.resident >= 0) {
      outputs.push_back(from_storage(type, storages[static_cast<std::size_t>(place.resident)]));
    } else {
      // Two results in one buffer hold one storage, so that neither is overwritten under the other.
      std::shared_ptr<Storage> storage;
      for (std::size_t p = 0; p < o && !storage; ++p) {
        // One of no bytes may have any neighbour's offset.
        const bool same = program_->outputs[p].resident < 0 && program_->outputs[p].offset == place.offset;
        if (same && outputs[p].storage()->bytes() >= type.bytes() && type.bytes() > 0) storage = outputs[p].storage();
      }
      if (!storage) storage = Storage::lend(executor_->output(o, residents_), type.bytes(), executor_->arena());
      arena_->lent.push_back(storage);
      outputs.push_back(from_storage(type, std::move(storage)));
    }
  }
  if (correction_ && timeline == nullptr) correction_->ran(watch.seconds(tiers_.empty()), plan_.seconds);
  return outputs;
}

Account Compiled::account() const {
  const auto account = std::make_shared<Account>();
  Executor executor(program_, null_device(account, device_->threads()));
  const std::vector<void*> nothing(program_->residents.size(), nullptr);
  executor.run(nothing);
  return *account;
}

Timeline Compiled::timeline() const {
  Timeline t;
  t.entries.resize(program_->instrs.size());
  return t;
}

std::vector<Bytes> Compiled::tiers_measured() const {
  std::vector<Bytes> bytes;
  for (std::size_t k = 0; k < program_->tiers.size(); ++k) bytes.push_back(program_->tiers[k].held + (executor_ ? executor_->tier_bytes(k) + loop_bytes(graph(), k) : 0));
  return bytes;
}

std::string Compiled::explain(std::string_view pattern) const {
  const std::vector<Explanation> found = tidemark::explain(posed_, plan_, pattern);
  if (found.empty()) fail(Error::Kind::usage, "[explain] no value of {} is called '{}'; '*' lists them all", problem().name, pattern);
  std::string out;
  for (const Explanation& e : found) out += e.text + "\n";
  for (const std::string& line : explain_loops(graph(), pose_options_, pattern)) out += line + "\n";
  if (!marginal_) {
    const OtherBudgets others = other_budgets();
    marginal_ = others.one_problem() ? what_more_buys(problem(), plan_, 1_GiB, 1)
                                     : others.what_more_buys(plan_, corrected(), 1_GiB, 1);
  }
  return out + to_string(*marginal_) + "\n";
}

bool Compiled::corrected() const { return correction_ && correction_->corrections() > 0; }

OtherBudgets Compiled::other_budgets() const { return {*traced_, options_, pose_options_}; }

std::vector<plan::FrontierPoint> Compiled::frontier(int points, double time_limit) const {
  return other_budgets().frontier(points, time_limit, plan_, corrected());
}

plan::SmallestPeak Compiled::smallest(double time_limit) const {
  return other_budgets().smallest(time_limit, plan_);
}

}  // namespace tidemark
