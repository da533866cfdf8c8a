// Backward (Dao et al. 2022): blocks of queries against blocks of keys, scores made again from the
// log-sum-exp. A task is one head of keys with all its queries, so that nothing is summed by two threads.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <limits>

#include "tidemark/kernels/cpu/attention.h"
#include "tidemark/kernels/cpu/attention_tiles.h"

namespace tidemark::kernels {
namespace {

using I = std::int64_t;

template <typename T>
class Backward final : public Kernel {
 public:
  explicit Backward(const KernelSpec& spec)
      : a_(attention_of(spec.in[1], spec.in[2], spec.attrs)),
        ct_(attention_strides(spec.in[0])),
        q_(attention_strides(spec.in[1])),
        k_(attention_strides(spec.in[2])),
        v_(attention_strides(spec.in[3])),
        dq_(attention_strides(spec.out[0])),
        dk_(attention_strides(spec.out[1])),
        dv_(attention_strides(spec.out[2])),
        threads_(spec.threads),
        slots_(a_.batch * a_.groups, spec.threads) {
    padded_size_ = round_up(a_.size, kHeadRows);
    padded_keys_ = round_up(a_.keys, kColumns);
    Bytes at = 0;
    const auto reserve = [&](I elements) {
      const Bytes here = at;
      at += aligned<T>(elements);
      return here;
    };
    k_rows_ = reserve(panel_elements(a_.keys, a_.size));
    v_rows_ = reserve(panel_elements(a_.keys, a_.size));
    k_elements_ = reserve(panel_elements(a_.size, a_.keys));
    dk_at_ = reserve(padded_size_ * padded_keys_);
    dv_at_ = reserve(padded_size_ * padded_keys_);
    q_across_ = reserve(kPanels * a_.size * kColumns);
    ct_across_ = reserve(kPanels * a_.size * kColumns);
    q_elements_ = reserve(padded_size_ * kQueries);
    ct_elements_ = reserve(padded_size_ * kQueries);
    dq_at_ = reserve(kPanels * padded_size_ * kColumns);
    rows_ = reserve(2 * kQueries);
    p_at_ = reserve(kKeys * kQueries);
    ds_at_ = reserve(kKeys * kQueries);
    turned_ = reserve(kKeys * kQueries);
    slot_ = at;
    workspace_ = slots_.count * slot_ * static_cast<Bytes>(sizeof(T));
  }

  void run(const Operands& o) const override {
    parallel_for(threads_, a_.batch * a_.groups, slots_.grain, [&](I begin, I end) {
      T* const slot = static_cast<T*>(o.workspace) + begin / slots_.grain * slot_;
      for (I task = begin; task < end; ++task) group(o, task / a_.groups, task % a_.groups, slot);
    });
  }

 private:
  static constexpr I kColumns = kTileColumns<T>;
  static constexpr I kPanels = 2;  // of queries in a block
  static constexpr I kQueries = kPanels * kColumns;
  static constexpr I kKeys = 2 * kColumns;  // in a block
  using V = Lanes<T>;

  void group(const Operands& o, I b, I g, T* slot) const {
    const T* const k = o.input<T>(2) + k_.at(b, 0, g);
    const T* const v = o.input<T>(3) + v_.at(b, 0, g);
    pack_rows(k, k_.time, a_.keys, a_.size, slot + k_rows_);
    pack_rows(v, v_.time, a_.keys, a_.size, slot + v_rows_);
    pack_elements(k, k_.time, a_.keys, a_.keys, a_.size, T(1), slot + k_elements_);
    std::fill(slot + dk_at_, slot + dk_at_ + padded_size_ * padded_keys_, T(0));
    std::fill(slot + dv_at_, slot + dv_at_ + padded_size_ * padded_keys_, T(0));
    const I share = a_.heads / a_.groups;
    for (I head = g * share; head < (g + 1) * share; ++head) {
      for (I t0 = 0; t0 < a_.queries; t0 += kQueries) query_block(o, b, head, t0, slot);
    }
    transpose(slot + dk_at_, padded_keys_, o.output<T>(1) + dk_.at(b, 0, g), dk_.time, a_.size, a_.keys);
    transpose(slot + dv_at_, padded_keys_, o.output<T>(2) + dv_.at(b, 0, g), dv_.time, a_.size, a_.keys);
  }

  void query_block(const Operands& o, I b, I head, I t0, T* slot) const {
    const I queries = std::min(kQueries, a_.queries - t0);
    const T* const q = o.input<T>(1) + q_.at(b, t0, head);
    const T* const ct = o.input<T>(0) + ct_.at(b, t0, head);
    const auto scale = static_cast<T>(a_.scale);
    for (I p = 0; p < kPanels; ++p) {
      const I count = std::clamp<I>(queries - p * kColumns, 0, kColumns);
      pack_across(q + p * kColumns * q_.time, q_.time, count, a_.size, scale,
                  slot + q_across_ + p * a_.size * kColumns);
      pack_across(ct + p * kColumns * ct_.time, ct_.time, count, a_.size, T(1),
                  slot + ct_across_ + p * a_.size * kColumns);
    }
    pack_elements(q, q_.time, queries, kQueries, a_.size, scale, slot + q_elements_);
    pack_elements(ct, ct_.time, queries, kQueries, a_.size, T(1), slot + ct_elements_);
    T *const lse = slot + rows_, *const delta = lse + kQueries;
    for (I c = 0; c < kQueries; ++c) {
      const I at = (b * a_.queries + t0 + c) * a_.heads + head;
      // Queries that are not there have no weight anywhere.
      lse[c] = c < queries ? o.input<T>(4)[at] : std::numeric_limits<T>::infinity();
      delta[c] = c < queries ? o.input<T>(5)[at] : T(0);
    }
    const I keys = a_.seen(t0 + queries - 1);
    for (I j0 = 0; j0 < keys; j0 += kKeys) key_block(t0, queries, j0, slot);
    T* const dq = slot + dq_at_;
    if (keys == 0) std::fill(dq, dq + kPanels * padded_size_ * kColumns, T(0));
    for (I i = 0; i < kPanels * padded_size_ * kColumns; ++i) dq[i] *= scale;
    for (I p = 0; p * kColumns < queries; ++p) {
      transpose(dq + p * padded_size_ * kColumns, kColumns,
                o.output<T>(0) + dq_.at(b, t0 + p * kColumns, head), dq_.time, a_.size,
                std::min(kColumns, queries - p * kColumns));
    }
  }

