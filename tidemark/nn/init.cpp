// SPDX-License-Identifier: Apache-2.0
#include "tidemark/nn/init.h"

#include <cmath>
#include <numbers>

#include "tidemark/base/parallel.h"
#include "tidemark/base/random.h"

namespace tidemark {
namespace {

struct Stream {
  std::uint64_t seed, number;
  Philox::Block block(std::int64_t i) const {
    return Philox::block(seed, static_cast<std::uint64_t>(i), number);
  }
};

// In [0, 1), with 53 bits.
double unit(std::uint32_t high, std::uint32_t low) {
  return uniform_double((static_cast<std::uint64_t>(high) << 32) | low);
}

}  // namespace

Init::Init(const InitOptions& options) : options_(options) {
  if (options.dtype != DType::f32 && options.dtype != DType::f64)
    fail(Error::Kind::usage, "[init] parameters are f32 or f64 vs {}", name_of(options.dtype));
}

template <typename F>
Tensor Init::make(const Shape& shape, F&& element) {
  const Type type{shape, options_.dtype};
  const Stream stream{options_.seed, stream_++};
  if (options_.abstract) return abstract(type);
  auto storage = Storage::allocate(type.bytes());
  const auto fill = [&]<typename T>(T* data) {
    parallel_for(hardware_threads(), shape.numel(), 1 << 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) data[i] = static_cast<T>(element(stream, i));
    });
  };
  if (options_.dtype == DType::f64)
    fill(reinterpret_cast<double*>(storage->data()));
  else
    fill(reinterpret_cast<float*>(storage->data()));
  return from_storage(type, std::move(storage));
}

Tensor Init::constant(const Shape& shape, double value) {
  return make(shape, [value](const Stream&, std::int64_t) { return value; });
}

Tensor Init::uniform(const Shape& shape, double bound) {
  return make(shape, [bound](const Stream& s, std::int64_t i) {
    const Philox::Block b = s.block(i);
    return bound * (2 * unit(b[0], b[1]) - 1);
  });
}

Tensor Init::normal(const Shape& shape, double deviation) {
  // Box & Muller 1958; 1 - u lies in (0, 1], so that its logarithm is finite.
  return make(shape, [deviation](const Stream& s, std::int64_t i) {
    const Philox::Block b = s.block(i);
    return deviation * std::sqrt(-2 * std::log(1 - unit(b[0], b[1]))) *
           std::cos(2 * std::numbers::pi * unit(b[2], b[3]));
  });
}

Tensor Init::integers(const Shape& shape, std::int64_t below) {
  const Type type{shape, DType::i64};
  const Stream stream{options_.seed, stream_++};
  if (options_.abstract) return abstract(type);
  auto storage = Storage::allocate(type.bytes());
  auto* data = reinterpret_cast<std::int64_t*>(storage->data());
  for (std::int64_t i = 0; i < shape.numel(); ++i) {
    const Philox::Block b = stream.block(i);
    const std::uint64_t bits = (static_cast<std::uint64_t>(b[0]) << 32) | b[1];
    data[i] = static_cast<std::int64_t>(
        (static_cast<unsigned __int128>(bits) * static_cast<std::uint64_t>(below)) >> 64);
  }
  return from_storage(type, std::move(storage));
}

Tensor Init::fan_in(const Shape& shape, std::int64_t fan_in) {
  return uniform(shape, 1 / std::sqrt(static_cast<double>(fan_in)));
}
Tensor Init::he_fan_out(const Shape& shape, std::int64_t fan_out) {
  return normal(shape, std::sqrt(2 / static_cast<double>(fan_out)));
}
Tensor Init::glorot(const Shape& shape, std::int64_t fan_in, std::int64_t fan_out) {
  return uniform(shape, std::sqrt(6 / static_cast<double>(fan_in + fan_out)));
}

}  // namespace tidemark
