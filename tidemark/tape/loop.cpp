// SPDX-License-Identifier: Apache-2.0
#include "tidemark/tape/loop.h"

#include <time.h>

#include <algorithm>
#include <utility>

#include "tidemark/base/error.h"
#include "tidemark/tape/loop_sweep.h"

namespace tidemark {
namespace tape {
namespace {

using schedule::Action;

double seconds_now() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Actions counted once and then carried out.
class Recorded final : public schedule::Schedule {
 public:
  explicit Recorded(std::vector<Action> actions) : actions_(std::move(actions)) {}
  Action next() override { return at_ < actions_.size() ? actions_[at_++] : Action{}; }

 private:
  std::vector<Action> actions_;
  std::size_t at_ = 0;
};

// Taped, which tells its size, and not: both must come to one state, for the gradient would depend on the budget. The working state is then
// that behind it.
void try_first_step(Loop& loop) {
  loop.tape(0);
  std::vector<std::byte> taped;
  loop.save(taped);
  loop.restart();
  loop.advance(0);
  if (!loop.stands_at(taped))
    fail(Error::Kind::usage,
         "[checkpointed] the state behind the first step vs another where that step is kept or taped; a step "
         "must "
         "do the same for every scalar, and be compiled with -ffp-contract=off, and `keep` of a loop by hand "
         "goes on as `step` "
         "does");
}

// What was predicted. `reserved`, here and below: for what the end takes more than the first state shows.
void carry_out(Loop& loop, schedule::Schedule& schedule, std::int64_t steps, Bytes reserved,
               CheckpointReport& report, const std::function<void(Carrier&)>& set) {
  report.peak += report.beside;
  Account account;
  account.add(report.beside);
  Carrier carrier(loop, account, report);
  carrier.end = steps;
  carrier.reserved = reserved;
  set(carrier);
  carrier.run(schedule, 0);
  report.measured_peak = account.peak;
}

void reverse_unequal(Loop& loop, std::span<const schedule::ChainStep> sizes, const CheckpointOptions& options,
                     Bytes reserved, CheckpointReport& report) {
  const auto steps = static_cast<std::int64_t>(sizes.size());
  // The working state is the largest in turn.
  report.largest_state = report.state;
  for (const schedule::ChainStep& step : sizes) {
    report.largest_state = std::max(report.largest_state, step.state);
    report.all_states += step.state;
  }
  report.beside = loop.beside_with(report.largest_state) + reserved;
  const Bytes bytes = std::max<Bytes>(0, options.memory - report.beside);
  // Planning may take about a tenth of what one run of the loop takes.
  double forward = 0;
  for (const schedule::ChainStep& step : sizes) forward += step.forward;
  const schedule::Chain chain =
      schedule::chain(sizes, {.budget = bytes, .work = std::clamp(1e9 * forward, 1e8, 1e10)});
  if (!chain.schedule)
    fail(Error::Kind::infeasible,
         "[checkpointed] memory {} vs at least {}: states and the largest step's tape, and {} beside them",
         format_bytes(options.memory), format_bytes(chain.smallest + report.beside),
         format_bytes(report.beside));
  report.schedule = "chain";
  std::vector<Action> actions;
  predict(
      *chain.schedule, steps, [&](std::int64_t i) { return sizes[static_cast<std::size_t>(i)].state; },
      [&](std::int64_t i) { return sizes[static_cast<std::size_t>(i)].tape; }, report.forward_steps,
      report.peak, [&](const Action& a) { actions.push_back(a); });
  Recorded recorded(std::move(actions));
  carry_out(loop, recorded, steps, reserved, report, [&](Carrier& carrier) {
    carrier.tape_bytes = [&](std::int64_t i) { return sizes[static_cast<std::size_t>(i)].tape; };
    carrier.state_bytes = [&](std::int64_t i) { return sizes[static_cast<std::size_t>(i)].state; };
  });
}

void reverse_equal(Loop& loop, std::int64_t steps, const Choice& choice, Bytes reserved,
                   CheckpointReport& report) {
  loop.restart();
  predict(
      *make(choice, steps), steps, [&](std::int64_t) { return report.state; },
      [&](std::int64_t) { return report.tape; }, report.forward_steps, report.peak);
  carry_out(loop, *make(choice, steps), steps, reserved, report,
            [](Carrier& carrier) { carrier.can_measure = true; });
}

CheckpointReport begun(const Loop& loop, std::int64_t steps, const CheckpointOptions& options) {
  CheckpointReport report;
  report.steps = steps;
  report.budget = options.memory;
  report.beside = loop.beside();
  report.state = loop.state_bytes();
  return report;
}

CheckpointReport reverse_in(Loop& loop, std::int64_t steps, const CheckpointOptions& options,
                            Bytes reserved) {
  CheckpointReport report = begun(loop, steps, options);
  if (steps == 0 || (steps < 0 && loop.ended(0))) {
    report.steps = 0;
    loop.finish();
    return report;
  }
  if (options.disk > 0 && options.folder.empty())
    fail(Error::Kind::usage, "[checkpointed] {} on disk vs no folder to have them in; name one (.folder)",
         format_bytes(options.disk));
  if (!options.steps.empty() && steps < 0)
    fail(Error::Kind::usage,
         "[checkpointed] sizes of {} steps vs a loop that ends by itself; give the number of steps, or no "
         "sizes",
         options.steps.size());
  if (!options.steps.empty() && !options.folder.empty())
    fail(Error::Kind::usage,
         "[checkpointed] sizes of {} steps vs snapshots in '{}', which are for equal steps; leave one of "
         "them away",
         options.steps.size(), options.folder);
  if (!options.steps.empty()) {
    if (steps != static_cast<std::int64_t>(options.steps.size()))
      fail(Error::Kind::usage, "[checkpointed] {} steps vs sizes of {}", steps, options.steps.size());
    try_first_step(loop);
    loop.restart();
    reverse_unequal(loop, options.steps, options, reserved, report);
    return report;
  }
  try_first_step(loop);
  report.tape = loop.settle();
  report.beside = loop.beside() + reserved;
  // What is written is copied first.
  if (!options.folder.empty())
    report.beside += std::max(report.state, static_cast<Bytes>(loop.save_adjoint().size()));
  const Bytes bytes = options.memory - report.beside;
  const bool all_fit = steps > 0 && report.tape <= bytes / steps;
  if (!all_fit && bytes < report.state + report.tape)
    fail(Error::Kind::infeasible,
         "[checkpointed] memory {} vs at least {}: a state of {}, a step's tape of {} and {} beside them",
         format_bytes(options.memory), format_bytes(report.beside + report.state + report.tape),
         format_bytes(report.state), format_bytes(report.tape), format_bytes(report.beside));
  if (steps < 0) {
    reverse_online(loop, options, bytes, report);
    return report;
  }
  const Choice choice = choose(steps, bytes, report.state, report.tape);
  report.schedule = choice.name;
  report.slots = choice.slots;
  if (!options.folder.empty()) {
    reverse_with_files(loop, steps, options, bytes, report);
    return report;
  }
  try {
    reverse_equal(loop, steps, choice, reserved, report);
  } catch (const StepsDiffer&) {
    if (!loop.unsettle()) throw;
    loop.restart();
    const std::vector<schedule::ChainStep> sizes = measure_steps(loop, steps);
    loop.restart();
    report = begun(loop, steps, options);
    reverse_unequal(loop, sizes, options, reserved, report);
  }
  return report;
}

}  // namespace

CheckpointReport reverse_loop(Loop& loop, std::int64_t steps, const CheckpointOptions& options) {
  try {
    return reverse_in(loop, steps, options, 0);
  } catch (const EndTakesMore& e) {
    // Once more, with room for it; what lies on disk, or ends by itself, is planned for as it comes.
    if (steps < 0 || !options.folder.empty() || !loop.unsettle()) throw;
    loop.restart();
    return reverse_in(loop, steps, options, e.more);
  }
}

std::vector<schedule::ChainStep> measure_steps(Loop& loop, std::int64_t steps) {
  std::vector<schedule::ChainStep> result;
  for (std::int64_t i = 0; i < steps; ++i) {
    schedule::ChainStep step;
    std::vector<std::byte> before;
    loop.save(before);
    step.state = static_cast<Bytes>(before.size());
    const double start = seconds_now();
    step.tape = loop.tape(i)->bytes();
    const double taped = seconds_now();
    loop.restore(before.data());
    const double again = seconds_now();
    loop.advance(i);
    step.forward = seconds_now() - again;
    step.adjoint = taped - start;  // recording takes about as long as the sweep
    result.push_back(step);
  }
  return result;
}

}  // namespace tape

namespace {

std::string with_commas(std::int64_t n) {
  std::string digits = std::to_string(n);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits;
}

}  // namespace

std::string CheckpointReport::explain() const {
  std::string text =
      fmt::format("{} steps of {}{} in {}: ", with_commas(steps), format_bytes(state),
                  largest_state > state ? " to " + format_bytes(largest_state) : "", format_bytes(budget));
  if (schedule == "store_all")
    text += fmt::format("all {} tapes of {} are kept", with_commas(steps), format_bytes(tape));
  else if (schedule == "chain")
    text += "snapshots and tapes as the exact plan for unequal steps says";
  else if (schedule == "sized")
    text += fmt::format("{} snapshots or {} tapes of {}", with_commas(slots),
                        with_commas((budget - beside) / std::max<Bytes>(tape, 1)), format_bytes(tape));
  else
    text += fmt::format("{} snapshot{} and a {} step", with_commas(slots), slots == 1 ? "" : "s",
                        format_bytes(tape));
  if (disk_slots > 0) text += fmt::format(", {} on disk", with_commas(disk_slots));
  if (steps > 0)
    text += fmt::format("; {:.1f} forward runs a step",
                        static_cast<double>(forward_steps) / static_cast<double>(steps));
  if (compiled_steps + taped_steps > 0) {
    text += fmt::format("; {} reversed by {} compiled path{}", with_commas(compiled_steps), paths,
                        paths == 1 ? "" : "s");
    if (taped_steps > 0) text += fmt::format(", {} by the tape ({})", with_commas(taped_steps), not_compiled);
  }
  text += fmt::format("; peak {}; all states would take {}", format_bytes(peak),
                      format_bytes(all_states > 0 ? all_states : steps * state));
  return text;
}

}  // namespace tidemark
