// The checker's arena: what lies where at the moment, and the first rule about offsets that is broken.
// Internal to replay.cpp, which tells it what each step creates and ends.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "tidemark/plan/plan.h"

namespace tidemark::plan {

class ReplayArena {
 public:
  ReplayArena(const Problem& problem, const Plan& plan);

  // Each returns "" or the rule broken.
  std::string begin_step(std::int32_t step);
  std::string create(BufferId buffer, Bytes bytes);      // or Placement::kWorkspace
  std::string take_over(BufferId read, BufferId write);  // write shall lie where read lies
  std::string end_step();                                // nothing is placed that the step does not create
  std::string finish() const;                            // bytes is the highest end
  void remove(BufferId buffer);                          // or Placement::kWorkspace
  void shrink(BufferId buffer, Bytes bytes);  // to its own size, where it took over a larger storage

 private:
  const Placement* find(BufferId buffer) const;
  std::string what(BufferId buffer) const;
  BufferId key(BufferId buffer) const {
    return buffer < 0 ? static_cast<BufferId>(offset_.size()) - 1 : buffer;
  }

  struct Region {
    Bytes end;
    BufferId buffer;
  };
  const Problem& problem_;
  const Plan& plan_;
  std::vector<Placement> sorted_;     // by step, then buffer
  std::size_t first_ = 0, last_ = 0;  // those of the current step
  std::size_t used_ = 0;
  std::map<Bytes, Region> regions_;  // by offset; disjoint; empty buffers are not among them
  std::vector<Bytes> offset_;        // of each live buffer; the last one is the workspace's
  Bytes highest_ = 0;
};

}  // namespace tidemark::plan
