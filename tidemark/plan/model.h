// A Problem as the search sees it: flat arrays, resident buffers taken out, copies to tiers as tasks of their own.
// Between Problem and everything that looks for a Plan; immutable once built.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/plan/csr.h"
#include "tidemark/plan/problem.h"

namespace tidemark::plan {

struct ModelOptions {
  bool makers = true;    // optional tasks may run
  bool in_place = true;  // storage may be taken over
  bool tiers = true;     // buffers may be copied out and in where they need not be
};

struct Model {
  // A run of the search is a task of the problem or one end of a copy. A buffer that is copied out is used by `evict` and by
  // `wait_out`, after which its storage is free; `fetch` makes it again.
  enum class Kind : std::uint8_t { task, evict, wait_out, fetch };
  struct Copy {
    BufferId buffer = -1;
    TierId tier = -1;
  };
  struct Pair {
    BufferId read, write;
  };

  Model(const Problem& problem, const ModelOptions& options);

  const Problem* problem;
  std::int32_t tasks = 0;  // of the problem; copies have the ids behind them
  std::int32_t all = 0;    // tasks and copies
  std::int32_t buffers = 0;
  Bytes base = 0;           // of the resident buffers
  std::vector<Bytes> size;  // by buffer; 0 for resident ones
  std::vector<char> resident, output;
  std::vector<double> seconds;  // by task or copy; a copy takes none of the compute stream's
  std::vector<Bytes> workspace;
  std::vector<char> can_repeat;  // may run a second time
  std::vector<char> allowed;     // may run at all under the options
  std::vector<Kind> kind;
  std::vector<std::int32_t> group;  // the required task whose work it does; -1: none asks for it
  Csr reads, writes;  // by task or copy, without resident buffers; an updated buffer is read only
  Csr updates;        // by task: the buffers among its reads that it gives a new version
  Csr makers;         // by buffer: what may make it again or first; the cheapest first
  Csr after, before;  // by task: updates that every run of it follows, and precedes (versions)
  Csr tied;           // by update: the tasks that have it in `after` or `before`
  std::vector<std::vector<Pair>> in_place;  // by task; empty when none has any
  std::vector<Copy> copies;                 // by copy id - tasks
  std::vector<std::int32_t>
      first_copy;  // by buffer: id of the first of its copies (evict, wait_out, fetch for each tier), or -1
  std::vector<TaskId> order;  // required tasks as listed

  // There may be plans that no sequence of this model is: with an optional update in place of another, or of pairs that share a buffer another than
  // the first.
  bool leaves_out = false;
  bool has_in_place() const { return !in_place.empty(); }
  bool has_copies() const { return !copies.empty(); }
  std::int32_t evict_of(BufferId b, TierId tier) const {
    return first_copy[static_cast<std::size_t>(b)] + 3 * tier;
  }
  double copy_seconds(BufferId b, TierId tier, bool out) const;
};

}  // namespace tidemark::plan
