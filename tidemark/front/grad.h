// grad, value_and_grad, vjp, jvp, hvp, hessian: transforms of C++ functions on Tensors (or aggregates of
// them). Any nesting works, eagerly and inside compile(): each call records the function on a Level of its
// own and differentiates what was recorded.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <utility>

#include "tidemark/front/aggregate.h"
#include "tidemark/front/level.h"

namespace tidemark {

template <typename Value, typename Grad>
struct ValueAndGrad {
  Value value;
  Grad grad;
};

namespace detail {

// The aggregate one level up; `entered` collects its tensors there.
template <typename A>
A enter(Level& level, const A& below, Tensors& entered) {
  A above = below;
  for_each_tensor(above, [&](const std::string& name, Tensor& t) {
    t = level.enter(t, name);
    entered.push_back(t);
  });
  return above;
}

template <typename A>
A leave(const Level& level, A above) {
  for_each_tensor(above, [&](Tensor& t) { t = level.payload(t); });
  return above;
}

// The tensor that is differentiated: the result, or the first one of a result with more to say.
template <typename R>
Tensor loss_of(const R& result) {
  const Tensors all = flatten(result);
  if (all.empty()) fail(Error::Kind::usage, "[grad] the function returns no tensor");
  if (all[0].numel() != 1) {
    fail(Error::Kind::usage, "[grad] the function returns {} vs a scalar; sum or mean it, or use vjp",
         to_string(all[0].type()));
  }
  if (!is_float(all[0].dtype()))
    fail(Error::Kind::usage, "[grad] the function returns {}, which has no derivative",
         to_string(all[0].type()));
  return all[0];
}

}  // namespace detail

// With respect to the first argument. f may return a scalar, or an aggregate whose first tensor is that
// scalar.
template <typename F>
auto value_and_grad(F f, Where where = Where::current()) {
  return [f = std::move(f), where]<typename P, typename... Rest>(const P& params, const Rest&... rest) {
    const auto level = Level::make();
    Tensors wrt;
    P above = detail::enter(*level, params, wrt);
    auto result = f(above, rest...);
    const Called called("grad", where);  // not around f: what is wrong there has its own line
    const Tensor loss = detail::loss_of(result);
    P grads = unflatten(params, level->pull_back(std::span(&loss, 1), {}, wrt));
    using R = decltype(result);
    return ValueAndGrad<R, P>{detail::leave(*level, std::move(result)), std::move(grads)};
  };
}

template <typename F>
auto grad(F f, Where where = Where::current()) {
  return [vg = value_and_grad(std::move(f), where)]<typename P, typename... Rest>(
             const P& params, const Rest&... rest) { return vg(params, rest...).grad; };
}

// y = f(x) and the map from a cotangent of y to one of x. The map may be called any number of times.
template <typename F, typename X>
auto vjp(F f, const X& x, Where where = Where::current()) {
  const auto level = Level::make();
  Tensors wrt;
  X above = detail::enter(*level, x, wrt);
  auto y = f(above);
  const Tensors outputs = flatten(y);
  auto value = detail::leave(*level, y);
  auto pull_back = [level, wrt, outputs, x, where](const auto& cotangent) {
    const Called called("vjp", where);
    const Tensors seeds = flatten(cotangent);
    if (seeds.size() != outputs.size()) {
      fail(Error::Kind::usage, "[vjp] {} cotangents vs {} outputs; give zeros where there is none", seeds.size(), outputs.size());
    }
    return unflatten(x, level->pull_back(outputs, seeds, wrt));
  };
  return std::make_pair(std::move(value), std::move(pull_back));
}

// f(x) and the derivative of f at x in the direction dx.
template <typename F, typename X>
auto jvp(F f, const X& x, const X& dx, Where where = Where::current()) {
  const auto level = Level::make();
  Tensors wrt;
  X above = detail::enter(*level, x, wrt);
  auto y = f(above);
  auto value = detail::leave(*level, y);
  const Called called("jvp", where);
  const Tensors tangents = flatten(dx);
  if (tangents.size() != wrt.size()) {
    fail(Error::Kind::usage, "[jvp] {} tangents vs {} inputs; give zeros where there is none", tangents.size(), wrt.size());
  }
  auto tangent = unflatten(value, level->push_forward(flatten(y), wrt, tangents));
  return std::make_pair(std::move(value), std::move(tangent));
}

// The product of the Hessian of f at x with v: forward over reverse.
template <typename F, typename X>
X hvp(F f, const X& x, const X& v, Where where = Where::current()) {
  return jvp(grad(std::move(f), where), x, v, where).second;
}

// All of it, for one tensor of n elements: shape (…x, …x), column by column.
TIDEMARK_API Tensor hessian(const std::function<Tensor(const Tensor&)>& f, const Tensor& x,
                            Where where = Where::current());
// ∂y/∂x, shape (…y, …x), row by row.
TIDEMARK_API Tensor jacobian(const std::function<Tensor(const Tensor&)>& f, const Tensor& x,
                             Where where = Where::current());

}  // namespace tidemark
