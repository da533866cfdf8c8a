// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/parts.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "tidemark/base/text.h"
#include "tidemark/compile/compile.h"
#include "tidemark/compile/loop_choices.h"
#include "tidemark/compile/loops.h"
#include "tidemark/compile/micro_batches.h"
#include "tidemark/compile/pins.h"
#include "tidemark/compile/plan_cache.h"
#include "tidemark/compile/plan_notes.h"
#include "tidemark/compile/refusal.h"
#include "tidemark/compile/tiers.h"
#include "tidemark/plan/budget.h"
#include "tidemark/plan/cpu_clock.h"

namespace tidemark {
namespace {

std::vector<int> batch_of(const Graph& graph, const MicroBatches& how) {
  return how.inputs.empty() ? batch_inputs(graph, how.arguments) : batch_inputs(graph, how.inputs);
}

// A weight in front of the batch may be as long by chance. Which inputs are cut changes no result, only what can be cut: where all of
// them cannot, those in front are left out one after the other.
Graph split(const Graph& graph, const MicroBatches& how, int parts) {
  const std::vector<int> batch = batch_of(graph, how);
  std::string refused;
  for (std::size_t first = 0; first < batch.size(); ++first) {
    try {
      return split_batch(graph, std::span(batch).subspan(first), parts);
    } catch (const Error& e) {
      if (e.kind() != Error::Kind::unsupported) throw;
      if (refused.empty()) refused = e.what();
      if (!how.inputs.empty()) break;
    }
  }
  if (refused.empty()) return split_batch(graph, batch, parts);  // says that there is none
  std::string taken;
  for (const int i : batch)
    taken += fmt::format("{}{}", taken.empty() ? "" : ", ",
                         to_string(graph.type(graph.inputs[static_cast<std::size_t>(i)])));
  throw Error(
      Error::Kind::unsupported,
      fmt::format("{} (cut were {}; .micro_batches = {{{}, {{…}}}} names the arguments that are the batch)",
                  refused, taken, parts));
}

// Sums over parts are not joined again: that would keep all of them.
Graph optimised(const Graph& graph, const CompileOptions& options, int parts) {
  if (parts == 1) return optimise(graph, options.passes);
  OptimiseOptions passes = options.passes;
  passes.join = false;
  Graph flat = inline_calls(graph);
  if (passes.simplify) flat = simplified(std::move(flat));
  return optimise(split(flat, options.micro_batches, parts), passes);
}

Planned planned_program(Posed& posed, const CompileOptions& options, const PoseOptions& pose_options,
                        std::span<const TierSpec> tiers, const Replanning& how = {}) {
  return plan_posed(posed, options, left_by_loops(posed.binding.graph, tiers), pose_options.threads,
                    pose_options.profile, how);
}

// Where the choices for the loops of this program lie in the folder of plans; "": nowhere. The key has all that they depend on.
std::string loop_file(const Graph& graph, const CompileOptions& options, const PoseOptions& pose_options) {
  if (options.plan_cache.empty()) return "";
  std::string about =
      fmt::format("loops {} {} {}", hash(graph), static_cast<int>(options.memory.kind), options.time_limit);
  if (options.memory.kind == Budget::Kind::fraction) about += fmt::format(" {}", options.memory.fraction);
  for (const Pin& p : options.pins) about += " " + to_string(p);
  for (const TierSpec& t : pose_options.tiers)
    about += fmt::format(" {} {} {} {} {} {}", t.name, t.bytes, t.read_bytes_per_second,
                         t.write_bytes_per_second, t.latency_seconds, t.can_fail());
  const plan::Problem problem = pose(graph, pose_options).problem;
  const Bytes budget = options.memory.kind == Budget::Kind::bytes ? options.memory.bytes : -1;
  return fmt::format("{}/{}.loops.json", options.plan_cache,
                     plan_key(problem, budget, problem.device, pose_options.threads, about));
}

// The object with a field in front that says what the rest is: other areas could be run as well, but not fit.
std::string with_key(std::string_view rest) {
  return fmt::format("{{\"key\": \"{}\", {}", text_key(rest), rest);
}

// The choices are as good where they cannot be written.
void keep_choices(const std::string& path, const Graph& graph, const PoseOptions& pose_options) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  try {
    write_file(path, with_key(loop_choices(graph, pose_options).substr(1)));
  } catch (const Error& e) {
    if (e.kind() != Error::Kind::io) throw;
  }
}

// "": none, or damaged.
std::string kept_choices(const std::string& path) {
  std::error_code error;
  if (path.empty() || !std::filesystem::is_regular_file(path, error)) return "";
  try {
    std::string text = read_file(path);
    const std::size_t front = with_key("").size();
    return text.size() > front && text == with_key(std::string_view(text).substr(front)) ? text : "";
  } catch (const Error&) {
    return "";
  }
}

Posed posed_program(const Graph& graph, CompileOptions& options, const PoseOptions& pose_options, int parts) {
  Graph whole = optimised(graph, options, parts);
  if (!has_loops(whole)) return pose(std::move(whole), pose_options);
  // What a plan was made for is not searched for again: with other times it would not come out the same.
  std::string choices, kept;
  if (!options.plan_file.empty()) {
    choices = loop_choices_in(read_file(options.plan_file));
  } else {
    kept = loop_file(whole, options, pose_options);
    choices = kept_choices(kept);
  }
  if (std::optional<Graph> chosen = with_loop_choices(whole, choices, pose_options)) {
    settle_fraction(whole, options.memory, pose_options);
    return pose(*std::move(chosen), pose_options);
  }
  ChosenLoops loops =
      fit_loops(std::move(whole), options.memory, pose_options, options.time_limit, options.pins);
  Posed posed = pose(std::move(loops.graph), pose_options);
  posed.known = std::move(loops.plan);
  if (!kept.empty()) keep_choices(kept, posed.binding.graph, pose_options);
  return posed;
}

// Whether areas fit was found without what updates wait for: where they do not, the smallest may.
Planned planned_program_or_smallest(Posed& posed, const Graph& graph, const CompileOptions& options,
                                    const PoseOptions& pose_options, int parts,
                                    std::span<const TierSpec> tiers, const Replanning& how) {
  const bool may_differ = has_loops(posed.binding.graph) && options.memory.kind == Budget::Kind::bytes &&
                          options.plan_file.empty() && options.planner.empty();
  const auto smallest = [&] { return smallest_loops(optimised(graph, options, parts)); };
  if (!may_differ || (!posed.known && hash(smallest()) == hash(posed.binding.graph)))
    return planned_program(posed, options, pose_options, tiers, how);
  try {
    Replanning first = how;
    // What the search for few bytes would find here it finds in the smallest too.
    first.explain = first.down = false;
    return planned_program(posed, options, pose_options, tiers, first);
  } catch (const Error& e) {
    if (e.kind() != Error::Kind::infeasible) throw;
  }
  posed = pose(smallest(), pose_options);
  return planned_program(posed, options, pose_options, tiers, how);
}

// A fraction is of what keeping everything takes in one part, with what tiers hold from the start elsewhere: the same bytes for every
// number of parts, and with every pin.
void settle_budget(Posed lone, CompileOptions& options, std::span<const TierSpec> tiers) {
  if (options.memory.kind != Budget::Kind::fraction) return;
  add_tiers(lone, left_by_loops(lone.binding.graph, tiers));
  options.memory = budget_of(lone.problem, options.memory);
}

// Divisors of the batch up to `most`, each at least half as many again as the one before.
std::vector<int> numbers_of_parts(std::int64_t batch, std::int64_t most) {
  std::vector<std::int64_t> divisors;
  for (std::int64_t d = 1; d <= batch / d; ++d) {
    if (batch % d != 0) continue;
    divisors.push_back(d);
    divisors.push_back(batch / d);
  }
  std::sort(divisors.begin(), divisors.end());
  std::vector<int> numbers;
  for (const std::int64_t d : divisors) {
    if (d > 1 && d <= most && (numbers.empty() || 2 * d >= 3 * std::int64_t{numbers.back()}))
      numbers.push_back(static_cast<int>(d));
  }
  return numbers;
}

// More parts than make so many tasks are none that a plan is found for in the time.
std::int64_t most_parts(const plan::Problem& whole) {
  constexpr std::int64_t kTasks = 40'000, kParts = 64;
  return std::max(kTasks / static_cast<std::int64_t>(whole.tasks.size() + 1), kParts);
}

// What is there in any number of parts: what is resident, and results, which are added up.
Bytes least_of_any_parts(const plan::Problem& whole) {
  Bytes bytes = plan::resident_bytes(whole);
  for (const plan::BufferId b : whole.outputs) {
    if (!whole.buffers[static_cast<std::size_t>(b)].resident) bytes += whole.size(b);
  }
  return bytes;
}

class Choosing {
 public:
  Choosing(Graph graph, CompileOptions& options, const PoseOptions& pose_options,
           std::span<const TierSpec> tiers, const Replanning& how)
      : graph_(std::move(graph)), options_(options), pose_options_(pose_options), tiers_(tiers), how_(how) {}

