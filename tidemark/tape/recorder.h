// The hot end of the tape: where statements are appended. A statement is a left side, n arguments and n partial
// derivatives. Consecutive statements of one shape form a run: argument j of the k-th has index base_j + k
// stride_j, so that a run needs its indices once, and its partials once too where they are all alike. A loop over
// an array is one run. Statements of up to three arguments that find no strides form scattered runs, which have their indices beside their partials.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tidemark/base/api.h"
#include "tidemark/tape/math.h"

namespace tidemark::tape {

// What a Var knows of its tape: the recording's number above, its index below. 0: passive.
using Key = std::uint64_t;
TIDEMARK_INLINE std::uint32_t index_of(Key key) { return static_cast<std::uint32_t>(key); }
TIDEMARK_INLINE std::uint32_t recording_of(Key key) { return static_cast<std::uint32_t>(key >> 32); }

// Wider statements are split into sums of parts.
inline constexpr std::uint32_t kMaxArguments = 248;
inline constexpr std::uint32_t kMaxRun = (1u << 23) - 1;
// No key differs from another by this much: recordings are numbered below 2^31.
inline constexpr Key kNoStride = Key{1} << 63;

// A condition that hardly ever holds: a jump that is not taken, one for each of several, is less than one answer for all.
TIDEMARK_INLINE bool rare(bool condition) { return __builtin_expect_with_probability(condition, 0, 0.9999); }

template <typename Real>
TIDEMARK_INLINE bool same_bits(const Real& a, const Real& b) {
  if constexpr (sizeof(Real) == 8)
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
  else if constexpr (sizeof(Real) == 4)
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
  else
    return std::memcmp(&a, &b, sizeof(Real)) == 0;  // NOLINT(bugprone-suspicious-memory-comparison): bits
}

// Which leaves of an expression are arguments: those that are not another one's repetition. Wider statements, and those
// sorted out when running, have all of theirs in front.
using Shape = std::uint64_t;
inline constexpr Shape kNoShape = Shape{1} << 63;
TIDEMARK_INLINE constexpr Shape shape_of(std::uint32_t n) {
  return n < 32 ? (Shape{1} << n) - 1 : Shape{n} << 32;
}

// The run is scattered; more than so many in a row are not, for strides may have come back.
inline constexpr Shape kScattered = Shape{1} << 62;
inline constexpr std::uint32_t kMaxFew = 3, kScatteredRun = 32;
// What a statement of a scattered run takes: n partials, and n indices in the place of further ones.
template <typename Real>
TIDEMARK_INLINE constexpr std::uint32_t scattered_size(std::uint32_t n) {
  return n + static_cast<std::uint32_t>((n * sizeof(std::uint32_t) + sizeof(Real) - 1) / sizeof(Real));
}

// Of statements that read what was recorded before a position that the tape has gone back to: their keys are of several recordings, and strides
// are not taken from one to another.
inline constexpr Shape kOlder = Shape{1} << 61;

// Statements of which leaves are passive or the same variable, known only now; and refusals. To the recording of this thread.
template <typename Real>
TIDEMARK_API Key record_rest(const Key* keys, const Real* partials, std::uint32_t n);

template <typename Real>
class Recorder {
 public:
  // Appends one statement, all keys active and different, and returns the key of its left side.
  TIDEMARK_INLINE Key append(const Key* keys, const Real* partials, std::uint32_t n) {
    const Key k = next_ - run_;
    bool expected = shape_of(n) == shape_;
    for (std::uint32_t j = 0; j < n; ++j) expected &= is_expected(j, keys[j], k);
    if (expected) {
      Real* at = partial_;
      if (at + n <= limit_) {
        for (std::uint32_t j = 0; j < n; ++j) at[j] = partials[j];
        partial_ = at + n;
        return next_++;
      }
      if (constant_) {
        bool same = k < kMaxRun;
        for (std::uint32_t j = 0; j < n; ++j) same &= same_bits((at - n)[j], partials[j]);
        if (same) return next_++;
      }
    }
    return append_new(keys, partials, n, shape_of(n));
  }

  // The same with what is known when compiling: N leaves of which those that are `gone` repeat others. Straight code. False where
  // the statement is not the one that the run expects: then `append_other` takes it.
  template <int N>
  TIDEMARK_INLINE bool append_expected(const Key (&keys)[N], const Real (&partials)[N], const bool (&gone)[N],
                                       Key& key) {
    const Key k = next_ - run_;
    Shape shape = 0;
    std::uint32_t n = 0;
    each<0, N>([&](auto j) {
      if (!gone[j]) {
        shape |= Shape{1} << j;
        ++n;
      }
    });
    if (rare(shape != shape_) || !are_expected<0, N>(keys, gone, k)) return false;
    Real* at = partial_;
    if (at + n <= limit_) [[likely]] {
      each<0, N>([&](auto j) {
        if (!gone[j]) *at++ = partials[j];
      });
      partial_ = at;
      key = next_++;
      return true;
    }
    if (!constant_) [[unlikely]]
      return false;
    bool same = k < kMaxRun;
    at -= n;
    each<0, N>([&](auto j) {
      if (!gone[j]) same &= same_bits(*at++, partials[j]);
    });
    if (same) key = next_++;
    return same;
  }
  // What is not expected, to the recording of this thread. Leaves may be passive.
  template <int N>
  TIDEMARK_INLINE Key append_other(const Key (&keys)[N], const Real (&partials)[N], const bool (&gone)[N]) {
    // Copies, so that the arrays of the usual path never need memory.
    constexpr int kRoom = N > kMaxFew ? N : kMaxFew;
    Key packed[kRoom] = {};
    Real factors[kRoom] = {};
    Shape shape = 0;
    std::uint32_t n = 0;
    each<0, N>([&](auto j) {
      if (!gone[j]) {
        shape |= Shape{1} << j;
        packed[n] = keys[j];
        factors[n++] = partials[j];
      }
    });
    if (shape == shape_of(n)) {
      const auto few = [&](auto count) {
        return append_few<count>(packed[0], packed[1], packed[2], factors[0], factors[1], factors[2]);
      };
      if (n == 1) return few(std::integral_constant<int, 1>{});
      if constexpr (N >= 2)
        if (n == 2) return few(std::integral_constant<int, 2>{});
      if constexpr (N >= 3)
        if (n == 3) return few(std::integral_constant<int, 3>{});
    }
    bool all_active = true;
    each<0, N>([&](auto j) { all_active &= index_of(keys[j]) != 0; });
    return all_active ? append_new(packed, factors, n, shape) : record_rest(packed, factors, n);
  }

