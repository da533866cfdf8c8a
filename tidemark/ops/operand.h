// An argument of a binary operation: a tensor, or a number that takes the other argument's dtype. Made by
// implicit conversion at the call, so that `a + b` knows the user's line.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>

#include "tidemark/ir/op.h"

namespace tidemark {

struct Operand {
  Operand(const Tensor& t, Where w = Where::current()) : tensor(t), where(w) {}  // NOLINT: implicit by design
  template <typename N>
    requires std::integral<N> || std::floating_point<N>
  Operand(N n, Where w = Where::current())  // NOLINT
      : number(static_cast<double>(n)), is_number(true), where(w) {}
  Operand(Indexed& part, Where w = Where::current());                                     // NOLINT
  Operand(Indexed&& part, Where w = Where::current());                                    // NOLINT

  Tensor tensor;
  double number = 0;
  bool is_number = false;
  Where where;
};

}  // namespace tidemark
