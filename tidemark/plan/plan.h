// What the planner answers: steps, offsets, and a proof of how good they are. Plain data with the fields of
// docs/format.md. Output of solve; input of check, lower and the report.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "tidemark/plan/problem.h"

namespace tidemark::plan {

struct Step {
  enum class Kind : std::uint8_t { run, drop, evict, fetch, wait, discard };
  Kind kind = Kind::run;
  std::int32_t id = 0;                                  // a TaskId for run, else a BufferId
  TierId tier = -1;                                     // for evict, fetch and discard
  std::vector<std::pair<BufferId, BufferId>> in_place;  // for run: the pairs of Task::in_place that it uses
};

// Where something lies in the arena from the step that creates it.
struct Placement {
  static constexpr BufferId kWorkspace = -1;
  std::int32_t step = 0;
  BufferId buffer = 0;  // or kWorkspace: the workspace of the run at `step`
  Bytes offset = 0;
};

// What verify_proof needs to confirm the bounds without solving anything; plan/proof.h says what its fields
// mean.
struct Proof {
  std::string json;  // the object as it stands in the plan file; "" for none
};

struct Plan {
  enum class Status { optimal, feasible, infeasible, timed_out };
  Status status = Status::feasible;
  std::string planner;
  std::string problem;  // its name
  std::string problem_hash;
  std::vector<Step> steps;
  bool has_arena = false;
  Bytes arena_bytes = 0;
  std::vector<Placement> placements;
  Bytes budget = 0;                     // negative: none
  Bytes peak = 0, live_peak = 0;        // negative: a plan file that does not state it
  double seconds = 0;                   // likewise
  std::optional<double> seconds_bound;  // left out rather than guessed
  std::optional<Bytes> peak_bound;
  bool bound_order_given = false;  // the bound holds only for the given order of first runs
  bool lossy = false;
  std::optional<Bytes> smallest_peak;  // for infeasible: the least found
  std::string reason;                  // for infeasible and timed_out: why, for people
  double solve_seconds = 0;            // of the planner's clock: process CPU, or work counted (cpu_clock.h)
  Proof proof;
};

// Whether the planner found one; what timed out may hold steps, but says that it is no answer.
inline bool has_plan(const Plan& plan) {
  return plan.status == Plan::Status::feasible || plan.status == Plan::Status::optimal;
}

TIDEMARK_API const char* name_of(Plan::Status status);
TIDEMARK_API const char* name_of(Step::Kind kind);

// Names of tiers need the problem. Throws Error(data) naming the place.
TIDEMARK_API Plan read_plan(const Problem& problem, std::string_view json);
TIDEMARK_API std::string write_plan(const Problem& problem, const Plan& plan);

// What carrying the steps out gives, by the rules of docs/format.md alone.
struct Replay {
  std::string broken;  // "" or the first rule broken, and where
  Bytes live_peak = 0;
  std::int32_t peak_step = -1;
  double seconds = 0;
  bool lossy = false;
};
// Carries the steps out and checks every rule but the figures that the plan states of itself.
TIDEMARK_API Replay replay(const Problem& problem, const Plan& plan);
// "" or the first rule broken. Shares no code with solve; runs after every solve, in tests and in production.
TIDEMARK_API std::string check(const Problem& problem, const Plan& plan);

}  // namespace tidemark::plan
