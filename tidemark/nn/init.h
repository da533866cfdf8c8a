// Initial values of parameters, from a counter-based generator: the n-th tensor asked for has the n-th stream of
// the seed, whatever was asked before it. Abstract ones have a shape and no memory, so that a model of any size
// can be counted and planned.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/front/aggregate.h"
#include "tidemark/front/eager.h"

namespace tidemark {

struct InitOptions {
  std::uint64_t seed = 0;
  bool abstract = false;
  DType dtype = DType::f32;  // f32 or f64
};

class TIDEMARK_API Init {
 public:
  explicit Init(const InitOptions& options = {});

  Tensor constant(const Shape& shape, double value);
  Tensor zeros(const Shape& shape) { return constant(shape, 0); }
  Tensor ones(const Shape& shape) { return constant(shape, 1); }
  Tensor uniform(const Shape& shape, double bound);  // in [-bound, bound)
  Tensor normal(const Shape& shape, double deviation);
  // i64 in [0, below).
  Tensor integers(const Shape& shape, std::int64_t below);

  // U(±1 / sqrt(fan_in)): what torch.nn.Linear and Conv2d start from.
  Tensor fan_in(const Shape& shape, std::int64_t fan_in);
  // N(0, 2 / fan_out), for convolutions before a relu (He et al. 2015).
  Tensor he_fan_out(const Shape& shape, std::int64_t fan_out);
  // U(±sqrt(6 / (fan_in + fan_out))) (Glorot & Bengio 2010).
  Tensor glorot(const Shape& shape, std::int64_t fan_in, std::int64_t fan_out);

  const InitOptions& options() const { return options_; }

 private:
  template <typename F>
  Tensor make(const Shape& shape, F&& element);
  InitOptions options_;
  std::uint64_t stream_ = 0;
};

}  // namespace tidemark
