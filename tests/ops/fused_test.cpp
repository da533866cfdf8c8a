// Chains run as one task give the bits of the ops run one by one; tails of vectors those of their bodies.
// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "tests/ops/run_node.h"
#include "tidemark/ir/builder.h"
#include "tidemark/kernels/cpu/known_chain.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/fused.h"
#include "tidemark/ops/reduce.h"

namespace tidemark {
namespace {

using testing::Array;
using testing::run1;
using testing::run_node;

// A graph node by node, each through its own kernel.
std::vector<Array> run_apart(const Graph& g, const std::vector<Array>& in, int threads) {
  std::map<ValueId, Array> known;
  for (std::size_t i = 0; i < in.size(); ++i) known[g.inputs[i]] = in[i];
  for (const Node& n : g.nodes) {
    std::vector<Array> args;
    for (const ValueId v : n.in) args.push_back(known.at(v));
    known[n.out[0]] = run_node(*n.op, args, n.attrs, {.threads = threads})[0];
  }
  std::vector<Array> out;
  for (const ValueId v : g.outputs) out.push_back(known.at(v));
  return out;
}
std::vector<Array> run_fused(const Graph& g, const std::vector<Array>& in, int threads) {
  return run_node(fused_op, in, {}, {.threads = threads, .regions = {g}});
}

void expect_same_bits(const Graph& g, const std::vector<Array>& in) {
  verify(g);
  const std::vector<Array> apart = run_apart(g, in, 1);
  for (const int threads : {1, 2, 3}) {
    const std::vector<Array> fused = run_fused(g, in, threads);
    for (std::size_t i = 0; i < apart.size(); ++i)
      EXPECT_TRUE(fused[i].same_bits(apart[i]))
          << "output " << i << " of " << to_string(apart[i].value.type) << " with " << threads << " threads";
  }
}

class FusedChains : public ::testing::TestWithParam<DType> {};

TEST_P(FusedChains, OfSeveralOutputsEqualTheirPartsBitwise) {
  const DType d = GetParam();
  for (const Shape& shape :
       {Shape{1}, Shape{37}, Shape{3, 1025}, Shape{7, 300}, Shape{5, 7, 11}, Shape{40000}, Shape{0, 4}}) {
    const auto b = Builder::make();
    const Tensor p = b->input({shape, d}), m = b->input({shape, d}), v = b->input({shape, d}),
                 g = b->input({shape, d});
    const Tensor row = b->input({{shape[-1]}, d}), rate = b->input({{}, d});
    const Tensor m2 = 0.9 * m + 0.1 * g, v2 = 0.99 * v + 0.01 * square(g);
    const Tensor p2 = p - rate * (m2 / (sqrt(v2) + 1e-8) + 0.01 * p) + gelu(row);
    const Tensor outs[] = {p2, m2, v2, p2 > 0};
    const Graph graph = b->finish(outs);
    const Type whole{shape, d};
    expect_same_bits(
        graph, {Array::random(whole, 1), Array::random(whole, 2), Array::random(whole, 3, 0, 1),
                Array::random(whole, 4), Array::random({{shape[-1]}, d}, 5), Array::random({{}, d}, 6)});
  }
}

TEST_P(FusedChains, EndingInReductionsEqualTheirPartsBitwise) {
  const DType d = GetParam();
  const std::vector<std::pair<Shape, Axes>> cases{
      {{50, 129}, {1}},     {{700, 65}, {0}}, {{3, 70001}, {1}}, {{4, 5, 300}, {0, 1}}, {{4, 50, 7}, {1}},
      {{6, 5, 40}, {0, 2}}, {{2000, 3}, {1}}, {{2000, 3}, {0}},  {{100, 2}, {0, 1}}};
  for (const auto& [shape, axes] : cases) {
    const auto b = Builder::make();
    const Tensor x = b->input({shape, d}), y = b->input({shape, d}), row = b->input({{shape[-1]}, d});
    const Tensor z = tanh(x) * y + row;
    const Tensor outs[] = {sum(z, axes), z, max(x * row, axes)};
    const Graph graph = b->finish(outs);
    expect_same_bits(graph, {Array::random({shape, d}, 1), Array::random({shape, d}, 2),
                             Array::random({{shape[-1]}, d}, 3)});
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, FusedChains,
                         ::testing::Values(DType::f64, DType::f32, DType::bf16, DType::f16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

// What nn/optimizer.cpp writes, with decay and without.
Graph adam_update(const Type& type, bool decays) {
  const auto b = Builder::make();
  const Type number{{}, type.dtype};
  const Tensor p = b->input(type), g = b->input(type), m = b->input(type), v = b->input(type);
  const Tensor first = b->input(number), second = b->input(number);
  const Tensor m1 = m * 0.9 + g * 0.1, v1 = v * 0.999 + square(g) * 0.001;
  const Tensor kept = decays ? p * 0.99 : p;
  const Tensor outs[] = {m1, v1, kept - first * m1 / (sqrt(v1) * second + 1e-8)};
  return b->finish(outs);
}

TEST(Fused, TheOptimizersUpdateIsOneLoopWithTheBitsOfItsParts) {
  for (const bool decays : {false, true}) {
    for (const Shape& shape : {Shape{1}, Shape{37}, Shape{3, 1025}, Shape{70001}, Shape{0, 4}}) {
      const Type type{shape, DType::f32}, number{{}, DType::f32};
      const Graph g = adam_update(type, decays);
      const std::vector<Array> in{Array::random(type, 1),       Array::random(type, 2),         Array::random(type, 3),
                                  Array::random(type, 4, 0, 1), Array::random(number, 5, 0, 1), Array::random(number, 6, 1, 2)};
      expect_same_bits(g, in);
      KernelSpec spec{.regions = {g}};
      for (const Array& a : in) spec.in.push_back(a.value);
      for (int o = 0; o < 3; ++o) spec.out.push_back(Value{.type = type});
      EXPECT_NE(kernels::known_chain(spec), nullptr);
      spec.out[1].layout.strides.assign(shape.sizes().size(), 1);
      EXPECT_EQ(kernels::known_chain(spec), nullptr) << "strided";
    }
  }
  const Type wide{{5}, DType::f64};
  EXPECT_EQ(kernels::known_chain({.in = std::vector<Value>(6, Value{.type = wide}),
                                  .out = std::vector<Value>(3, Value{.type = wide}),
                                  .regions = {adam_update(wide, true)}}),
            nullptr);
}

TEST(Fused, MayOverwriteAnyOfItsInputs) {
  const auto b = Builder::make();
  const Type type{{5000}, DType::f32};
  const Tensor p = b->input(type), m = b->input(type);
  const Tensor m2 = m * 0.5 + p;  // m2 lies where p is still read
  const Tensor outs[] = {m2, p - m2};
  const Graph g = b->finish(outs);
  const Array x = Array::random(type, 1), y = Array::random(type, 2);
  const std::vector<Array> expected = run_fused(g, {x, y}, 1);
  for (const bool swapped : {false, true}) {
    Array a = x, c = y;
    KernelSpec spec{.in = {a.value, c.value}, .out = {a.value, c.value}, .regions = {g}};
    const auto kernel = prepare(fused_op, spec);
    const void* in[] = {a.bytes.data(), c.bytes.data()};
    void* out[] = {a.bytes.data(), c.bytes.data()};
    if (swapped) std::swap(out[0], out[1]);
    kernel->run({.in = in, .out = out, .workspace = nullptr});
    EXPECT_TRUE((swapped ? c : a).same_bits(expected[0]));
    EXPECT_TRUE((swapped ? a : c).same_bits(expected[1]));
  }
}

TEST(Elementwise, TailOfAVectorEqualsItsBody) {
  // Each element alone against the same element within a long array.
  for (const Op* op : all_ops()) {
    if (!op->elementwise() || op->samples().empty() || op->samples()[0].in.empty()) continue;
    const Sample s = op->samples()[0];
    for (const DType d : {DType::f32, DType::f64}) {
      std::vector<Array> whole, part;
      std::uint64_t seed = 5;
      for (const Type& t : s.in) {
        const DType own = t.dtype == DType::f64 ? d : t.dtype;
        whole.push_back(Array::random({{131}, own}, ++seed, s.range[0], s.range[1]));
      }
      const Array y = run_node(*op, whole, s.attrs)[0];
      for (std::int64_t i = 0; i < 131; ++i) {
        part.clear();
        for (const Array& a : whole) {
          const Bytes size = size_of(a.value.type.dtype);
          Array one{.value = {.type = {{1}, a.value.type.dtype}}, .bytes = std::vector<std::byte>(64)};
          std::memcpy(one.bytes.data(), a.bytes.data() + i * size, static_cast<std::size_t>(size));
          part.push_back(one);
        }
        const Array one = run_node(*op, part, s.attrs)[0];
        const Bytes size = size_of(y.value.type.dtype);
        ASSERT_EQ(std::memcmp(one.bytes.data(), y.bytes.data() + i * size, static_cast<std::size_t>(size)), 0)
            << op->name << " " << name_of(d) << " element " << i;
      }
    }
  }
}

TEST(Elementwise, ReadsStridedAndBroadcastInputsInPlace) {
  // A transposed view and one with a stride of 0, against dense copies.
  const std::int64_t rows = 70, columns = 300;
  const Array x = Array::random({{columns, rows}, DType::f32}, 1),
              y = Array::random({{rows, columns}, DType::f32}, 2);
  std::vector<double> transposed(static_cast<std::size_t>(rows * columns));
  const std::vector<double> plain = x.doubles();
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c)
      transposed[static_cast<std::size_t>(r * columns + c)] = plain[static_cast<std::size_t>(c * rows + r)];
  }
  Array view = x;
  view.value.type.shape = Shape{rows, columns};
  view.value.layout.strides = {1, rows};
  EXPECT_TRUE(run1("add", {view, y})
                  .same_bits(run1("add", {Array::of({{rows, columns}, DType::f32}, transposed), y})));
}

}  // namespace
}  // namespace tidemark
