// SPDX-License-Identifier: Apache-2.0
#include "tidemark/tape/pages.h"

#include <sys/mman.h>

#include <cstring>
#include <utility>

#include "tidemark/base/error.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE \
  23  // Linux 5.14; an older kernel refuses it, and pages come when they are touched
#endif

namespace tidemark::tape {
namespace {
constexpr Bytes kPage = 4096, kHuge = Bytes{2} << 20;
// Whole huge pages only where they waste little.
bool on_huge_pages(Bytes bytes) { return bytes >= 16 * kHuge || (bytes > 0 && bytes % kHuge == 0); }
}  // namespace

Bytes Pages::rounded(Bytes bytes) {
  return round_up(bytes < 1 ? 1 : bytes, on_huge_pages(bytes) ? kHuge : kPage);
}

Pages::Pages(Bytes bytes) : bytes_(rounded(bytes)) {
  const bool huge = on_huge_pages(bytes);
  // A huge page begins at a multiple of its size: ask for more and give back both ends.
  const Bytes slack = huge ? kHuge : 0;
  void* raw = ::mmap(nullptr, static_cast<std::size_t>(bytes_ + slack), PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED)
    fail(Error::Kind::out_of_memory, "[tape] no memory for {} more", format_bytes(bytes_));
  auto* begin = static_cast<std::byte*>(raw);
  if (slack > 0) {
    const auto address = reinterpret_cast<std::uintptr_t>(begin);
    const Bytes before = static_cast<Bytes>((kHuge - static_cast<Bytes>(address % kHuge)) % kHuge);
    if (before > 0) ::munmap(begin, static_cast<std::size_t>(before));
    if (slack > before) ::munmap(begin + before + bytes_, static_cast<std::size_t>(slack - before));
    begin += before;
    ::madvise(begin, static_cast<std::size_t>(bytes_), MADV_HUGEPAGE);
  }
  data_ = begin;
  ::madvise(data_, static_cast<std::size_t>(bytes_), MADV_POPULATE_WRITE);
}

Pages::~Pages() {
  if (data_ != nullptr) ::munmap(data_, static_cast<std::size_t>(bytes_));
}

Pages::Pages(Pages&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Pages& Pages::operator=(Pages&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace tidemark::tape
