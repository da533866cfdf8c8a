// Other ways to have a value when the backward pass wants it, as optional tasks of the Problem: a pass over what pose made. Which
// of them a plan uses is decided by solving with them (compile/planning.cpp). docs/makers.md describes each.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>

#include "tidemark/compile/pose.h"
#include "tidemark/plan/solve.h"

namespace tidemark {

struct MakerOptions {
  bool lossless = true;
  std::vector<std::string> allow;  // what is used by name alone: lossy codecs, slow ones
  int threads = 1;
  const DeviceProfile* profile = nullptr;  // null: cpu_profile(threads)
  std::vector<double> seconds{};  // Posed::maker_seconds of a plan to be loaded; else those of the tasks
};

// Adds the tasks, all optional, and Posed::makers. Throws Error(usage) for a name in `allow` that is none.
TIDEMARK_API void add_makers(Posed& posed, const MakerOptions& options);

// The problem in which these are the way that is taken: the same tasks and buffers, other ones optional. Its plans are plans of
// `problem`. Of two that stand in for one task or spare one buffer the first counts.
TIDEMARK_API plan::Problem committed(const plan::Problem& problem, std::span<const Maker* const> makers);

// From now on no plan takes this way: its tasks stay in the list, so that ids stay, and make nothing.
void forbid(plan::Problem& problem, const Maker& maker);

// Solves with sets of makers taken and keeps the best plan, a plan of `problem`; bounds are the problem's own. `minimum`: the
// smallest peak, else the least time within options.budget, and never more than that of `known`, where this is a plan within it.
// `down`: what the search for the smallest peak finds in the same time is never refused, which takes a refusal several times as long.
struct Chosen {
  plan::Plan plan;
  // Where `plan` runs a codec whose slot may be too small: one without any, within the same budget.
  std::optional<plan::Plan> without_overflow;
  // Where there is no plan: what that search came down to, which is a budget that has one.
  std::optional<Bytes> least{};
};
struct SolveWith {
  bool minimum = false, down = true;
  const plan::Plan* known = nullptr;
};
TIDEMARK_API Chosen solve_with(const plan::Problem& problem, const std::vector<Maker>& makers,
                               const plan::Options& options, const SolveWith& how = {});

// `plan` with codecs in place of what it runs again, and of as much of what it keeps as makes room for them; empty where that gives no
// plan within options.budget.
TIDEMARK_API std::optional<plan::Plan> substitute(const plan::Problem& problem, std::span<const Maker* const> makers,
                                                  const plan::Plan& plan, const plan::Options& options);

// Throws Error(usage) for a name of CompileOptions::allow that nothing has.
void check_names(std::span<const std::string> allow);

}  // namespace tidemark
