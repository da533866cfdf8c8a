// Checks that shape rules share; their errors say fact vs fact.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/op.h"

namespace tidemark {

inline const Type& type_of(const InferArgs& a, int i) { return a.in[static_cast<std::size_t>(i)]; }

inline void require_float(const InferArgs& a, int i) {
  if (!is_float(type_of(a, i).dtype))
    fail(Error::Kind::usage, "[{}] {} is not a floating type; cast it", a.op, to_string(type_of(a, i)));
}
// bf16 and f16: storage types, whose arithmetic is that of f32.
inline bool is_narrow(DType d) { return is_float(d) && size_of(d) < size_of(DType::f32); }
// For ops that know wide types only; the functions in front of them cast.
inline void require_wide_float(const InferArgs& a, int i) {
  require_float(a, i);
  if (is_narrow(type_of(a, i).dtype))
    fail(Error::Kind::usage, "[{}] {} vs f32 or f64", a.op, to_string(type_of(a, i)));
}
inline void require_number(const InferArgs& a, int i) {
  if (type_of(a, i).dtype == DType::boolean)
    fail(Error::Kind::usage, "[{}] {} is not a number; cast it", a.op, to_string(type_of(a, i)));
}
inline void require_integer(const InferArgs& a, int i) {
  const DType d = type_of(a, i).dtype;
  if (d != DType::i64 && d != DType::i32)
    fail(Error::Kind::usage, "[{}] indices are {} vs i32 or i64", a.op, to_string(type_of(a, i)));
}
inline void require_dtype(const InferArgs& a, int i, DType d) {
  if (type_of(a, i).dtype != d)
    fail(Error::Kind::usage, "[{}] {} vs {}", a.op, to_string(type_of(a, i)), name_of(d));
}
inline void require_same_dtype(const InferArgs& a, int i, int j) {
  if (type_of(a, i).dtype != type_of(a, j).dtype)
    fail(Error::Kind::usage, "[{}] dtypes differ: {} vs {}; cast one", a.op, to_string(type_of(a, i)),
         to_string(type_of(a, j)));
}

}  // namespace tidemark
