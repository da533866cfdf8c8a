// What a plan does with a value: kept, made again, updated in place, moved; what that costs and what it saves. Reads the posed
// problem and the plan; used by Compiled::explain, the program and the report.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/compile/pose.h"
#include "tidemark/plan/plan.h"

namespace tidemark {

// What a plan does to have a value, or to do without it, beyond making it once and keeping it.
struct Way {
  enum class Kind : std::uint8_t { recomputed, inverted, encoded, moved, mask, factor, in_consumer };
  Kind kind = Kind::recomputed;
  std::string by;  // a codec, a tier, the task that does without the value; "" for its own task
  std::vector<plan::TaskId> tasks;  // that run for it
  int times = 0;
  double seconds =
      0;           // of a step: what those runs add to it; of copies, what the tier's streams work beside it
  Bytes kept = 0;  // of another form, meanwhile
};

struct Explanation {
  std::string name;  // of the value
  plan::BufferId buffer = -1;
  std::string type;     // "f32(8,1024,1600)"
  std::string op, loc;  // what makes it and the user's line, "" where unknown
  Bytes bytes = 0;
  bool resident = false;
  int made = 0;     // runs that make it
  int updated = 0;  // of those, updates of what is there
  int uses = 0;
  bool in_place = false;     // takes another value's storage, or gives its own to one
  std::vector<Way> ways;     // none: kept
  double seconds_again = 0;  // what the ways but copies add to a step
  double gone = 0;  // part of the time between its first and its last use during which it is not there
  bool live_at_peak = false;
  std::string text;  // all of that as a sentence
};

// For every value whose name matches (`*`, `?`), in the order of the graph; one for each buffer, with the second one that a pin gives
// it. The plan must pass check().
TIDEMARK_API std::vector<Explanation> explain(const Posed& posed, const plan::Plan& plan,
                                              std::string_view pattern);

// What more memory would buy.
struct Marginal {
  Bytes more = 0;
  double seconds_saved = 0;
};
// Solves again with so much more; nothing to buy without a budget or recomputation.
TIDEMARK_API Marginal what_more_buys(const plan::Problem& problem, const plan::Plan& plan, Bytes more,
                                     double time_limit);
TIDEMARK_API std::string to_string(const Marginal& marginal);

}  // namespace tidemark
