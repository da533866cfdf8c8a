// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>

#include "tidemark/compile/loop_choices.h"
#include "tidemark/compile/loop_parts.h"
#include "tidemark/compile/loop_store.h"
#include "tidemark/compile/loops.h"
#include "tidemark/compile/optimise.h"
#include "tidemark/compile/plan_notes.h"
#include "tidemark/emit/emit.h"
#include "tidemark/ops/loops.h"
#include "tidemark/plan/budget.h"
#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/planners.h"
#include "tidemark/plan/smallest.h"
#include "tidemark/plan/solve.h"
#include "tidemark/runtime/compiled_part.h"
#include "tidemark/runtime/profiler.h"
#include "tidemark/runtime/program.h"

namespace tidemark {
namespace {

// Each output gets the place it belongs to as a further input, which it updates: the body's results are made where the
// loop wants them.
Graph with_destinations(const Graph& region) {
  Graph g = region;
  for (std::size_t o = 0; o < g.outputs.size(); ++o) {
    const auto place = static_cast<ValueId>(g.values.size());
    g.values.push_back(Value{.type = g.type(g.outputs[o]), .name = g.value(g.outputs[o]).name});
    g.updates.emplace_back(static_cast<int>(g.inputs.size()), static_cast<int>(o));
    g.inputs.push_back(place);
  }
  return g;
}

// A Program as the kernel of a region: its arena is the workspace, its residents are what the loop hands in.
class ProgramKernel final : public Kernel {
 public:
  // `planned_places`: of the program before parts of it were compiled.
  ProgramKernel(std::shared_ptr<const Program> program, std::size_t inputs, std::size_t planned_places)
      : owned_(std::move(program)), program_(*owned_), inputs_(inputs) {
    // With room for the operands of compiled parts too (native_program), so that those change no workspace.
    const std::size_t most = std::max(program_.places.size(), planned_places + program_.residents.size() + 1);
    table_ = round_up(static_cast<Bytes>(most * sizeof(void*)), 64);
    workspace_ = table_ + program_.arena_bytes;
  }
  void run(const Operands& o) const override {
    auto** table = static_cast<void**>(o.workspace);
    std::byte* arena = static_cast<std::byte*>(o.workspace) + table_;
    for (std::size_t i = 0; i < program_.places.size(); ++i) {
      const Place& p = program_.places[i];
      const auto r = static_cast<std::size_t>(p.resident);
      std::byte* base = p.resident < 0  ? arena
                        : r < inputs_ ? static_cast<std::byte*>(const_cast<void*>(o.in[r]))
                                      : static_cast<std::byte*>(o.out[r - inputs_]);
      table[i] = base + p.offset;
    }
    for (const Instr& instr : program_.instrs) {
      void* const* first = table + instr.first_place;
      instr.kernel->run({{first, static_cast<std::size_t>(instr.inputs)},
                         {first + instr.inputs, static_cast<std::size_t>(instr.outputs)},
                         first[instr.inputs + instr.outputs]});
    }
  }

