// Counts large allocations by standing in front of malloc: what a library takes behind our back shows here.
// SPDX-License-Identifier: Apache-2.0
#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

#include "tests/kernels/support.h"

namespace {
std::atomic<bool> counting{false};
std::atomic<std::size_t> limit{4096};
std::atomic<int> large{0};
void note(std::size_t bytes) {
  if (counting.load(std::memory_order_relaxed) && bytes > limit.load(std::memory_order_relaxed)) ++large;
}
}  // namespace

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void* malloc(std::size_t n) { return note(n), __libc_malloc(n); }
void* calloc(std::size_t n, std::size_t size) { return note(n * size), __libc_calloc(n, size); }
void* realloc(void* p, std::size_t n) { return note(n), __libc_realloc(p, n); }
void* memalign(std::size_t align, std::size_t n) { return note(n), __libc_memalign(align, n); }
void* aligned_alloc(std::size_t align, std::size_t n) { return note(n), __libc_memalign(align, n); }
int posix_memalign(void** p, std::size_t align, std::size_t n) {
  note(n);
  *p = __libc_memalign(align, n);
  return *p == nullptr ? ENOMEM : 0;
}
}
#endif

namespace tidemark::kernels {

LargeAllocations::LargeAllocations(std::size_t bytes) {
  limit = bytes;
  large = 0;
  counting = true;
}
LargeAllocations::~LargeAllocations() { counting = false; }
int LargeAllocations::count() const { return large; }

}  // namespace tidemark::kernels