  PlannedParts run() {
    std::string refused;
    Posed lone = posed_program(graph_, options_, pose_options_, 1);
    settle_budget(lone, options_, tiers_);
    const std::int64_t most = most_parts(lone.problem);
    const bool hopeless = options_.memory.kind == Budget::Kind::bytes && tiers_.empty() &&
                          least_of_any_parts(lone.problem) > options_.memory.bytes;
    try {
      offer(std::move(lone), 1);
    } catch (const Error& e) {
      if (e.kind() != Error::Kind::infeasible) throw;
      refused = e.what();
    }
    const double lone_seconds = best_ ? best_->planned.plan.seconds : 0;
    std::string in_parts, coupled;
    const Bytes budget = options_.memory.bytes;
    for (const int parts : numbers_of_parts(hopeless ? 0 : batch_size(graph_, batch_), most)) {
      try {
        Posed posed = posed_program(graph_, options_, pose_options_, parts);
        if (best_ && !minimum() && plan::floor_seconds(posed.problem) >= best_->planned.plan.seconds) break;
        offer(std::move(posed), parts);
      } catch (const Error& e) {
        if (e.kind() == Error::Kind::infeasible) {
          in_parts = fmt::format("; in {} parts, the most that were tried: {}", parts, e.what());
          continue;
        }
        if (e.kind() != Error::Kind::unsupported) throw;
        coupled = e.what();
        break;
      }
    }
    if (!best_)
      throw Error(Error::Kind::infeasible,
                  fmt::format("[compile] {} does not fit {} in any number of parts; as a whole: {}{}{}",
                              options_.name, format_bytes(budget), refused, in_parts,
                              coupled.empty() ? "" : "; " + coupled));
    if (best_->parts > 1) {
      best_->why =
          fmt::format("the batch of {} is worked through in {} parts, {:.3g} s a step: as a whole {}",
                      batch_size(graph_, batch_), best_->parts, best_->planned.plan.seconds,
                      !refused.empty() ? "it does not fit" : fmt::format("it takes {:.3g} s", lone_seconds));
    }
    return *std::move(best_);
  }

