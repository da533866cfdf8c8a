// The tile interpreter: a small program of elementwise steps run over tiles of up to kTile elements, so that
// what lies between the steps never exists in memory. A single op is a program of one step through the same
// code, hence the same bits fused or not; reductions walk as their operands lie (ir/fuse.h). Used by fused.h.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>

#include "tidemark/ir/op.h"

namespace tidemark::kernels {

inline constexpr std::int64_t kTile = 1024;        // elements; a multiple of kTileUnit
inline constexpr std::int64_t kTileUnit = 64;      // tiles but the last of a row are multiples of it
inline constexpr int kMaxAxes = 12;                // after merging
inline constexpr int kMaxTileValues = 160;         // inputs and steps of one program
inline constexpr Bytes kScratchBytes = 192 << 10;  // of stack, for one thread's registers
inline constexpr Bytes kRegisterBytes = 32 << 10;  // wanted of them at most
inline constexpr std::int64_t kShortTile = 512;

// bf16 and f16 are computed as f32, bool as u8 of 0 and 1.
constexpr DType compute_dtype(DType d) {
  return d == DType::bf16 || d == DType::f16 ? DType::f32 : d == DType::boolean ? DType::u8 : d;
}

// Converts `n` contiguous elements between any two dtypes, by way of nothing: each pair has its own loop.
using ConvertFunction = void (*)(const void* from, void* to, std::int64_t n);
ConvertFunction convert_function(DType from, DType to);

using Strides = std::array<std::int64_t, kMaxAxes>;

// Calls f(offset, length) for the runs of the innermost axis that elements [begin, begin + n) of the walk are
// made of; the offset is in elements of an array with these strides.
template <typename F>
void for_runs(int axes, const Strides& sizes, const Strides& strides, std::int64_t begin, std::int64_t n,
              F&& f) {
  Strides at{};
  std::int64_t rest = begin, offset = 0;
  for (int a = axes - 1; a >= 0; --a) {
    const auto k = static_cast<std::size_t>(a);
    at[k] = rest % sizes[k];
    rest /= sizes[k];
    offset += at[k] * strides[k];
  }
  const auto inner = static_cast<std::size_t>(axes - 1);
  while (n > 0) {
    const std::int64_t left = sizes[inner] - at[inner];
    const std::int64_t length = n < left ? n : left;
    f(offset, length);
    n -= length;
    if (n == 0) break;
    offset -= at[inner] * strides[inner];
    at[inner] = 0;
    for (int a = axes - 2; a >= 0; --a) {
      const auto k = static_cast<std::size_t>(a);
      offset += strides[k];
      if (++at[k] < sizes[k]) break;
      offset -= sizes[k] * strides[k];
      at[k] = 0;
    }
  }
}

class TileProgram {
 public:
  explicit TileProgram(const Shape& domain) : shape_(domain) {}

  // In order: inputs, then steps; each returns the value's number.
  int input(const Value& value);
  int step(TileFunction function, std::vector<double> params, std::span<const int> in, DType out);
  // The value is written to output `position` of the kernel, which has the domain's shape.
  void output(int value, const Value& as, std::size_t position = 0);
  // The value is folded over the marked domain axes by the caller, who reads it after each tile and writes it
  // to an output that lies as `as` does, with or without the folded axes as ones.
  void fold(int value, const Value& as, const std::vector<bool>& reduced, bool keep);
  // Chooses the order of axes, merges them (folded ones never with others) and gives registers out.
  void finish();

  std::int64_t numel() const { return numel_; }
  std::int64_t tile() const { return tile_; }
  bool single() const { return numel_ == 1; }
  DType dtype(int value) const { return values_[static_cast<std::size_t>(value)].dtype; }
  // The merged axes, outermost first, in the order in which tiles walk them.
  int axes() const { return axes_; }
  const Strides& sizes() const { return sizes_; }
  const std::array<bool, kMaxAxes>& reduced() const { return reduced_; }
  // Of the f-th folded output, by merged axis; 0 for the folded ones.
  const Strides& fold_strides(std::size_t f) const { return folds_[f].merged; }
  // Images folded over their pixels that lie channels last: {images, pixels, channels} in walking order; else nothing.
  const std::optional<std::array<std::int64_t, 3>>& pixels() const { return pixels_; }
  // Elements of the innermost axis, where tiles had better not cross from one to the next; else 0.
  std::int64_t row() const { return row_; }

  // One thread's registers. Lives on the stack for a chunk of tiles.
  class State {
   public:
    State(const TileProgram& program, const Operands& operands, std::byte* scratch);
    // Elements [begin, begin + n) of the domain in walking order, n <= tile().
    void run(std::int64_t begin, std::int64_t n);
    const void* value(int v) const { return pointers_[static_cast<std::size_t>(v)]; }

   private:
    void load(std::size_t input, std::int64_t begin, std::int64_t n);
    void execute(std::size_t step, std::int64_t n);
    void prefetch(std::int64_t begin, std::int64_t n) const;
    const TileProgram& program_;
    const Operands& operands_;
    std::byte* scratch_;
    std::array<void*, kMaxTileValues> pointers_;
  };

 private:
  enum class Kind : std::uint8_t { linear, uniform, strided };
  struct Input {
    DType stored;
    std::vector<std::int64_t> strides;  // by domain axis
    Strides merged{};
    Kind kind = Kind::strided;
    bool in_place = false;  // read where it lies when contiguous
    ConvertFunction convert = nullptr;
  };
  struct Step {
    TileFunction function;
    std::array<int, 4> in;
    std::vector<double> params;
    int out = 0;
    bool invariant = false;
    unsigned uniform = 0;
    ConvertFunction narrow = nullptr, widen = nullptr;  // storage types are rounded after every step
  };
  struct Output {
    int value;
    std::size_t position;
    DType stored;
    std::vector<std::int64_t> strides;
    Strides merged{};
    Kind kind = Kind::strided;
    bool direct = false;  // the step writes memory itself
    ConvertFunction convert = nullptr;
  };
  struct Folded {
    int value;
    std::vector<std::int64_t> strides;
    Strides merged{};
  };
  struct TileValue {
    DType dtype;  // compute type
    int slot = -1;
    int direct_output = -1;
    bool invariant = false;
  };
  std::vector<std::int64_t> domain_strides(const Value& value) const;
  std::vector<int> walking_order();
  void order_and_merge();
  void allocate();
  void merge_operand(const std::vector<std::int64_t>& strides, const std::vector<std::vector<int>>& groups,
                     Strides& merged, Kind& kind) const;
  void store(const Output& output, const void* from, void* base, std::int64_t begin, std::int64_t n) const;

  Shape shape_;
  std::int64_t numel_ = 0, tile_ = kTile, row_ = 0;
  int axes_ = 0, rounding_slot_ = -1;
  Strides sizes_{};
  std::array<bool, kMaxAxes> reduced_{};
  std::vector<bool> folded_axes_;
  std::optional<std::array<std::int64_t, 3>> pixels_;
  std::vector<Input> inputs_;
  std::vector<Step> steps_;
  std::vector<Output> outputs_;
  std::vector<Folded> folds_;
  std::vector<TileValue> values_;
};

}  // namespace tidemark::kernels
