// What the checker of proofs takes from the problem: the definitions of docs/proofs.md. Internal to proof.cpp and
// proof_facts.cpp, and to nothing else: the makers of proofs have their own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/plan/proof_read.h"

namespace tidemark::plan::proof {

using Ids = std::vector<std::int32_t>;

inline std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
// Throws Error(data) with these words where it does not hold.
void expect(bool holds, const char* what);

struct Facts {
  explicit Facts(const Problem& problem);

  const Problem& problem;
  Bytes resident_bytes = 0;
  std::vector<Bytes> bytes;  // by buffer: what having it live takes, beside those
  std::vector<bool> given, output;
  std::vector<Ids> makers, firsts;  // by buffer: all, and those that may be the first
  std::vector<Ids> reads, readers;  // by task: buffers; by buffer: tasks
  std::vector<Ids> starts,
      fresh;  // by task: buffers that it may be the first to make; makes in storage of their own
  std::vector<Bytes> held;              // by task: of the budget while it runs, beside what it reads
  std::vector<Ids> follows, followers;  // by task: whenever it runs, these have run; the opposite
  std::vector<Ids> ends;                // by task: whenever it runs, these have not
  std::vector<TaskId> duty;             // by task: the required task whose work it does, or -1
  std::vector<bool> sole;               // by task: required, with nothing instead of it

 private:
  void find_runs();
  void find_firsts();
};

// What is so in every plan at one moment.
struct Moment {
  std::vector<bool> before, after, over;  // by task: has run; cannot have run; does not run any more
  std::vector<bool> least, most;          // by buffer: surely stored; possibly stored
  Bytes held = 0;
};
// Of the two cases of a node, the one in which its decision holds, or the other.
struct Decision {
  bool by_order;
  std::int64_t task, other;
  bool holds;
};
// When the task first runs, in plans for the budget that agree with all of these.
Moment first_run(const Facts& facts, std::int64_t task, const std::vector<Decision>& decisions, Bytes budget);

}  // namespace tidemark::plan::proof
