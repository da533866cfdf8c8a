// A traced program taken through the whole pipeline: optimise, pose, solve, check, lower, run. The only place
// where the phases are wired together. compile() (compile.h) keeps one of these for each set of argument
// types.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "tidemark/compile/explain.h"
#include "tidemark/compile/libraries.h"
#include "tidemark/compile/memory.h"
#include "tidemark/compile/optimise.h"
#include "tidemark/compile/pose.h"
#include "tidemark/ir/tensor.h"
#include "tidemark/plan/frontier.h"
#include "tidemark/plan/plan.h"
#include "tidemark/plan/smallest.h"
#include "tidemark/runtime/executor.h"

namespace tidemark {

// How much memory a compiled program may use: bytes, a fraction of what keeping everything needs, or the
// least there is.
class TIDEMARK_API Budget {
 public:
  enum class Kind { unlimited, bytes, fraction, minimum };
  Budget() = default;
  Budget(Bytes bytes) : kind(Kind::bytes), bytes(bytes) {}               // NOLINT: implicit by design
  Budget(int bytes) : Budget(static_cast<Bytes>(bytes)) {}               // NOLINT
  Budget(double fraction) : kind(Kind::fraction), fraction(fraction) {}  // NOLINT
  static Budget minimum();

  Kind kind = Kind::unlimited;
  Bytes bytes = 0;
  double fraction = 1;  // of the store-all peak above the resident bytes, as docs/format.md defines per cent
};

// What must happen to the values whose names match a pattern (`*`, `?`): `keep`: made once, never made again; `recompute`: not
// kept between the uses that lie farthest apart, but made again for the later ones.
struct Pin {
  enum class What : std::uint8_t { keep, recompute };
  std::string pattern;
  What what = What::keep;
};
inline constexpr Pin::What keep = Pin::What::keep, recompute = Pin::What::recompute;

// In how many equal parts a batch is worked through, one after the other, what they add to gradients and losses added up: {4}, or
// may_split for as many as are best within the budget. Sums are then taken in another order, so it needs the user's word.
// docs/compile.md, *Micro-batches*.
struct MicroBatches {
  // `batch`: which arguments of the function are cut, counted from 0; none: those that are as long as the last one.
  MicroBatches(int n = 1, std::vector<int> batch = {}) : parts(n), batch(std::move(batch)) {}  // NOLINT: implicit by design
  int parts;  // 0: may_split
  std::vector<int> batch;
  // Set by compile: the tensors of `batch`, and how many inputs are arguments (-1: all).
  std::vector<int> inputs = {};
  int arguments = -1;
};
inline const MicroBatches may_split{0};

struct CompileOptions {
  Budget memory;
  std::shared_ptr<Device> device;  // null: cpu() on all threads
  // The first `state` arguments are state: the function returns their next versions first, and they take the
  // same storage.
  int state = 0;
  // Seconds for the planner, counted by the work that is done in about such a time (docs/compile.md); half as much again for other makers, where there are
  // any; the least budget takes more.
  double time_limit = 1;
  std::string planner;  // "": store_all without a budget, solve with one; else a named planner
  std::string name = "program";
  // Emit what has a plain form with the executor's bits (elementwise ops, reductions, moves, loops) as C++, compile it with the
  // system's compiler and run that between the kernels of all else (emit/emit.h). One thread.
  bool native = false;
  std::string native_cache;  // "": a folder of this user's in /tmp
  OptimiseOptions passes;            // each can be switched off, for tests and comparisons
  // What tasks take; null: what the library ships for a CPU of so many threads. device_profile("mine.json") loads one.
  std::shared_ptr<const DeviceProfile> profile = nullptr;
  std::vector<TierSpec> tiers;  // where buffers may be copied: {host(8_GiB), disk("/tmp", 64_GiB)}, each with its own account
  // Updates of state wait for the last copy or codec that can fail and for data that may be refused, so that an error leaves the
  // state as before the step. False: they need not, which saves holding gradients, and an error in the middle of a step may leave
  // state half updated.
  bool atomic = true;
  bool makers = true;               // other ways to make values again that change no bit
  std::vector<std::string> allow;   // lossy ones, by name: "bf16", "f16", "int8", …
  std::vector<Pin> pins;
  MicroBatches micro_batches;
  bool verify = false;              // compare every value made again with the first, in every step
  // Compares each run with its prediction; where that is off by more than 3 %, corrects the profile from a few timed runs, plans
  // again on a thread of its own and takes the new plan at a later step. Bits do not change: plans are lossless.
  bool correct = true;
  std::string plan_cache = "";  // a folder where plans are kept and looked up
  // A plan (Compiled::saved_plan) to run as it is: nothing is planned or corrected. It has to be one of this program under these options;
  // for others Error(usage) says what does not fit.
  std::string plan_file = "";
  // Planned ahead with the first call: each is a list of types that take the place of the last tensors of the arguments.
  std::vector<std::vector<Type>> shapes = {};
};

// The profile that the options ask for. Throws Error(usage) where it is of another number of threads.
TIDEMARK_API std::shared_ptr<const DeviceProfile> profile_for(const CompileOptions& options, const Device& device);

struct Prediction {
  double predicted = 0;  // seconds of a step, by the plan that runs now
  double measured = 0;   // the median of the last few steps under it; 0 before there are enough
  int corrections = 0;   // plans made again since the first
  bool checking = false; // it was found off: runs are being timed, or a plan is being made
};

class Correction;
class OtherBudgets;
struct Planned;
struct SharedArena;

class TIDEMARK_API Compiled {
 public:
  // `arena`: shared with other programs that never run at the same time; null: one of its own.
  Compiled(Graph graph, const CompileOptions& options, std::shared_ptr<Device> device, std::shared_ptr<SharedArena> arena = nullptr);
  ~Compiled();
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;