 private:
  std::shared_ptr<const Program> owned_;
  const Program& program_;
  std::size_t inputs_;
  Bytes table_ = 0;
};

constexpr double kSeconds =
    0.3;  // of work: a stop for bodies that are very large; the effort decides otherwise
constexpr std::int64_t kEffort = 40;

// A plan that was written for this problem, for the times that it has now.
std::optional<plan::Plan> read_again(const plan::Problem& problem, const std::string& json) {
  try {
    plan::Plan plan = plan::read_plan(problem, json);
    const plan::Replay now = plan::replay(problem, plan);
    if (!now.broken.empty() || !plan.has_arena) return std::nullopt;
    plan.problem_hash = plan::hash(problem);
    plan.seconds = now.seconds;
    forget_proofs(plan);
    if (!plan::check(problem, plan).empty()) return std::nullopt;
    return plan;
  } catch (const Error& e) {
    if (e.kind() == Error::Kind::internal) throw;
    return std::nullopt;
  }
}

}  // namespace

std::shared_ptr<LoopStore> RegionCache::store(std::int64_t pair, const TierSpec& tier, Bytes state, std::int64_t count) {
  std::shared_ptr<LoopStore>& store = stores_[pair];
  if (!store) store = std::make_shared<LoopStore>(tier, state, count);
  return store;
}

void RegionCache::close_stores() {
  for (auto& [pair, store] : stores_) store->close();
}

std::string RegionCache::key(const Graph& region, Bytes budget, const PoseOptions& options) {
  return fmt::format("{} {} {}", hash(region), budget, options.threads);
}

const PlannedRegion* RegionCache::find(const std::string& key) const {
  const auto found = regions_.find(key);
  return found == regions_.end() ? nullptr : &found->second;
}

void RegionCache::expect(std::string key, std::string plan_json, std::string choices) {
  expected_.insert_or_assign(std::move(key), Expected{std::move(plan_json), std::move(choices)});
}

void RegionCache::forget() {
  expected_.clear();
  regions_.clear();
}

const PlannedRegion& RegionCache::at(const Graph& region, Bytes budget, const PoseOptions& given) {
  PoseOptions options = given;
  // Loops inside a step have a part of each tier; choose_loops sees to it that the parts are no more than the whole.
  for (TierSpec& tier : options.tiers) tier.bytes /= 8;
  const std::string key = RegionCache::key(region, budget, options);
  if (const PlannedRegion* known = find(key)) return *known;
  Graph g = optimise(with_destinations(region));
  const auto expected = expected_.find(key);
  std::optional<Graph> chosen;
  if (expected != expected_.end() && has_loops(g))
    chosen = with_loop_choices(g, expected->second.choices, options);
  // Loops inside take their part of the same budget.
  if (chosen) {
    g = *std::move(chosen);
  } else if (has_loops(g) && budget == kWhatever) {
    g = fastest_loops(std::move(g), options);
  } else if (has_loops(g) && budget == kLeast) {
    g = smallest_loops(std::move(g));
  } else if (has_loops(g)) {
    Bytes resident = 0;
    for (const ValueId v : g.inputs) resident += round_up(g.type(v).bytes(), 64);
    g = choose_loops(std::move(g), resident + budget, options, kSeconds).graph;
  }
  const std::size_t inputs = region.inputs.size();
  const auto kept = std::make_shared<const Posed>(pose(std::move(g), options));
  const Posed& posed = *kept;
  plan::Options solve_options{.time_limit = kSeconds, .effort = kEffort};
  const plan::WorkClock clock(posed.problem.tasks.size());
  plan::Plan plan;
  std::optional<plan::Plan> again;
  if (expected != expected_.end()) again = read_again(posed.problem, expected->second.plan_json);
  if (again) {
    plan = *std::move(again);
  } else if (budget == kWhatever) {
    plan = plan::run_planner(*plan::find_planner("store_all"), posed.problem, solve_options);
  } else if (budget == kLeast) {
    plan = plan::smallest_peak(posed.problem, solve_options).plan;
  } else {
    solve_options.budget = plan::resident_bytes(posed.problem) + budget;
    plan = plan::solve(posed.problem, solve_options);
    if (plan.status == plan::Plan::Status::infeasible || plan.status == plan::Plan::Status::timed_out)
      plan = plan::smallest_peak(posed.problem, solve_options).plan;
  }
  const std::string broken = plan::check(posed.problem, plan);
  TIDEMARK_CHECK(broken.empty(), "the plan of a loop's body breaks a rule: {}", broken);
  PlannedRegion made{.seconds = plan.seconds, .arena = plan.arena_bytes, .posed = kept};
  for (std::size_t k = 0; k < options.tiers.size(); ++k) made.in_tiers.push_back(loop_bytes(posed.binding.graph, k));
  made.program = std::make_shared<const Program>(lower(posed.problem, plan, posed.binding));
  made.kernel = std::make_shared<ProgramKernel>(made.program, inputs, made.program->places.size());
  made.plan = std::move(plan);
  return regions_.emplace(key, std::move(made)).first->second;
}

LoopTask loop_task(const Op& op, const KernelSpec& spec, const PoseOptions& given, const RegionForm& form) {
  PoseOptions options = given;
  if (!options.regions) options.regions = std::make_shared<RegionCache>();
  const Bytes budget = spec.attrs.integer("inner", RegionCache::kWhatever);
  std::vector<double> seconds(spec.regions.size(), 0);
  const RegionKernel region = [&](const Graph& g, int) {
    const PlannedRegion& planned = options.regions->at(g, budget, options);
    seconds[static_cast<std::size_t>(&g - spec.regions.data())] = planned.seconds;
    return form ? form(g, planned) : planned.kernel;
  };
  const auto trips = static_cast<double>(spec.attrs.integer("trips", 1));
  // States in a tier, of either half of a pair.
  const auto stored = [&](LoopCosts& costs) -> std::shared_ptr<LoopStore> {
    costs.period = spec.attrs.integer("period", 0);
    costs.extra = spec.attrs.integer("extra", -1);
    if (costs.period == 0) costs.splits = splits_of(spec.attrs);
    costs.places = spec.attrs.integer("places", 0), costs.tier_places = spec.attrs.integer("tier_places", 0);
    costs.start = spec.attrs.integer("start", 0);
    if (spec.attrs.find("tier") == nullptr) return nullptr;
    const TierSpec& tier = options.tiers.at(static_cast<std::size_t>(spec.attrs.integer("tier")));
    costs.in_tier_at(tier);
    return options.regions->store(spec.attrs.integer("store"), tier, costs.state, costs.in_tier());
  };
  if (&op == &scan_op) {
    auto kernel = scan_kernel(spec, region);
    return {std::move(kernel), trips * seconds[0]};
  }
  if (&op == &while_op) {
    // How often it will run is not known; what matters is that it is not made again lightly.
    auto kernel = while_kernel(spec, region);
    return {std::move(kernel), std::min(trips, 1000.0) * (seconds[0] + seconds[1])};
  }
  if (&op == &cond_op) {
    auto kernel = cond_kernel(spec, region);
    return {std::move(kernel), std::max(seconds[0], seconds[1])};
  }
  if (&op == &scan_saving_op || &op == &while_saving_op) {
    const bool online = &op == &while_saving_op;
    std::vector<Type> state;
    for (const std::int64_t i : spec.attrs.integers("snapshot")) state.push_back(spec.in[static_cast<std::size_t>(i)].type);
    LoopCosts costs{.trips = spec.attrs.integer("trips"), .state = snapshot_bytes(state), .tape = spec.attrs.integer("tape", 0), .online = online};
    std::shared_ptr<LoopStore> store = stored(costs);
    auto kernel = online ? while_saving_kernel(spec, region, std::move(store)) : saving_kernel(spec, region, std::move(store));
    const double condition = online ? seconds[1] : 0;
    costs.body = seconds[0] + condition;
    if (costs.tape > 0) costs.body_taping = seconds.back() + condition;
    return {std::move(kernel), costs.first_sweep(spec.attrs.integer("bytes"))};
  }
  if (&op == &scan_adjoint_op) {
    const AdjointShape s = adjoint_shape(spec.attrs, spec.regions);
    LoopCosts costs{.trips = s.trips, .state = s.state, .tape = s.tape, .online = s.counted};
    auto kernel = adjoint_kernel(spec, region, stored(costs));
    costs.advance = seconds[0], costs.adjoint = seconds[1];
    if (costs.tape > 0) costs.taping = seconds[2], costs.untaping = seconds[3];
    return {std::move(kernel), costs.reverse_sweep(s.bytes)};
  }
  return {std::shared_ptr<const Kernel>(prepare(op, spec)), 0};
}

namespace {

EmitOptions emit_options(const PoseOptions& options, bool exact) {
  EmitOptions result{.name = options.name, .exact = exact};
  for (char& c : result.name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  result.region = [&](const Node& node, std::size_t which) {
    const PlannedRegion& planned = options.regions->at(node.regions[which], node.attrs.integer("inner", RegionCache::kWhatever), options);
    return EmitSource{planned.posed->binding, *planned.program};
  };
  return result;
}

}  // namespace

std::string emit_program(const Binding& binding, const Program& program, const PoseOptions& options) {
  return emit({binding, program}, emit_options(options, false));
}

Program with_native_parts(const Binding& binding, const Program& program, const PoseOptions& options, const NativeOptions& native) {
  const EmittedParts parts = emit_parts({binding, program}, emit_options(options, true));
  std::vector<std::shared_ptr<const Kernel>> kernels;
  for (std::size_t k = 0; k < parts.runs.size(); ++k) {
    NativeOptions one = native;
    one.entry = entry_of_part(k);
    kernels.push_back(load_native(parts.text, program.arena_bytes, one));
  }
  Program made = native_program(program, parts, kernels);
  // Loops that keep states in a tier are the executor's; their steps are compiled.
  const RegionForm compiled = [&](const Graph& region, const PlannedRegion& planned) -> std::shared_ptr<const Kernel> {
    auto steps = std::make_shared<const Program>(with_native_parts(planned.posed->binding, *planned.program, options, native));
    return std::make_shared<ProgramKernel>(std::move(steps), region.inputs.size(), planned.program->places.size());
  };
  for (Instr& instr : made.instrs) {
    const std::int32_t n = instr.kind != Instr::Kind::run ? -1 : binding.node_of_task[static_cast<std::size_t>(instr.task)];
    if (n < 0 || dynamic_cast<const CompiledPart*>(instr.kernel) != nullptr) continue;
    const Node& node = binding.graph.nodes[static_cast<std::size_t>(n)];
    if (!is_loop(*node.op) || (node.attrs.find("tier") == nullptr && node.attrs.find("inner_tiers") == nullptr)) continue;
    const std::shared_ptr<const Kernel> kernel = loop_task(*node.op, spec_of(binding.graph, node, options.threads), options, compiled).kernel;
    TIDEMARK_CHECK(kernel->workspace() <= instr.kernel->workspace(), "[native] a loop's workspace grows from {} to {}", instr.kernel->workspace(), kernel->workspace());
    instr.kernel = kernel.get();
    made.kernels.push_back(kernel);
  }
  return made;
}

}  // namespace tidemark