 private:
  bool minimum() const { return options_.memory.kind == Budget::Kind::minimum; }

  void offer(Posed posed, int parts) {
    Replanning how = how_;
    how.explain = how_.explain && parts == 1;
    Planned planned = planned_program_or_smallest(posed, graph_, options_, pose_options_, parts, tiers_, how);
    const bool better = !best_ || (minimum() ? planned.plan.peak < best_->planned.plan.peak
                                             : planned.plan.seconds < best_->planned.plan.seconds);
    if (better) best_ = PlannedParts{std::move(posed), std::move(planned), parts};
  }

  Graph graph_;
  CompileOptions& options_;
  const PoseOptions& pose_options_;
  std::span<const TierSpec> tiers_;
  const Replanning& how_;
  std::vector<int> batch_ = batch_of(graph_, options_.micro_batches);
  std::optional<PlannedParts> best_;
};

// Changes of the options under which a program that was refused fits: each is planned, for a short while and all for a few times the time limit. Sorted by
// time.
class Changes {
 public:
  Changes(const Graph& graph, const CompileOptions& options, const PoseOptions& pose_options,
          std::span<const TierSpec> tiers)
      : graph_(graph), options_(options), pose_options_(pose_options), tiers_(tiers.begin(), tiers.end()) {
    constexpr double kShort = 0.3, kTimes = 5, kAtLeast = 0.5, kMost = 2;  // large programs take long to pose
    options_.time_limit = std::min(options.time_limit, kShort);
    most_ = std::clamp(kTimes * options.time_limit, kAtLeast, kMost);
    options_.plan_cache.clear();
  }