  Key next() const { return next_; }

 protected:
  struct Argument {
    Key base = 0, stride = 0;
  };
  template <int J, int N, typename F>
  TIDEMARK_INLINE static void each(F&& f) {
    if constexpr (J < N) {
      f(std::integral_constant<int, J>{});
      each<J + 1, N>(f);
    }
  }
  TIDEMARK_INLINE bool is_expected(std::uint32_t j, Key key, Key k) const {
    return key == arguments_[j].base + arguments_[j].stride * k;
  }

  template <int J, int N>
  TIDEMARK_INLINE bool are_expected(const Key (&keys)[N], const bool (&gone)[N], Key k) const {
    if constexpr (J < N) {
      if (rare(!gone[J] && !is_expected(J, keys[J], k))) return false;
      return are_expected<J + 1, N>(keys, gone, k);
    } else {
      return true;
    }
  }

  // What is not expected: gives the run begun its strides, or starts another. Refuses keys of other recordings. `shape`
  // says at which places of arguments_ the n arguments go.
  TIDEMARK_API Key append_new(const Key* keys, const Real* partials, std::uint32_t n, Shape shape);
  // To a run of such statements with older arguments.
  bool append_older(const Key* keys, const Real* partials, std::uint32_t n, Shape shape);
  // The same for N arguments, all in front, in registers: numbers that were stored one by one and are read two at a time wait for
  // the memory. Those beyond N mean nothing. They may be passive.
  template <int N>
  TIDEMARK_API Key append_few(Key k0, Key k1, Key k2, Real p0, Real p1, Real p2);
  // What is rare in it. Apart, so that what is frequent calls nothing, and has no registers to save.
  template <int N>
  Key append_few_new(Key k0, Key k1, Key k2, Real p0, Real p1, Real p2);
  // The parts of both: to a run of the same shape, to a scattered one, to one of another shape. 0: not without a look at more.
  template <int N>
  Key append_alike(const Key* keys, const Real* partials);
  template <int N>
  Key append_scattered(const Key* keys, const Real* partials);
  template <int N>
  Key append_first(const Key* keys, const Real* partials);
  // From 1 of this recording up to the last statement, and room for another index.
  template <int N>
  TIDEMARK_INLINE bool may_append(const Key* keys) const {
    const Key next = next_, before = index_of(next) - 1;
    bool known = before < kLastBegin;
    each<0, N>([&](auto j) { known &= next - 1 - keys[j] < before; });
    return known;
  }
  static constexpr Key kLastBegin =
      0xffffffff - 2 * Key{kMaxRun};  // of a run, which is looked at only when it begins

  // Writes the descriptor of the run being recorded; there was room for it when the run began.
  void close_run();
  // How far partials go below `low`; chunks begin at whole pages.
  static Real* partials_end(const std::byte* low) {
    static_assert(std::has_single_bit(sizeof(Real)));
    return reinterpret_cast<Real*>(reinterpret_cast<std::uintptr_t>(low) & ~(sizeof(Real) - 1));
  }

  // Of a run of statements of n arguments that has just begun: behind it lie the descriptors of finished runs, and room for its own, or
  // the run would be longer than a descriptor can say.
  Real* partials_end(std::uint32_t n, const std::byte* low) const {
    Real* const end = partials_end(low);
    const std::ptrdiff_t most = static_cast<std::ptrdiff_t>(kMaxRun - 2) * n;
    return end - partial_ > most ? partial_ + most : end;
  }
  Real* partials_end(std::uint32_t n) const {
    return partials_end(n, reinterpret_cast<const std::byte*>(words_ - (1 + 2 * n)));
  }

  Key next_ = 0;                    // of the next left side
  Key run_ = 0;                     // of the first left side of the run
  Real* partial_ = nullptr;         // where partials go
  Real* limit_ = nullptr;           // the run's partials end here; where they are constant, at partial_
  Shape shape_ = kNoShape;          // of the run's statements, or kScattered too
  std::uint32_t* words_ = nullptr;  // the newest descriptor
  std::uint32_t n_ = 0;             // their arguments
  bool constant_ = false;           // all of the run's partials are those before partial_
  std::int64_t run_count_ = 0;
  Argument arguments_[kMaxArguments];
};

}  // namespace tidemark::tape
