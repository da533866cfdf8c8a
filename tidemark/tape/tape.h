// Tape: what operators on Vars recorded, and the reverse sweep over it.
//   Tape tape;
//   Tape::Recording recording(tape);   // operators on this thread record here until it ends
//   Var x = tape.input(1.5), y = tape.input(2.0);
//   Var z = sin(x * y) + x;
//   tape.reverse(z);
//   double dz_dx = tape.adjoint(x);
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tidemark/base/bytes.h"
#include "tidemark/store/tier_store.h"
#include "tidemark/tape/composite.h"
#include "tidemark/tape/dual.h"
#include "tidemark/tape/pages.h"
#include "tidemark/tape/region.h"
#include "tidemark/tape/trace.h"
#include "tidemark/tape/var.h"

namespace tidemark::tape {

struct TapeOptions {
  // The tape grows by so much at a time.
  Bytes chunk = 2_MiB;
  // Room for adjoints from the beginning.
  Bytes adjoints = 0;
  // The most that chunks may take of memory, at least two of them; 0: no limit. Beyond, the oldest go to a file in `folder` of at
  // most `disk`, with checksums, and come back for the sweep.
  Bytes memory = 0;
  std::string folder;
  Bytes disk = 64_GiB;
  FileFault fault;  // for tests
};

// What a tape holds, in numbers.
struct TapeCounts {
  std::int64_t inputs = 0, statements = 0, runs = 0;
  Bytes tape = 0;      // indices and partials in use
  Bytes adjoints = 0;  // of one direction
  Bytes held = 0;      // from the system, used or not
  Bytes on_disk = 0;
};

template <typename Real>
class BasicTape;

// The keys of one tape that can be used. Going back to a position begins another recording there, so that what lay behind it is told from
// what takes its place.
class TIDEMARK_API KnownKeys {
 public:
  explicit KnownKeys(Key first) : first_(first) {}
  Key first() const { return first_; }
  // `next`: behind the last key of the recording under way.
  bool has(Key key, Key next) const { return key - first_ < next - first_ || in_older(key); }
  // Throws Error(usage) that says what became of it.
  [[noreturn]] void refuse(Key key, Key next) const;
  // A position that can be gone back to.
  bool has_position(Key position, Key next) const;
  // Forgets what is behind it; the key of the next statement.
  Key go_back(Key position, Key next);
  // Forgets all.
  void end(Key next);

 private:
  struct Older {
    Key first, end;
  };
  // Recordings from one number to another that began at an index and have ended since: the place is there as long as nothing in front
  // of it is forgotten.
  struct Began {
    std::uint32_t index, from, to;
  };
  static constexpr std::size_t kMostBegan =
      256;  // beyond, some in the middle are forgotten: neither the first nor new ones
  void keep_place(Key first);
  bool in_older(Key key) const;
  std::vector<Older> older_;  // by index; keys of one are in a row
  std::vector<Began> began_;  // by index
  Key first_;                 // of the recording under way
};

// What an external function sees in the reverse sweep: `direction` is 0 unless several are swept at once.
template <typename Real>
class TIDEMARK_API Adjoints {
 public:
  Adjoints(Real* values, std::uint32_t width, std::uint32_t direction, const KnownKeys& known, Key end)
      : values_(values), width_(width), direction_(direction), known_(known), end_(end) {}
  Adjoints(RegionAdjoints<Real>& region, std::uint32_t direction, const KnownKeys& known, Key end)
      : region_(&region), direction_(direction), known_(known), end_(end) {}
  Real get(const Active<Real>& x) const {
    if (!x.active()) return Real(0);
    check(x);
    if (region_ == nullptr) return values_[at(x)];
    const Real* of = region_->of(index_of(x.key()));
    return of == nullptr ? Real(0) : of[direction_];
  }
  // Passive variables take nothing.
  void add(const Active<Real>& x, const Real& adjoint) {
    if (!x.active()) return;
    check(x);
    if (region_ == nullptr)
      values_[at(x)] += adjoint;
    else
      region_->add(index_of(x.key()), direction_, adjoint);
  }

 private:
  void check(const Active<Real>& x) const {
    if (!known_.has(x.key(), end_)) known_.refuse(x.key(), end_);
  }
  std::size_t at(const Active<Real>& x) const {
    return static_cast<std::size_t>(index_of(x.key())) * width_ + direction_;
  }
  Real* values_ = nullptr;
  RegionAdjoints<Real>* region_ = nullptr;
  std::uint32_t width_ = 0, direction_;
  const KnownKeys& known_;
  Key end_;
};

template <typename Real>
class TIDEMARK_API BasicTape : private Recorder<Real> {
 public:
  using Scalar = Active<Real>;

  explicit BasicTape(const TapeOptions& options = {});
  ~BasicTape();
  BasicTape(const BasicTape&) = delete;
  BasicTape& operator=(const BasicTape&) = delete;

  // Operators on this thread record on the tape until the Recording ends. They nest; a tape records on one thread at a
  // time.
  class TIDEMARK_API Recording {
   public:
    explicit Recording(BasicTape& tape);
    ~Recording();
    Recording(const Recording&) = delete;
    Recording& operator=(const Recording&) = delete;

   private:
    BasicTape& tape_;
    Recorder<Real>* before_;
    bool nested_;
  };

  // A variable to differentiate with respect to. Inputs in a row have indices in a row.
  TIDEMARK_INLINE Scalar input(const Real& value) {
    if (this->shape_ == shape_of(0) && this->next_ - this->run_ < kMaxRun && on_this_thread()) [[likely]] {
      ++inputs_;
      return {value, this->next_++};
    }
    return first_input(value);
  }
  // Makes an existing variable such an input, whatever it was.
  void input(Scalar& x) { x = input(x.value()); }

