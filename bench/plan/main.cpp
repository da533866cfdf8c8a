// bench_plan: the shared problems at the budgets others report, beside what they reach. Figures are medians; seconds are
// process CPU. Live bytes are judged, as published planners do (--no-offsets of the program); --offsets packs as well.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "bench/plan/references.h"
#include "bench/plan/zoo.h"
#include "tidemark/base/error.h"
#include "tidemark/base/text.h"
#include "tidemark/plan/budget.h"
#include "tidemark/plan/planners.h"

namespace tidemark::bench {
namespace {

struct Settings {
  std::string rows = "*";  // glob on "h200/resnet50@60"
  std::string planner = "solve";
  int repeat = 5;
  double time = -1;  // instead of each row's own
  bool offsets = false;
  bool zoo = false, against = true;
};

int usage() {
  fmt::print(
      "bench_plan [--rows GLOB] [--repeat N] [--time SECONDS] [--planner NAME] [--offsets]\n"
      "bench_plan --zoo [--alone] [--rows GLOB] [--time SECONDS]\n"
      "  GLOB is matched against folder/problem@percent, e.g. 'h200/*@60' or '*fcn8*', 'zoo/unet@*'\n"
      "  --zoo: models that come with Tidemark, beside the best of all named planners unless --alone\n");
  return 1;
}

struct Measured {
  bool found = false;
  double overhead = 0, bound = -1, gap = -1;  // per cent
  double seconds = 0;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

Measured measure(const plan::Problem& problem, const Reference& row, const Settings& settings, bool offsets) {
  const plan::Planner& planner = *plan::find_planner(settings.planner);
  const double floor = plan::floor_seconds(problem);
  std::vector<double> overheads, bounds, gaps, seconds;
  for (int i = 0; i < settings.repeat; ++i) {
    plan::Options options;
    options.budget = plan::budget_at(problem, row.percent / 100.0);
    options.time_limit = settings.time > 0 ? settings.time : row.seconds;
    options.offsets = offsets;
    options.seed = static_cast<std::uint64_t>(i);
    const plan::Plan plan = plan::run_planner(planner, problem, options);
    seconds.push_back(plan.solve_seconds);
    if (plan.steps.empty()) continue;
    overheads.push_back(100 * (plan.seconds / floor - 1));
    if (!plan.seconds_bound) continue;
    bounds.push_back(100 * (*plan.seconds_bound / floor - 1));
    gaps.push_back(100 * (plan.seconds / *plan.seconds_bound - 1));
  }
  Measured m;
  m.found = !overheads.empty();
  m.overhead = median(overheads);
  m.seconds = median(seconds);
  if (!bounds.empty()) m.bound = median(bounds);
  if (!gaps.empty()) m.gap = median(gaps);
  return m;
}

std::string text(double value, int digits) {
  if (value == kInfeasible) return "none";
  return value == kNone ? "-" : fmt::format("{:.{}f}", value, digits);
}

// At or below what others report, as far as their digits tell.
const char* verdict(const Reference& row, const Measured& m) {
  if (!m.found) return row.reference == kInfeasible ? "=" : "none";
  const bool published = row.published < 0 || m.overhead <= row.published + 0.05;
  const bool reference = row.reference < 0 || m.overhead <= row.reference + 0.005;
  return published && reference ? "ok" : "worse";
}

int run(const Settings& settings) {
  const std::filesystem::path shared = TIDEMARK_SOURCE_DIR "/../shared/problems";
  if (!std::filesystem::exists(shared)) {
    fmt::print("{} is not there: nothing to measure\n", shared.string());
    return 1;
  }
  fmt::print("overhead, bound and gap in %; median of {}; planner {}\n", settings.repeat, settings.planner);
  fmt::print("{:<29} {:>9} {:>7} {:>7} {:>7} | {:>9} {:>7} {:>13} {:>6}", "problem@budget", "overhead",
             "bound", "gap", "CPU s", "reference", "bound", "published", "");
  if (settings.offsets) fmt::print(" | {:>9} {:>6} {:>7}", "offsets", "points", "CPU s");
  fmt::print("\n");
  std::vector<double> gaps;
  int worse = 0, bound_below = 0, rows = 0, offset_points_over = 0;
  for (const Reference& row : kReferences) {
    const std::string name = fmt::format("{}/{}@{}", row.folder, row.problem, row.percent);
    if (!glob_match(settings.rows, name)) continue;
    const plan::Problem problem =
        plan::read_problem(read_file((shared / row.folder / row.problem).string() + ".json"));
    const Measured m = measure(problem, row, settings, false);
    ++rows;
    if (std::string_view(verdict(row, m)) == "worse" || (!m.found && row.reference >= 0)) ++worse;
    if (row.bound >= 0 && m.bound < row.bound - 0.005) ++bound_below;
    if (m.gap >= 0 && row.percent >= 40 && row.folder == std::string_view("h200")) gaps.push_back(m.gap);
    const std::string published = row.published < 0 ? "-" : fmt::format("{:.1f} {}", row.published, row.by);
    fmt::print("{:<29} {:>9} {:>7} {:>7} {:>7.3f} | {:>9} {:>7} {:>13} {:>6}", name,
               m.found ? text(m.overhead, 3) : "none", text(m.bound, 3), text(m.gap, 3), m.seconds,
               text(row.reference, 2), text(row.bound, 2), published, verdict(row, m));
    if (settings.offsets) {
      const Measured packed = measure(problem, row, settings, true);
      const double points = packed.overhead - m.overhead;
      if (m.found && (!packed.found || points > 0.2)) ++offset_points_over;
      fmt::print(" | {:>9} {:>6} {:>7.3f}", packed.found ? text(packed.overhead, 3) : "none",
                 packed.found && m.found ? fmt::format("{:+.2f}", points) : "", packed.seconds);
    }
    fmt::print("\n");
    std::fflush(stdout);
  }
  fmt::print(
      "{} rows; worse than reported: {}; bound below the reference's: {}; median gap on h200 at 40 % and "
      "more: {:.3f} %\n",
      rows, worse, bound_below, median(gaps));
  if (settings.offsets) fmt::print("more than 0.2 points with offsets: {}\n", offset_points_over);
  return 0;
}

}  // namespace
}  // namespace tidemark::bench

int main(int argc, char** argv) {
  using namespace tidemark;
  bench::Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    if (name == "--offsets") {
      settings.offsets = true;
      continue;
    }
    if (name == "--zoo" || name == "--alone") {
      (name == "--zoo" ? settings.zoo : settings.against) = name == "--zoo";
      continue;
    }
    if (i + 1 >= argc) return bench::usage();
    const char* value = argv[++i];
    if (name == "--rows") {
      settings.rows = value;
    } else if (name == "--planner") {
      settings.planner = value;
    } else if (name == "--repeat") {
      settings.repeat = std::max(1, std::atoi(value));
    } else if (name == "--time") {
      settings.time = std::atof(value);
    } else {
      return bench::usage();
    }
  }
  if (plan::find_planner(settings.planner) == nullptr) return bench::usage();
  try {
    if (settings.zoo)
      return bench::run_zoo({settings.rows, settings.time > 0 ? settings.time : 1, settings.against}) == 0 ? 0 : 1;
    return bench::run(settings);
  } catch (const Error& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
}
