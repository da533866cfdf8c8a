// cond: one of two functions, by a boolean that is known only when the program runs. call: a function under a name.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <string>
#include <utility>

#include "tidemark/front/region.h"
#include "tidemark/ops/loops.h"
#include "tidemark/ops/operand.h"

namespace tidemark {

// yes(args…) where p holds, else no(args…). Both return one type, with tensors of the same types. Only one runs; what
// either closes over is computed before.
template <typename Yes, typename No, typename... Args>
auto cond(const Operand& p, Yes yes, No no, const Args&... args) {
  auto a = detail::trace_region(yes, args...);
  auto b = detail::trace_region(no, args...);
  static_assert(std::is_same_v<decltype(a.result), decltype(b.result)>, "both branches of a cond return one type");
  Tensors in{p.tensor};
  (
      [&] {
        const Tensors flat = flatten(args);
        in.insert(in.end(), flat.begin(), flat.end());
      }(),
      ...);
  detail::widen(b.graph, in.size() - 1, a.captures);
  detail::widen(a.graph, a.graph.inputs.size(), b.captures);
  in.insert(in.end(), a.captures.begin(), a.captures.end());
  in.insert(in.end(), b.captures.begin(), b.captures.end());
  return unflatten(a.result, detail::apply_region(cond_op, std::move(in), {}, {std::move(a.graph), std::move(b.graph)}, p.where));
}

// A name, and the line that gives it.
struct CallName {
  template <typename Text>
    requires std::convertible_to<Text, std::string>
  CallName(Text&& text, Where w = Where::current())
      : name(std::forward<Text>(text)), where(w) {}  // NOLINT: implicit by design
  std::string name;
  Where where;
};

// f(args…), one node named `name` in the graph.
template <typename F, typename... Args>
auto call(const CallName& name, F f, const Args&... args) {
  auto region = detail::trace_region(f, args...);
  Tensors in;
  (
      [&] {
        const Tensors flat = flatten(args);
        in.insert(in.end(), flat.begin(), flat.end());
      }(),
      ...);
  in.insert(in.end(), region.captures.begin(), region.captures.end());
  return unflatten(region.result, detail::apply_region(call_op, std::move(in), Attrs{{"name", name.name}},
                                                       {std::move(region.graph)}, name.where));
}

}  // namespace tidemark