  std::string run() {
    if (options_.memory.kind != Budget::Kind::bytes) return "";
    const plan::Problem whole = posed_program(graph_, options_, pose_options_, 1).problem;
    // What is there before the step begins stays.
    if (tiers_.empty() && plan::resident_bytes(whole) > options_.memory.bytes) return "";
    const int parts = std::max(options_.micro_batches.parts, 1);
    std::string text = without_pins(parts);
    offer_single_ops(parts);
    if (options_.micro_batches.parts == 1) more_parts(most_parts(whole));
    if (tiers_.empty() && !options_.native) {
      offer_host(parts);
      tiers_.clear();
    }
    if (options_.allow.empty() && options_.makers) {
      options_.allow = {"bf16"};
      offer(parts, ".allow = {\"bf16\"}, which rounds");
    }
    std::stable_sort(found_.begin(), found_.end(),
                     [](const Found& a, const Found& b) { return a.seconds < b.seconds; });
    for (std::size_t i = 0; i < found_.size(); ++i)
      text += fmt::format("{}{} ({})",
                          i > 0          ? ", or "
                          : text.empty() ? "it fits, cheapest first, with "
                                         : "; it fits, cheapest first, with ",
                          found_[i].what, format_seconds(found_[i].seconds));
    return text;
  }

