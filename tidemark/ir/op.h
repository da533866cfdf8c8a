// struct Op: all that the system knows about an operation, in one place (the op's own file in ops/). Nothing
// outside that file knows an op's facts; the planner, the passes, the docs and the tests read them here.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <initializer_list>
#include <optional>

#include "tidemark/ir/kernel.h"
#include "tidemark/ir/tensor.h"

namespace tidemark {

struct InferArgs {
  const char* op;
  std::span<const Type> in;
  const Attrs& attrs;
  const std::vector<Graph>& regions;
};

// What a derivative rule sees. Tensors are values of the graph being written, so a rule is ordinary tensor
// code.
class Rule {
 public:
  Rule(const Node& node, Tensors in, Tensors out, Tensors seeds, std::vector<bool> needs)
      : node_(node),
        in_(std::move(in)),
        out_(std::move(out)),
        seeds_(std::move(seeds)),
        needs_(std::move(needs)) {}

  const Tensor& x(int i = 0) const { return in_[static_cast<std::size_t>(i)]; }
  const Tensor& y(int i = 0) const { return out_[static_cast<std::size_t>(i)]; }
  int inputs() const { return static_cast<int>(in_.size()); }
  int outputs() const { return static_cast<int>(out_.size()); }
  const Attrs& attrs() const { return node_.attrs; }
  const Node& node() const { return node_; }

  // vjp: the cotangent of output i; zeros where the result does not depend on it (ask has_ct first where that
  // is dear).
  Tensor ct(int i = 0) const;
  bool has_ct(int i = 0) const { return seeds_[static_cast<std::size_t>(i)].defined(); }
  // vjp: whether the gradient with respect to input i is asked for. What is not asked for may be left
  // undefined.
  bool needs(int i) const { return needs_[static_cast<std::size_t>(i)]; }

  // jvp: the tangent of input i; zeros where it does not vary.
  Tensor dx(int i = 0) const;
  bool has_dx(int i = 0) const { return seeds_[static_cast<std::size_t>(i)].defined(); }

 private:
  const Node& node_;
  Tensors in_, out_, seeds_;
  std::vector<bool> needs_;
};

struct Cost {
  double flops = 0;
  double bytes = 0;  // read and written
};

// One case for the tests: input types, ranges of the random contents, attributes.
struct Sample {
  std::vector<Type> in;
  Attrs attrs;
  std::array<double, 2> range{-2, 2};
  std::vector<std::array<double, 2>> ranges;  // per input; empty: `range` for all
  double tolerance = 1;                       // factor on the usual tolerance of differences
  double diagonal = 0;  // added to the diagonals of input 0: matrices that can be factored
};

// Pairs (input, output): the output may take the input's storage. A literal type, like all of an Op, so that ops exist
// before any code runs.
class InPlace {
 public:
  struct Pair {
    int in, out;
  };
  constexpr InPlace() = default;
  constexpr InPlace(std::initializer_list<Pair> pairs) {
    for (const Pair& p : pairs) pairs_[static_cast<std::size_t>(count_++)] = p;
  }
  // Whichever input and output share storage.
  static constexpr InPlace any() {
    InPlace all;
    all.count_ = kInputs * kOutputs;
    return all;
  }

  class Iterator {
   public:
    constexpr Iterator(const InPlace& of, int at) : of_(&of), at_(at) {}
    constexpr Pair operator*() const {
      return of_->count_ <= kListed ? of_->pairs_[static_cast<std::size_t>(at_)] : Pair{at_ / kOutputs, at_ % kOutputs};
    }
    constexpr Iterator& operator++() { return ++at_, *this; }
    constexpr bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    const InPlace* of_;
    int at_;
  };
  constexpr Iterator begin() const { return {*this, 0}; }
  constexpr Iterator end() const { return {*this, count_}; }

