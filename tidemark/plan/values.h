// A problem as the bounds see it: values (a buffer at one of its versions), who makes and reads them, and
// what must have run before or cannot have run before the moment a task first runs, in every plan. Input of
// the cut model.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>

#include "tidemark/plan/problem.h"

namespace tidemark::plan {

using ValueId = std::int32_t;

// Lists of lists in two arrays.
struct Lists {
  std::vector<std::int32_t> first, items;
  std::span<const std::int32_t> operator[](std::int32_t i) const {
    const auto begin = static_cast<std::size_t>(first[static_cast<std::size_t>(i)]);
    return std::span(items).subspan(begin,
                                    static_cast<std::size_t>(first[static_cast<std::size_t>(i) + 1]) - begin);
  }
  int size() const { return static_cast<int>(first.size()) - 1; }
};

// Of two tasks that every plan runs, which first runs before the other.
struct Order {
  TaskId first, then;
};

struct Values {
  // For the plans of these orders alone: `first` makes a value of no bytes, resident once it is there, that `then` reads.
  explicit Values(const Problem& problem, std::span<const Order> orders = {});

  const Problem& problem;
  std::vector<BufferId> buffer;  // by value; below 0 for an order's
  std::vector<std::int32_t> version;
  std::vector<Bytes> size;  // 0 for what is resident: it costs nothing to keep
  std::vector<bool> given;  // there from the start: resident, or with a copy in a tier
  std::vector<bool> resident;
  Lists reads, writes;    // by task; no value twice
  Lists makers, readers;  // by value
  std::vector<ValueId> outputs;
  // For each task the required task whose work it does: itself, what it is instead of, or -1.
  std::vector<TaskId> duty;
  std::vector<double> floor;  // by required task: the least seconds of those that do its work
  std::vector<bool> sole;     // required, and nothing can run instead
  // Makers of a value that cannot be the first to make it: they read what can only be made from it.
  std::vector<bool> never_first;        // parallel to makers.items
  std::vector<ValueId> never_first_by;  // likewise: which of the values it reads says so
  Bytes resident_bytes = 0;
  double floor_seconds = 0;  // the sum of `floor`

  int tasks() const { return reads.size(); }
  int values() const { return makers.size(); }
};

// Of the budget while a task runs: resident, workspace, and what it writes outside of others' storage, which is added to `fresh`.
Bytes held_in_run(const Values& values, TaskId task, std::vector<ValueId>& fresh);

// What holds in every plan when `task`, which must be `sole`, first runs.
struct Moment {
  Moment(const Values& values, TaskId task);

  bool counts(ValueId v) const { return std::find(fresh.begin(), fresh.end(), v) != fresh.end(); }

  TaskId task;
  std::vector<bool> before;  // by task: has run (what is `sole` among them: surely; see Values::duty)
  std::vector<bool> after;   // by task: cannot have run yet; `task` itself included
  std::vector<bool>
      gone;  // by value: an update that replaced it has run, so nobody reads or makes it any more
  std::vector<ValueId> fresh;  // what the run writes into storage of its own
  Bytes held = 0;              // of the budget: see held_in_run
};

}  // namespace tidemark::plan
