// einsum and the convolutions as users call them. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "tidemark/front/eager.h"
#include "tidemark/front/grad.h"
#include "tidemark/ops/conv.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/gather.h"
#include "tidemark/ops/linalg.h"
#include "tidemark/ops/matmul.h"
#include "tidemark/ops/norm.h"
#include "tidemark/ops/reduce.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

Tensor counted(const Shape& shape, double start) {
  std::vector<double> data(static_cast<std::size_t>(shape.numel()));
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = start + static_cast<double>(i * 7 % 11);
  return tensor(data, shape);
}

// Every combination of labels, one by one.
std::vector<double> by_hand(const std::string& a, const std::string& b, const std::string& out,
                            const Tensor& x, const Tensor& y, const std::map<char, std::int64_t>& sizes) {
  const auto offset = [&](const std::string& labels, const std::map<char, std::int64_t>& at) {
    std::int64_t o = 0;
    for (const char l : labels) o = o * sizes.at(l) + at.at(l);
    return static_cast<std::size_t>(o);
  };
  std::int64_t numel = 1;
  for (const char l : out) numel *= sizes.at(l);
  std::vector<double> result(static_cast<std::size_t>(numel), 0);
  std::map<char, std::int64_t> at;
  for (const auto& [l, n] : sizes) at[l] = 0;
  for (bool more = true; more;) {
    result[offset(out, at)] +=
        x.data<double>()[offset(a, at)] * (b.empty() ? 1 : y.data<double>()[offset(b, at)]);
    more = false;
    for (auto& [l, i] : at) {
      if (++i < sizes.at(l)) {
        more = true;
        break;
      }
      i = 0;
    }
  }
  return result;
}