  // y as if it were sum of partials x arguments; what hand-written derivatives of one value need.
  Scalar statement(const Real& value, std::span<const Scalar> arguments, std::span<const Real> partials);
  // Values computed elsewhere, and the function that the sweep calls when it comes to them: it reads the outputs'
  // adjoints and adds to those of whatever they depend on.
  using Reverse = std::function<void(std::span<const Scalar> outputs, Adjoints<Real>& adjoints)>;
  std::vector<Scalar> external(std::span<const Real> values, Reverse reverse);

  // Sweeps from the end to the beginning. Adjoints of an earlier sweep are gone; the tape stays, and may be swept again.
  void reverse(const Scalar& y, const Real& seed = Real(1));
  void reverse(std::span<const Scalar> ys, std::span<const Real> seeds);
  // One direction for each y, all in one sweep: row i of the Jacobian is adjoint(x, i).
  void reverse_each(std::span<const Scalar> ys);
  // The same in parts, for whoever has adjoints to begin with: zeros, seeds that add up, the sweep.
  // By index; what `sweep` leaves there is the gradient.
  std::span<Real> begin_sweep() {
    return {prepare_adjoints(1), static_cast<std::size_t>(index_of(this->next_))};
  }
  void seed(const Scalar& x, const Real& adjoint);
  void sweep();
  // Throws Error(usage) where the variable is passive, of another recording, or nothing was swept since it was recorded.
  Real adjoint(const Scalar& x, int direction = 0) const;

  // Forgets everything, keeps the memory. Vars recorded before are refused from now on.
  void reset();
  // Back to an earlier position of this recording: what came after is forgotten, and Vars of it are refused from now on, also where others have taken
  // their place.
  struct Position {
    Key next = 0;
    std::size_t chunk = 0;
    Bytes partials = 0, runs = 0;
    std::int64_t inputs = 0, run_count = 0;
    std::size_t externals = 0;
  };
  Position position();
  void rewind(const Position& position);
  // Records what `region` does as the Jacobian of the outputs it returns in terms of `inputs`: |outputs| statements
  // instead of the region's own, in time and memory of the region's size. Throws Error(usage) where an output depends on something
  // else that is older than the region. Other Vars of the region than its outputs are no more: one that is used later stands for whatever has
  // its place then.
  std::vector<Scalar> preaccumulate(std::span<const Scalar> inputs,
                                    const std::function<std::vector<Scalar>()>& region);

  TapeCounts counts() const;

 private:
  friend Recorder<Real>;
  friend class Recording;
  struct Chunk {
    Pages pages;           // none where it is only on disk
    bool written = false;  // to disk, as it is now, or about to be
    Bytes partials = 0;    // bytes of partials from the front, when full
    Bytes runs = 0;        // bytes of descriptors to the back, when full
  };
  struct External {
    Reverse reverse;
    Key first = 0;
    std::uint32_t outputs = 0;
  };

  Scalar first_input(const Real& value);
  void next_chunk();
  void enter(std::size_t chunk, Bytes partials, Bytes runs);
  void bring(std::size_t chunk);
  void save_last(std::size_t wanted);
  bool on_this_thread() const {
    const void* by = recorded_by_.load(std::memory_order_relaxed);
    return by == nullptr || by == &current<Real>;
  }
  void need_thread() const;
  void need_known(Key key) const;
  void go_to(const Position& position);
  void need_recorded(const Scalar& x, const char* what) const;
  Real* prepare_adjoints(std::uint32_t width);
  // The chunks between two positions, the newest first: visit(descriptors, their end, the end of the partials).
  template <typename Visit>
  void each_chunk(const Position& from, const Position& to, const Visit& visit);
  std::vector<Scalar> outputs_of(const External& external) const;
  void sweep(const Position& from, const Position& to);
  static std::size_t descriptor_words(std::uint32_t n) { return 1 + 2 * static_cast<std::size_t>(n); }

  TapeOptions options_;
  KnownKeys known_;
  std::unique_ptr<TierStore> store_;  // chunk i in slot i
  std::vector<Chunk> chunks_;
  std::size_t chunk_ = 0;  // being filled
  std::vector<External> externals_;
  std::int64_t inputs_ = 0;
  Pages adjoints_;
  Bytes dirty_ = 0;                                 // of them, which earlier sweeps may have left numbers in
  std::uint32_t width_ = 0;                         // room for directions in the last sweep; 0: none
  std::uint32_t directions_ = 0;                    // of them in use
  Key swept_ = 0;                                   // up to here
  std::atomic<const void*> recorded_by_ = nullptr;  // a thread, by the address of its `current`
};

extern template class BasicTape<double>;
extern template class BasicTape<float>;
extern template class BasicTape<DualOf<double>>;
extern template class BasicTape<Sym>;
extern template class BasicTape<Sym32>;

}  // namespace tidemark::tape

namespace tidemark {
using Tape = tape::BasicTape<double>;
using Tape32 = tape::BasicTape<float>;
// Second derivatives: a tape whose numbers carry a direction.
using DualTape = tape::BasicTape<Dual>;
using DualVar = tape::Active<Dual>;
// Derivatives as operations, to be compiled.
using SymTape = tape::BasicTape<tape::Sym>;
using SymVar = tape::Active<tape::Sym>;
using SymTape32 = tape::BasicTape<tape::Sym32>;
using SymVar32 = tape::Active<tape::Sym32>;
}  // namespace tidemark
