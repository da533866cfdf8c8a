// Loops in compiled code, on two levels: a plan inside the step, a schedule over the steps. The passes bring a loop and its
// adjoint together; choose_loops splits the budget between snapshots and steps where the total time is least; pose then
// sees each loop as one task. Bits never depend on the choice.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>

#include "tidemark/compile/pose.h"
#include "tidemark/emit/emit.h"
#include "tidemark/ops/loop_kernels.h"
#include "tidemark/ops/loops.h"
#include "tidemark/runtime/program.h"
#include "tidemark/schedule/tier_splits.h"

namespace tidemark {

// With the bodies of calls instead of them, those in loops too.
TIDEMARK_API Graph inline_calls(const Graph& graph);

// Calls are inlined; a loop and its copy that gives states too become one; a loop whose states only its adjoint reads
// becomes a scan_saving (a while_saving) and a scan_adjoint, with a slot for every step. Part of optimise().
TIDEMARK_API Graph shape_loops(Graph graph);

class LoopStore;

// A region taken through optimise, pose, solve and lower.
struct PlannedRegion {
  std::shared_ptr<const Kernel> kernel;
  double seconds = 0;
  Bytes arena = 0;                     // what its values take, workspace of its kernels included
  std::shared_ptr<const Posed> posed;  // as it was planned, for emit
  std::shared_ptr<const Program> program;
  std::vector<Bytes> in_tiers;  // what loops inside keep there
  plan::Plan plan;
};
// Regions by their hash and budget: the same body is posed many times while a budget is split.
class TIDEMARK_API RegionCache {
 public:
  // `budget`: bytes for the values of the region; kWhatever: each is kept from its making to its last use; kLeast: as few
  // as can be found.
  static constexpr Bytes kWhatever = -1, kLeast = 0;
  const PlannedRegion& at(const Graph& region, Bytes budget, const PoseOptions& options);
  static std::string key(const Graph& region, Bytes budget, const PoseOptions& options);
  const PlannedRegion* find(const std::string& key) const;  // null: not planned
  // The region of this key is not searched for: it has this plan, and loops inside these choices (compile/loop_choices.h). What does not fit it is
  // passed over.
  void expect(std::string key, std::string plan_json, std::string choices);
  void forget();  // what is expected, and what was planned
  // What both kernels of the pair with this number (`store`) use; its states lie in that tier.
  std::shared_ptr<LoopStore> store(std::int64_t pair, const TierSpec& tier, Bytes state, std::int64_t count);
  std::int64_t new_store() { return next_store_++; }
  // Their room is given back until the next run, which opens them again.
  void close_stores();

 private:
  struct Expected {
    std::string plan_json, choices;
  };
  std::map<std::string, Expected> expected_;
  std::map<std::string, PlannedRegion> regions_;
  std::map<std::int64_t, std::shared_ptr<LoopStore>> stores_;
  std::int64_t next_store_ = 0;
};

struct LoopTask {
  std::shared_ptr<const Kernel> kernel;
  double seconds = 0;
};
// The kernel of a loop's node and the time it is expected to take.
// `form`: another kernel for a region than the planned one.
using RegionForm =
    std::function<std::shared_ptr<const Kernel>(const Graph& region, const PlannedRegion& planned)>;
LoopTask loop_task(const Op& op, const KernelSpec& spec, const PoseOptions& options,
                   const RegionForm& form = nullptr);

// What a loop and its adjoint cost with an area of so many bytes.
struct LoopCosts {
  std::int64_t trips = 0;
  Bytes state = 0, tape = 0;  // a snapshot, a tape; 0: none is kept
  // Seconds of a step: in the first sweep, run again, its adjoint from a state; the same with its tape made or used.
  double body = 0, advance = 0, adjoint = 0, body_taping = 0, taping = 0, untaping = 0;
  // States in a tier: one every so many steps (0: none), or by splits; seconds to copy one out and in, while steps run.
  std::int64_t period = 0;
  schedule::TierSplits splits;
  double write = 0, read = 0;
  // Not negative: by splits too, but all states lie in the area, and segments have so many bytes, only in the reverse sweep.
  Bytes extra = -1;
  // The length is known only at the end: `trips` is the most, which all seconds are of. Places for states in the first sweep, where there are tapes or a
  // tier; those in the tier, and the steps between them at first (0: none there).
  bool online = false;
  std::int64_t places = 0, tier_places = 0, start = 0;

