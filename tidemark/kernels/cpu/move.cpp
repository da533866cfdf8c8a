// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/cpu/move.h"

#include <algorithm>
#include <cstring>

#include "tidemark/base/parallel.h"
#include "tidemark/kernels/cpu/elementwise.h"
#include "tidemark/kernels/cpu/fused.h"

namespace tidemark::kernels {
namespace {

struct PreparedBox {
  int input, output;
  Bytes from, to;  // offsets
  std::unique_ptr<Kernel> copy;
};

constexpr Bytes kLeastRun = 256, kMostRun = 1 << 16;  // bytes that are copied at a time

// A box whose innermost axes lie alike and whole on both sides, in runs of bytes; null where they are too short.
std::unique_ptr<Kernel> copy_runs(const Box& b, Bytes size, int threads) {
  struct Axis {
    std::int64_t size;
    Bytes from, to;
  };
  std::int64_t run = 1;
  int axis = b.shape.rank();
  for (; axis > 0; --axis) {
    const auto a = static_cast<std::size_t>(axis - 1);
    if (b.shape[axis - 1] != 1 && (b.from[a] != run || b.to[a] != run)) break;
    run *= b.shape[axis - 1];
  }
  if (run * size < kLeastRun) return nullptr;
  std::vector<Axis> axes;
  std::int64_t runs = 1;
  for (int i = axis; i-- > 0;) {
    const auto a = static_cast<std::size_t>(i);
    axes.push_back({b.shape[i], b.from[a] * size, b.to[a] * size});
    runs *= b.shape[i];
  }
  const Bytes bytes = run * size, piece = std::min(bytes, kMostRun);
  const std::int64_t pieces = (bytes + piece - 1) / piece;
  return make_kernel(0, [axes, runs, bytes, piece, pieces, threads](const Operands& o) {
    parallel_for(threads, runs * pieces, std::max<std::int64_t>(1, kMostRun / piece),
                 [&](std::int64_t first, std::int64_t last) {
                   for (std::int64_t item = first; item < last; ++item) {
                     const Bytes at = item % pieces * piece;
                     Bytes from = at, to = at;
                     std::int64_t rest = item / pieces;
                     for (const Axis& a : axes) {
                       from += rest % a.size * a.from;
                       to += rest % a.size * a.to;
                       rest /= a.size;
                     }
                     // What runs in place is there already.
                     const std::byte* const source = o.input<std::byte>(0) + from;
                     std::byte* const target = o.output<std::byte>(0) + to;
                     if (source != target)
                       std::memcpy(target, source, static_cast<std::size_t>(std::min(piece, bytes - at)));
                   }
                 });
  });
}

std::vector<PreparedBox> prepare_boxes(const std::vector<Box>& boxes, DType dtype, int threads) {
  // Bits are moved, not numbers: storage types travel as integers of their size.
  const Bytes size = size_of(dtype);
  std::vector<PreparedBox> prepared;
  for (const Box& b : boxes) {
    if (b.shape.numel() == 0) continue;
    if (auto runs = copy_runs(b, size, threads)) {
      prepared.push_back({b.input, b.output, b.from_offset * size, b.to_offset * size, std::move(runs)});
      continue;
    }
    KernelSpec spec{.threads = threads};
    // Two bytes: as pairs of bytes, an innermost axis of 2.
    const bool halves = size == 2;
    const auto widened = [&](std::vector<std::int64_t> strides) {
      if (halves) {
        for (std::int64_t& s : strides) s *= 2;
        strides.push_back(1);
      }
      return Layout{.strides = std::move(strides)};
    };
    std::vector<std::int64_t> sizes = b.shape.sizes();
    if (halves) sizes.push_back(2);
    const DType as = size == 8 ? DType::i64 : size == 4 ? DType::i32 : DType::u8;
    spec.in.push_back(Value{.type = {Shape(sizes), as}, .layout = widened(b.from)});
    spec.out.push_back(Value{.type = {Shape(sizes), as}, .layout = widened(b.to)});
    prepared.push_back(
        {b.input, b.output, b.from_offset * size, b.to_offset * size, map(spec, tiles::copy, {})});
  }
  return prepared;
}

void run_boxes(const std::vector<PreparedBox>& boxes, const Operands& o) {
  for (const PreparedBox& b : boxes) {
    const void* in = o.input<std::byte>(static_cast<std::size_t>(b.input)) + b.from;
    void* out = o.output<std::byte>(static_cast<std::size_t>(b.output)) + b.to;
    b.copy->run({.in = {&in, 1}, .out = {&out, 1}, .workspace = nullptr});
  }
}

}  // namespace

std::unique_ptr<Kernel> copy_boxes(const std::vector<Box>& boxes, DType dtype, int threads) {
  auto prepared = std::make_shared<std::vector<PreparedBox>>(prepare_boxes(boxes, dtype, threads));
  return make_kernel(0, [prepared](const Operands& o) { run_boxes(*prepared, o); });
}

std::unique_ptr<Kernel> fill_and_copy(const std::vector<Box>& boxes, DType dtype, int threads,
                                      std::int64_t numel, double value) {
  auto prepared = std::make_shared<std::vector<PreparedBox>>(prepare_boxes(boxes, dtype, threads));
  KernelSpec spec{.out = {Value{.type = {Shape{numel}, dtype}}}, .threads = threads};
  std::shared_ptr<Kernel> fill = map(spec, tiles::full, {value});
  return make_kernel(0, [prepared, fill](const Operands& o) {
    fill->run({.in = {}, .out = {o.out.data(), 1}, .workspace = nullptr});
    run_boxes(*prepared, o);
  });
}

}  // namespace tidemark::kernels
