// tidemark whatif: the questions people ask before a run, answered by plans: budget, batch, sequence, optimizer, precision,
// checkpointing, and which module holds the memory. Nothing runs.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "tidemark/base/error.h"
#include "tidemark/base/json.h"
#include "tidemark/base/text.h"
#include "tidemark/cli/planned.h"
#include "tidemark/compile/fit.h"
#include "tidemark/plan/budget.h"
#include "tidemark/plan/planners.h"
#include "tidemark/plan/smallest.h"

namespace tidemark::cli {
namespace {

struct Row {
  std::string question, choice;
  Bytes peak = 0, keep_all = 0;
  double seconds = 0, over = 0;  // of the plan; over the floor, in seconds
  bool fits = true;
  bool planned = true;      // else only bytes
  bool impossible = false;  // proven; else it was only not found
};

class WhatifVerb : public Command {
 public:
  void declare(Args& args) override {
    model_.declare_name(args);
    args.option("-b,--budget", budget_, kBudget);
    args.required("--budget");
    model_.declare(args);
    options_.declare(args);
    args.option(
        "--ask", ask_,
        "Only these, with commas: budget, batch, length, optimizer, precision, checkpointing, module");
    args.flag("--json", json_,
              "Print a list of {question, choice, fits, peak, store_all, seconds, seconds_over_floor}");
    args.footer(
        "The time is for each row. Rows of 'module' are bytes live at the plan's peak. 'precision' plans the "
        "step "
        "in bf16 storage,\n"
        "parameters and optimizer state in f32 (--dtype bf16); its times count fewer bytes, not faster "
        "arithmetic, unless the profile has them.\n"
        "Example: tidemark whatif gpt2-124m --batch 4 --seq 256 --budget 3GiB --time 300ms");
  }

  int run() override {
    static const std::vector<std::string> kQuestions{"budget",    "batch",         "length", "optimizer",
                                                     "precision", "checkpointing", "module"};
    for (const std::string& q : ask_) {
      if (std::find(kQuestions.begin(), kQuestions.end(), q) == kQuestions.end())
        fail(Error::Kind::usage, "[whatif] '{}' is none of {}", q, join(kQuestions, " "));
    }
    solve_ = options_.get();
    solve_.progress = [](const plan::Progress&) { return !was_interrupted(); };
    const ModelSource::OnDevice on = model_.posed();
    const Posed& posed = on.posed;
    model_.device_name = on.name;
    if (budget_ == "min") {
      const plan::SmallestPeak least = plan::smallest_peak(posed.problem, solve_);
      if (least.budget < 0)
        throw Error(Error::Kind::infeasible, "[whatif] --budget min: " + least.plan.reason);
      solve_.budget = least.budget;
    } else {
      solve_.budget = plan::parse_budget(posed.problem, budget_);
    }
    const auto asked = [&](const char* q) {
      return !was_interrupted() && (ask_.empty() || std::find(ask_.begin(), ask_.end(), q) != ask_.end());
    };
    if (asked("budget")) budgets(posed.problem);
    if (asked("batch")) batches(posed);
    if (asked("length")) lengths();
    if (asked("optimizer")) optimizers();
    if (asked("precision")) precisions();
    if (asked("checkpointing")) checkpointing(posed.problem);
    if (asked("module")) modules(posed);
    json_ ? print_json() : print_table();
    if (was_interrupted()) say("interrupted; these are the answers so far");
    return was_interrupted() ? Exit::interrupted : Exit::done;
  }

 private:
  void add(const char* question, std::string choice, const plan::Problem& problem, const plan::Plan& plan) {
    const bool found = !plan.steps.empty();
    const Bytes least = plan.smallest_peak.value_or(plan.peak_bound.value_or(0));
    rows_.push_back({question, std::move(choice), found ? plan.peak : least,
                     plan::store_all_live_peak(problem), found ? plan.seconds : 0,
                     found ? plan.seconds - plan::floor_seconds(problem) : 0, found, true,
                     plan.peak_bound && *plan.peak_bound > plan.budget});
    line_.show(fmt::format("{}: {}", rows_.back().question, rows_.back().choice));
  }
  void add_solved(const char* question, std::string choice, const plan::Problem& problem, Bytes budget) {
    if (was_interrupted()) return;
    plan::Options options = solve_;
    options.budget = budget;
    add(question, std::move(choice), problem, plan::solve(problem, options));
  }

