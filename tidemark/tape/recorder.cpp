// SPDX-License-Identifier: Apache-2.0
#include "tidemark/tape/recorder.h"

#include <algorithm>
#include <utility>

#include "tidemark/base/error.h"
#include "tidemark/tape/recordings.h"
#include "tidemark/tape/sweep.h"
#include "tidemark/tape/tape.h"

namespace tidemark::tape {

Recordings& recordings() {
  static Recordings all;
  return all;
}

bool KnownKeys::in_older(Key key) const {
  const auto behind =
      std::upper_bound(older_.begin(), older_.end(), index_of(key),
                       [](std::uint32_t index, const Older& o) { return index < index_of(o.first); });
  if (behind == older_.begin()) return false;
  const Older& o = *std::prev(behind);
  return key - o.first < o.end - o.first;
}

void KnownKeys::refuse(Key key, Key next) const {
  const std::uint32_t recording = recording_of(key);
  const bool ours = recording == recording_of(next) ||
                    std::any_of(older_.begin(), older_.end(),
                                [&](const Older& o) { return recording_of(o.first) == recording; });
  if (!ours && recordings().live(recording))
    fail(Error::Kind::usage,
         "[tape] a variable of one tape vs a recording on another; keep each variable to its tape");
  fail(Error::Kind::usage,
       "[tape] a variable of a recording that has ended (its tape was reset, rewound or destroyed) vs the "
       "recording under way; "
       "make it an input again");
}

bool KnownKeys::has_position(Key position, Key next) const {
  if (position - first_ <= next - first_) return true;
  const std::uint32_t index = index_of(position), recording = recording_of(position);
  return std::any_of(older_.begin(), older_.end(),
                     [&](const Older& o) { return position - o.first <= o.end - o.first; }) ||
         std::any_of(began_.begin(), began_.end(), [&](const Began& b) {
           return b.index == index && b.from <= recording && recording <= b.to;
         });
}

void KnownKeys::keep_place(Key first) {
  const std::uint32_t index = index_of(first), recording = recording_of(first);
  if (!began_.empty() && began_.back().index == index && began_.back().to + 1 == recording) {
    began_.back().to = recording;
    return;
  }
  if (began_.size() == kMostBegan) began_.erase(began_.begin() + kMostBegan / 2);
  began_.push_back({index, recording, recording});
}

Key KnownKeys::go_back(Key position, Key next) {
  const std::uint32_t index = index_of(position);
  std::erase_if(began_, [&](const Began& b) { return b.index > index; });
  older_.push_back({first_, next});
  const auto kept =
      std::find_if(older_.begin(), older_.end(), [&](const Older& o) { return index_of(o.first) >= index; });
  for (auto o = kept; o != older_.end(); ++o) {
    recordings().end(recording_of(o->first));
    if (index_of(o->first) == index) keep_place(o->first);
  }
  older_.erase(kept, older_.end());
  if (!older_.empty()) {
    Older& last = older_.back();
    last.end -= index_of(last.end) - index;
  }
  first_ = static_cast<Key>(recordings().begin()) << 32 | index;
  return first_;
}

void KnownKeys::end(Key next) {
  recordings().end(recording_of(next));
  for (const Older& o : older_) recordings().end(recording_of(o.first));
  older_.clear();
  began_.clear();
}

namespace {

// Calls f(place in arguments_, number of the argument).
template <typename F>
TIDEMARK_INLINE void for_places(Shape shape, std::uint32_t n, F&& f) {
  if (shape >> 32 != 0 || shape == shape_of(n)) {
    for (std::uint32_t j = 0; j < n; ++j) f(j, j);
  } else {
    std::uint32_t j = 0;
    for (Shape left = shape; left != 0; left &= left - 1)
      f(static_cast<std::uint32_t>(std::countr_zero(left)), j++);
  }
}

}  // namespace

template <typename Real>
Key record_rest(const Key* keys, const Real* partials, std::uint32_t n) {
  Key active[kMaxArguments];
  Real sums[kMaxArguments];
  constexpr std::uint32_t kSearched = 32;  // beyond, an argument that comes twice is kept twice
  std::uint32_t count = 0;
  for (std::uint32_t j = 0; j < n; ++j) {
    if (index_of(keys[j]) == 0) continue;
    std::uint32_t i = 0;
    const std::uint32_t seen = std::min(count, kSearched);
    while (i < seen && active[i] != keys[j]) ++i;
    if (i < seen) {
      sums[i] = sums[i] + partials[j];
    } else {
      active[count] = keys[j];
      sums[count++] = partials[j];
    }
  }
  if (count == 0) return 0;
  Recorder<Real>* recorder = current<Real>;
  if (recorder == nullptr)
    fail(Error::Kind::usage,
         "[tape] a recorded variable vs no recording on this thread; begin one: Tape::Recording "
         "recording(tape)");
  return recorder->append(active, sums, count);
}

// Writes the descriptor of the run being recorded; there was room for it when the run began.
template <typename Real>
void Recorder<Real>::close_run() {
  const Shape shape = std::exchange(shape_, kNoShape) & ~kOlder;
  if (shape == kNoShape) return;
  const std::uint32_t n = n_;
  const auto length = static_cast<std::uint32_t>(next_ - run_);
  if ((shape & kScattered) != 0) {
    *--words_ = (kMaxArguments + n) | length << kLengthShift;
    ++run_count_;
    return;
  }
  std::uint32_t* const word = words_ -= 1 + (length > 1 ? 2 : 1) * n;
  word[0] = n | (constant_ ? kConstantBit : 0) | length << kLengthShift;
  ++run_count_;
  const auto write = [&](std::uint32_t place, std::uint32_t j) {
    word[1 + j] = index_of(arguments_[place].base);
    if (length > 1) word[1 + n + j] = static_cast<std::uint32_t>(arguments_[place].stride);
  };
  // Straight code for what is frequent: inner loops are short.
  if (shape == shape_of(1)) return each<0, 1>([&](auto j) { write(j, j); });
  if (shape == shape_of(2)) return each<0, 2>([&](auto j) { write(j, j); });
  if (shape == shape_of(3)) return each<0, 3>([&](auto j) { write(j, j); });
  for_places(shape, n, write);
}

template <typename Real>
template <int N>
TIDEMARK_INLINE Key Recorder<Real>::append_scattered(const Key* keys, const Real* partials) {
  Real* const at = partial_;
  if (at + scattered_size<Real>(N) > limit_ || next_ - run_ >= kScatteredRun || !may_append<N>(keys))
      [[unlikely]]
    return 0;
  auto* const indices = reinterpret_cast<std::byte*>(at + N);
  each<0, N>([&](auto j) {
    at[j] = partials[j];
    const std::uint32_t index = index_of(keys[j]);
    std::memcpy(indices + j * sizeof index, &index, sizeof index);
  });
  partial_ = at + scattered_size<Real>(N);
  return next_++;
}

template <typename Real>
template <int N>
TIDEMARK_INLINE Key Recorder<Real>::append_alike(const Key* keys, const Real* partials) {
  if (!may_append<N>(keys)) [[unlikely]]
    return 0;
  const auto length = static_cast<std::uint32_t>(next_ - run_);
  Real* const at = partial_;
  if (length == 1) {
    bool same = true;
    each<0, N>([&](auto j) { same &= same_bits((at - N)[j], partials[j]); });
    if (!same) {
      Real* const end = partials_end(N);
      if (at + N > end) [[unlikely]]
        return 0;
      each<0, N>([&](auto j) { at[j] = partials[j]; });
      partial_ = at + N;
      limit_ = end;
    } else {
      limit_ = at;
    }
    each<0, N>([&](auto j) { arguments_[j].stride = keys[j] - arguments_[j].base; });
    constant_ = same;
    return next_++;
  }
  std::uint32_t* const word = words_ - (1 + 2 * N);
  const auto* const low = reinterpret_cast<const std::byte*>(word - (1 + 2 * N));
  if (reinterpret_cast<const std::byte*>(at + N) > low) [[unlikely]]
    return 0;
  word[0] = static_cast<std::uint32_t>(N) | (constant_ ? kConstantBit : 0) | length << kLengthShift;
  each<0, N>([&](auto j) {
    word[1 + j] = index_of(arguments_[j].base);
    word[1 + N + j] = static_cast<std::uint32_t>(arguments_[j].stride);
    arguments_[j].base = keys[j];
  });
  words_ = word;
  ++run_count_;
  limit_ = partials_end(N, low);
  run_ = next_;
  if (length == 2) {  // strides that held for no third statement
    shape_ = shape_of(N) | kScattered;
    if (const Key key = append_scattered<N>(keys, partials); key != 0) return key;
    shape_ = shape_of(N);
  }
  each<0, N>([&](auto j) { at[j] = partials[j]; });
  partial_ = at + N;
  if (constant_) limit_ = partial_;
  return next_++;
}

template <typename Real>
template <int N>
TIDEMARK_INLINE Key Recorder<Real>::append_first(const Key* keys, const Real* partials) {
  if (!may_append<N>(keys)) [[unlikely]]
    return 0;
  close_run();
  Real* const at = partial_;
  const auto* const low = reinterpret_cast<const std::byte*>(words_ - (1 + 2 * N));
  if (reinterpret_cast<const std::byte*>(at + N) > low) [[unlikely]]
    return 0;
  run_ = next_;
  n_ = N;
  shape_ = shape_of(N);
  constant_ = true;
  each<0, N>([&](auto j) {
    arguments_[j] = {keys[j], kNoStride};
    at[j] = partials[j];
  });
  limit_ = partial_ = at + N;
  return next_++;
}

template <typename Real>
template <int N>
Key Recorder<Real>::append_few(Key k0, Key k1, Key k2, Real p0, Real p1, Real p2) {
  const Key keys[kMaxFew] = {k0, k1, k2};
  const Real partials[kMaxFew] = {p0, p1, p2};
  constexpr Shape kShape = shape_of(N);
  if (shape_ == kShape) {
    if (const Key key = append_alike<N>(keys, partials); key != 0) [[likely]]
      return key;
  } else if (shape_ == (kShape | kScattered)) {
    if (const Key key = append_scattered<N>(keys, partials); key != 0) [[likely]]
      return key;
  }
  return append_few_new<N>(k0, k1, k2, p0, p1, p2);
}

template <typename Real>
template <int N>
[[gnu::noinline]] Key Recorder<Real>::append_few_new(Key k0, Key k1, Key k2, Real p0, Real p1, Real p2) {
  const Key keys[kMaxFew] = {k0, k1, k2};
  const Real partials[kMaxFew] = {p0, p1, p2};
  constexpr Shape kShape = shape_of(N);
  if ((shape_ & ~kScattered) != kShape)
    if (const Key key = append_first<N>(keys, partials); key != 0) [[likely]]
      return key;
  bool all_active = true;
  each<0, N>([&](auto j) { all_active &= index_of(keys[j]) != 0; });
  const Key key_copies[kMaxFew] = {k0, k1, k2};  // so that the others never need memory
  const Real copies[kMaxFew] = {p0, p1, p2};
  return all_active ? append_new(key_copies, copies, N, kShape) : record_rest(key_copies, copies, N);
}

template <typename Real>
bool Recorder<Real>::append_older(const Key* keys, const Real* partials, std::uint32_t n, Shape shape) {
  const Key k = next_ - run_;
  bool expected = true, one_recording = true, same = k < kMaxRun;
  for_places(shape, n, [&](std::uint32_t place, std::uint32_t j) {
    expected &= is_expected(place, keys[j], k);
    one_recording &= recording_of(keys[j]) == recording_of(arguments_[place].base);
    same &= same_bits((partial_ - n)[j], partials[j]);
  });
  const bool second = k == 1;
  if (!one_recording || k >= kMaxRun || (!expected && !second)) return false;
  if (second || !constant_) {
    if (!(second && same)) {
      Real* const end = partials_end(n);
      if (partial_ + n > end) return false;
      for (std::uint32_t j = 0; j < n; ++j) partial_[j] = partials[j];
      partial_ += n;
      limit_ = end;
    } else {
      limit_ = partial_;
    }
    if (second) {
      for_places(shape, n, [&](std::uint32_t place, std::uint32_t j) {
        arguments_[place].stride = keys[j] - arguments_[place].base;
      });
      constant_ = same;
    }
    return true;
  }
  return same;
}

template <typename Real>
Key Recorder<Real>::append_new(const Key* keys, const Real* partials, std::uint32_t n, Shape shape) {
  const Key next = next_, before = index_of(next) - 1;
  bool older = false;
  for (std::uint32_t j = 0; j < n; ++j)
    if (next - 1 - keys[j] >= before) [[unlikely]] {
      static_cast<BasicTape<Real>*>(this)->need_known(keys[j]);
      older = true;
    }
  if (before >= kLastBegin) [[unlikely]]
    fail(Error::Kind::unsupported,
         "[tape] 2^32 statements vs indices of 32 bits; checkpoint the loop that makes them");
  // Not std::copy: a call costs more than these few stores.
  const auto put = [&] {
    for (std::uint32_t j = 0; j < n; ++j) partial_[j] = partials[j];
    partial_ += n;
  };
  const bool shaped = (older ? shape | kOlder : shape) == shape_;
  if (older && shaped && append_older(keys, partials, n, shape)) return next_++;
  if (!older && shaped && next - run_ == 1) {
    bool same = true;
    for (std::uint32_t j = 0; j < n; ++j) same &= same_bits((partial_ - n)[j], partials[j]);
    if (Real* const end = partials_end(n); same || partial_ + n <= end) {
      for_places(shape, n, [&](std::uint32_t place, std::uint32_t j) {
        arguments_[place].stride = keys[j] - arguments_[place].base;
      });
      constant_ = same;
      if (!same) put();
      limit_ = same ? partial_ : end;
      return next_++;
    }
  }
  close_run();
  const auto* low = reinterpret_cast<const std::byte*>(words_ - (1 + 2 * n));
  if (reinterpret_cast<const std::byte*>(partial_ + n) > low) [[unlikely]] {
    static_cast<BasicTape<Real>*>(this)->next_chunk();
    low = reinterpret_cast<const std::byte*>(words_ - (1 + 2 * n));
  }
  run_ = next;
  n_ = n;
  shape_ = older ? shape | kOlder : shape;
  // A run after one of the same shape mostly has the same strides: inner loops do. Where not, the second statement comes
  // here and sets them.
  if (shaped) {
    for_places(shape, n, [&](std::uint32_t place, std::uint32_t j) { arguments_[place].base = keys[j]; });
  } else {
    constant_ = true;
    for_places(shape, n, [&](std::uint32_t place, std::uint32_t j) {
      arguments_[place] = {keys[j], kNoStride};
    });
  }
  put();
  limit_ = constant_ ? partial_ : partials_end(n, low);
  return next_++;
}

#define TIDEMARK_INSTANTIATE(Real)                                                        \
  template Key Recorder<Real>::append_few<1>(Key, Key, Key, Real, Real, Real);            \
  template Key Recorder<Real>::append_few<2>(Key, Key, Key, Real, Real, Real);            \
  template Key Recorder<Real>::append_few<3>(Key, Key, Key, Real, Real, Real);            \
  template Key Recorder<Real>::append_new(const Key*, const Real*, std::uint32_t, Shape); \
  template void Recorder<Real>::close_run();                                              \
  template Key record_rest<Real>(const Key*, const Real*, std::uint32_t);
TIDEMARK_INSTANTIATE(double)
TIDEMARK_INSTANTIATE(float)
TIDEMARK_INSTANTIATE(DualOf<double>)
TIDEMARK_INSTANTIATE(Sym)
TIDEMARK_INSTANTIATE(Sym32)

}  // namespace tidemark::tape
