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
    packed_k_ = aligned<T>(panel_elements(a_.keys, a_.size));
    packed_v_ = aligned<T>(panel_elements(a_.size, a_.keys));
    padded_size_ = round_up(a_.size, kHeadRows);
    slot_ = aligned<T>((a_.size + kKeyBlock + padded_size_ + 2) * kColumns);
    workspace_ = (a_.batch * a_.groups * (packed_k_ + packed_v_) + slots_.count * slot_) *
                 static_cast<Bytes>(sizeof(T));
  }

  void run(const Operands& o) const override {
    T* const packed = static_cast<T*>(o.workspace);
    const I each = packed_k_ + packed_v_;
    parallel_for(threads_, a_.batch * a_.groups, 1, [&](I i, I) {
      const I b = i / a_.groups, g = i % a_.groups;
      pack_rows(o.input<T>(1) + k_.at(b, 0, g), k_.time, a_.keys, a_.size, packed + i * each);
      pack_elements(o.input<T>(2) + v_.at(b, 0, g), v_.time, a_.keys, a_.keys, a_.size, T(1),
                    packed + i * each + packed_k_);
    });
    T* const slots = packed + a_.batch * a_.groups * each;
    parallel_for(threads_, a_.batch * a_.heads * query_blocks_, slots_.grain, [&](I begin, I end) {
      T* const slot = slots + begin / slots_.grain * slot_;
      for (I task = begin; task < end; ++task) {
        const I block = task % query_blocks_, head = task / query_blocks_ % a_.heads,
                b = task / query_blocks_ / a_.heads;
        const T* const kv = packed + (b * a_.groups + a_.group_of(head)) * each;
        attend(o, b, head, block * kColumns, kv, kv + packed_k_, slot);
      }
    });
  }

 private:
  static constexpr I kColumns = kTileColumns<T>;
  using V = Lanes<T>;

  void attend(const Operands& o, I b, I head, I t0, const T* k, const T* v, T* slot) const {
    T* const q = slot;
    T* const s = q + a_.size * kColumns;
    T* const y = s + kKeyBlock * kColumns;
    T* const largest = y + padded_size_ * kColumns;
    T* const sum = largest + kColumns;
    const I queries = std::min(kColumns, a_.queries - t0);
    pack_across(o.input<T>(0) + q_.at(b, t0, head), q_.time, queries, a_.size, static_cast<T>(a_.scale), q);
    std::fill(largest, largest + kColumns, -std::numeric_limits<T>::infinity());
    std::fill(sum, sum + kColumns, T(0));
    std::fill(y, y + padded_size_ * kColumns, T(0));
    const I keys = a_.seen(t0 + queries - 1);
    for (I j0 = 0; j0 < keys; j0 += kKeyBlock) {
      const I count = std::min(kKeyBlock, keys - j0);
      for (I j = 0; j < count; j += kHeadRows)
        multiply_tile<T, kHeadRows>({a_.size, k + (j0 + j) * a_.size, q, s + j * kColumns, kColumns, false});
      if (a_.causal) {
        for (I j = std::max<I>(0, t0 + 1 - j0); j < count; ++j)
          std::fill(s + j * kColumns, s + j * kColumns + std::min(kColumns, j0 + j - t0),
                    -std::numeric_limits<T>::infinity());
      }
      soften(s, count, largest, sum, y);
      for (I i = 0; i < padded_size_; i += kHeadRows)
        multiply_tile<T, kHeadRows>(
            {count, v + i * a_.keys + j0 * kHeadRows, s, y + i * kColumns, kColumns, true});
    }
    finish(o, b, head, t0, queries, y, largest, sum);
  }

  // Scores to exp(score - maximum so far); what was summed under an older maximum is scaled to the new one.
  void soften(T* s, I count, T* largest, T* sum, T* y) const {
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
      const V shrink = exp(before - top);
      for (I i = 0; i < a_.size; ++i) (V::load(y + i * kColumns + c) * shrink).store(y + i * kColumns + c);
      (V::load(sum + c) * shrink + total).store(sum + c);
      top.store(largest + c);
    }
  }

  void finish(const Operands& o, I b, I head, I t0, I queries, T* y, const T* largest, const T* sum) const {
    T inverse[kColumns];
    for (I c = 0; c < kColumns; ++c) inverse[c] = sum[c] == T(0) ? T(0) : T(1) / sum[c];
    for (I i = 0; i < a_.size; ++i) {
      for (I c = 0; c < kColumns; ++c) y[i * kColumns + c] *= inverse[c];
    }
    transpose(y, kColumns, o.output<T>(0) + y_.at(b, t0, head), y_.time, a_.size, queries);
    for (I c = 0; c < queries; ++c)
      o.output<T>(1)[(b * a_.queries + t0 + c) * a_.heads + head] = largest[c] + std::log(sum[c]);
  }

  Attention a_;
  Attention::Strides q_, k_, v_, y_;
  int threads_;
  I query_blocks_;
  Slots slots_;
  I packed_k_ = 0, packed_v_ = 0, padded_size_ = 0, slot_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> attention(const KernelSpec& spec) {
  if (spec.in[0].type.dtype == DType::f32) return std::make_unique<Forward<float>>(spec);
  if (spec.in[0].type.dtype == DType::f64) return std::make_unique<Forward<double>>(spec);
  return nullptr;
}

}  // namespace tidemark::kernels
