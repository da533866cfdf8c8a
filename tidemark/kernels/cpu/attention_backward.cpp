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
    width_ = round_up(a_.size, kColumns);
    Bytes at = 0;
    const auto reserve = [&](I elements) {
      const Bytes here = at;
      at += aligned<T>(elements);
      return here;
    };
    k_at_ = reserve(a_.keys * width_);
    v_at_ = reserve(a_.keys * width_);
    dk_at_ = reserve(a_.keys * width_);
    dv_at_ = reserve(a_.keys * width_);
    q_across_ = reserve(kPanels * a_.size * kColumns);
    ct_across_ = reserve(kPanels * a_.size * kColumns);
    q_at_ = reserve(kQueries * width_);
    ct_at_ = reserve(kQueries * width_);
    dq_at_ = reserve(kQueries * width_);
    rows_ = reserve(2 * kQueries);
    p_at_ = reserve(kKeys * kQueries);
    ds_at_ = reserve(kKeys * kQueries);
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
    copy_rows(o.input<T>(2) + k_.at(b, 0, g), k_.time, a_.keys, a_.size, T(1), slot + k_at_, width_);
    copy_rows(o.input<T>(3) + v_.at(b, 0, g), v_.time, a_.keys, a_.size, T(1), slot + v_at_, width_);
    std::fill(slot + dk_at_, slot + dk_at_ + a_.keys * width_, T(0));
    std::fill(slot + dv_at_, slot + dv_at_ + a_.keys * width_, T(0));
    const I share = a_.heads / a_.groups;
    for (I head = g * share; head < (g + 1) * share; ++head) {
      for (I t0 = 0; t0 < a_.queries; t0 += kQueries) query_block(o, b, head, t0, slot);
    }
    put_rows(slot + dk_at_, a_.keys, T(1), o.output<T>(1) + dk_.at(b, 0, g), dk_.time);
    put_rows(slot + dv_at_, a_.keys, T(1), o.output<T>(2) + dv_.at(b, 0, g), dv_.time);
  }

  void put_rows(const T* from, I count, T factor, T* to, I stride) const {
    for (I row = 0; row < count; ++row)
      copy_rows(from + row * width_, 0, 1, a_.size, factor, to + row * stride, a_.size);
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
    copy_rows(q, q_.time, queries, a_.size, scale, slot + q_at_, width_);
    copy_rows(ct, ct_.time, queries, a_.size, T(1), slot + ct_at_, width_);
    T *const lse = slot + rows_, *const delta = lse + kQueries;
    for (I c = 0; c < kQueries; ++c) {
      const I at = (b * a_.queries + t0 + c) * a_.heads + head;
      // Queries that are not there have no weight anywhere.
      lse[c] = c < queries ? o.input<T>(4)[at] : std::numeric_limits<T>::infinity();
      delta[c] = c < queries ? o.input<T>(5)[at] : T(0);
    }
    const I keys = a_.seen(t0 + queries - 1);
    if (keys == 0) std::fill(slot + dq_at_, slot + dq_at_ + queries * width_, T(0));
    for (I j0 = 0; j0 < keys; j0 += kKeys) key_block(t0, queries, j0, std::min(kKeys, keys - j0), slot);
    put_rows(slot + dq_at_, queries, scale, o.output<T>(0) + dq_.at(b, t0, head), dq_.time);
  }

  // Keys [j0, j0 + count) against the queries of the block; weights and ds are keys down, queries across. A panel of queries
  // sees the first of the keys only, and later panels more of them.
  void key_block(I t0, I queries, I j0, I count, T* slot) const {
    T *const weights = slot + p_at_, *const ds = slot + ds_at_;
    const T *const k = slot + k_at_ + j0 * width_, *const v = slot + v_at_ + j0 * width_;
    std::array<I, kPanels> reach;
    for (I p = 0; p < kPanels; ++p) {
      const I first = p * kColumns, here = std::min(kColumns, queries - first);
      if (here <= 0) {
        reach[static_cast<std::size_t>(p)] = count;
        continue;
      }
      const I seen = reach[static_cast<std::size_t>(p)] =
          std::clamp<I>(a_.seen(t0 + first + here - 1) - j0, 0, count);
      multiply_head<T, false>(seen, kColumns,
                              {a_.size, k, width_, slot + q_across_ + first * a_.size, kColumns,
                               weights + first, kQueries, false});
      multiply_head<T, false>(
          seen, kColumns,
          {a_.size, v, width_, slot + ct_across_ + first * a_.size, kColumns, ds + first, kQueries, false});
      differentiate(t0 + first, j0, seen, slot + rows_ + first, weights + first, ds + first);
      multiply_head<T, true>(
          here, width_,
          {seen, ds + first, kQueries, k, width_, slot + dq_at_ + first * width_, width_, j0 > 0});
    }
    // Keys that the same panels see, from panel p on.
    I from = 0;
    for (I p = 0; p < kPanels && p * kColumns < queries; ++p) {
      const I to = reach[static_cast<std::size_t>(p)], first = p * kColumns, depth = queries - first;
      if (to <= from) continue;
      const HeadProduct<T> product{depth, nullptr, kQueries, nullptr, width_, nullptr, width_, true};
      const auto add = [&](const T* a, const T* b, T* c) {
        HeadProduct<T> sum = product;
        sum.a = a + from * kQueries + first;
        sum.b = b + first * width_;
        sum.c = c + (j0 + from) * width_;
        multiply_head<T, false>(to - from, width_, sum);
      };
      add(weights, slot + ct_at_, slot + dv_at_);
      add(ds, slot + q_at_, slot + dk_at_);
      from = to;
    }
  }

  // weights: scores to exp(score - lse); ds: its cotangent to that of the score.
  void differentiate(I t0, I j0, I count, const T* rows, T* weights, T* ds) const {
    const T *const lse = rows, *const delta = rows + kQueries;
    for (I j = 0; j < count; ++j) {
      for (I c = 0; c < kColumns; c += kLanes<T>) {
        const V p = exp(V::load(weights + j * kQueries + c) - V::load(lse + c));
        p.store(weights + j * kQueries + c);
        (p * (V::load(ds + j * kQueries + c) - V::load(delta + c))).store(ds + j * kQueries + c);
      }
      const I hidden = a_.causal ? std::clamp<I>(j0 + j - t0, 0, kColumns) : 0;
      std::fill(weights + j * kQueries, weights + j * kQueries + hidden, T(0));
      std::fill(ds + j * kQueries, ds + j * kQueries + hidden, T(0));
    }
  }

  Attention a_;
  Attention::Strides ct_, q_, k_, v_, dq_, dk_, dv_;
  int threads_;
  Slots slots_;
  I width_ = 0;  // of a row in the workspace
  I k_at_ = 0, v_at_ = 0, dk_at_ = 0, dv_at_ = 0, q_across_ = 0, ct_across_ = 0, q_at_ = 0, ct_at_ = 0,
    dq_at_ = 0, rows_ = 0, p_at_ = 0, ds_at_ = 0, slot_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> attention_backward(const KernelSpec& spec) {
  if (spec.in[0].type.dtype == DType::f32) return std::make_unique<Backward<float>>(spec);
  if (spec.in[0].type.dtype == DType::f64) return std::make_unique<Backward<double>>(spec);
  return nullptr;
}

}  // namespace tidemark::kernels
