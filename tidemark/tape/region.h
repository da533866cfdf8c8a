// Adjoints of one region of a tape: those of its own statements and of its inputs, however long the tape before it is.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "tidemark/tape/sweep.h"

namespace tidemark::tape {

template <typename Real>
class RegionAdjoints {
 public:
  // Of the statements [first, end), in `width` directions. `inputs`: indices below `first`, in any order; 0: passive.
  RegionAdjoints(std::uint32_t first, std::uint32_t end, std::span<const std::uint32_t> inputs,
                 std::uint32_t width)
      : first_(first), width_(width), inputs_(inputs.begin(), inputs.end()) {
    std::sort(inputs_.begin(), inputs_.end());
    inputs_.erase(std::unique(inputs_.begin(), inputs_.end()), inputs_.end());
    values_.resize((end - first + inputs_.size()) * width, Real(0));
  }

  // One number a direction; null: neither an input nor a statement of the region.
  Real* of(std::uint32_t index) {
    if (index >= first_) return values_.data() + (inputs_.size() + index - first_) * width_;
    const std::uint32_t* at = place(index);
    return at == nullptr ? nullptr : values_.data() + static_cast<std::size_t>(at - inputs_.data()) * width_;
  }
  void add(std::uint32_t index, std::uint32_t direction, const Real& term) {
    if (Real* to = of(index))
      to[direction] += term;
    else
      others_ = true;
  }
  void add_product(std::uint32_t index, const Real& partial, const Real* adjoint) {
    Real* to = of(index);
    for (std::uint32_t w = 0; w < width_; ++w) {
      if (is_zero(adjoint[w])) continue;
      if (to == nullptr)
        others_ = true;
      else
        add_term(to[w], partial, adjoint[w]);
    }
  }
  // Whether the region reads what is neither.
  bool others() const { return others_; }

  // As walk_chunk meets them.
  void run(const Run<Real>& run) {
    for (std::uint32_t k = run.length; k-- > 0;) {
      const Real* adjoint = of(run.first + k);
      const Real* partials = run.partials + static_cast<std::size_t>(k) * run.partial_stride;
      for (std::uint32_t j = 0; j < run.n; ++j)
        add_product(run.base[j] + (k > 0 ? run.stride[j] * k : 0), partials[j], adjoint);
    }
  }
  const Real* scattered(std::uint32_t n, std::uint32_t first, std::uint32_t length, const Real* end) {
    for (std::uint32_t k = length; k-- > 0;) {
      end -= scattered_size<Real>(n);
      std::uint32_t at[kMaxFew];
      std::memcpy(at, end + n, n * sizeof at[0]);
      const Real* adjoint = of(first + k);
      for (std::uint32_t j = 0; j < n; ++j) add_product(at[j], end[j], adjoint);
    }
    return end;
  }

 private:
  const std::uint32_t* place(std::uint32_t index) const {
    const auto at = std::lower_bound(inputs_.begin(), inputs_.end(), index);
    return at == inputs_.end() || *at != index ? nullptr : &*at;
  }
  std::uint32_t first_, width_;
  std::vector<std::uint32_t> inputs_;  // sorted
  std::vector<Real> values_;           // of the inputs, then of the statements
  bool others_ = false;
};

}  // namespace tidemark::tape
