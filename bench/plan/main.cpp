// bench_plan: the shared problems at the budgets others report, beside what they reach. Figures are medians; seconds are
// process CPU. Live bytes are judged, as published planners do (--no-offsets of the program); --offsets packs as well.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <optional>

#include "bench/plan/references.h"
#include "bench/plan/zoo.h"
#include "tidemark/base/error.h"
#include "tidemark/base/text.h"
#include "tidemark/plan/budget.h"
#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/planners.h"

namespace tidemark::bench {
namespace {

struct Settings {
  std::string rows = "*";  // globs on "h200/resnet50@60", with commas between them
  std::string planner = "solve";
  int repeat = 5;
  std::uint64_t seed = 0;  // of the first; the others follow
  double time = -1;  // instead of each row's own
  bool offsets = false;
  bool zoo = false, against = true;
};

int usage() {
  fmt::print(
      "bench_plan [--rows GLOB,...] [--repeat N] [--seed FIRST] [--time SECONDS] [--planner NAME] "
      "[--offsets]\n"
      "bench_plan --zoo [--alone] [--rows GLOB] [--time SECONDS]\n"
      "  GLOB is matched against folder/problem@percent, e.g. 'h200/*@60' or '*fcn8*,*unet*', 'zoo/unet@*'\n"
      "  --offsets: every row a second time, packed\n"
      "  --zoo: models that come with Tidemark, beside the best of all named planners unless --alone\n");
  return 1;
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Measured {
  double overhead = kInfinity;  // per cent; infinity: no plan in most runs
  double bound = -1, gap = -1;  // per cent; -1: none
  double seconds = 0;           // process CPU, with all that the planner does
  bool found() const { return overhead < kInfinity; }
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
    options.seed = settings.seed + static_cast<std::uint64_t>(i);
    const double begin = plan::cpu_seconds();
    const plan::Plan plan = plan::run_planner(planner, problem, options);
    seconds.push_back(plan::cpu_seconds() - begin);
    overheads.push_back(plan.steps.empty() ? kInfinity : 100 * (plan.seconds / floor - 1));
    if (!plan.seconds_bound || plan.steps.empty()) continue;
    bounds.push_back(100 * (*plan.seconds_bound / floor - 1));
    gaps.push_back(100 * (plan.seconds / *plan.seconds_bound - 1));
  }
  Measured m;
  m.overhead = median(overheads);
  m.seconds = median(seconds);
  if (!bounds.empty()) m.bound = median(bounds);
  if (!gaps.empty()) m.gap = median(gaps);
  return m;
}

std::string text(double value, int digits) {
  if (value == kInfeasible || value == kInfinity) return "none";
  return value == kNone ? "-" : fmt::format("{:.{}f}", value, digits);
}

// What a row does not reach, as far as the digits that others give can tell; nothing: it reaches all.
std::string misses(const Reference& row, const Measured& m, const Measured* packed, double limit) {
  std::vector<std::string> list;
  if (row.published >= 0 && !(m.overhead <= row.published + 0.05))
    list.push_back(fmt::format("overhead {} > {:.1f} published", text(m.overhead, 3), row.published));
  if (row.reference >= 0 && !(m.overhead <= row.reference + 0.005))
    list.push_back(fmt::format("overhead {} > {:.2f}", text(m.overhead, 3), row.reference));
  if (row.bound >= 0 && m.bound < row.bound - 0.005)
    list.push_back(fmt::format("bound {} < {:.2f}", text(m.bound, 3), row.bound));
  if (m.seconds > limit) list.push_back(fmt::format("{:.3f} s > {:g} s", m.seconds, limit));
  if (packed != nullptr) {
    if (m.found() && !(packed->overhead <= m.overhead + 0.2))
      list.push_back(fmt::format("with offsets {} > {:.3f} + 0.2", text(packed->overhead, 3), m.overhead));
    if (packed->seconds > limit)
      list.push_back(fmt::format("with offsets {:.3f} s > {:g} s", packed->seconds, limit));
  }
  return fmt::format("{}", fmt::join(list, "; "));
}

bool wanted(const Settings& settings, const std::string& name) {
  for (std::string_view rest = settings.rows; !rest.empty();) {
    const std::size_t comma = rest.find(',');
    if (glob_match(rest.substr(0, comma), name)) return true;
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return false;
}

int run(const Settings& settings) {
  const std::filesystem::path shared = TIDEMARK_SOURCE_DIR "/../shared/problems";
  if (!std::filesystem::exists(shared)) {
    fmt::print("{} is not there: nothing to measure\n", shared.string());
    return 1;
  }
  fmt::print("overhead, bound and gap in %; medians of {}; planner {}\n", settings.repeat, settings.planner);
  fmt::print("{:<29} {:>9} {:>9} {:>13} {:>7} {:>7} {:>7} {:>7}", "problem@budget", "overhead", "reference",
             "published", "bound", "ref.", "gap", "CPU s");
  if (settings.offsets) fmt::print(" | {:>9} {:>6} {:>7}", "offsets", "points", "CPU s");
  fmt::print("\n");
  std::vector<double> gaps;
  std::vector<std::pair<std::string, std::string>> missed;
  int rows = 0;
  for (const Reference& row : kReferences) {
    const std::string name = fmt::format("{}/{}@{}", row.folder, row.problem, row.percent);
    if (!wanted(settings, name)) continue;
    ++rows;
    const double limit = settings.time > 0 ? settings.time : row.seconds;
    const plan::Problem problem =
        plan::read_problem(read_file((shared / row.folder / row.problem).string() + ".json"));
    const Measured m = measure(problem, row, settings, false);
    if (m.gap >= 0 && row.percent >= 40 && row.folder == std::string_view("h200")) gaps.push_back(m.gap);
    const std::string published = row.published < 0 ? "-" : fmt::format("{:.1f} {}", row.published, row.by);
    fmt::print("{:<29} {:>9} {:>9} {:>13} {:>7} {:>7} {:>7} {:>7.3f}", name, text(m.overhead, 3),
               text(row.reference, 2), published, text(m.bound, 3), text(row.bound, 2), text(m.gap, 3),
               m.seconds);
    std::optional<Measured> packed;
    if (settings.offsets) {
      packed = measure(problem, row, settings, true);
      fmt::print(" | {:>9} {:>6} {:>7.3f}", text(packed->overhead, 3),
                 packed->found() && m.found() ? fmt::format("{:+.2f}", packed->overhead - m.overhead) : "",
                 packed->seconds);
    }
    const std::string miss = misses(row, m, packed ? &*packed : nullptr, limit);
    if (!miss.empty()) missed.emplace_back(name, miss);
    fmt::print("{}\n", miss.empty() ? "" : "  *");
    std::fflush(stdout);
  }
  fmt::print("{} rows, {} with something missed; median gap on h200 at 40 % and more: {:.3f} %\n", rows,
             missed.size(), median(gaps));
  for (const auto& [name, miss] : missed) fmt::print("* {}: {}\n", name, miss);
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
    } else if (name == "--seed") {
      settings.seed = std::strtoull(value, nullptr, 10);
    } else if (name == "--time") {
      settings.time = std::atof(value);
    } else {
      return bench::usage();
    }
  }
  if (plan::find_planner(settings.planner) == nullptr) return bench::usage();
  try {
    if (settings.zoo)
      return bench::run_zoo({settings.rows, settings.time > 0 ? settings.time : 1, settings.against}) == 0
                 ? 0
                 : 1;
    return bench::run(settings);
  } catch (const Error& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
}
