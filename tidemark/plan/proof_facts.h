// What verify_proof derives from the problem alone. Internal to proof.cpp and proof_facts.cpp, and to nothing
// else: the makers of proofs have their own. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/plan/problem.h"

namespace tidemark::plan::proof {

// Values are buffers at a version: value b is buffer b as first made; each update in the list adds one more.
struct Facts {
  explicit Facts(const Problem& problem);

  struct Value {
    BufferId buffer = 0;
    Bytes bytes = 0;  // what storing it takes: 0 for a resident buffer
    bool resident = false;
    bool given = false;  // from the start, resident or in a tier
    std::vector<TaskId> makers, readers;
    std::vector<bool> not_first;  // by maker: never the one that makes it first
  };
  struct Role {
    std::vector<std::int32_t> reads, writes;  // values
    TaskId duty = -1;                         // the required task whose work it does
    bool sole = false;                        // required, with nothing instead of it
  };
  const Problem& problem;
  std::vector<Value> values;
  std::vector<Role> tasks;
  std::vector<std::int32_t> outputs;
  Bytes resident_bytes = 0;
};

// What is so in every plan when `task` first runs.
struct Instant {
  Instant(const Facts& facts, TaskId task);

  TaskId task;
  std::vector<bool> before, not_before;  // by task: has run; cannot have run
  std::vector<bool> past;                // by value: replaced by an update
  std::vector<std::int32_t> fresh;       // values that the run writes into storage of its own
  Bytes held = 0;                        // resident bytes, workspace, fresh values
};

// Values that a run writes into storage of their own, whatever it does in place.
std::vector<std::int32_t> fresh_writes(const Facts& facts, TaskId task);
bool contains(const std::vector<std::int32_t>& list, std::int32_t item);

}  // namespace tidemark::plan::proof
