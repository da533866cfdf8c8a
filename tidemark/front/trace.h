// trace: a C++ function on Tensors → the Graph of what it does.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/front/aggregate.h"
#include "tidemark/ir/builder.h"

namespace tidemark {

// Inputs: the tensors of the arguments in order, then what the function closed over. Contents are not looked
// at.
template <typename F, typename... Args>
Graph trace(F&& f, const Args&... args) {
  const auto builder = Builder::make();
  const auto enter = [&](auto arg) {
    for_each_tensor(arg, [&](const std::string& name, Tensor& t) { t = builder->input(t.type(), name); });
    return arg;
  };
  // Braces: arguments enter from left to right.
  std::tuple<Args...> entered{enter(args)...};
  const auto result = std::apply(std::forward<F>(f), entered);
  return builder->finish(flatten(result));
}

}  // namespace tidemark