  Bytes most() const {
    return tape > 0 ? trips * tape : (trips - 1) * state;
  }  // with more, nothing is gained
  double first_sweep(Bytes bytes) const;
  double reverse_sweep(Bytes bytes) const;
  // Executions of a step's forward part, those inside an adjoint from a state included, for each step.
  double forward_runs(Bytes bytes) const;
  // No schedule has fewer with states and tapes of these sizes in so many bytes and in the places in use in the tier.
  double least_forward_runs(Bytes bytes) const;
  void in_tier_at(const TierSpec& tier);  // sets the seconds of copies
  // Sets the splits of least time for segments in so many bytes; `grid`: see schedule/tier_splits.h.
  void split_in_tier(Bytes bytes, std::int64_t places, std::int64_t grid);
  void split_in_area(Bytes beside, std::int64_t places, std::int64_t grid);
  std::int64_t in_tier() const;  // the most states there at once
  OnlineArea online_area(Bytes bytes) const;

 private:
  double online_reverse(Bytes bytes) const;
  double online_segment(const OnlineArea& area, std::int64_t steps) const;
};
// What the loops of a graph, and those inside their steps, keep in tier k.
TIDEMARK_API Bytes loop_bytes(const Graph& graph, std::size_t tier);
Bytes loop_bytes(const Node& node, std::size_t tier);
// Whether states of a loop, or of those inside its steps, lie in a tier that can fail.
bool copies_can_fail(const Node& node, std::span<const TierSpec> tiers);
// The tiers with what loops leave of them, which is the planner's.
std::vector<TierSpec> left_by_loops(const Graph& graph, std::span<const TierSpec> tiers);

// Which values of a step its tape holds: the fewest bytes from which the adjoint computes nothing of the step again, or nothing but
// what is cheap.
enum class TapeCut : std::uint8_t { all, cheap };
struct TapedPair {
  Node saving, adjoint;  // with the further regions and the attribute `tape`
  Bytes tape = 0;
};
// The pair with tapes; nothing where there is none to keep.
std::optional<TapedPair> taped_pair(const Node& saving, const Node& adjoint, TapeCut kind);

// Sets the area of every pair, whether it keeps tapes, and the budgets of the steps so that the whole fits `budget` (bytes, resident ones included)
// in the least predicted time that the search finds, with the plan by which that was found to fit. Where nothing fits, the smallest choice is
// returned, without a plan; the planner says so.
struct ChosenLoops {
  Graph graph;
  std::shared_ptr<const plan::Plan> plan{};
};
// `pins`: that the plan will have to keep; null: none.
struct Pin;
TIDEMARK_API ChosenLoops choose_loops(Graph graph, Bytes budget, const PoseOptions& options,
                                      double time_limit, const std::vector<Pin>* pins = nullptr);
// The choice that takes the least time, whatever it takes of memory; and the one that takes the fewest bytes.
TIDEMARK_API Graph fastest_loops(Graph graph, const PoseOptions& options);
TIDEMARK_API Graph smallest_loops(Graph graph);
TIDEMARK_API bool has_loops(const Graph& graph);
// What compile() does with the loops of a program: the budget, a fraction made bytes, is split first.
class Budget;
ChosenLoops fit_loops(Graph graph, Budget& memory, const PoseOptions& options, double time_limit,
                      const std::vector<Pin>& pins);
// A fraction is a part of what the same program takes without a budget.
void settle_fraction(const Graph& graph, Budget& memory, const PoseOptions& options);

// The program as a C++ file (emit/emit.h), its loops with their planned regions.
TIDEMARK_API std::string emit_program(const Binding& binding, const Program& program,
                                      const PoseOptions& options);
// The program with all that has a plain form of the executor's bits compiled from such a file.
Program with_native_parts(const Binding& binding, const Program& program, const PoseOptions& options,
                          const NativeOptions& native);

// One line for each loop: "10,000 steps of 1.2 MB in 64 MiB: 51 snapshots and a 2.8 MB step; 3.8 forward runs a step; all
// states would take 12 GB"; with tapes, how many and of how many bytes. In brackets a bound: no schedule of the area has fewer runs.
// Loops inside steps follow theirs, indented. Only of loops a value of which has a name that matches.
TIDEMARK_API std::vector<std::string> explain_loops(const Graph& graph, const PoseOptions& options,
                                                    std::string_view pattern = "*");

// Kernels of the pair.
std::unique_ptr<Kernel> saving_kernel(const KernelSpec& spec, const RegionKernel& region,
                                      std::shared_ptr<LoopStore> store);
std::unique_ptr<Kernel> while_saving_kernel(const KernelSpec& spec, const RegionKernel& region,
                                            std::shared_ptr<LoopStore> store);
std::unique_ptr<Kernel> adjoint_kernel(const KernelSpec& spec, const RegionKernel& region,
                                       std::shared_ptr<LoopStore> store);

}  // namespace tidemark
