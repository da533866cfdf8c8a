// What the checker of proofs derives from the problem alone: the definitions of docs/proofs.md. Internal to proof.cpp
// and proof_facts.cpp, and to nothing else: the makers of proofs have their own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/plan/problem.h"

namespace tidemark::plan::proof {

using Ids = std::vector<std::int32_t>;  // of tasks or values, each once

inline std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }
bool contains(const Ids& list, std::int64_t item);

// A buffer at one of its versions. Value b is buffer b as it first is; each update of the list adds one.
struct Value {
  BufferId buffer = 0;
  Bytes bytes = 0;  // what storing it takes: 0 for a resident buffer
  bool resident = false, given = false, output = false;
  std::int32_t replaces = -1;  // the value of the version before
  Ids makers, readers;
  std::vector<bool> never_first;  // by maker
};

struct Facts {
  explicit Facts(const Problem& problem);

  const Problem& problem;
  std::vector<Value> values;
  std::vector<Ids> reads, writes, fresh;  // values, by task
  std::vector<TaskId> duty;               // by task: the required task whose work it does, or -1
  std::vector<bool> sole;                 // by task: required, with nothing instead of it
  Bytes resident_bytes = 0;
};

// What is so in every plan when `task` first runs.
struct Moment {
  Moment(const Facts& facts, TaskId task);

  TaskId task;
  std::vector<bool> before, after;  // by task: has run; cannot have run
  std::vector<bool> past;           // by value: replaced by an update
  std::vector<bool> reads, fresh;   // by value, of the run itself
  Bytes held = 0;
};

}  // namespace tidemark::plan::proof
