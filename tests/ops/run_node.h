// Runs one op's kernel on arrays, for the tests of numerics.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstring>

#include "tidemark/base/random.h"
#include "tidemark/kernels/cpu/tile.h"
#include "tidemark/ops/table.h"

namespace tidemark::testing {

// An array with its type; elements are given and read as doubles.
struct Array {
  Value value;
  std::vector<std::byte> bytes;

  static Array of(const Type& type, const std::vector<double>& x) {
    Array a{.value = {.type = type},
            .bytes = std::vector<std::byte>(static_cast<std::size_t>(type.bytes()) + 64)};
    kernels::convert_function(DType::f64, type.dtype)(x.data(), a.bytes.data(), type.shape.numel());
    return a;
  }
  static Array random(const Type& type, std::uint64_t seed, double low = -2, double high = 2) {
    Rng rng(seed);
    std::vector<double> x(static_cast<std::size_t>(type.shape.numel()));
    for (double& v : x) v = low + (high - low) * rng.uniform();
    return of(type, x);
  }
  std::vector<double> doubles() const {
    std::vector<double> x(static_cast<std::size_t>(value.type.shape.numel()));
    kernels::convert_function(value.type.dtype, DType::f64)(bytes.data(), x.data(), value.type.shape.numel());
    return x;
  }
  bool same_bits(const Array& other) const {
    return value.type == other.value.type &&
           std::memcmp(bytes.data(), other.bytes.data(), static_cast<std::size_t>(value.type.bytes())) == 0;
  }
};

struct RunOptions {
  int threads = 1;
  bool reference = false;
  std::vector<Graph> regions;
};

inline std::vector<Array> run_node(const Op& op, const std::vector<Array>& in, const Attrs& attrs = {},
                                   const RunOptions& options = {}) {
  KernelSpec spec{.attrs = attrs, .regions = options.regions, .threads = options.threads};
  std::vector<Type> types;
  std::vector<const void*> inputs;
  for (const Array& a : in) {
    spec.in.push_back(a.value);
    types.push_back(a.value.type);
    inputs.push_back(a.bytes.data());
  }
  std::vector<Array> out;
  for (const Type& t : op.infer({op.name, types, attrs, options.regions})) {
    out.push_back(
        {.value = {.type = t}, .bytes = std::vector<std::byte>(static_cast<std::size_t>(t.bytes()) + 64)});
    spec.out.push_back(out.back().value);
  }
  std::vector<void*> outputs;
  for (Array& a : out) outputs.push_back(a.bytes.data());
  const auto kernel = options.reference ? prepare_reference(op, spec) : prepare(op, spec);
  void* workspace = std::aligned_alloc(64, static_cast<std::size_t>(round_up(kernel->workspace() + 1, 64)));
  struct Free {
    void* p;
    ~Free() { std::free(p); }
  } free{workspace};
  kernel->run({.in = inputs, .out = outputs, .workspace = workspace});
  return out;
}
inline Array run1(const char* name, const std::vector<Array>& in, const Attrs& attrs = {},
                  const RunOptions& options = {}) {
  const Op* op = find_op(name);
  TIDEMARK_CHECK(op != nullptr, "no op {}", name);
  return run_node(*op, in, attrs, options)[0];
}

}  // namespace tidemark::testing