  // One tensor for each of the graph's inputs. Outputs lie in the arena; those still held when the next run starts are
  // copied out then. An input that an output updates is overwritten where the caller gives it up (`given_up`, one flag an
  // input: its own handle is the only other one), else copied first. An error leaves the arguments as they were
  // (CompileOptions::atomic), unless it is about what is made from updated ones.
  Tensors run(const Tensors& inputs, std::span<const char> given_up = {}, Timeline* timeline = nullptr);
  // Without arithmetic, on a device that only keeps account.
  Account account() const;

  // These are of the plan that runs now: a correction between two runs replaces them.
  const Graph& graph() const { return posed_.binding.graph; }
  const plan::Problem& problem() const { return posed_.problem; }
  const plan::Plan& plan() const { return plan_; }
  const Program& program() const { return *program_; }
  const Binding& binding() const { return posed_.binding; }
  const Posed& posed() const { return posed_; }
  Timeline timeline() const;  // sized for run()
  Bytes peak_predicted() const { return plan_.peak; }
  // Resident bytes given and the arena allocated, counted when they were, not taken from the plan. 0 before
  // the first run.
  Bytes peak_measured() const { return measured_; }
  // What the peak consists of; the rows add up to it, and the last, "unexplained", is 0.
  std::vector<MemoryRow> memory() const { return memory_rows(posed_, plan_); }
  // What libraries have kept on the heap inside the steps so far: beside the peak, and no part of it.
  const LibraryMemory& libraries() const { return heap_.found(); }
  // What was predicted and what was measured, and the profile as runs have corrected it.
  Prediction prediction() const;
  const DeviceProfile& profile() const { return profile_; }
  // Until a plan that is being made again is there; the next run takes it.
  void wait_for_correction();
  // In how many parts the batch is worked through.
  int micro_batches() const { return parts_; }
  // What happened that was not planned, for people: a device that refused memory, a codec's slot too small, and what was done.
  const std::vector<std::string>& notes() const { return notes_; }
  // What was done with the values whose names match (`*`, `?`), what it costs and saves, and what one more GiB would buy. Throws
  // Error(usage) where none matches.
  std::string explain(std::string_view pattern) const;
  // The plan as a file that `plan_file` takes: plan::write_plan with what was chosen for loops and planned for their steps.
  std::string saved_plan() const;
  // The curve of time against budget, and its lower end: what compile() would plan with these options for other budgets, for about
  // `time_limit` CPU seconds. Areas of loops and numbers of parts are chosen for each, and updates wait where they have to, so that the
  // plans may be of other problems than problem(): Plan::problem_hash tells.
  std::vector<plan::FrontierPoint> frontier(int points = 12, double time_limit = 5) const;
  plan::SmallestPeak smallest(double time_limit = 5) const;
  // Bytes in each of CompileOptions::tiers, counted when they were allocated or given.
  std::vector<Bytes> tiers_measured() const;
  // The planned program as one C++ file.
  std::string emitted() const;

 private:
  friend struct SharedArena;
  void adopt(Planned planned);
  void make_native();
  void start_correction();
  void ensure_executor();
  OtherBudgets other_budgets() const;
  bool corrected() const;
  // The argument's own storage where it is updated in place or only read, else one that holds a copy of it. What is only read and
  // lives on disk is copied there once.
  std::shared_ptr<Storage> storage_of(std::size_t input, const Tensor& argument, bool given_up);

  CompileOptions options_;
  Budget asked_;  // as given; a fraction of it has become bytes in the options
  DeviceProfile profile_;
  PoseOptions pose_options_;
  std::shared_ptr<const Graph> traced_;  // as given: what other budgets are planned from
  Posed posed_;
  plan::Plan plan_;
  mutable std::optional<Marginal> marginal_;  // of one more GiB, once it was asked for
  std::shared_ptr<const Program> program_;
  std::shared_ptr<Device> device_;
  std::shared_ptr<SharedArena> arena_;
  std::unique_ptr<Executor> executor_;
  std::vector<void*> residents_;
  std::vector<TierSpec> tiers_;
  bool verify_ = false;
  bool overflowed_ = false;  // a codec's slot was too small once: no plan counts on such slots any more
  // By input, for those that live in a disk tier: where one that is updated lay after the last run; a copy of one that is only read,
  // and the checksum by which the next call sees that it is the same.
  struct OnDisk {
    std::weak_ptr<Storage> last;
    std::shared_ptr<Storage> copy;
    std::uint64_t sum = 0;
  };
  std::vector<OnDisk> on_disk_;
  std::shared_ptr<const Planned> fallback_;  // where the plan runs a codec that can overflow
  std::vector<std::int32_t> updated_by_;  // for each input: the output that updates it, or -1
  int parts_ = 1;
  Bytes measured_ = 0;
  HeapWatch heap_;
  std::vector<std::string> notes_;
  std::unique_ptr<Correction> correction_;  // last: its thread reads the rest
};

}  // namespace tidemark
