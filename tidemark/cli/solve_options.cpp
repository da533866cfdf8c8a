// SPDX-License-Identifier: Apache-2.0
#include "tidemark/cli/solve_options.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>

#include "tidemark/base/error.h"
#include "tidemark/base/text.h"

namespace tidemark::cli {
namespace {

struct Technique {
  std::string_view name;
  bool plan::Options::*field;
};
constexpr Technique kTechniques[] = {
    {"reorder", &plan::Options::reorder}, {"recompute", &plan::Options::recompute},
    {"makers", &plan::Options::makers},   {"in_place", &plan::Options::in_place},
    {"tiers", &plan::Options::tiers},     {"blocks", &plan::Options::blocks},
    {"bounds", &plan::Options::bounds},
};

std::string technique_names() {
  std::string names;
  for (const Technique& t : kTechniques) names += (names.empty() ? "" : ", ") + std::string(t.name);
  return names;
}

double parse_percent(std::string_view text) {
  double percent = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  const std::string_view unit = trim({rest, static_cast<std::size_t>(text.data() + text.size() - rest)});
  if (error != std::errc() || !(unit.empty() || unit == "%") || !(percent >= 0 && percent <= 1e6)) {
    fail(Error::Kind::usage, "[gap] '{}' is not a percentage; write for example 0.1%", text);
  }
  return percent / 100;
}

}  // namespace

void SolveOptions::declare(Args& args) {
  args.option("-t,--time", time_, "CPU time to spend, e.g. 1s or 500ms");
  args.option("--threads", threads_, "Threads to search with");
  args.option("--seed", seed_, "Seed of the search");
  args.option(
      "--effort", effort_,
      "Rounds of search; the plan depends on them and the seed alone where --time is not reached, so give "
      "much of it: the bound takes what they leave of it; -1: until the time is up");
  args.option("--target-gap", target_gap_, "Stop when the time is within this of the bound");
  args.flag("--no-offsets", no_offsets_, "Judge live bytes and leave the arena out");
  args.option("--without", without_, "Techniques to switch off, with commas: " + technique_names());
}

plan::Options SolveOptions::get() const {
  plan::Options options;
  options.time_limit = parse_seconds(time_);
  if (threads_ < 1 || threads_ > 1024)
    fail(Error::Kind::usage, "[option] --threads {} is not between 1 and 1024", threads_);
  options.threads = static_cast<int>(threads_);
  options.seed = static_cast<std::uint64_t>(seed_);
  if (effort_ < -1)
    fail(Error::Kind::usage, "[option] --effort {} is neither 0 or more, nor -1 for until the time is up",
         effort_);
  options.effort = effort_;
  options.target_gap = parse_percent(target_gap_);
  options.offsets = !no_offsets_;
  for (const std::string& name : without_) {
    const Technique* found = nullptr;
    for (const Technique& t : kTechniques) {
      if (t.name == name) found = &t;
    }
    if (found == nullptr)
      fail(Error::Kind::usage, "[option] --without: no technique '{}'; one of {}", name, technique_names());
    options.*(found->field) = false;
  }
  return options;
}

void SolveOptions::expect_heeded_by(const plan::Planner& planner, const plan::Options& options) {
  const auto expect = [&](bool given, const std::string& option, std::string_view field) {
    if (given && planner.uses.find(field) == std::string_view::npos)
      fail(Error::Kind::usage, "[plan] {} means nothing to {}; --planner solve heeds it", option,
           planner.name);
  };
  expect(options.warm_start != nullptr, "--warm", "warm_start");
  expect(options.threads != 1, "--threads", "threads");
  expect(options.seed != 0, "--seed", "seed");
  expect(options.target_gap != 0, "--target-gap", "target_gap");
  for (const Technique& t : kTechniques) {
    if (t.field != &plan::Options::bounds)
      expect(!(options.*t.field), fmt::format("--without {}", t.name), t.name);
  }
}

std::function<bool(const plan::Progress&)> progress_on(ProgressLine& line) {
  return [&line](const plan::Progress& p) {
    if (std::isfinite(p.best_seconds) && p.bound > 0) {
      line.show(fmt::format("{:.1f} s  {}: best {}, bound {}, gap {}", p.seconds_elapsed, p.phase,
                            format_seconds(p.best_seconds), format_seconds(p.bound),
                            format_percent(p.best_seconds / p.bound - 1)));
    } else {
      line.show(fmt::format("{:.1f} s  {}", p.seconds_elapsed, p.phase));
    }
    return !was_interrupted();
  };
}

}  // namespace tidemark::cli
