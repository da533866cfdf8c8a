// SPDX-License-Identifier: Apache-2.0
#include "tidemark/front/region.h"

#include "tidemark/front/eager.h"
#include "tidemark/grad/regions.h"
#include "tidemark/ops/loops.h"

namespace tidemark::detail {

void widen(Graph& region, std::size_t position, std::span<const Tensor> like) {
  std::vector<ValueId> ids;
  for (const Tensor& t : like) {
    ids.push_back(static_cast<ValueId>(region.values.size()));
    region.values.push_back(Value{.type = t.type()});
  }
  region.inputs.insert(region.inputs.begin() + static_cast<std::ptrdiff_t>(position), ids.begin(), ids.end());
}

Tensor abstract_slice(const Tensor& x) { return abstract(slice_type(x.type())); }

Tensors apply_region(const Op& op, Tensors in, Attrs attrs, std::vector<Graph> regions, Where where) {
  if (in.empty()) fail(Error::Kind::usage, "[{}] no tensor goes in: there is no state, no argument and nothing that it closes over", op.name);
  const auto results = static_cast<std::ptrdiff_t>(regions[0].outputs.size());
  record_unrepeatable(op, attrs, regions);
  Tensors out = apply(op, in, std::move(attrs), where, std::move(regions));
  out.erase(out.begin() + results, out.end() - (&op == &while_op ? 1 : 0));
  return out;
}

}  // namespace tidemark::detail
