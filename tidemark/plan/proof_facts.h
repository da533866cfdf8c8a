// What the checker of proofs takes from the problem: the definitions of docs/proofs.md. Internal to proof.cpp and
// proof_facts.cpp, and to nothing else: the makers of proofs have their own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/plan/proof_read.h"

namespace tidemark::plan::proof {

using Ids = std::vector<std::int32_t>;  // of tasks or values, each once

inline std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
bool contains(const Ids& list, std::int64_t item);
// Throws Error(data) with these words where it does not hold.
void expect(bool holds, const char* what);

// A buffer at one of its versions. Value b is buffer b as it first is; each update of the list adds one.
struct Value {
  Bytes bytes = 0;  // what storing it takes: 0 for a resident buffer
  bool resident = false, given = false, output = false;
  std::int32_t replaces = -1;  // the value of the version before
  Ids makers, firsts;          // all, and those that may be the first to make it
};

struct Facts {
  // `order`: [a, b, 0] a first runs before b, [a, b, 1] b before a.
  Facts(const Problem& problem, const std::vector<Row>& never_first, const std::vector<Row>& order);

  const Problem& problem;
  std::vector<Value> values;
  std::vector<Ids> reads, writes, fresh;  // values, by task
  std::vector<TaskId> duty;               // by task: the required task whose work it does, or -1
  std::vector<bool> sole;                 // by task: required, with nothing instead of it
  std::vector<Bytes> held;                // by task: of the budget while it runs, beside what it reads
  Bytes resident_bytes = 0;
  std::size_t walks = 1;  // back through the list, to find all that has run
};

// What is so in every plan at one moment.
struct Moment {
  std::vector<bool> before, after, over;  // by task: has run; cannot have run; does not run any more
  std::vector<bool> least, most;          // by value: surely stored; possibly stored
  Bytes held = 0;
};
Moment the_start(const Facts& facts);
Moment the_end(const Facts& facts);
// `after`: the first and the last of each range of tasks that are said to be after.
Moment first_run(const Facts& facts, TaskId task, const std::vector<Row>& after);

}  // namespace tidemark::plan::proof