  // Of the keys from j0 on, how many the panels of the block see.
  using Reach = std::array<I, kPanels>;

  void key_block(I t0, I queries, I j0, T* slot) const {
    Reach reach;
    for (I p = 0; p < kPanels; ++p) {
      const I last = t0 + std::min(queries, (p + 1) * kColumns) - 1;
      reach[static_cast<std::size_t>(p)] = std::clamp<I>(a_.seen(last) - j0, 0, kKeys);
    }
    for (I p = 0; p < kPanels; ++p) {
      const I count = reach[static_cast<std::size_t>(p)];
      T *const weights = slot + p_at_ + p * kKeys * kColumns, *const ds =
                                                                  slot + ds_at_ + p * kKeys * kColumns;
      for (I j = 0; j < count; j += kHeadRows) {
        multiply_tile<T, kHeadRows>({a_.size, slot + k_rows_ + (j0 + j) * a_.size,
                                     slot + q_across_ + p * a_.size * kColumns, weights + j * kColumns,
                                     kColumns, false});
        multiply_tile<T, kHeadRows>({a_.size, slot + v_rows_ + (j0 + j) * a_.size,
                                     slot + ct_across_ + p * a_.size * kColumns, ds + j * kColumns, kColumns,
                                     false});
      }
      differentiate(t0 + p * kColumns, j0, count, slot + rows_ + p * kColumns, weights, ds);
      for (I i = 0; i < padded_size_; i += kHeadRows) {
        multiply_tile<T, kHeadRows>({count, slot + k_elements_ + i * a_.keys + j0 * kHeadRows, ds,
                                     slot + dq_at_ + (p * padded_size_ + i) * kColumns, kColumns, j0 > 0});
      }
    }
    add_to_keys(slot + p_at_, j0, reach, slot + ct_elements_, slot + dv_at_, slot + turned_);
    add_to_keys(slot + ds_at_, j0, reach, slot + q_elements_, slot + dk_at_, slot + turned_);
  }

  // weights: scores to exp(score - lse); ds: its cotangent to that of the score.
  void differentiate(I t0, I j0, I count, const T* rows, T* weights, T* ds) const {
    const T *const lse = rows, *const delta = rows + kQueries;
    for (I j = 0; j < count; ++j) {
      for (I c = 0; c < kColumns; c += kLanes<T>) {
        const V p = exp(V::load(weights + j * kColumns + c) - V::load(lse + c));
        p.store(weights + j * kColumns + c);
        (p * (V::load(ds + j * kColumns + c) - V::load(delta + c))).store(ds + j * kColumns + c);
      }
      const I hidden = a_.causal ? std::clamp<I>(j0 + j - t0, 0, kColumns) : 0;
      std::fill(weights + j * kColumns, weights + j * kColumns + hidden, T(0));
      std::fill(ds + j * kColumns, ds + j * kColumns + hidden, T(0));
    }
    std::fill(weights + count * kColumns, weights + kKeys * kColumns, T(0));
    std::fill(ds + count * kColumns, ds + kKeys * kColumns, T(0));
  }

  // to (size x keys) += elements (size x queries) turned (queries x keys). Earlier panels see fewer keys.
  void add_to_keys(const T* across, I j0, const Reach& reach, const T* elements, T* to, T* turned) const {
    for (I first = 0; first < kKeys && j0 + first < padded_keys_; first += kColumns) {
      I begin = 0;
      while (begin < kPanels && reach[static_cast<std::size_t>(begin)] <= first) ++begin;
      if (begin == kPanels) return;
      for (I p = begin; p < kPanels; ++p) {
        transpose(across + (p * kKeys + first) * kColumns, kColumns, turned + p * kColumns * kColumns,
                  kColumns, kColumns, kColumns);
      }
      const I seen = begin * kColumns;
      for (I i = 0; i < padded_size_; i += kHeadRows) {
        multiply_tile<T, kHeadRows>({kQueries - seen, elements + i * kQueries + seen * kHeadRows,
                                     turned + seen * kColumns, to + i * padded_keys_ + j0 + first,
                                     padded_keys_, true});
      }
    }
  }

  Attention a_;
  Attention::Strides ct_, q_, k_, v_, dq_, dk_, dv_;
  int threads_;
  Slots slots_;
  I padded_size_ = 0, padded_keys_ = 0;
  I k_rows_ = 0, v_rows_ = 0, k_elements_ = 0, dk_at_ = 0, dv_at_ = 0, q_across_ = 0, ct_across_ = 0,
    q_elements_ = 0, ct_elements_ = 0, dq_at_ = 0, rows_ = 0, p_at_ = 0, ds_at_ = 0, turned_ = 0, slot_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> attention_backward(const KernelSpec& spec) {
  if (spec.in[0].type.dtype == DType::f32) return std::make_unique<Backward<float>>(spec);
  if (spec.in[0].type.dtype == DType::f64) return std::make_unique<Backward<double>>(spec);
  return nullptr;
}

}  // namespace tidemark::kernels
