// SPDX-License-Identifier: Apache-2.0
#include "tests/contract/count.h"

#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>

namespace {
std::atomic<bool> counting{false};
std::atomic<std::int64_t> calls{0}, largest{0};
void note(std::size_t bytes) {
  if (!counting.load(std::memory_order_relaxed)) return;
  calls.fetch_add(1, std::memory_order_relaxed);
  auto seen = largest.load();
  while (static_cast<std::int64_t>(bytes) > seen &&
         !largest.compare_exchange_weak(seen, static_cast<std::int64_t>(bytes))) {
  }
}
}  // namespace

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// Sanitizers bring their own allocator, which tells of every call (sanitizer/allocator_interface.h; not every compiler ships it).
extern "C" {
int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void*, std::size_t),  // NOLINT
                                              void (*)(const volatile void*));
std::size_t __sanitizer_get_current_allocated_bytes();  // NOLINT
}
namespace {
const bool hooked =
    __sanitizer_install_malloc_and_free_hooks([](const volatile void*, std::size_t n) { note(n); },
                                              [](const volatile void*) {}) != 0;
}
#else
// glibc's own functions behind ours.
extern "C" {
void* __libc_malloc(std::size_t);                 // NOLINT
void* __libc_calloc(std::size_t, std::size_t);    // NOLINT
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

Allocations count_allocations(const std::function<void()>& f) {
  calls = largest = 0;
  counting = true;
  f();
  counting = false;
  return {calls, largest};
}

std::int64_t bytes_in_use() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return static_cast<std::int64_t>(__sanitizer_get_current_allocated_bytes());
#else
  return static_cast<std::int64_t>(mallinfo2().uordblks);
#endif
}

}  // namespace tidemark
