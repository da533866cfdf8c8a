// One op on data that it may not take: what its facts say of it, tried on arrays.
// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "tests/front/op_case.h"

namespace tidemark::testing {

std::string OpCase::refused(const Tensors& in, bool fast) const {
  OpCase other = *this;
  other.in_ = in;
  try {
    other.run(spec(2), fast ? prepare : prepare_reference);
  } catch (const Error& e) {
    return e.kind() == Error::Kind::data ? "data" : e.what();
  }
  return "";
}

std::string OpCase::refuses_what_it_says() const {
  const KernelSpec s = spec(2);
  for (const bool fast : {true, false}) {
    for (std::size_t i = 0; i < in_.size(); ++i) {
      const Type& type = in_[i].type();
      if (type.shape.numel() == 0 || (type.dtype != DType::i32 && type.dtype != DType::i64)) continue;
      const bool named = op_.indices != nullptr && op_.indices(s).array == static_cast<int>(i);
      const auto limit = named ? op_.indices(s).limit : std::int64_t{1} << 20;
      for (const std::int64_t bad : {std::int64_t{-1}, limit}) {
        Tensors in = in_;
        in[i] = with_elements(type, [&](std::int64_t k) {
          return k == type.shape.numel() - 1 ? static_cast<double>(bad) : element(in_[i], k);
        });
        const std::string got = refused(in, fast);
        if (got != (named ? "data" : "")) return fmt::format("{} in input {}: '{}'", bad, i, got);
      }
      if (!named || !op_.indices(s).ignore) continue;
      Tensors in = in_;
      in[i] = with_elements(type, [&](std::int64_t) { return static_cast<double>(*op_.indices(s).ignore); });
      if (!refused(in, fast).empty()) return "refuses what it ignores";
    }
  }
  if (op_.indices != nullptr && !op_.facts.may_refuse)
    return "names indices, and not that it may refuse them";
  return "";
}

std::string OpCase::makes_indices_in_range() const {
  if (op_.indices_made == nullptr) return "";
  const KernelSpec s = spec(2);
  const IndexRange range = op_.indices_made(s);
  for (const double fill :
       {0.0, std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()}) {
    OpCase other = *this;
    for (Tensor& t : other.in_) {
      if (fill != 0 && is_float(t.dtype())) t = with_elements(t.type(), [&](std::int64_t) { return fill; });
    }
    for (const Kind kind : {Kind(prepare), Kind(prepare_reference)}) {
      const Tensor made = other.run(s, kind)[static_cast<std::size_t>(range.array)];
      for (std::int64_t k = 0; k < made.shape().numel(); ++k) {
        const double index = element(made, k);
        if (index < 0 || index >= static_cast<double>(range.limit))
          return fmt::format("index {} vs {}", index, range.limit);
      }
    }
  }
  return "";
}

}  // namespace tidemark::testing
