// einsum and the convolutions as users call them. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>

#include "tidemark/front/eager.h"
#include "tidemark/ops/conv.h"
#include "tidemark/ops/matmul.h"

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
  for (const char* bad : {"ij,jk->ik", "i->i", "ij->k", "ii->i", "i?->i"})
    EXPECT_THROW(einsum(bad, {x}), Error) << bad;
  EXPECT_THROW(einsum("ij,jk->ik", {x, x}), Error);
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
