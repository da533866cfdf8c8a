// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/cpu/matmul.h"

#include "tests/kernels/support.h"
#include "tidemark/kernels/cpu/gemm.h"
#include "tidemark/kernels/cpu/strip_product.h"
#include "tidemark/kernels/ref/matmul.h"
#include "tidemark/kernels/strips.h"

namespace tidemark::kernels {
namespace {

struct Case {
  const char* what;
  Value a, b;
  Shape c;
};

std::vector<Case> cases(DType t) {
  return {
      {"plain", dense({37, 65}, t), dense({65, 41}, t), {37, 41}},
      {"one element", dense({1, 1}, t), dense({1, 1}, t), {1, 1}},
      {"row times matrix", dense({1, 300}, t), dense({300, 19}, t), {1, 19}},
      {"matrix times column", dense({33, 70}, t), dense({70, 1}, t), {33, 1}},
      {"outer product", dense({33, 1}, t), dense({1, 34}, t), {33, 34}},
      {"deep", dense({13, 700}, t), dense({700, 33}, t), {13, 33}},
      {"a transposed", laid_out({24, 36}, {1, 24}, t), dense({36, 48}, t), {24, 48}},
      {"b transposed", dense({24, 36}, t), laid_out({36, 50}, {1, 36}, t), {24, 50}},
      {"both transposed", laid_out({25, 36}, {1, 25}, t), laid_out({36, 50}, {1, 36}, t), {25, 50}},
      {"a part of wider rows", laid_out({24, 36}, {100, 1}, t), dense({36, 48}, t), {24, 48}},
      {"b in another form first", dense({130, 40}, t), dense({40, 1024}, t), {130, 1024}},
      {"batch with b shared", dense({3, 5, 40}, t), dense({40, 32}, t), {3, 5, 32}},
      {"batch", dense({3, 17, 20}, t), dense({3, 20, 18}, t), {3, 17, 18}},
      {"batch with a shared", dense({17, 20}, t), dense({3, 20, 18}, t), {3, 17, 18}},
      {"leading axes broadcast", dense({2, 1, 17, 20}, t), dense({3, 20, 18}, t), {2, 3, 17, 18}},
      {"heads as a view",
       laid_out({2, 4, 6, 8}, {192, 8, 32, 1}, t),
       laid_out({2, 4, 8, 6}, {192, 8, 1, 32}, t),
       {2, 4, 6, 6}},
      {"stride 0 on a batch axis", laid_out({3, 6, 8}, {0, 8, 1}, t), dense({3, 8, 5}, t), {3, 6, 5}},
      {"no rows", dense({0, 8}, t), dense({8, 5}, t), {0, 5}},
      {"nothing to sum", dense({3, 0}, t), dense({0, 5}, t), {3, 5}},
      {"empty batch", dense({0, 3, 4}, t), dense({4, 5}, t), {0, 3, 5}},
  };
}

KernelSpec spec_of(const Case& c, DType t, int threads = 2) {
  return {.in = {c.a, c.b}, .out = {dense(c.c, t)}, .threads = threads};
}

// Too much of b to be packed at once: in parts of k that add up.
TEST(Matmul, InPartsAgreesWithOurOwn) {
  Bed bed({.in = {dense({130, 16900}), dense({16900, 520})}, .out = {dense({130, 520})}, .threads = 2});
  const auto fast = matmul(bed.spec);
  ASSERT_NE(fast, nullptr);
  EXPECT_LT(fast->workspace(), 16_MiB);
  expect_agreement(bed, *fast, *gemm(bed.spec), tolerance(DType::f32), "in parts");
}

// A c of storage types holds no partial sums: they are kept beside it, in little room however long the rows are.
TEST(Matmul, LongRowsOfStorageTypesAreSummedApart) {
  for (const DType t : {DType::bf16, DType::f16}) {
    Bed bed(
        {.in = {dense({20, 1500}, t), dense({1500, 1100}, t)}, .out = {dense({20, 1100}, t)}, .threads = 2});
    const auto fast = matmul(bed.spec);
    ASSERT_NE(fast, nullptr);
    EXPECT_LT(fast->workspace(), 2_MiB);
    expect_agreement(bed, *fast, *matmul_reference(bed.spec), tolerance(t), std::string(name_of(t)));
  }
}

TEST(Matmul, FastAgreesWithPlain) {
  for (const DType t : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
    for (const Case& c : cases(t)) {
      Bed bed(spec_of(c, t));
      const auto fast = matmul(bed.spec);
      ASSERT_NE(fast, nullptr);
      expect_agreement(bed, *fast, *matmul_reference(bed.spec), tolerance(t),
                       fmt::format("{} {}", name_of(t), c.what));
    }
  }
}

TEST(Matmul, OurOwnAgreesWithPlainOnAnyStrides) {
  for (const Case& c : cases(DType::f32)) {
    Bed bed(spec_of(c, DType::f32));
    expect_agreement(bed, *gemm(bed.spec), *matmul_reference(bed.spec), tolerance(DType::f32), c.what);
  }
  Bed bed({.in = {laid_out({24, 36}, {100, 2}), laid_out({36, 31}, {3, 200})},
           .out = {dense({24, 31})},
           .threads = 2});
  expect_agreement(bed, *gemm(bed.spec), *matmul_reference(bed.spec), tolerance(DType::f32),
                   "no unit stride");
}

TEST(Matmul, OurOwnPacksWideAndTallOnesInParts) {
  for (const auto& [m, n] : {std::pair<std::int64_t, std::int64_t>{3, 9000}, {9000, 3}}) {
    Bed bed({.in = {dense({m, 20}), dense({20, n})}, .out = {dense({m, n})}, .threads = 2});
    const auto kernel = gemm(bed.spec);
    EXPECT_LT(kernel->workspace(), 20 * 4 * 5000);
    expect_agreement(bed, *kernel, *matmul_reference(bed.spec), tolerance(DType::f32), "parts");
  }
}

TEST(Matmul, IntegersAreExact) {
  Bed bed({.in = {dense({5, 9}, DType::i32), dense({9, 4}, DType::i32)}, .out = {dense({5, 4}, DType::i32)}});
  EXPECT_EQ(matmul(bed.spec), nullptr);
  bed.run(*matmul_reference(bed.spec));
  const auto a = bed.input(0), b = bed.input(1), c = bed.output();
  double sum = 0;
  for (std::size_t l = 0; l < 9; ++l) sum += a[2 * 9 + l] * b[l * 4 + 3];
  EXPECT_EQ(c[2 * 4 + 3], sum);
}

TEST(Matmul, OurOwnGivesTheSameBitsForAnyThreadCount) {
  KernelSpec spec{.in = {dense({150, 600}), dense({600, 1100})}, .out = {dense({150, 1100})}, .threads = 1};
  Bed bed(spec);
  const auto one = bed.results(*gemm(spec));
  for (const int threads : {2, 3}) {
    spec.threads = threads;
    EXPECT_EQ(bed.results(*gemm(spec)), one) << threads << " threads";
  }
}

TEST(Strips, AgreeWithPlainForAnyThreadCount) {
  for (const DType t : {DType::f64, DType::f32}) {
    std::vector<Case> all = cases(t);
    all.push_back({"many blocks of rows and of k", dense({1600, 900}, t), dense({900, 70}, t), {1600, 70}});
    all.push_back({"a transposed, wide", laid_out({90, 300}, {1, 90}, t), dense({300, 1100}, t), {90, 1100}});
    all.push_back(
        {"a transposed, many pieces of k", laid_out({70, 2000}, {1, 70}, t), dense({2000, 97}, t), {70, 97}});
    if (t == DType::f32)
      all.push_back({"c past the caches", dense({6000, 8}), dense({8, 2816}), {6000, 2816}});
    for (const Case& c : all) {
      KernelSpec spec = spec_of(c, t, 1);
      Bed bed(spec);
      const Product p = product_of(spec);
      const auto one = strip_product(p, t, 1);
      EXPECT_EQ(one == nullptr, p.empty() || p.k == 0) << c.what;
      if (one == nullptr) continue;
      expect_agreement(bed, *one, *matmul_reference(spec), tolerance(t), c.what);
      const auto bits = bed.results(*one);
      for (const int threads : {2, 3, 7})
        EXPECT_EQ(bed.results(*strip_product(p, t, threads)), bits)
            << c.what << ", " << threads << " threads";
    }
  }
}

TEST(Strips, OperandsWithoutADenseAxisAreRefused) {
  const KernelSpec spec{.in = {laid_out({24, 36}, {100, 2}), dense({36, 31})}, .out = {dense({24, 31})}};
  EXPECT_EQ(strip_product(product_of(spec), DType::f32, 1), nullptr);
  const KernelSpec other{.in = {dense({24, 36}), laid_out({36, 31}, {3, 200})}, .out = {dense({24, 31})}};
  EXPECT_EQ(strip_product(product_of(other), DType::f32, 1), nullptr);
}

TEST(Matmul, RunsWithoutLargeAllocations) {
  for (const DType t : {DType::f64, DType::f32, DType::bf16}) {
    for (const Case& c :
         {Case{"plain", dense({200, 300}, t), dense({300, 250}, t), {200, 250}},
          Case{"a transposed", laid_out({200, 300}, {1, 200}, t), dense({300, 250}, t), {200, 250}},
          Case{"b transposed", dense({200, 300}, t), laid_out({300, 250}, {1, 300}, t), {200, 250}},
          Case{"wider rows", laid_out({200, 300}, {900, 1}, t), dense({300, 250}, t), {200, 250}}}) {
      Bed bed(spec_of(c, t));
      const auto kernel = matmul(bed.spec);
      const auto workspace = Storage::allocate(kernel->workspace());
      bed.run(*kernel, workspace->data());  // the threads' own start-up is not ours
      const LargeAllocations counted;
      bed.run(*kernel, workspace->data());
      EXPECT_EQ(counted.count(), 0) << name_of(t) << " " << c.what;
    }
  }
}

TEST(Matmul, TheCountSeesAnAllocation) {
  const LargeAllocations counted;
  const auto s = Storage::allocate(8192);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_EQ(counted.count(), 1);
#endif
}

}  // namespace
}  // namespace tidemark::kernels