  void budgets(const plan::Problem& problem) {
    struct Point {
      std::string choice;
      Bytes budget = 0;
      plan::Plan plan;
    };
    std::vector<Point> points;
    const auto solve = [&](std::string choice, Bytes budget) {
      if (was_interrupted()) return;
      plan::Options options = solve_;
      options.budget = budget;
      line_.show("budget: " + choice);
      points.push_back({std::move(choice), budget, plan::solve(problem, options)});
    };
    for (const double fraction : {1.0, 0.8, 0.6, 0.4}) {
      const Bytes budget = plan::budget_at(problem, fraction);
      solve(fmt::format("{:.0f}% ({})", 100 * fraction, format_bytes(budget)), budget);
    }
    solve(format_bytes(solve_.budget), solve_.budget);
    if (was_interrupted()) return;
    plan::Options options = solve_;
    options.budget = -1;
    plan::Plan smallest = plan::smallest_peak(problem, options).plan;
    // A plan for less memory serves a larger budget, and one found by the way may be smaller than the smallest looked for.
    for (const Point& p : points) {
      if (!p.plan.steps.empty() && (smallest.steps.empty() || p.plan.peak < smallest.peak)) smallest = p.plan;
    }
    points.push_back({"", smallest.peak, smallest});
    for (Point& p : points) {
      const plan::Plan* best = &p.plan;
      for (const Point& other : points) {
        const bool serves = !other.plan.steps.empty() && other.plan.peak <= p.budget;
        if (serves && (best->steps.empty() || other.plan.seconds < best->seconds)) best = &other.plan;
      }
      add("budget",
          p.choice.empty() ? fmt::format("the smallest found ({})", format_bytes(p.budget)) : p.choice,
          problem, *best);
    }
  }

  Fit fit(std::optional<std::int64_t> ModelSource::*what, std::int64_t most, bool keep_all, bool throughput) {
    FitOptions options{.budget = solve_.budget, .most = most, .solve = solve_};
    options.progress = [&](const FitTry& t) {
      line_.show(fmt::format("trying {}", t.n));
      return !was_interrupted();
    };
    if (what == &ModelSource::batch) options.multiple_of = model_.means.parts();
    // Keeping everything: a plan that takes no longer than running everything once.
    if (keep_all) options.most_overhead = 1e-6;
    const PoseAt pose_at = [&](std::int64_t n) {
      ModelSource at = model_;
      at.*what = n;
      return at.posed().posed.problem;
    };
    return throughput ? best_fit(pose_at, options) : largest_fit(pose_at, options);
  }

  void add_fit(const char* question, const std::string& choice, const Fit& fit) {
    if (fit.n > 0) {
      const bool open = fit.refused > 0 && !fit.proven;
      add(question, fmt::format("{}: {}{}", choice, fit.n, open ? " (more is not excluded)" : ""),
          fit.problem, fit.plan);
    } else if (!was_interrupted()) {
      rows_.push_back({.question = question, .choice = choice + ": none", .fits = false});
    }
  }

  void batches(const Posed& posed) {
    const std::int64_t now = model_.model().batch[0].type.shape[0];
    add_solved("batch", fmt::format("as given: {}", now), posed.problem, solve_.budget);
    add_fit("batch", "largest without recomputation", fit(&ModelSource::batch, 1 << 14, true, false));
    if (was_interrupted()) return;
    add_fit("batch", "largest", fit(&ModelSource::batch, 1 << 14, false, false));
    if (was_interrupted()) return;
    add_fit("batch", "most samples a second", fit(&ModelSource::batch, 1 << 14, false, true));
  }

  void lengths() {
    const Model model = model_.model();
    if (model.batch[0].name == "tokens")
      add_fit("length", "longest sequence", fit(&ModelSource::seq, 1 << 15, false, false));
    if (model.batch[0].type.shape.rank() == 4) {
      // Sizes that a network's strides do not divide are refused when traced; powers of two are good everywhere.
      for (std::int64_t size = 64; size <= 1024 && !was_interrupted(); size *= 2) {
        ModelSource at = model_;
        at.size = size;
        try {
          add_solved("length", fmt::format("pictures of {0} x {0}", size), at.posed().posed.problem,
                     solve_.budget);
        } catch (const Error& e) {
          if (e.kind() != Error::Kind::usage) throw;
          continue;
        }
        if (!rows_.back().fits) break;
      }
    }
  }

  void optimizers() {
    for (const char* name : {"adamw", "sgd"}) {
      ModelSource at = model_;
      at.optimizer = name;
      add_solved("optimizer", name, at.posed().posed.problem, solve_.budget);
    }
  }

