// Trees: the order of least peak; nothing is made twice. Liu 1987; plan/order_tree.h.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/base/error.h"
#include "tidemark/plan/finish.h"
#include "tidemark/plan/order_tree.h"
#include "tidemark/plan/planners.h"

namespace tidemark::plan::named {

Plan tree_dp(const Problem& problem, const Options& options) {
  const ordering::TreeOrder tree = ordering::tree_order(problem);
  if (!tree.against.empty()) fail(Error::Kind::unsupported, "[tree_dp] applies to trees; {}", tree.against);
  std::vector<Step> runs;
  for (const TaskId t : tree.order) runs.push_back({Step::Kind::run, t, -1, {}});
  return finish(problem, std::move(runs), options);
}

}  // namespace tidemark::plan::named
