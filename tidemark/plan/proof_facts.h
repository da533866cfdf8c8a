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
  Facts(const Problem& problem, const Rows& never_first);

  const Problem& problem;
  Bytes resident_bytes = 0;
  std::vector<Bytes> bytes;  // by buffer: what having it live takes, beside those
  std::vector<bool> given, output;
  std::vector<Ids> makers, firsts;  // by buffer: all, and those that may be the first
  std::vector<Ids> reads,
      fresh;                // by task: buffers; the latter are those that it makes in storage of their own
  std::vector<Bytes> held;  // by task: of the budget while it runs, beside what it reads
  std::vector<Ids> follows, ends;  // by task: whenever it runs, these have run; these have not
  std::vector<TaskId> duty;        // by task: the required task whose work it does, or -1
  std::vector<bool> sole;          // by task: required, with nothing instead of it
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
// When the moment's task first runs, in plans that agree with all of these.
Moment first_run(const Facts& facts, const MomentText& text, const std::vector<Decision>& decisions);

}  // namespace tidemark::plan::proof