TEST(Einsum, AgreesWithTheDefinition) {
  const std::map<char, std::int64_t> all{{'b', 2}, {'i', 3}, {'j', 4}, {'k', 5}, {'h', 2}};
  const char* const specs[] = {"ij,jk->ik",  "bij,bjk->bik", "ij,kj->ki",    "i,j->ij",
                               "ij,ij->i",   "bij,jk->bik",  "i,i->",        "bhij,bhkj->bhik",
                               "ij,bjk->bi", "ijk,kb->jbi",  "bij,hjk->bhik"};
  for (const std::string spec : specs) {
    const std::string a = spec.substr(0, spec.find(',')),
                      b = spec.substr(spec.find(',') + 1, spec.find('-') - spec.find(',') - 1),
                      out = spec.substr(spec.find('>') + 1);
    std::map<char, std::int64_t> sizes;
    const auto shape = [&](const std::string& labels) {
      std::vector<std::int64_t> s;
      for (const char l : labels) s.push_back(sizes[l] = all.at(l));
      return Shape(s);
    };
    const Tensor x = counted(shape(a), -3), y = counted(shape(b), -5);
    const Tensor z = einsum(spec, {x, y});
    const auto want = by_hand(a, b, out, x, y, sizes);
    ASSERT_EQ(z.shape(), shape(out)) << spec;
    for (std::size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(z.data<double>()[i], want[i], 1e-9) << spec;
  }
}

TEST(Einsum, OneOperandAndImpliedResults) {
  const Tensor x = counted({3, 4}, -2);
  EXPECT_EQ(einsum("ij->ji", {x}).data<double>()[1 * 3 + 2], x.data<double>()[2 * 4 + 1]);
  EXPECT_EQ(einsum("ij->", {x}).item<double>(), by_hand("ij", "", "", x, x, {{'i', 3}, {'j', 4}})[0]);
  EXPECT_EQ(einsum("ij,jk", {x, counted({4, 2}, 1)}).shape(), (Shape{3, 2}));
}

TEST(Einsum, SaysWhatIsWrong) {
  const Tensor x = counted({3, 4}, 0);
  for (const char* bad :
       {"ij,jk->ik", "i->i", "ij->k", "ii->i", "i?->i", "ij->ii", "...i...->i", "ijk...->i"})
    EXPECT_THROW(einsum(bad, {x}), Error) << bad;
  EXPECT_THROW(einsum("ij,jk->ik", {x, x}), Error);
}

TEST(Einsum, ManyOperandsDiagonalsEllipsesAndBroadcasts) {
  const Tensor a = counted({2, 3}, -4), b = counted({3, 4}, 1), c = counted({4, 5}, -2);
  const Tensor chain = einsum("ij,jk,kl->il", {a, b, c}), products = matmul(matmul(a, b), c);
  ASSERT_EQ(chain.shape(), products.shape());
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(chain.data<double>()[i], products.data<double>()[i]);
  // j is summed at the end only: all three read it.
  const Tensor v = counted({3}, 1);
  double triple = 0;
  for (std::size_t j = 0; j < 3; ++j)
    triple += a.data<double>()[3 + j] * v.data<double>()[j] * v.data<double>()[j];
  EXPECT_EQ(einsum("ij,j,j->i", {a, v, v}).data<double>()[1], triple);

  const Tensor square = counted({2, 3, 3}, -1), cube = counted({3, 3, 3}, 2);
  EXPECT_EQ(einsum("bii->bi", {square}).data<double>()[3 + 2], square.data<double>()[9 + 8]);
  EXPECT_EQ(einsum("bii->b", {square}).data<double>()[1],
            square.data<double>()[9] + square.data<double>()[13] + square.data<double>()[17]);
  EXPECT_EQ(einsum("iii->i", {cube}).data<double>()[1], cube.data<double>()[13]);
  EXPECT_EQ(einsum("ii,ij->ij", {counted({3, 3}, 1), b}).shape(), (Shape{3, 4}));

  const Tensor many = counted({2, 5, 3, 4}, 0), few = counted({5, 4, 2}, 1);
  const Tensor y = einsum("...ij,...jk->...ik", {many, few}), z = matmul(many, few);
  ASSERT_EQ(y.shape(), z.shape());
  for (std::size_t i = 0; i < static_cast<std::size_t>(z.numel()); ++i)
    EXPECT_EQ(y.data<double>()[i], z.data<double>()[i]);
  EXPECT_EQ(einsum("...ij->...ji", {many}).shape(), (Shape{2, 5, 4, 3}));
  EXPECT_EQ(einsum("i...,i...", {a, a}).shape(), (Shape{3}));  // without "->" an ellipsis is kept

  const Tensor one = counted({1, 4}, 3);  // as rows of b, three times the same
  EXPECT_EQ(einsum("ij,ij->i", {b, one}).data<double>()[2],
            einsum("ij,j->i", {b, counted({4}, 3)}).data<double>()[2]);
  EXPECT_EQ(einsum("ij,ij->ij", {one, one}).shape(), (Shape{1, 4}));

  // Diagonals and broadcasts are differentiated like all else.
  const Tensor g = grad([](const Tensor& m) { return sum(einsum("ii,ij->j", {m, m})); })(counted({3, 3}, 1));
  const Tensor m = counted({3, 3}, 1);
  double row = 0;
  for (std::size_t j = 0; j < 3; ++j) row += m.data<double>()[3 + j];
  EXPECT_EQ(g.data<double>()[4], row + m.data<double>()[4]);
  EXPECT_EQ(g.data<double>()[5], m.data<double>()[4]);
}

TEST(Solve, VectorsBatchesAndNarrowTypes) {
  std::vector<double> diagonal(16, 0.0);
  for (const std::size_t i : {0, 5, 10, 15}) diagonal[i] = 20;
  const Tensor a = counted({4, 4}, 1) + tensor(diagonal, {4, 4});
  const Tensor b = counted({2, 4, 3}, -2);
  const Tensor x = solve(a, b);
  ASSERT_EQ(x.shape(), (Shape{2, 4, 3}));
  const Tensor back = matmul(a, x);
  for (std::size_t i = 0; i < 24; ++i) EXPECT_NEAR(back.data<double>()[i], b.data<double>()[i], 1e-12);
  const Tensor v = counted({4}, 3), y = solve(a, v);
  ASSERT_EQ(y.shape(), (Shape{4}));
  EXPECT_NEAR(matmul(a, y).data<double>()[2], v.data<double>()[2], 1e-12);
  EXPECT_EQ(triangular_solve(a, v).shape(), (Shape{4}));
  const Tensor g = grad([&](const Tensor& m) { return sum(solve(m, b)); })(a);  // summed over the batch
  EXPECT_EQ(g.shape(), (Shape{4, 4}));
  EXPECT_THROW(solve(a, counted({2, 5, 3}, 0)), Error);

  for (const DType narrow : {DType::bf16, DType::f16}) {
    const Tensor spd = cast(matmul(a, transpose(a)) * 0.01, narrow);
    const Tensor l = cholesky(spd);
    ASSERT_EQ(l.dtype(), narrow);
    const Tensor again = cast(matmul(cast(l, DType::f64), transpose(cast(l, DType::f64))), DType::f64);
    EXPECT_NEAR(again.data<double>()[0], cast(spd, DType::f64).data<double>()[0], 0.1);
    EXPECT_EQ(solve(spd, cast(v, narrow)).dtype(), narrow);
    EXPECT_EQ(fft({cast(v, narrow), cast(v, narrow)}).re.dtype(), narrow);
    // 5000 ones, far more than a bf16 can count to one by one.
    const Tensor ones = full({5000, 1}, 1.0, narrow), where = zeros({5000}, DType::i64);
    const double counted_ones =
        cast(scatter_add(zeros({1, 1}, narrow), reshape(where, {5000, 1}), ones, 0), DType::f64)
            .item<double>();
    EXPECT_NEAR(counted_ones, 5000, 16);
    const Tensor table_grad = grad([&](const Tensor& t) {
      return sum(cast(embedding(t, where), DType::f32));
    })(full({2, 1}, 1.0, narrow));
    EXPECT_NEAR(cast(table_grad, DType::f64).data<double>()[0], 5000, 16);
    EXPECT_EQ(cast(mean(full({100000}, 1.0, narrow)), DType::f64).item<double>(), 1.0);
  }
}

TEST(Gather, IndicesMayBeShorterThanTheRest) {
  const Tensor x = counted({2, 3}, 1);
  const Tensor y = gather(x, tensor({std::int64_t{2}, std::int64_t{0}}, {1, 2}), 1);
  ASSERT_EQ(y.shape(), (Shape{1, 2}));
  EXPECT_EQ(y.data<double>()[0], x.data<double>()[2]);
  EXPECT_THROW(gather(x, zeros({3, 2}, DType::i64), 1), Error);
}

TEST(AdaptivePooling, TakesTheLargestOfEvenShares) {
  const Tensor x = counted({1, 1, 5, 3}, 0);
  const Tensor y = adaptive_max_pool2d(x, {2, 2});  // rows 0..2 and 2..4, columns 0..1 and 1..2
  ASSERT_EQ(y.shape(), (Shape{1, 1, 2, 2}));
  double most = -1;
  for (const std::size_t h : {2, 3, 4})
    for (const std::size_t w : {1, 2}) most = std::max(most, x.data<double>()[h * 3 + w]);
  EXPECT_EQ(y.data<double>()[3], most);
  const Tensor g = grad([](const Tensor& z) { return sum(adaptive_max_pool2d(z, {2, 2})); })(x);
  double total = 0;
  for (const double d : g.data<double>()) total += d;
  EXPECT_EQ(total, 4);
}

TEST(Numbers, BesideATensorMustBeOneOfItsType) {
  EXPECT_THROW(full({2}, 1, DType::u8) + 300, Error);
  EXPECT_THROW(full({2}, 1, DType::u8) + -1, Error);
  EXPECT_THROW(full({2}, 1, DType::i32) + 3e9, Error);
  EXPECT_THROW(full({2}, 1, DType::i64) + 0.5, Error);
  EXPECT_EQ((full({2}, 1, DType::u8) + 254).data<std::uint8_t>()[1], 255);
  EXPECT_EQ((full({2}, 1, DType::i64) + 3e9).data<std::int64_t>()[1], 3'000'000'001);
}

TEST(Logsumexp, OfAnInfinityIsThat) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(logsumexp(tensor({inf, 1.0}, {2}), {-1}).item<double>(), inf);
  EXPECT_EQ(logsumexp(tensor({-inf, -inf}, {2}), {-1}).item<double>(), -inf);
  EXPECT_TRUE(std::isnan(logsumexp(tensor({inf, std::nan("")}, {2}), {-1}).item<double>()));
}

TEST(Matmul, VectorsAsInNumPy) {
  const Tensor v = counted({4}, 1), m = counted({4, 3}, 2);
  EXPECT_EQ(matmul(v, m).shape(), (Shape{3}));
  EXPECT_EQ(matmul(m, counted({3}, 1)).shape(), (Shape{4}));
  EXPECT_EQ(matmul(v, v).shape(), (Shape{}));
  EXPECT_EQ(matmul(counted({2, 5, 4}, 1), v).shape(), (Shape{2, 5}));
  try {
    matmul(counted({3, 4}, 0), counted({5, 6}, 0));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::usage);
    EXPECT_NE(std::string(e.what()).find("[matmul] inner sizes differ: (3,4) x (5,6)"), std::string::npos)
        << e.what();
  }
}

