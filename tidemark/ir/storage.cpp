// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ir/storage.h"

#include <cstdlib>
#include <cstring>

#include "tidemark/base/error.h"

namespace tidemark {
namespace {

std::byte* allocate_aligned(Bytes bytes) {
  void* data = std::aligned_alloc(static_cast<std::size_t>(kStorageAlign),
                                  static_cast<std::size_t>(round_up(bytes > 0 ? bytes : 1, kStorageAlign)));
  if (data == nullptr)
    fail(Error::Kind::out_of_memory, "[tensor] the system refused {}", format_bytes(bytes));
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
