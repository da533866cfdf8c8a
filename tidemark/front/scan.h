// scan: a loop of known length as one value of the program, so that its gradient can be planned: eagerly it runs step by
// step, compiled it is one task with a budget. while_loop: the same with a condition.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include "tidemark/front/region.h"
#include "tidemark/ops/loops.h"

namespace tidemark {

// The last state, and what each step gave, stacked along a new first axis.
template <typename State, typename Ys>
struct ScanResult {
  State state;
  Ys ys;
};

namespace detail {

struct NoXs {};

template <typename State, typename Body, typename Xs>
auto scan(std::int64_t n, const State& state, Body& body, const Xs& xs, Where where) {
  if (n < 0) fail(Error::Kind::usage, "[scan] {} steps vs at least 0", n);
  const auto traced = [&] {
    if constexpr (std::is_same_v<Xs, NoXs>) {
      return trace_region(body, state);
    } else {
      return trace_region(body, state, map_tensors(xs, [](const Tensor& x) { return abstract_slice(x); }));
    }
  };
  auto region = traced();
  Tensors in = flatten(state);
  LoopShape shape{.trips = n, .carries = static_cast<int>(in.size())};
  if constexpr (!std::is_same_v<Xs, NoXs>) {
    const Tensors slices = flatten(xs);
    in.insert(in.end(), slices.begin(), slices.end());
    shape.xs = static_cast<int>(slices.size());
  }
  in.insert(in.end(), region.captures.begin(), region.captures.end());
  const auto recorded = [&](std::size_t next_state) {
    if (next_state != static_cast<std::size_t>(shape.carries))
      fail(Error::Kind::usage, "[scan] the body returns {} tensors of state vs {} given", next_state, shape.carries);
    return apply_region(scan_op, std::move(in), loop_attrs(shape), {std::move(region.graph)}, where);
  };
  using Result = decltype(region.result);
  if constexpr (std::is_same_v<Result, State>) {
    return unflatten(region.result, recorded(flatten(region.result).size()));
  } else {
    static_assert(std::is_same_v<std::decay_t<decltype(region.result.first)>, State>, "the body of a scan returns the next state, or a pair of it and what goes out");
    const Tensors out = recorded(flatten(region.result.first).size());
    const auto middle = out.begin() + shape.carries;
    return ScanResult<State, std::decay_t<decltype(region.result.second)>>{unflatten(region.result.first, Tensors(out.begin(), middle)),
                                                                             unflatten(region.result.second, Tensors(middle, out.end()))};
  }
}

}  // namespace detail

// body(state) or body(state, x) returns the next state (a Tensor, or an aggregate of them), or a pair of it and an aggregate
// ys; then the result is a ScanResult. xs are aggregates of tensors whose first axis has n elements. What the body closes over
// is the same in every step. Random draws too are the same in every step: give a key with the xs.
template <typename State, typename Body>
auto scan(std::int64_t n, const State& state, Body body, Where where = Where::current()) {
  return detail::scan(n, state, body, detail::NoXs{}, where);
}
template <typename State, typename Body, typename Xs>
auto scan(std::int64_t n, const State& state, Body body, const Xs& xs, Where where = Where::current()) {
  return detail::scan(n, state, body, xs, where);
}

template <typename State>
struct WhileResult {
  State state;
  Tensor trips;  // i64: how many steps ran
};
struct WhileOptions {
  // More is an error, at run time. The gradient needs it; values alone do not.
  std::int64_t max_trips = std::numeric_limits<std::int64_t>::max();
};

// state = body(state) as long as condition(state), a boolean scalar, holds.
template <typename Condition, typename Body, typename State>
WhileResult<State> while_loop(Condition condition, Body body, const State& state, WhileOptions options = {}, Where where = Where::current()) {
  auto step = detail::trace_region(body, state);
  auto more = detail::trace_region(condition, state);
  static_assert(std::is_same_v<decltype(step.result), State>, "the body of a while_loop returns the next state");
  static_assert(std::is_same_v<decltype(more.result), Tensor>, "the condition of a while_loop returns a tensor");
  Tensors in = flatten(state);
  const std::size_t carries = in.size();
  if (flatten(step.result).size() != carries)
    fail(Error::Kind::usage, "[while_loop] the body returns {} tensors of state vs {} given", flatten(step.result).size(), carries);
  // Both regions take what either closes over.
  detail::widen(step.graph, step.graph.inputs.size(), more.captures);
  detail::widen(more.graph, carries, step.captures);
  in.insert(in.end(), step.captures.begin(), step.captures.end());
  in.insert(in.end(), more.captures.begin(), more.captures.end());
  Tensors out = detail::apply_region(while_op, std::move(in), loop_attrs({.trips = options.max_trips, .carries = static_cast<int>(carries)}),
                                     {std::move(step.graph), std::move(more.graph)}, where);
  Tensor trips = std::move(out.back());
  out.pop_back();
  return {unflatten(step.result, out), std::move(trips)};
}

}  // namespace tidemark
