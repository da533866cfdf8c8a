// Versions of buffers that tasks update: which one each task's place in the list gives it, and which are
// current. Internal to replay.cpp.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "tidemark/plan/problem.h"

namespace tidemark::plan {

class Versions {
 public:
  explicit Versions(const Problem& problem);

  // "" and the updates of `task` are done, or the rule that running it now would break.
  std::string run(TaskId task, const Problem& problem);
  // The buffers that the task updates.
  std::span<const BufferId> updates(TaskId task) const;

 private:
  struct Touch {
    BufferId buffer;
    std::int32_t version;  // how many updates of the list stand before the task's place
  };
  // Only of buffers that some task updates: task t has those from first_touch_[t] to first_touch_[t + 1].
  std::vector<Touch> touches_;
  std::vector<std::size_t> first_touch_;
  std::vector<BufferId> updates_;
  std::vector<std::size_t> first_update_;
  std::vector<std::int32_t> current_;
};

}  // namespace tidemark::plan
