// The machine behind the offline schedules: reverses [0, steps) by splitting segments, asking a policy what
// to do with each. Memory is one frame for each thing stored.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tidemark/schedule/schedule.h"

namespace tidemark::schedule {

// A segment [from, to) still to be reversed; the working state is state `from` when the policy is asked.
struct Frame {
  std::int64_t from = 0, to = 0;
  std::int64_t budget = 0;  // the policy's own: slots or units of memory that this segment may use
  std::int64_t level = 0;   // the policy's own: the tier that it may store in
  bool stored = false;
  Slot slot;  // of state `from`, where stored
};

struct Choice {
  enum class Kind : std::uint8_t {
    store,  // state `from` into a slot of `tier`, then ask again
    leave,  // give up the slot of state `from`, then ask again
    split,  // advance to `at` and reverse [at, to) first; then [from, at). Needs state `from` stored
    tape,   // keep the adjoint data of step `from` in a slot of `tier`, reverse [from + 1, to) first
  };
  Kind kind = Kind::store;
  std::int64_t at = 0;
  int tier = 0;
  std::int64_t budget = 0, level = 0;              // of this frame from now on
  std::int64_t child_budget = 0, child_level = 0;  // of the segment that is reversed first (split, tape)
};

class Policy {
 public:
  virtual ~Policy() = default;
  // Never asked about a segment of one step: that one is taped and reversed.
  virtual Choice choose(const Frame& frame) = 0;
};

class Walk final : public Schedule {
 public:
  Walk(std::unique_ptr<Policy> policy, const Frame& whole);
  // Frames in order of steps, each but perhaps the first stored; the working state is nowhere useful.
  Walk(std::unique_ptr<Policy> policy, const std::vector<Frame>& stored);
  Action next() override;

 private:
  // What is left to do for a frame when those above it on the stack are gone.
  enum class Then : std::uint8_t { ask, restore_state, restore_tape, reverse_tape };
  struct Entry {
    Frame frame;
    Then then = Then::ask;
    Slot tape;
  };
  Action act(Entry& top);
  Action choose(Entry& top);
  Slot take(int tier);
  void give(Slot slot);
  void push(const Frame& frame);

  std::unique_ptr<Policy> policy_;
  std::vector<Entry> stack_;
  std::vector<std::vector<std::int64_t>> free_;  // by tier: indices given back
  std::vector<std::int64_t> fresh_;              // by tier: the first index never used
  std::vector<Action> queue_;                    // of one decision, at most three
  std::size_t queued_ = 0;
};

}  // namespace tidemark::schedule