TEST(ConvTranspose, PadsBeyondWhatAStrideReaches) {
  // PyTorch: output_padding below max(stride, dilation); what no position reaches is zero.
  const Tensor x = counted({1, 2, 3, 3}, 1), w = counted({2, 2, 3, 3}, -1);
  const Tensor y = conv_transpose2d(x, w, {.output_padding = {1, 1}, .dilation = {2, 2}});
  const Tensor plain = conv_transpose2d(x, w, {.dilation = {2, 2}});
  ASSERT_EQ(y.shape(), (Shape{1, 2, 8, 8}));
  ASSERT_EQ(plain.shape(), (Shape{1, 2, 7, 7}));
  EXPECT_EQ(y.data<double>()[8 + 3], plain.data<double>()[7 + 3]);
  EXPECT_EQ(y.data<double>()[7], 0);
  EXPECT_THROW(conv_transpose2d(x, w, {.output_padding = {2, 0}, .dilation = {2, 2}}), Error);
  // With padding the same rows hold what the padding had cut off: torch's numbers for arange inputs.
  const auto arange = [](const Shape& shape) {
    std::vector<double> data(static_cast<std::size_t>(shape.numel()));
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<double>(i);
    return tensor(data, shape);
  };
  const Tensor z = conv_transpose2d(arange({1, 2, 3, 3}), arange({2, 2, 3, 3}),
                                    {.padding = {1, 1}, .output_padding = {1, 1}, .dilation = {2, 2}});
  ASSERT_EQ(z.shape(), (Shape{1, 2, 6, 6}));
  const double first[] = {234, 483, 251, 517, 268, 290}, last[] = {426, 873, 449, 919, 472, 506};
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(z.data<double>()[i], first[i]);
    EXPECT_EQ(z.data<double>()[30 + i], last[i]);
  }
}

