// tidemark schedule: what a checkpoint schedule costs, counted by carrying it out.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "tidemark/base/error.h"
#include "tidemark/base/json.h"
#include "tidemark/cli/terminal.h"
#include "tidemark/cli/verb.h"
#include "tidemark/schedule/registry.h"

namespace tidemark::cli {
namespace {

constexpr std::int64_t kMostSteps = 1'000'000'000;

class ScheduleVerb : public Command {
 public:
  void declare(Args& args) override {
    args.positional("name", name_, "One of the schedules below");
    std::vector<std::string> known;
    for (const schedule::Named& s : schedule::schedules()) known.emplace_back(s.name);
    args.choices("name", known);
    args.option("--steps", spec_.steps, "Steps of the loop");
    args.required("--steps");
    args.option("--slots", spec_.slots, "States that fit in memory");
    args.option("--disk-slots", spec_.disk_slots, "States that fit on disk");
    args.option("--period", spec_.period, "For periodic: steps between kept states");
    args.option("--write", spec_.write, "Cost of keeping a state, in forward steps");
    args.option("--read", spec_.read, "Cost of getting one back, in forward steps");
    args.option("--disk-write", spec_.disk_write, "The same to disk");
    args.option("--disk-read", spec_.disk_read, "The same from disk");
    args.flag("--json", json_, "Print {forward_steps, reverse_steps, snapshots, writes, cost}");
    std::string names = "Schedules:\n";
    for (const schedule::Named& s : schedule::schedules())
      names += fmt::format("  {:<14} {}\n", s.name, s.doc);
    args.footer(names + "Example: tidemark schedule revolve --steps 1000 --slots 10");
  }

  int run() override {
    if (spec_.steps < 1) fail(Error::Kind::usage, "[schedule] --steps {} vs at least 1", spec_.steps);
    refuse_unused();
    if (spec_.steps > kMostSteps) refuse_to_carry_out();
    schedule::Counts counts;
    spec_.watch = [] {
      if (was_interrupted()) throw Interrupted();
    };
    try {
      ProgressLine line;
      std::int64_t left = spec_.steps;  // to reverse
      counts = schedule::count(name_, spec_, [&](const schedule::Action& action) {
        if (action.kind == schedule::Action::Kind::reverse) left = action.from;
        if (++actions_ % 4096 != 0) return;
        spec_.watch();
        line.show(
            fmt::format("{} of {} steps reversed, {} actions", spec_.steps - left, spec_.steps, actions_));
      });
    } catch (const Interrupted&) {
      say("interrupted after {} actions; nothing is known before the last", actions_);
      return Exit::interrupted;
    }
    if (json_) {
      JsonWriter w;
      w.begin_object()
          .field("forward_steps", counts.forward_steps)
          .field("reverse_steps", counts.reverse_steps);
      w.field("snapshots", counts.snapshots)
          .field("writes", counts.writes)
          .field("cost", cost_of(counts).total());
      w.end_object();
      fmt::print("{}\n", w.text());
      return Exit::done;
    }
    Table table;
    const auto factor = static_cast<double>(counts.forward_steps) / static_cast<double>(spec_.steps);
    table.row("forward steps", fmt::format("{} ({:.3f} a step)", counts.forward_steps, factor));
    table.row("reverse steps", fmt::format("{}", counts.reverse_steps));
    table.row("snapshots", fmt::format("{} at most at once", counts.snapshots));
    table.row("writes, reads", fmt::format("{}, {}", counts.writes, counts.reads));
    if (counts.tiers.size() > 1 && counts.tiers[1].writes + counts.tiers[1].reads > 0)
      table.row("of them to disk", fmt::format("{}, {}", counts.tiers[1].writes, counts.tiers[1].reads));
    table.row("taped steps", fmt::format("{} at most at once", counts.taped_steps));
    if (const Cost cost = cost_of(counts); cost.writes + cost.reads > 0) {
      table.row("cost", fmt::format("{:.6g} forward steps: {} of runs, {:.6g} of writes, {:.6g} of reads",
                                    cost.total(), counts.forward_steps, cost.writes, cost.reads));
    }
    table.print();
    return Exit::done;
  }

 private:
  struct Interrupted {};

  // All in forward steps, as the costs are given.
  struct Cost {
    double runs = 0, writes = 0, reads = 0;
    double total() const { return runs + writes + reads; }
  };
  Cost cost_of(const schedule::Counts& counts) const {
    Cost cost{.runs = static_cast<double>(counts.forward_steps)};
    for (std::size_t i = 0; i < counts.tiers.size(); ++i) {
      cost.writes += (i == 0 ? spec_.write : spec_.disk_write) * static_cast<double>(counts.tiers[i].writes);
      cost.reads += (i == 0 ? spec_.read : spec_.disk_read) * static_cast<double>(counts.tiers[i].reads);
    }
    return cost;
  }

  // An option that changes nothing is a mistake about the schedule.
  void refuse_unused() const {
    const std::string_view uses = schedule::schedule_named(name_).uses;
    const auto refuse = [&](const char* option, bool given, bool used) {
      if (given && !used) fail(Error::Kind::usage, "[schedule] {} means nothing to {}", option, name_);
    };
    const auto names = [&](std::string_view field) { return uses.find(field) != std::string_view::npos; };
    refuse("--period", spec_.period != 0, names("period"));
    refuse("--slots", spec_.slots != 0, uses.starts_with("slots"));
    refuse("--disk-slots", spec_.disk_slots != 0, names("disk_slots"));
    refuse("--write and --read", spec_.write != 0 || spec_.read != 0, names("costs"));
    refuse("--disk-write and --disk-read", spec_.disk_write != 0 || spec_.disk_read != 0,
           names("costs") && name_ != "revolve");
  }

  // More than are counted within minutes.
  [[noreturn]] void refuse_to_carry_out() const {
    std::string closed;
    constexpr std::int64_t kMostClosed =
        1'000'000'000'000;  // with one slot the form has as many terms as its root
    if (name_ == "revolve" && spec_.slots >= 1 && spec_.write == 0 && spec_.read == 0 &&
        spec_.steps <= kMostClosed) {
      const std::int64_t forward = schedule::revolve_forward_steps(spec_.steps, spec_.slots);
      closed = forward < 0
                   ? "; by its closed form it runs more than 2^60 forward steps"
                   : fmt::format("; by its closed form it runs {} forward steps, {:.3f} a step", forward,
                                 static_cast<double>(forward) / static_cast<double>(spec_.steps));
    }
    fail(Error::Kind::usage, "[schedule] {} steps are too many to carry out one by one, at most {}{}",
         spec_.steps, kMostSteps, closed);
  }

  std::int64_t actions_ = 0;
  std::string name_;
  schedule::Spec spec_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> schedule_verb() { return std::make_unique<ScheduleVerb>(); }

}  // namespace tidemark::cli
