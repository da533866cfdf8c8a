// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ir/storage.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

#include "tidemark/base/error.h"

namespace tidemark {
namespace {

constexpr Bytes kHugePage = 2_MiB;

std::byte* allocate_aligned(Bytes bytes) {
  const Bytes align = bytes >= kHugePage ? kHugePage : kStorageAlign;
  const Bytes size = round_up(bytes > 0 ? bytes : 1, kStorageAlign);
  void* data = nullptr;
  if (posix_memalign(&data, static_cast<std::size_t>(align), static_cast<std::size_t>(size)) != 0)
    fail(Error::Kind::out_of_memory, "[tensor] the system refused {}", format_bytes(bytes));
  // Large arrays are streamed, and products walk down their columns: with small pages every few elements cost a walk of
  // the page table. The tail behind the last whole huge page keeps small ones, so that nothing is wasted.
  if (align == kHugePage) madvise(data, static_cast<std::size_t>(size / kHugePage * kHugePage), MADV_HUGEPAGE);
  return static_cast<std::byte*>(data);
}

}  // namespace

std::shared_ptr<Storage> Storage::allocate(Bytes bytes) {
  return std::shared_ptr<Storage>(new Storage(allocate_aligned(bytes), bytes, nullptr));
}

std::shared_ptr<Storage> Storage::lend(void* data, Bytes bytes, std::shared_ptr<void> owner) {
  TIDEMARK_CHECK(owner != nullptr);
  return std::shared_ptr<Storage>(new Storage(static_cast<std::byte*>(data), bytes, std::move(owner)));
}

Storage::~Storage() {
  if (!lent()) std::free(data_);
}

void Storage::detach() {
  if (!lent()) return;
  std::byte* copy = allocate_aligned(bytes_);
  if (bytes_ > 0) std::memcpy(copy, data_, static_cast<std::size_t>(bytes_));
  data_ = copy;
  owner_.reset();
}

}  // namespace tidemark
