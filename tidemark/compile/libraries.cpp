// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/libraries.h"

#include <malloc.h>

#include <bit>
#include <cstddef>

// Where a sanitizer has taken malloc's place it counts instead (sanitizer/allocator_interface.h).
extern "C" [[gnu::weak]] std::size_t
__sanitizer_get_current_allocated_bytes();  // NOLINT(bugprone-reserved-identifier)

namespace tidemark {

std::optional<Bytes> heap_in_use() {
  if (__sanitizer_get_current_allocated_bytes != nullptr)
    return static_cast<Bytes>(__sanitizer_get_current_allocated_bytes());
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
  const struct mallinfo2 heap = mallinfo2();
  return static_cast<Bytes>(heap.uordblks + heap.hblkhd);
#else
  return std::nullopt;
#endif
}

void HeapWatch::before(bool quiet) {
  constexpr std::int64_t kEach = 8;
  ++steps_;
  before_.reset();
  // Counting goes through all that is free, which a large program's planner leaves much of.
  const bool look = steps_ <= kEach || std::has_single_bit(static_cast<std::uint64_t>(steps_));
  if (look && quiet) before_ = heap_in_use();
}

void HeapWatch::after() {
  if (!before_) return;
  const Bytes left = heap_in_use().value_or(*before_) - *before_;
  (found_.steps++ == 0 ? found_.first : found_.later) += left;
  found_.known = true;
  before_.reset();
}

}  // namespace tidemark
