// Bytes that a concrete Tensor holds: owned and aligned, or lent by somebody (an arena, a user's array).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "tidemark/base/api.h"
#include "tidemark/base/bytes.h"

namespace tidemark {

inline constexpr Bytes kStorageAlign = 64;

class TIDEMARK_API Storage {
 public:
  // Uninitialised, aligned to kStorageAlign. Throws Error(out_of_memory) with the size asked for.
  static std::shared_ptr<Storage> allocate(Bytes bytes);
  // Memory of somebody else's; `owner` keeps it alive.
  static std::shared_ptr<Storage> lend(void* data, Bytes bytes, std::shared_ptr<void> owner);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  std::byte* data() const { return data_; }
  Bytes bytes() const { return bytes_; }
  bool lent() const { return owner_ != nullptr; }
  // Copies lent bytes into memory of its own: the lender is about to reuse them.
  void detach();

 private:
  Storage(std::byte* data, Bytes bytes, std::shared_ptr<void> owner)
      : data_(data), bytes_(bytes), owner_(std::move(owner)) {}
  std::byte* data_;
  Bytes bytes_;
  std::shared_ptr<void> owner_;
};

}  // namespace tidemark
