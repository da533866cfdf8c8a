// Which data the nodes of a Graph may refuse when they run (ops' may_refuse, regions included), told apart so that what was accepted once is
// known to be accepted again: the adjoint of a lookup takes the lookup's indices, the adjoint of a loop runs its steps again.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/graph.h"
#include "tidemark/ir/op.h"

namespace tidemark {

// Values are told apart by numbers: equal where the same ops were applied to the same, in regions too. A number inside a loop stands for
// what all steps have there.
using ValueNumber = std::int32_t;

struct DataNeed {
  ValueNumber of = -1;  // the indices, or what a node of its own gives
  IndexRange range;     // of indices; a limit below 0: anything may be refused
  const Op* op = nullptr;
  std::vector<ValueNumber>
      within;  // the conditions under which it is looked at, outermost first: branches taken, loops that count
  bool indices() const { return range.limit >= 0; }
};

class DataNeeds {
 public:
  explicit DataNeeds(const Graph& graph);
  // Of a node of the graph; without indices that are in their range whatever the data.
  const std::vector<DataNeed>& of(std::size_t node) const { return of_node_[node]; }
  bool any() const;
  // Whether the second need not be looked at where the first was accepted.
  bool covers(const DataNeed& accepted, const DataNeed& wanted) const;
  // The number, and those of arrays whose elements its elements are among.
  std::vector<ValueNumber> inside(ValueNumber n) const;
  // A value of the graph with this number, or -1.
  ValueId value(ValueNumber n) const { return numbers_[static_cast<std::size_t>(n)].value; }

 private:
  friend class NeedsWalk;
  struct Number {
    ValueNumber part_of = -1;
    bool every_slice = false;  // of part_of: one in each step of a loop that runs them all
    std::int64_t below = -1;   // elements are in [0, below)
    ValueId value = -1;
    ValueNumber slice = -1;  // made by a loop, a slice a step: what the step gives
    ValueNumber count = -1;  // of that loop's steps, where that is not known
    int depth = 0;           // loops around that one, or around the one whose slice it is
  };
  std::vector<std::vector<DataNeed>> of_node_;
  std::vector<Number> numbers_;
};

}  // namespace tidemark
