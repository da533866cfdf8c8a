// Equal steps with bytes as the budget: an area holds states, from its start, and the adjoint data ("tapes") of steps, from
// its end, each in its true size. Maddison's mixed schedules where both are of one size, revolve where no tape is
// kept. Constant memory: what compiled loops follow, and emitted ones (emit/loops.cpp writes the same out).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tidemark/base/api.h"
#include "tidemark/base/bytes.h"

namespace tidemark::schedule {

// A segment is reversed from a state: as a leaf, if the tapes of all its steps but the last fit beside the states that
// are kept (the last is reversed from its state straight away), else in two parts, the later one first. The state of a
// segment at depth d lies in place d of the area; the first state, depth 0, lies elsewhere. A leaf's tapes may lie over the
// place of its own state, which only its first step reads.
class TIDEMARK_API Sized {
 public:
  // `state`, `tape`: bytes of one. tape 0: none are kept, and the area has places for `bytes` / `state` states.
  Sized(std::int64_t steps, Bytes state, Bytes tape, Bytes bytes);

  bool taped() const { return tape_ > 0; }
  // With tapes, one step more: behind the loop, so that the steps before it are taped in the first sweep.
  std::int64_t end() const { return steps_ + (taped() ? 1 : 0); }
  std::int64_t depths() const { return depths_; }  // places for states
  std::int64_t leaf(std::int64_t depth) const;     // the most steps of a leaf; to depths() + 1
  bool all_at_once() const { return end() <= leaf(0); }

  // How many numbers split() looks at, `levels` rows of them, and what they are.
  std::int64_t levels() const { return levels_; }
  std::int64_t table_size() const { return (depths_ + 2) * levels_; }
  void fill(std::span<std::int64_t> table) const;
  // The steps before the second part of a segment of more steps than a leaf's; of more than the table goes up to, the second part has as many as
  // it goes up to.
  std::int64_t split(std::int64_t steps, std::int64_t depth, const std::int64_t* table) const;

  struct Counts {
    std::int64_t first_taped = 0;  // steps that the first sweep tapes
    std::int64_t advances = 0;     // steps run again to come to a state
    std::int64_t taped = 0;        // steps run again for their tapes
    std::int64_t direct = 0;       // steps reversed from their states
  };
  Counts counts() const { return counts(steps_, true); }
  // Of a segment of so many steps, at most those of the whole, from a state outside; `first`: the first sweep comes to its end anyway.
  Counts counts(std::int64_t steps, bool first) const;
  // Of steps [0, steps) whose states `kept` (0 first) lie in the places of depths 0, 1, ….
  Counts counts(std::span<const std::int64_t> kept, std::int64_t steps) const;

 private:
  struct Part {
    std::int64_t steps = 0, depth = 0;
  };
  Counts count(std::vector<Part> parts, std::int64_t steps, bool first) const;

  std::int64_t steps_, depths_, levels_ = 0;
  Bytes state_, tape_, bytes_;
};

}  // namespace tidemark::schedule
