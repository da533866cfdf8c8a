// Forward: blocks of keys with a running maximum and sum for each query (Milakov & Gimelshein 2018; Dao et
// al. 2022). A task is one head and one register's worth of queries.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/cpu/attention.h"

#include <cmath>
#include <limits>

#include "tidemark/kernels/cpu/attention_tiles.h"

namespace tidemark::kernels {
namespace {

using I = std::int64_t;
constexpr I kKeyBlock = 128;

template <typename T>
class Forward final : public Kernel {
 public:
  explicit Forward(const KernelSpec& spec)
      : a_(attention_of(spec.in[0], spec.in[1], spec.attrs)),
        q_(attention_strides(spec.in[0])),
        k_(attention_strides(spec.in[1])),
        v_(attention_strides(spec.in[2])),
        y_(attention_strides(spec.out[0])),
        threads_(spec.threads),
        query_blocks_((a_.queries + kColumns - 1) / kColumns),
        slots_(a_.batch * a_.heads * query_blocks_, spec.threads) {
    width_ = round_up(a_.size, kColumns);
    each_ = aligned<T>(a_.keys * width_);
    slot_ = aligned<T>((a_.size + kKeyBlock + 3) * kColumns + kColumns * width_);
    workspace_ = (2 * a_.batch * a_.groups * each_ + slots_.count * slot_) * static_cast<Bytes>(sizeof(T));
  }

  void run(const Operands& o) const override {
    T* const rows = static_cast<T*>(o.workspace);
    parallel_for(threads_, a_.batch * a_.groups, 1, [&](I i, I) {
      const I b = i / a_.groups, g = i % a_.groups;
      copy_rows(o.input<T>(1) + k_.at(b, 0, g), k_.time, a_.keys, a_.size, T(1), rows + 2 * i * each_,
                width_);
      copy_rows(o.input<T>(2) + v_.at(b, 0, g), v_.time, a_.keys, a_.size, T(1), rows + (2 * i + 1) * each_,
                width_);
    });
    T* const slots = rows + 2 * a_.batch * a_.groups * each_;
    parallel_for(threads_, a_.batch * a_.heads * query_blocks_, slots_.grain, [&](I begin, I end) {
      T* const slot = slots + begin / slots_.grain * slot_;
      for (I task = begin; task < end; ++task) {
        const I block = task % query_blocks_, head = task / query_blocks_ % a_.heads,
                b = task / query_blocks_ / a_.heads;
        const T* const k = rows + 2 * (b * a_.groups + a_.group_of(head)) * each_;
        attend(o, b, head, block * kColumns, k, k + each_, slot);
      }
    });
  }

 private:
  static constexpr I kColumns = kTileColumns<T>;
  using V = Lanes<T>;

  void attend(const Operands& o, I b, I head, I t0, const T* k, const T* v, T* slot) const {
    T* const q = slot;
    T* const s = q + a_.size * kColumns;
    T* const largest = s + kKeyBlock * kColumns;
    T* const sum = largest + kColumns;
    T* const shrink = sum + kColumns;
    T* const y = shrink + kColumns;
    const I queries = std::min(kColumns, a_.queries - t0);
    pack_across(o.input<T>(0) + q_.at(b, t0, head), q_.time, queries, a_.size, static_cast<T>(a_.scale), q);
    std::fill(largest, largest + kColumns, -std::numeric_limits<T>::infinity());
    std::fill(sum, sum + kColumns, T(0));
    const I keys = a_.seen(t0 + queries - 1);
    if (keys == 0) std::fill(y, y + queries * width_, T(0));
    for (I j0 = 0; j0 < keys; j0 += kKeyBlock) {
      const I count = std::min(kKeyBlock, keys - j0);
      multiply_head<T, false>(count, kColumns,
                              {a_.size, k + j0 * width_, width_, q, kColumns, s, kColumns, false});
      if (a_.causal) {
        for (I j = std::max<I>(0, t0 + 1 - j0); j < count; ++j)
          std::fill(s + j * kColumns, s + j * kColumns + std::min(kColumns, j0 + j - t0),
                    -std::numeric_limits<T>::infinity());
      }
      soften(s, count, largest, sum, shrink);
      if (j0 > 0) scale_rows(queries, shrink, y);
      multiply_head<T, true>(queries, width_,
                             {count, s, kColumns, v + j0 * width_, width_, y, width_, j0 > 0});
    }
    finish(o, b, head, t0, queries, y, largest, sum);
  }

  // Scores to exp(score - maximum so far); shrink: what was summed under an older maximum is scaled to the new one by it.
  void soften(T* s, I count, T* largest, T* sum, T* shrink) const {
    for (I c = 0; c < kColumns; c += kLanes<T>) {
      const V before = V::load(largest + c);
      V top = before;
      for (I j = 0; j < count; ++j) top = max(top, V::load(s + j * kColumns + c));
      V total = V::zero();
      for (I j = 0; j < count; ++j) {
        const V p = exp(V::load(s + j * kColumns + c) - top);
        p.store(s + j * kColumns + c);
        total = total + p;
      }
      const V factor = exp(before - top);
      factor.store(shrink + c);
      (V::load(sum + c) * factor + total).store(sum + c);
      top.store(largest + c);
    }
  }

  void scale_rows(I queries, const T* factors, T* y) const {
    for (I c = 0; c < queries; ++c) {
      for (I i = 0; i < width_; ++i) y[c * width_ + i] *= factors[c];
    }
  }

  void finish(const Operands& o, I b, I head, I t0, I queries, const T* y, const T* largest,
              const T* sum) const {
    for (I c = 0; c < queries; ++c) {
      const T inverse = sum[c] == T(0) ? T(0) : T(1) / sum[c];
      copy_rows(y + c * width_, 0, 1, a_.size, inverse, o.output<T>(0) + y_.at(b, t0 + c, head), a_.size);
      o.output<T>(1)[(b * a_.queries + t0 + c) * a_.heads + head] = largest[c] + std::log(sum[c]);
    }
  }

  Attention a_;
  Attention::Strides q_, k_, v_, y_;
  int threads_;
  I query_blocks_;
  Slots slots_;
  I width_ = 0;  // of a row in the workspace
  I each_ = 0, slot_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> attention(const KernelSpec& spec) {
  if (spec.in[0].type.dtype == DType::f32) return std::make_unique<Forward<float>>(spec);
  if (spec.in[0].type.dtype == DType::f64) return std::make_unique<Forward<double>>(spec);
  return nullptr;
}

}  // namespace tidemark::kernels
