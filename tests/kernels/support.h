// Running one kernel on random arrays of any layout, for the tests that compare a fast kernel with the plain
// one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "tidemark/ir/kernel.h"
#include "tidemark/ir/storage.h"
#include "tidemark/kernels/accumulate.h"

namespace tidemark::kernels {

inline Value dense(const Shape& shape, DType dtype = DType::f32) { return Value{.type = {shape, dtype}}; }
inline Value laid_out(const Shape& shape, std::vector<std::int64_t> strides, DType dtype = DType::f32) {
  return Value{.type = {shape, dtype}, .layout = {.strides = std::move(strides)}};
}
inline Value channels_last(const Shape& shape, DType dtype = DType::f32) {
  return Value{.type = {shape, dtype}, .layout = permuted_layout(shape, {0, 2, 3, 1})};
}

inline std::int64_t extent(const Value& v) {
  std::int64_t last = 0;
  const auto strides = strides_of(v.type.shape, v.layout);
  for (int i = 0; i < v.type.shape.rank(); ++i) {
    if (v.type.shape[i] == 0) return 0;
    last += (v.type.shape[i] - 1) * strides[static_cast<std::size_t>(i)];
  }
  return last + 1;
}

// Calls f(row-major position, position in memory) for every element.
template <typename F>
void each_element(const Value& v, F&& f) {
  const Shape& shape = v.type.shape;
  const auto strides = strides_of(shape, v.layout);
  std::vector<std::int64_t> at(strides.size(), 0);
  for (std::int64_t n = 0; n < shape.numel(); ++n) {
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < at.size(); ++i) offset += at[i] * strides[i];
    f(n, offset);
    for (std::size_t i = at.size(); i-- > 0;) {
      if (++at[i] < shape[static_cast<int>(i)]) break;
      at[i] = 0;
    }
  }
}

class Bed {
 public:
  explicit Bed(KernelSpec s, unsigned seed = 1) : spec(std::move(s)) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (const Value& v : spec.in) {
      in_.push_back(Storage::allocate(extent(v) * tidemark::size_of(v.type.dtype)));
      fill(v, *in_.back(), [&](std::int64_t) {
        return is_float(v.type.dtype) ? uniform(random) : std::floor(uniform(random) * 5);
      });
    }
    for (const Value& v : spec.out)
      out_.push_back(Storage::allocate(extent(v) * tidemark::size_of(v.type.dtype)));
  }

  // Input i, from numbers in row-major order.
  void set(std::size_t i, const std::vector<double>& numbers) {
    fill(spec.in[i], *in_[i], [&](std::int64_t n) { return numbers[static_cast<std::size_t>(n)]; });
  }
  std::vector<double> input(std::size_t i) const { return numbers(spec.in[i], *in_[i]); }

  // Outputs are poisoned first: what a kernel leaves unwritten shows.
  void run(const Kernel& kernel) {
    for (const auto& s : out_) std::memset(s->data(), 0x7f, static_cast<std::size_t>(s->bytes()));
    const auto workspace = Storage::allocate(kernel.workspace() + 64);
    std::memset(workspace->data(), 0x7f, static_cast<std::size_t>(workspace->bytes()));
    run(kernel, workspace->data());
    for (Bytes i = kernel.workspace(); i < workspace->bytes(); ++i)
      ASSERT_EQ(workspace->data()[i], std::byte{0x7f}) << "written behind the workspace";
  }
  void run(const Kernel& kernel, void* workspace) {
    std::vector<const void*> in;
    std::vector<void*> out;
    for (const auto& s : in_) in.push_back(s->data());
    for (const auto& s : out_) out.push_back(s->data());
    kernel.run({in, out, workspace});
  }
  std::vector<double> output(std::size_t i = 0) const { return numbers(spec.out[i], *out_[i]); }
  // Outputs of `kernel`, whole.
  std::vector<std::vector<double>> results(const Kernel& kernel) {
    run(kernel);
    std::vector<std::vector<double>> all;
    for (std::size_t i = 0; i < spec.out.size(); ++i) all.push_back(output(i));
    return all;
  }

  KernelSpec spec;

 private:
  template <typename F>
  static void fill(const Value& v, const Storage& s, F number) {
    dispatch(v.type.dtype, [&]<typename T>() {
      each_element(v, [&](std::int64_t n, std::int64_t at) {
        reinterpret_cast<T*>(s.data())[at] = store<T>(number(n));
      });
    });
  }
  static std::vector<double> numbers(const Value& v, const Storage& s) {
    std::vector<double> result(static_cast<std::size_t>(v.type.shape.numel()));
    dispatch(v.type.dtype, [&]<typename T>() {
      each_element(v, [&](std::int64_t n, std::int64_t at) {
        result[static_cast<std::size_t>(n)] =
            static_cast<double>(load(reinterpret_cast<const T*>(s.data())[at]));
      });
    });
    return result;
  }
  std::vector<std::shared_ptr<Storage>> in_, out_;
};

inline double tolerance(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 1e-12;
    case DType::f32:
      return 2e-5;
    case DType::bf16:
      return 2e-2;
    case DType::f16:
      return 2e-3;
    default:
      return 0;
  }
}

inline void expect_near(const std::vector<double>& got, const std::vector<double>& want, double tolerance,
                        const std::string& what) {
  ASSERT_EQ(got.size(), want.size());
  double scale = 1;
  for (const double w : want) scale = std::max(scale, std::abs(w));
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_LE(std::abs(got[i] - want[i]), tolerance * scale)
        << what << " at " << i << ": " << got[i] << " vs " << want[i];
  }
}

// `fast` against `plain`, twice for the same bits.
inline void expect_agreement(Bed& bed, const Kernel& fast, const Kernel& plain, double tolerance,
                             const std::string& what) {
  const auto want = bed.results(plain);
  const auto got = bed.results(fast);
  for (std::size_t i = 0; i < want.size(); ++i) expect_near(got[i], want[i], tolerance, what);
  ASSERT_EQ(bed.results(fast), got) << what << ": not the same bits again";
}

// Bytes asked of malloc by this thread's process in calls above `limit` while it lives (see
// malloc_count.cpp).
class LargeAllocations {
 public:
  explicit LargeAllocations(std::size_t limit = 4096);
  ~LargeAllocations();
  int count() const;
};

}  // namespace tidemark::kernels
