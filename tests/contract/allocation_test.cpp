// A step allocates nothing of ours: every malloc of the process is counted while an executor runs.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>

#include "tidemark/tidemark.h"

namespace {
std::atomic<bool> counting{false};
std::atomic<std::int64_t> calls{0}, largest{0};
void note(std::size_t bytes) {
  if (!counting.load(std::memory_order_relaxed)) return;
  calls.fetch_add(1, std::memory_order_relaxed);
  auto seen = largest.load();
  while (static_cast<std::int64_t>(bytes) > seen && !largest.compare_exchange_weak(seen, static_cast<std::int64_t>(bytes))) {
  }
}
}  // namespace

// glibc's own functions behind ours: the whole process, libraries included, goes through here. Sanitizers bring their
// own allocator, so that there is nothing to count with.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kCounted = false;
#else
constexpr bool kCounted = true;
extern "C" {
void* __libc_malloc(std::size_t);              // NOLINT
void* __libc_calloc(std::size_t, std::size_t); // NOLINT
void* __libc_memalign(std::size_t, std::size_t);  // NOLINT
void* malloc(std::size_t n) {
  note(n);
  return __libc_malloc(n);
}
void* calloc(std::size_t n, std::size_t size) {
  note(n * size);
  return __libc_calloc(n, size);
}
void* aligned_alloc(std::size_t align, std::size_t n) {
  note(n);
  return __libc_memalign(align, n);
}
int posix_memalign(void** out, std::size_t align, std::size_t n) {
  note(n);
  *out = __libc_memalign(align, n);
  return *out == nullptr ? ENOMEM : 0;
}
}
#endif

namespace tidemark {
namespace {

struct Params {
  Tensor conv, scale, shift, w;
};

Tensor loss(const Params& p, const Tensor& x, const Tensor& labels) {
  const Tensor c = conv2d(x, p.conv, {.padding = {1, 1}});
  const Tensor n = relu(batch_norm_training(c, p.scale, p.shift).y);
  const Tensor f = mean(n, {2, 3});
  return cross_entropy(matmul(f, p.w), labels);
}

TEST(Allocation, AStepAllocatesNothingOfOurs) {
  if (!kCounted) GTEST_SKIP() << "sanitizers bring their own allocator";
  const Params p{full({8, 3, 3, 3}, 0.1), ones({8}), zeros({8}), full({8, 4}, 0.2)};
  const Tensor x = full({4, 3, 16, 16}, 0.5);
  const Tensor labels = tensor<std::int64_t>({0, 1, 2, 3}, {4});
  auto step = compile(value_and_grad(loss), {.device = cpu({.threads = 2})});
  const Compiled& c = step.plan_for(p, x, labels);
  Executor executor(std::make_shared<const Program>(c.program()), cpu({.threads = 2}));
  std::vector<void*> residents;
  for (const Tensor& t : {p.conv, p.scale, p.shift, p.w, x, labels}) residents.push_back(t.storage()->data());
  ASSERT_EQ(residents.size(), c.program().residents.size());
  executor.run(residents);  // libraries may set themselves up once
  executor.run(residents);
  calls = 0;
  largest = 0;
  counting = true;
  executor.run(residents);
  counting = false;
  // oneDNN makes a few small allocations inside its calls; ours are none, and nothing is above 4 KiB.
  EXPECT_LE(largest.load(), 4096) << calls.load() << " allocations";
  RecordProperty("library_allocations", static_cast<int>(calls.load()));
}

TEST(Allocation, ElementwiseProgramsAllocateNothingAtAll) {
  if (!kCounted) GTEST_SKIP() << "sanitizers bring their own allocator";
  auto f = compile([](const Tensor& x) { return sum(tanh(x * 2.0) + exp(x), {1}); }, {.device = cpu({.threads = 2})});
  const Tensor x = full({64, 1000}, 0.5);
  const Compiled& c = f.plan_for(x);
  Executor executor(std::make_shared<const Program>(c.program()), cpu({.threads = 2}));
  const std::vector<void*> residents{x.storage()->data()};
  executor.run(residents);
  calls = 0;
  counting = true;
  executor.run(residents);
  counting = false;
  EXPECT_EQ(calls.load(), 0);
}

}  // namespace
}  // namespace tidemark
