// Lists of ids, one for each row, in one array: the planner's way to keep who reads and makes what.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <vector>

namespace tidemark::plan {

class Csr {
 public:
  std::span<const std::int32_t> operator[](std::integral auto row) const {
    const auto r = static_cast<std::size_t>(row);
    return {items_.data() + starts_[r], items_.data() + starts_[r + 1]};
  }
  std::size_t rows() const { return starts_.size() - 1; }
  std::size_t items() const { return items_.size(); }  // in all rows
  void add(std::int32_t item) { items_.push_back(item); }
  void end_row() { starts_.push_back(static_cast<std::int32_t>(items_.size())); }

  // By item, of which there are so many: the rows that have it, in their order.
  Csr transposed(std::size_t items) const {
    Csr out;
    out.starts_.assign(items + 1, 0);
    for (const std::int32_t i : items_) ++out.starts_[static_cast<std::size_t>(i) + 1];
    for (std::size_t i = 0; i < items; ++i) out.starts_[i + 1] += out.starts_[i];
    out.items_.resize(items_.size());
    std::vector<std::int32_t> next(out.starts_.begin(), out.starts_.end() - 1);
    for (std::size_t r = 0; r < rows(); ++r) {
      for (const std::int32_t i : (*this)[r])
        out.items_[static_cast<std::size_t>(next[static_cast<std::size_t>(i)]++)] =
            static_cast<std::int32_t>(r);
    }
    return out;
  }

 private:
  std::vector<std::int32_t> items_;
  std::vector<std::int32_t> starts_{0};
};

}  // namespace tidemark::plan
