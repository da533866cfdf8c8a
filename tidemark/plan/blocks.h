// Equal blocks of a problem (the layers of a transformer, forward and backward), found by what their tasks look like. What the search
// finds for one of them is carried over to the others: solved once, stitched everywhere.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/plan/improve.h"

namespace tidemark::plan {

class Blocks {
 public:
  // Linear in the size of the problem, but for sorting.
  explicit Blocks(const Model& model);

  bool found() const { return count_ > 0; }
  std::int32_t count() const { return count_; }
  // The block of a task, or -1; and the task that has its place in another block, or -1.
  std::int32_t block_of(TaskId t) const { return block_[static_cast<std::size_t>(t)]; }
  TaskId same_in(TaskId t, std::int32_t block) const;

 private:
  struct Stretch {
    std::int32_t first, period, count;  // in the order of the list
  };
  std::vector<Stretch> stretches(const std::vector<std::uint64_t>& looks) const;
  std::vector<std::uint64_t> looks(const Model& model) const;

  std::int32_t count_ = 0;
  std::vector<TaskId> order_;
  std::vector<std::int32_t> block_, place_;  // by task; place: in the order, -1 for none
  std::vector<std::int32_t>
      stride_;  // by task: places from a block to the next; negative in a backward stretch
};

// Carries the second runs of each block's tasks over to every other block, where that takes less time and fits. The number of blocks that changed.
int stitch(Timeline& line, const Blocks& blocks, Bytes budget, std::span<const std::int32_t> sources,
           const Limit& limit);

}  // namespace tidemark::plan
