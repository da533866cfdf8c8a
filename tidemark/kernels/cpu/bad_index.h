// Indices out of range, met inside a parallel loop: the first is kept in the workspace, and the kernel throws
// when the loop has ended. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstring>
#include <limits>
#include <new>

#include "tidemark/ir/dtype.h"

namespace tidemark::kernels {

// An array of i32 or i64.
struct Indices {
  explicit Indices(DType d) : wide(d == DType::i64) {}
  std::int64_t at(const void* data, std::int64_t i) const {
    return wide ? static_cast<const std::int64_t*>(data)[i] : static_cast<const std::int32_t*>(data)[i];
  }
  bool wide;
};

[[noreturn]] inline void bad_index(const char* op, std::int64_t index, std::int64_t rows) {
  if (std::strcmp(op, "embedding") == 0)
    fail(Error::Kind::data, "[embedding] index {} vs table of {} rows", index, rows);
  fail(Error::Kind::data, "[{}] index {} vs an axis of {}", op, index, rows);
}

// Of every op but cross_entropy, for IndexRange::refuse.
[[noreturn]] inline void refuse_index(const char* op, std::int64_t index, std::int64_t, std::int64_t rows) {
  bad_index(op, index, rows);
}
[[noreturn]] inline void refuse_label(const char* op, std::int64_t label, std::int64_t row,
                                      std::int64_t classes) {
  fail(Error::Kind::data, "[{}] label {} of row {} vs {} classes", op, label, row, classes);
}

class BadIndex {
 public:
  static constexpr Bytes kBytes = 64;
  explicit BadIndex(void* workspace) : position_(new(workspace) std::atomic<std::int64_t>(kNone)) {}
  // The one at the least position wins, whatever the order of the threads. The index itself is read again from
  // the array afterwards.
  void note(std::int64_t position) {
    std::int64_t seen = position_->load(std::memory_order_relaxed);
    while (position < seen && !position_->compare_exchange_weak(seen, position, std::memory_order_relaxed)) {
    }
  }
  bool found() const { return position() != kNone; }
  std::int64_t position() const { return position_->load(std::memory_order_relaxed); }

 private:
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
  std::atomic<std::int64_t>* position_;
};

}  // namespace tidemark::kernels
