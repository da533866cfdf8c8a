// A C++ function traced as the region of a loop, branch or call: its own graph, what it closed over, and the structure
// that its results are put into.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/front/aggregate.h"
#include "tidemark/ir/builder.h"

namespace tidemark::detail {

template <typename Result>
struct Region {
  Graph graph;  // inputs: the tensors of the arguments, then the captures
  Tensors captures;
  Result result;  // tensors of a finished trace: only its structure is of use
};

// `like`: arguments whose tensors have the types that the region's inputs are to have.
template <typename F, typename... Args>
auto trace_region(F& f, const Args&... like) {
  const auto builder = Builder::make();
  const auto enter = [&](auto arg) {
    for_each_tensor(arg, [&](const std::string& name, Tensor& t) { t = builder->input(t.type(), name); });
    return arg;
  };
  std::tuple<Args...> entered{enter(like)...};
  auto result = std::apply([&](const Args&... args) { return f(args...); }, entered);
  Tensors flat = flatten(result);
  Graph graph = builder->finish(flat);
  return Region<decltype(result)>{std::move(graph), builder->captures(), std::move(result)};
}

// Inputs of these types put in at `position`, for what only another region of the node reads.
TIDEMARK_API void widen(Graph& region, std::size_t position, std::span<const Tensor> like);
// The same aggregate without the first axis of each tensor, as abstract tensors.
TIDEMARK_API Tensor abstract_slice(const Tensor& x);

// A tensor of the newest trace among `in`, where a node over all of them is recorded; an error where there is none.
TIDEMARK_API Tensors apply_region(const Op& op, Tensors in, Attrs attrs, std::vector<Graph> regions, Where where);

}  // namespace tidemark::detail