  void precisions() {
    for (const char* name : {"f32", "bf16"}) {
      ModelSource at = model_;
      at.dtype = name;
      add_solved("precision", name, at.posed().posed.problem, solve_.budget);
    }
  }

  void checkpointing(const plan::Problem& problem) {
    for (const char* name : {"store_all", "sqrt_n", "chen_greedy", "solve"}) {
      const plan::Planner* planner = plan::find_planner(name);
      if (planner == nullptr || was_interrupted()) continue;
      plan::Options options = solve_;
      plan::Plan plan = plan::run_planner(*planner, problem, options);
      // What does not fit is shown at the least it takes.
      add("checkpointing", std::string_view(name) == "solve" ? "Tidemark's plan" : name, problem, plan);
    }
  }

  void modules(const Posed& posed) {
    const plan::Plan plan = plan::solve(posed.problem, solve_);
    if (plan.steps.empty()) return;
    const Story story = tell(posed.problem, plan);
    const std::int32_t peak = peak_run(story);
    std::map<std::string, Bytes> held;
    const auto module_of = [](const std::string& name) {
      // "blocks.3.attn.matmul" belongs to blocks.3; what has no scope is the backward pass's and the optimizer's own.
      const std::vector<std::string> parts = split(name, '.');
      if (parts.size() < 2) return std::string("(gradients and temporaries)");
      if (parts[0] == "optimizer") return std::string("(optimizer state)");
      const bool numbered =
          !parts[1].empty() &&
          std::all_of(parts[1].begin(), parts[1].end(), [](unsigned char c) { return std::isdigit(c) != 0; });
      return numbered ? parts[0] + "." + parts[1] : parts[0];
    };
    for (std::size_t b = 0; b < posed.problem.buffers.size(); ++b) {
      const plan::Buffer& buffer = posed.problem.buffers[b];
      if (buffer.resident)
        held[buffer.kind == "input" ? "(batch)" : module_of(buffer.name)] +=
            posed.problem.size(static_cast<plan::BufferId>(b));
    }
    for (const Life& l : story.lives) {
      if (l.first <= peak && peak < l.last)
        held[l.buffer < 0 ? "(workspace)"
                          : module_of(posed.problem.buffers[static_cast<std::size_t>(l.buffer)].name)] +=
            l.bytes;
    }
    std::vector<std::pair<std::string, Bytes>> order(held.begin(), held.end());
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    if (order.size() > 12) order.resize(12);
    for (const auto& [name, bytes] : order)
      rows_.push_back({.question = "module", .choice = name, .peak = bytes, .planned = false});
  }

  void print_json() const {
    JsonWriter w;
    w.begin_array();
    for (const Row& r : rows_) {
      w.new_line()
          .begin_object()
          .field("question", r.question)
          .field("choice", r.choice)
          .field("fits", r.fits)
          .field("peak", r.peak);
      if (r.planned) w.field("store_all", r.keep_all);
      if (r.planned && r.fits)
        w.field("seconds", r.seconds).field("seconds_over_floor", std::max(r.over, 0.0));
      w.end_object();
    }
    w.new_line().end_array();
    fmt::print("{}\n", w.text());
  }

  void print_table() const {
    std::string question;
    for (const Row& r : rows_) {
      if (r.question != question) {
        const bool planned = r.planned;
        fmt::print("{}{:<44} {:>12}", question.empty() ? "" : "\n", r.question,
                   planned ? "peak" : "at the peak");
        if (planned) fmt::print(" {:>12} {:>12} {:>11}", "store all", "time", "over floor");
        fmt::print("\n");
        question = r.question;
      }
      fmt::print("  {:<42} {:>12}", r.choice, r.peak > 0 ? format_bytes(r.peak) : "-");
      if (r.planned) {
        const double floor = r.seconds - r.over;
        fmt::print(" {:>12} {:>12} {:>11}", r.keep_all > 0 ? format_bytes(r.keep_all) : "-",
                   r.fits         ? format_seconds(r.seconds)
                   : r.impossible ? "impossible"
                                  : "not found",
                   r.fits && floor > 0 ? format_percent(r.over / floor) : "-");
      }
      fmt::print("\n");
    }
    fmt::print("\nall for a budget of {} unless said otherwise\n", format_bytes(solve_.budget));
  }

  ModelSource model_;
  std::string budget_;
  std::vector<std::string> ask_;
  SolveOptions options_;
  plan::Options solve_;
  ProgressLine line_;
  std::vector<Row> rows_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> whatif_verb() { return std::make_unique<WhatifVerb>(); }

}  // namespace tidemark::cli
