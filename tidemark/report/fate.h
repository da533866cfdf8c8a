// What became of every buffer of a plan: kept, made again, moved; what that cost, and what the other choice would have
// cost. Read by explain, by the tables of the program and by the page.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/report/story.h"

namespace tidemark {

struct Fate {
  enum class Kind : std::uint8_t {
    resident,
    brief,
    kept,
    made_again,
    made_otherwise,
    moved,
    unused,
    compressed,
    inverted
  };
  Kind kind = Kind::unused;
  std::int32_t makes = 0, uses = 0;  // runs that write it, runs that read it
  double spent = 0;                  // seconds of the runs that made it again
  // The longest time between two touches: during the runs between these two nobody needed it. -1: there is none.
  std::int32_t gap_from = -1, gap_to = -1;
  // The other choice over that time. For what stayed: seconds to make it again from what is live then, a lower estimate;
  // negative where it cannot be made again. For what was freed: the most bytes live then, had it stayed.
  double remake_seconds = -1;
  Bytes live_if_kept = -1;
};
TIDEMARK_API const char* name_of(Fate::Kind kind);  // "made again"

// By buffer.
TIDEMARK_API std::vector<Fate> fates(const plan::Problem& problem, const Story& story);

struct PeakRow {
  std::string what;
  Bytes bytes = 0;
};
// What the plan's peak consists of; the rows add up to it. Kinds of resident buffers are told apart where the problem
// gives them.
TIDEMARK_API std::vector<PeakRow> peak_rows(const plan::Problem& problem, const plan::Plan& plan,
                                            const Story& story, const std::vector<Fate>& fates);
// The run during which most bytes are live.
TIDEMARK_API std::int32_t peak_run(const Story& story);

}  // namespace tidemark