 private:
  static constexpr int kListed = 2, kInputs = 24, kOutputs = 12;
  std::array<Pair, kListed> pairs_{};
  int count_ = 0;
};

// Elements of an integer array that lie in [0, limit), or are `ignore`.
struct IndexRange {
  int array = 0;  // which input, or which output
  std::int64_t limit = 0;
  std::optional<std::int64_t> ignore{};
  // Throws Error(data) for the element at `position`, which lies elsewhere.
  void (*refuse)(const char* op, std::int64_t index, std::int64_t position, std::int64_t limit) = nullptr;
};

struct Facts {
  bool deterministic = true;     // same inputs, same bits
  bool random = false;           // draws from a counter: inputs hold the key
  bool zero_derivative = false;  // gradients through it are zero (comparisons, floor, indices)
  bool effect = false;
  // Throws Error(data) where it cannot take what its inputs hold: `indices` says which that is, else it may be anything. What
  // regions hold counts beside it.
  bool may_refuse = false;
  InPlace in_place{};
};

// One tile of an elementwise op: `n` contiguous elements of the compute types. Parameters come from the
// attributes.
struct TileArgs {
  std::array<const void*, 4> in;
  void* out;
  std::int64_t n;
  const double* params;
  unsigned uniform = 0;  // bit k: all elements of input k are equal
};
using TileFunction = void (*)(const TileArgs&);

// Reductions that a fused chain may end in: over the attribute "axes" (ascending), with "keep" as a flag.
enum class Fold : std::uint8_t { none, sum, max, min, prod };

struct CutArgs;  // ir/cut.h
struct Cut;

struct Op {
  const char* name;
  const char* doc;
  std::vector<Type> (*infer)(const InferArgs&);
  Tensors (*vjp)(const Rule&) = nullptr;  // one result per input; may be undefined where no gradient flows
  Tensors (*jvp)(const Rule&) = nullptr;  // one result per output
  // How the samples of a batch pass through (ir/cut.h). Null: elementwise ops and reductions by what they are, others mix them.
  std::optional<Cut> (*cut)(const CutArgs&) = nullptr;
  Facts facts{};
  // With may_refuse: nothing is refused but elements of an input out of this range.
  IndexRange (*indices)(const KernelSpec&) = nullptr;
  // Elements of an output are in this range whatever the inputs hold.
  IndexRange (*indices_made)(const KernelSpec&) = nullptr;
  Cost (*cost)(const KernelSpec&) = nullptr;  // default: bytes in and out, a flop an element
  // The fast kernel, or null (as a result too: "not for these types"); then the plain one beside it runs.
  std::unique_ptr<Kernel> (*kernel)(const KernelSpec&) = nullptr;
  std::unique_ptr<Kernel> (*reference)(const KernelSpec&) = nullptr;
  // Views: the layout of that output over input 0's storage, where strides can express it. A view has no kernel
  // of its own then.
  std::optional<Layout> (*view)(const KernelSpec&, int output) = nullptr;
  // Whether a kernel takes input i in the layout it has in the spec. Default: dense row-major only. Indices
  // behind the inputs ask for outputs (spec.in.size() + o), in a dense order of their axes.
  bool (*accepts)(const KernelSpec&, int array) = nullptr;
  // Whether it wants channels last in memory, for the arrays of 4 axes that it accepts so (convolutions).
  bool channels_last = false;
  // A form of input i that pays for itself where `uses` nodes read it; none by default. The copy that makes it is a node.
  std::optional<Layout> (*packed)(const KernelSpec&, int input, int uses) = nullptr;
  // Elementwise ops: the tile function for the compute dtype of the inputs (f32, f64, i64, i32, u8, bool), or
  // null.
  TileFunction (*tile)(DType input) = nullptr;
  // Elementwise ops: attributes as the tile function's parameters.
  std::vector<double> (*tile_params)(const Attrs&) = nullptr;
  // How one element reads as C++, with {0}, {1}, … for the arguments; "" where it is a call into a kernel.
  const char* cpp = "";
  Fold fold = Fold::none;
  std::vector<Sample> (*samples)() = nullptr;

  bool elementwise() const { return tile != nullptr; }
};

// The kernel that runs a node on the CPU: the fast one where there is one for these types, else the plain
// one.
TIDEMARK_API std::unique_ptr<Kernel> prepare(const Op& op, const KernelSpec& spec);
TIDEMARK_API std::unique_ptr<Kernel> prepare_reference(const Op& op, const KernelSpec& spec);
TIDEMARK_API Cost cost_of(const Op& op, const KernelSpec& spec);

}  // namespace tidemark