 private:
  static constexpr double kHostRate = 8e9;
  struct Found {
    double seconds;
    std::string what;
  };
  // The pins without which it fits, as few as are found by putting one after the other back.
  std::string without_pins(int parts) {
    const std::vector<Pin> all = options_.pins;
    if (all.empty()) return "";
    std::vector<char> out(all.size(), 1);
    const auto fits_so = [&] {
      options_.pins.clear();
      for (std::size_t p = 0; p < all.size(); ++p) {
        if (!out[p]) options_.pins.push_back(all[p]);
      }
      return fits(parts).has_value();
    };
    std::string text;
    if (fits_so()) {
      for (std::size_t p = 0; p < all.size(); ++p) {
        out[p] = 0;
        out[p] = !fits_so();
      }
      text = cause(all, out, parts);
    }
    options_.pins = all;
    return text;
  }
  std::string cause(const std::vector<Pin>& all, const std::vector<char>& out, int parts) {
    const plan::Problem problem = posed_program(graph_, options_, pose_options_, parts).problem;
    const auto decided = pinned_buffers(problem, all);
    std::vector<std::string> named;
    for (std::size_t p = 0; p < all.size(); ++p) {
      if (!out[p]) continue;
      std::vector<plan::BufferId> stored;
      for (const plan::BufferId b : decided[p]) {
        if (!problem.buffers[static_cast<std::size_t>(b)].resident) stored.push_back(b);
      }
      named.push_back(fmt::format("{}, which holds {} value{}: {}", to_string(all[p]), stored.size(),
                                  stored.size() == 1 ? "" : "s", list_of(problem, stored)));
    }
    options_.pins = all;
    begun_ = plan::cpu_seconds();  // told at any rate
    const Budget wanted = std::exchange(options_.memory, Budget::minimum());
    const std::optional<Fitting> least = fits(parts);
    options_.memory = wanted;
    return fmt::format(
        "it fits without the pin{} {}; remove {}, or raise the budget{}", named.size() > 1 ? "s" : "",
        join(named, ", and "), named.size() > 1 ? "them" : "it",
        least ? " to " + format_bytes(rounded_up(least->planned.plan.peak), wanted.bytes) : "");
  }
  // One kernel for a chain of elementwise ops makes all of its values that are wanted later at once. Bits are the same.
  void offer_single_ops(int parts) {
    if (!std::exchange(options_.passes.fuse, false)) return;
    offer(parts, ".passes.fuse = false");
    options_.passes.fuse = true;
  }
  // A tier of the host's with as much room as a plan for a vast one used, or a little more: planned with just that.
  void offer_host(int parts) {
    Bytes room = 0;
    for (const double more : {0.0, 1.0, 1.25, 2.0}) {
      TierSpec tier =
          host(more == 0 ? 1024_GiB : rounded_up(static_cast<Bytes>(more * static_cast<double>(room))));
      tier.read_bytes_per_second = tier.write_bytes_per_second = kHostRate;
      tiers_ = {tier};
      const std::optional<Fitting> fitting = fits(parts);
      if (more == 0) room = fitting ? fitting->planned.program.tiers[0].bytes + fitting->loops_in_tier : 0;
      if (room == 0) return;
      if (more == 0 || !fitting) continue;
      found_.push_back(
          {fitting->planned.plan.seconds, fmt::format(".tiers = {{host({})}}", format_bytes(tier.bytes))});
      return;
    }
  }
  // The fewest that fit.
  void more_parts(std::int64_t most) {
    constexpr int kTries = 4;
    int tried = 0;
    for (const int parts :
         numbers_of_parts(batch_size(graph_, batch_of(graph_, options_.micro_batches)), most)) {
      if (offer(parts, fmt::format(".micro_batches = {}", parts)) || ++tried == kTries) return;
    }
  }
  bool offer(int parts, std::string what) {
    const std::optional<Fitting> fitting = fits(parts);
    if (fitting) found_.push_back({fitting->planned.plan.seconds, std::move(what)});
    return fitting.has_value();
  }
  struct Fitting {
    Planned planned;
    Bytes loops_in_tier = 0;
  };
  // None where it does not fit either, or cannot be.
  std::optional<Fitting> fits(int parts) {
    if (plan::cpu_seconds() - begun_ > most_) return std::nullopt;
    try {
      CompileOptions options = options_;
      PoseOptions pose_options = pose_options_;
      if (!tiers_.empty()) pose_options.tiers = tiers_;
      Posed posed = posed_program(graph_, options, pose_options, parts);
      Fitting fitting{planned_program_or_smallest(posed, graph_, options, pose_options, parts, tiers_,
                                                  {.explain = false, .down = false})};
      if (!tiers_.empty()) fitting.loops_in_tier = loop_bytes(posed.binding.graph, 0);
      return fitting;
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  const Graph& graph_;
  CompileOptions options_;
  const PoseOptions& pose_options_;
  std::vector<TierSpec> tiers_;
  std::vector<Found> found_;
  double begun_ = plan::cpu_seconds(), most_;
};

}  // namespace

Posed posed_of(const Graph& graph, const CompileOptions& options) {
  const std::shared_ptr<Device> device = options.device ? options.device : cpu();
  const auto profile = profile_for(options, *device);
  Posed posed = pose(optimised(graph, options, std::max(options.micro_batches.parts, 1)),
                     {.threads = device->threads(), .profile = profile.get(), .name = options.name});
  std::vector<TierSpec> tiers;
  for (const TierSpec& tier : options.tiers) tiers.push_back(measured(tier));
  add_tiers(posed, tiers);
  return posed;
}

namespace {

PlannedParts plan_as_asked(const Graph& graph, CompileOptions& options, const PoseOptions& pose_options,
                           std::span<const TierSpec> tiers, const Replanning& how) {
  int parts = options.micro_batches.parts;
  if (!options.plan_file.empty()) {
    const PlanNotes notes = read_notes(read_file(options.plan_file));
    // What a fraction is of depends on how fast loops are found to be; else it is not the file's to say.
    if (options.memory.kind == Budget::Kind::fraction && notes.fraction == options.memory.fraction &&
        has_loops(inline_calls(graph)))
      options.memory = notes.bytes;
    // Of as many parts as were best then.
    if (parts == 0) parts = 1;
    if (options.micro_batches.parts == 0 && notes.parts > 1 &&
        batch_size(graph, batch_of(graph, options.micro_batches)) % notes.parts == 0)
      parts = notes.parts;
  }
  // Without a budget nothing is gained.
  const bool unlimited = options.memory.kind == Budget::Kind::unlimited;
  if (parts == 0 && !unlimited) return Choosing(graph, options, pose_options, tiers, how).run();
  PlannedParts result{.parts = std::max(parts, 1)};
  if (result.parts > 1 && options.memory.kind == Budget::Kind::fraction)
    settle_budget(pose(optimised(graph, options, 1), pose_options), options, tiers);
  result.posed = posed_program(graph, options, pose_options, result.parts);
  settle_budget(result.posed, options, tiers);
  result.planned =
      planned_program_or_smallest(result.posed, graph, options, pose_options, result.parts, tiers, how);
  return result;
}

// Updates wait for copies of a loop's states that can fail, which may take more than there is: then its states are kept elsewhere.
std::optional<PlannedParts> with_calm_loops(const Graph& graph, CompileOptions& options,
                                            const PoseOptions& pose_options, std::span<const TierSpec> tiers,
                                            const Replanning& how) {
  const auto fails = [](const TierSpec& t) { return t.can_fail(); };
  if (!options.atomic || !options.plan_file.empty() || std::none_of(tiers.begin(), tiers.end(), fails) ||
      !has_loops(inline_calls(graph)))
    return std::nullopt;
  PoseOptions calm = pose_options;
  for (TierSpec& t : calm.tiers) t.bytes = fails(t) ? 0 : t.bytes;
  calm.regions->forget();
  try {
    return plan_as_asked(graph, options, calm, tiers, how);
  } catch (const Error& e) {
    if (e.kind() != Error::Kind::infeasible) throw;
    return std::nullopt;
  }
}

}  // namespace

// A refusal plans the graph again, so it cannot be given away.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
PlannedParts plan_parts(Graph graph, CompileOptions& options, const PoseOptions& pose_options,
                        std::span<const TierSpec> tiers, const Replanning& how) {
  if (options.micro_batches.parts < 0)
    fail(Error::Kind::usage, "[micro_batches] {} parts vs a number from 1 on, or may_split",
         options.micro_batches.parts);
  try {
    return plan_as_asked(graph, options, pose_options, tiers, how);
  } catch (const Error& e) {
    if (e.kind() != Error::Kind::infeasible || !options.planner.empty()) throw;
    if (std::optional<PlannedParts> calm = with_calm_loops(graph, options, pose_options, tiers, how))
      return *std::move(calm);
    if (!how.explain) throw;
    const std::string changes = Changes(graph, options, pose_options, tiers).run();
    if (changes.empty()) throw;
    throw Error(e.kind(), fmt::format("{}; {}", e.what(), changes));
  }
}

}  // namespace tidemark
