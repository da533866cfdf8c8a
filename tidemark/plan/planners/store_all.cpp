// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/finish.h"

namespace tidemark::plan::named {

Plan store_all(const Problem& problem, const Options& options) {
  std::vector<Step> runs;
  runs.reserve(problem.tasks.size());
  for (std::size_t t = 0; t < problem.tasks.size(); ++t) {
    if (!problem.tasks[t].optional) runs.push_back({Step::Kind::run, static_cast<TaskId>(t), -1, {}});
  }
  return finish(problem, std::move(runs), options);
}

}  // namespace tidemark::plan::named