TEST(MaxUnpool, RefusesPlacesOutsideOfThePlane) {
  const Tensor x = counted({1, 1, 1, 2}, 1);
  EXPECT_EQ(
      max_unpool2d(x, tensor({std::int32_t{3}, std::int32_t{0}}, {1, 1, 1, 2}), {2, 2}).data<double>()[3], 1);
  EXPECT_THROW(max_unpool2d(x, tensor({std::int32_t{4}, std::int32_t{0}}, {1, 1, 1, 2}), {2, 2}), Error);
  EXPECT_THROW(max_unpool2d(x, tensor({std::int32_t{0}, std::int32_t{-1}}, {1, 1, 1, 2}), {2, 2}), Error);
}

TEST(ConvTranspose, SpreadsTheKernel) {
  // One pixel each, two apart: copies of the kernel side by side.
  const Tensor x = tensor(std::vector<double>{1, 10}, {1, 1, 1, 2}),
               w = tensor(std::vector<double>{1, 2, 3, 4}, {1, 1, 2, 2});
  const Tensor y = conv_transpose2d(x, w, {.stride = {2, 2}});
  ASSERT_EQ(y.shape(), (Shape{1, 1, 2, 4}));
  const std::vector<double> want{1, 2, 10, 20, 3, 4, 30, 40};
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(y.data<double>()[i], want[i]);
  EXPECT_EQ(conv_transpose2d(x, w, {.stride = {2, 2}, .output_padding = {1, 1}}).shape(),
            (Shape{1, 1, 3, 5}));
  EXPECT_THROW(conv_transpose2d(x, w, {.output_padding = {1, 1}}), Error);
}

TEST(Conv, SaysWhatIsWrong) {
  const Tensor x = counted({1, 4, 5, 5}, 0);
  EXPECT_THROW(conv2d(x, counted({2, 3, 3, 3}, 0)), Error);
  EXPECT_THROW(conv2d(x, counted({2, 4, 7, 7}, 0)), Error);
  EXPECT_THROW(conv2d(x, counted({3, 2, 3, 3}, 0), {.groups = 2}), Error);
  EXPECT_THROW(conv2d(x, counted({2, 4, 3, 3}, 0), {.stride = {0, 1}}), Error);
  EXPECT_THROW(max_pool2d(x, {.kernel = {2, 2}, .padding = {2, 2}}), Error);
  EXPECT_THROW(avg_pool2d(x, {.kernel = {9, 9}}), Error);
}

}  // namespace
}  // namespace tidemark
