// Element types. bf16 and f16 are storage types: kernels compute in f32.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "tidemark/base/api.h"
#include "tidemark/base/bytes.h"
#include "tidemark/base/error.h"
#include "tidemark/base/half.h"

namespace tidemark {

enum class DType : std::uint8_t { f64, f32, bf16, f16, i64, i32, u8, boolean };

TIDEMARK_API const char* name_of(DType dtype);
TIDEMARK_API DType dtype_named(std::string_view name);  // throws Error(usage)

constexpr Bytes size_of(DType dtype) {
  constexpr Bytes sizes[] = {8, 4, 2, 2, 8, 4, 1, 1};
  return sizes[static_cast<int>(dtype)];
}
constexpr bool is_float(DType dtype) { return dtype <= DType::f16; }

template <typename T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, double>)
    return DType::f64;
  else if constexpr (std::is_same_v<T, float>)
    return DType::f32;
  else if constexpr (std::is_same_v<T, Bf16>)
    return DType::bf16;
  else if constexpr (std::is_same_v<T, F16>)
    return DType::f16;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return DType::i64;
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return DType::i32;
  else if constexpr (std::is_same_v<T, std::uint8_t>)
    return DType::u8;
  else {
    static_assert(std::is_same_v<T, bool>, "not an element type");
    return DType::boolean;
  }
}

// Calls f.template operator()<T>() with the C++ type of `dtype`.
template <typename F>
decltype(auto) dispatch(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f64:
      return f.template operator()<double>();
    case DType::f32:
      return f.template operator()<float>();
    case DType::bf16:
      return f.template operator()<Bf16>();
    case DType::f16:
      return f.template operator()<F16>();
    case DType::i64:
      return f.template operator()<std::int64_t>();
    case DType::i32:
      return f.template operator()<std::int32_t>();
    case DType::u8:
      return f.template operator()<std::uint8_t>();
    case DType::boolean:
      return f.template operator()<bool>();
  }
  check_failed("dtype", __FILE__, __LINE__, "unknown dtype");
}

}  // namespace tidemark
