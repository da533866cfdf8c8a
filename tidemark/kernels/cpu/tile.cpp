// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/cpu/tile.h"

#include <algorithm>
#include <cstring>

#include "tidemark/base/scalar.h"

namespace tidemark::kernels {
namespace {

template <typename From, typename To>
To convert_one(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    if constexpr (std::is_same_v<From, Bf16> || std::is_same_v<From, F16>)
      return static_cast<float>(x) != 0.0f;
    else
      return x != From(0);
  } else if constexpr (std::is_same_v<From, Bf16> || std::is_same_v<From, F16>) {
    return convert_one<float, To>(static_cast<float>(x));
  } else if constexpr (std::is_same_v<To, Bf16> || std::is_same_v<To, F16>) {
    return To(static_cast<float>(x));
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    return scalar::to_integer<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

template <typename From, typename To>
void convert_loop(const void* from, void* to, std::int64_t n) {
  const auto* x = static_cast<const From*>(from);
  auto* y = static_cast<To*>(to);
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) y[i] = convert_one<From, To>(x[i]);
}

template <typename T>
void gather_row(const std::byte* from, std::int64_t stride, std::byte* to, std::int64_t n) {
  const auto* x = reinterpret_cast<const T*>(from);
  auto* y = reinterpret_cast<T*>(to);
  if (stride == 0) {
    const T v = *x;
    for (std::int64_t i = 0; i < n; ++i) y[i] = v;
  } else {
    for (std::int64_t i = 0; i < n; ++i) y[i] = x[i * stride];
  }
}

template <typename T>
void scatter_row(const std::byte* from, std::byte* to, std::int64_t stride, std::int64_t n) {
  const auto* x = reinterpret_cast<const T*>(from);
  auto* y = reinterpret_cast<T*>(to);
  for (std::int64_t i = 0; i < n; ++i) y[i * stride] = x[i];
}

constexpr std::size_t kPrefetchSteps = 4;  // fewer leave nothing to hide behind

// Moves `n` elements of `size` bytes between a strided row and contiguous ones.
void gather_bytes(const std::byte* from, std::int64_t stride, std::byte* to, std::int64_t n, Bytes size) {
  if (stride == 1)
    std::memcpy(to, from, static_cast<std::size_t>(n * size));
  else if (size == 4)
    gather_row<std::uint32_t>(from, stride, to, n);
  else if (size == 8)
    gather_row<std::uint64_t>(from, stride, to, n);
  else if (size == 2)
    gather_row<std::uint16_t>(from, stride, to, n);
  else
    gather_row<std::uint8_t>(from, stride, to, n);
}
void scatter_bytes(const std::byte* from, std::byte* to, std::int64_t stride, std::int64_t n, Bytes size) {
  if (stride == 1)
    std::memcpy(to, from, static_cast<std::size_t>(n * size));
  else if (size == 4)
    scatter_row<std::uint32_t>(from, to, stride, n);
  else if (size == 8)
    scatter_row<std::uint64_t>(from, to, stride, n);
  else if (size == 2)
    scatter_row<std::uint16_t>(from, to, stride, n);
  else
    scatter_row<std::uint8_t>(from, to, stride, n);
}

}  // namespace

ConvertFunction convert_function(DType from, DType to) {
  return dispatch(from, [&]<typename From>() {
    return dispatch(to, [&]<typename To>() -> ConvertFunction { return convert_loop<From, To>; });
  });
}

std::vector<std::int64_t> TileProgram::domain_strides(const Value& value) const {
  const Shape& shape = value.type.shape;
  TIDEMARK_CHECK(value.layout.blocked.empty() && shape.rank() <= shape_.rank());
  const std::vector<std::int64_t> own = strides_of(shape, value.layout);
  std::vector<std::int64_t> strides(shape_.sizes().size(), 0);
  const int shift = shape_.rank() - shape.rank();
  for (int a = 0; a < shape.rank(); ++a) {
    if (shape[a] != 1) strides[static_cast<std::size_t>(a + shift)] = own[static_cast<std::size_t>(a)];
  }
  return strides;
}

int TileProgram::input(const Value& value) {
  const DType stored = value.type.dtype, compute = compute_dtype(stored);
  Input in{.stored = stored, .strides = domain_strides(value)};
  if (size_of(stored) != size_of(compute) || is_float(stored) != is_float(compute))
    in.convert = convert_function(stored, compute);
  inputs_.push_back(std::move(in));
  values_.push_back({.dtype = compute});
  return static_cast<int>(values_.size() - 1);
}

int TileProgram::step(TileFunction function, std::vector<double> params, std::span<const int> in, DType out) {
  TIDEMARK_CHECK(function != nullptr && in.size() <= 4 && values_.size() < kMaxTileValues);
  Step s{.function = function, .in = {-1, -1, -1, -1}, .params = std::move(params)};
  std::copy(in.begin(), in.end(), s.in.begin());
  const DType compute = compute_dtype(out);
  if (out == DType::bf16 || out == DType::f16) {
    s.narrow = convert_function(compute, out);
    s.widen = convert_function(out, compute);
  }
  values_.push_back({.dtype = compute});
  s.out = static_cast<int>(values_.size() - 1);
  steps_.push_back(std::move(s));
  return steps_.back().out;
}

void TileProgram::output(int value, const Value& as, std::size_t position) {
  const DType compute = values_[static_cast<std::size_t>(value)].dtype;
  Output out{.value = value, .position = position, .stored = as.type.dtype, .strides = domain_strides(as)};
  if (compute_dtype(out.stored) != compute || size_of(out.stored) != size_of(compute))
    out.convert = convert_function(compute, out.stored);
  outputs_.push_back(std::move(out));
}

void TileProgram::merge_operand(const std::vector<std::int64_t>& strides,
                                const std::vector<std::vector<int>>& groups, Strides& merged,
                                Kind& kind) const {
  std::int64_t step = 1;
  bool linear = true, uniform = true;
  for (std::size_t g = groups.size(); g-- > 0;) {
    merged[g] = groups[g].empty() ? 0 : strides[static_cast<std::size_t>(groups[g].back())];
    linear = linear && (merged[g] == step || sizes_[g] == 1);
    uniform = uniform && merged[g] == 0;
    step *= sizes_[g];
  }
  kind = numel_ == 1 || uniform ? Kind::uniform : linear ? Kind::linear : Kind::strided;
}

// Maps walk in the memory order of the first operand that covers the whole domain, outputs first. Folds walk in the order of
// the axes, so that the bits of a sum do not depend on how its argument lies; only images that lie channels last are
// walked so where they are folded over their pixels, which fold_columns does in that same order.
std::vector<int> TileProgram::walking_order() {
  const std::vector<std::int64_t>* lead = nullptr;
  for (const Output& o : outputs_) {
    if (lead == nullptr) lead = &o.strides;
  }
  for (const Input& in : inputs_) {
    if (lead != nullptr) break;
    bool covers = true;
    for (int a = 0; a < shape_.rank(); ++a)
      covers = covers && (shape_[a] == 1 || in.strides[static_cast<std::size_t>(a)] != 0);
    if (covers) lead = &in.strides;
  }
  std::vector<int> order;
  for (int a = 0; a < shape_.rank(); ++a) {
    if (shape_[a] != 1) order.push_back(a);
  }
  if (lead == nullptr) return order;
  std::vector<int> in_memory = order;
  std::stable_sort(in_memory.begin(), in_memory.end(), [&](int a, int b) {
    return (*lead)[static_cast<std::size_t>(a)] > (*lead)[static_cast<std::size_t>(b)];
  });
  if (folds_.empty()) return in_memory;
  if (shape_.rank() != 4 || in_memory == order || folded_axes_[1] || !folded_axes_[2] || !folded_axes_[3])
    return order;
  std::vector<int> channels_last;
  for (const int a : {0, 2, 3, 1}) {
    if (shape_[a] != 1) channels_last.push_back(a);
  }
  if (in_memory != channels_last) return order;
  pixels_ = {shape_[0], shape_[2] * shape_[3], shape_[1]};
  return in_memory;
}

void TileProgram::order_and_merge() {
  const std::vector<bool>& reduced = folded_axes_;
  const std::vector<int> order = walking_order();
  std::vector<std::vector<int>> groups;
  for (const int a : order) {
    bool joins = !groups.empty();
    if (joins) {
      const int b = groups.back().back();  // the axis just outside
      const auto fits = [&](const std::vector<std::int64_t>& s) {
        return s[static_cast<std::size_t>(b)] == s[static_cast<std::size_t>(a)] * shape_[a];
      };
      joins = reduced[static_cast<std::size_t>(a)] == reduced[static_cast<std::size_t>(b)];
      for (const Input& in : inputs_) joins = joins && fits(in.strides);
      for (const Output& o : outputs_) joins = joins && fits(o.strides);
      for (const Folded& f : folds_) joins = joins && fits(f.strides);
    }
    if (joins)
      groups.back().push_back(a);
    else
      groups.push_back({a});
  }
  if (groups.empty()) groups.push_back({});
  if (groups.size() > kMaxAxes)
    fail(Error::Kind::unsupported, "[elementwise] {} does not merge to {} axes or fewer; make it contiguous",
         to_string(shape_), kMaxAxes);
  axes_ = static_cast<int>(groups.size());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    sizes_[g] = 1;
    for (const int a : groups[g]) sizes_[g] *= shape_[a];
    reduced_[g] = !groups[g].empty() && reduced[static_cast<std::size_t>(groups[g].back())];
  }
  for (Input& in : inputs_) merge_operand(in.strides, groups, in.merged, in.kind);
  for (Output& o : outputs_) {
    merge_operand(o.strides, groups, o.merged, o.kind);
    if (o.kind == Kind::uniform) o.kind = Kind::linear;  // one element
  }
  for (Folded& f : folds_) {
    Kind unused;
    merge_operand(f.strides, groups, f.merged, unused);
  }
}

// Registers by linear scan over the steps. An output's step writes memory directly where nothing behind it
// reads an operand: any input may share an output's storage.
void TileProgram::allocate() {
  const std::size_t inputs = inputs_.size();
  for (std::size_t i = 0; i < inputs; ++i) {
    inputs_[i].in_place = inputs_[i].convert == nullptr;
    values_[i].invariant = inputs_[i].kind == Kind::uniform;
  }
  std::vector<int> last(values_.size(), -1);
  int last_read_of_memory = -1;
  const int count = static_cast<int>(steps_.size());
  for (int s = 0; s < count; ++s) {
    Step& step = steps_[static_cast<std::size_t>(s)];
    step.invariant = true;
    for (const int v : step.in) {
      if (v < 0) continue;
      last[static_cast<std::size_t>(v)] = s;
      step.invariant = step.invariant && values_[static_cast<std::size_t>(v)].invariant;
      if (v < static_cast<int>(inputs) && inputs_[static_cast<std::size_t>(v)].in_place &&
          inputs_[static_cast<std::size_t>(v)].kind != Kind::uniform)
        last_read_of_memory = s;
    }
    for (std::size_t k = 0; k < 4; ++k) {
      if (step.in[k] >= 0 && values_[static_cast<std::size_t>(step.in[k])].invariant) step.uniform |= 1u << k;
    }
    values_[static_cast<std::size_t>(step.out)].invariant = step.invariant;
  }
  for (const Folded& f : folds_) last[static_cast<std::size_t>(f.value)] = count;
  std::vector<int> uses_as_output(values_.size(), 0);
  for (std::size_t o = 0; o < outputs_.size(); ++o) {
    Output& out = outputs_[o];
    const auto v = static_cast<std::size_t>(out.value);
    last[v] = count;
    const bool by_step = v >= inputs;
    const bool late = by_step && static_cast<int>(v - inputs) >= last_read_of_memory;
    const bool stored_by_input = std::any_of(outputs_.begin(), outputs_.end(), [&](const Output& other) {
      return other.value < static_cast<int>(inputs);
    });
    if (late && !stored_by_input && out.convert == nullptr && out.kind == Kind::linear &&
        uses_as_output[v]++ == 0 && !values_[v].invariant && steps_[v - inputs].narrow == nullptr) {
      out.direct = true;
      values_[v].direct_output = static_cast<int>(o);
    }
  }
  std::vector<int> pool[2];  // free registers of 4 bytes or less an element, and of 8
  int next = 0;              // in units of 4 bytes an element
  const auto wide = [&](std::size_t v) { return size_of(values_[v].dtype) == 8 ? 1 : 0; };
  const auto take = [&](std::size_t v) {
    auto& p = pool[wide(v)];
    // What is computed once for all tiles keeps a register that no tile writes to.
    if (!p.empty() && !values_[v].invariant) {
      values_[v].slot = p.back();
      p.pop_back();
    } else {
      values_[v].slot = next;
      next += wide(v) ? 2 : 1;
    }
  };
  for (std::size_t i = 0; i < inputs; ++i) {
    // A strided input read in place where its run allows it still needs a register for where it does not.
    if (inputs_[i].kind != Kind::linear || inputs_[i].convert != nullptr) take(i);
  }
  // Rounding through a storage type needs a register of its own.
  if (std::any_of(steps_.begin(), steps_.end(), [](const Step& s) { return s.narrow != nullptr; }))
    rounding_slot_ = next++;
  for (int s = 0; s < count; ++s) {
    Step& step = steps_[static_cast<std::size_t>(s)];
    const auto out = static_cast<std::size_t>(step.out);
    std::vector<std::size_t> dying;
    for (const int v : step.in) {
      if (v < 0) continue;
      const auto u = static_cast<std::size_t>(v);
      if (last[u] == s && values_[u].slot >= 0 && !values_[u].invariant &&
          std::find(dying.begin(), dying.end(), u) == dying.end())
        dying.push_back(u);
    }
    // The result may take a dying register of the same width at once; others are free for the next step.
    const auto release = [&](std::size_t u) { pool[wide(u)].push_back(values_[u].slot); };
    if (values_[out].direct_output < 0) {
      for (auto it = dying.begin(); it != dying.end() && !values_[out].invariant; ++it) {
        if (size_of(values_[*it].dtype) == size_of(values_[out].dtype)) {
          values_[out].slot = values_[*it].slot;
          dying.erase(it);
          break;
        }
      }
      if (values_[out].slot < 0) take(out);
    }
    for (const std::size_t u : dying) release(u);
  }
  // All registers together stay in the first-level cache beside the streams from memory; the shortest tiles are
  // long enough to hide what a step costs.
  tile_ = kTile;
  while (tile_ > kShortTile && next * 4 * tile_ > kRegisterBytes) tile_ /= 2;
  while (tile_ > kTileUnit && next * 4 * tile_ > kScratchBytes) tile_ /= 2;
  TIDEMARK_CHECK(next * 4 * tile_ <= kScratchBytes, "a fused chain needs {} registers", next);
  const std::int64_t inner = sizes_[static_cast<std::size_t>(axes_ - 1)];
  const bool strided =
      std::any_of(inputs_.begin(), inputs_.end(), [](const Input& in) { return in.kind == Kind::strided; });
  row_ = strided && inner >= 256 ? inner : 0;
}

TileProgram::State::State(const TileProgram& program, const Operands& operands, std::byte* scratch)
    : program_(program), operands_(operands), scratch_(scratch) {
  for (std::size_t v = 0; v < program.values_.size(); ++v) {
    const int slot = program.values_[v].slot;
    pointers_[v] = slot < 0 ? nullptr : scratch + static_cast<std::int64_t>(slot) * 4 * program.tile_;
  }
  // What is the same for every element is computed once.
  for (std::size_t i = 0; i < program.inputs_.size(); ++i) {
    const Input& in = program.inputs_[i];
    if (in.kind != Kind::uniform) continue;
    const Bytes size = size_of(in.stored);
    alignas(8) std::array<std::byte, 8> one;
    if (in.convert != nullptr)
      in.convert(operands.in[i], one.data(), 1);
    else
      std::memcpy(one.data(), operands.in[i], static_cast<std::size_t>(size));
    gather_bytes(one.data(), 0, static_cast<std::byte*>(pointers_[i]), program.tile_,
                 size_of(compute_dtype(in.stored)));
  }
  for (std::size_t s = 0; s < program.steps_.size(); ++s) {
    if (program.steps_[s].invariant) execute(s, program.tile_);
  }
}

void TileProgram::State::load(std::size_t i, std::int64_t begin, std::int64_t n) {
  const Input& in = program_.inputs_[i];
  const Bytes size = size_of(in.stored);
  const auto* base = static_cast<const std::byte*>(operands_.in[i]);
  if (in.kind == Kind::linear) {
    const std::byte* at = base + begin * size;
    if (in.convert != nullptr)
      in.convert(at, pointers_[i], n);
    else
      pointers_[i] = const_cast<std::byte*>(at);  // never written: steps write their own values only
    return;
  }
  auto* to = scratch_ + static_cast<std::int64_t>(program_.values_[i].slot) * 4 * program_.tile_;
  const std::int64_t inner = in.merged[static_cast<std::size_t>(program_.axes_ - 1)];
  const Bytes width = size_of(compute_dtype(in.stored));
  std::int64_t done = 0;
  pointers_[i] = to;
  for_runs(program_.axes_, program_.sizes_, in.merged, begin, n,
           [&](std::int64_t offset, std::int64_t length) {
             const std::byte* from = base + offset * size;
             if (in.convert == nullptr) {
               if (inner == 1 && length == n)
                 pointers_[i] = const_cast<std::byte*>(from);
               else
                 gather_bytes(from, inner, to + done * width, length, size);
             } else if (inner == 1) {
               in.convert(from, to + done * width, length);
             } else if (inner == 0) {
               in.convert(from, to + done * width, 1);
               gather_bytes(to + done * width, 0, to + done * width, length, width);
             } else {
               for (std::int64_t k = 0; k < length; ++k)
                 in.convert(from + k * inner * size, to + (done + k) * width, 1);
             }
             done += length;
           });
}

void TileProgram::State::execute(std::size_t s, std::int64_t n) {
  const Step& step = program_.steps_[s];
  TileArgs args{.in = {},
                .out = pointers_[static_cast<std::size_t>(step.out)],
                .n = n,
                .params = step.params.data(),
                .uniform = step.uniform};
  // Arguments that the function does not take point anywhere that is mapped.
  for (std::size_t k = 0; k < 4; ++k)
    args.in[k] = pointers_[static_cast<std::size_t>(std::max(step.in[k], 0))];
  step.function(args);
  if (step.narrow != nullptr) {
    std::byte* rounded = scratch_ + static_cast<std::int64_t>(program_.rounding_slot_) * 4 * program_.tile_;
    step.narrow(args.out, rounded, n);
    step.widen(rounded, args.out, n);
  }
}

// What the next tile will read and write is on its way while this one computes.
void TileProgram::State::prefetch(std::int64_t begin, std::int64_t n) const {
  n = std::min(n, program_.numel_ - begin);
  if (n <= 0) return;
  const auto lines = [&](const void* base, Bytes size) {
    const auto* at = static_cast<const char*>(base) + begin * size;
    for (Bytes k = 0; k < n * size; k += 64) __builtin_prefetch(at + k);
  };
  for (std::size_t i = 0; i < program_.inputs_.size(); ++i) {
    if (program_.inputs_[i].kind == Kind::linear) lines(operands_.in[i], size_of(program_.inputs_[i].stored));
  }
  for (const Output& out : program_.outputs_) {
    if (out.kind == Kind::linear) lines(operands_.out[out.position], size_of(out.stored));
  }
}

void TileProgram::State::run(std::int64_t begin, std::int64_t n) {
  for (std::size_t i = 0; i < program_.inputs_.size(); ++i) {
    if (program_.inputs_[i].kind != Kind::uniform) load(i, begin, n);
  }
  if (program_.steps_.size() >= kPrefetchSteps) prefetch(begin + n, n);
  for (const Output& out : program_.outputs_) {
    if (out.direct)
      pointers_[static_cast<std::size_t>(out.value)] =
          static_cast<std::byte*>(operands_.out[out.position]) + begin * size_of(out.stored);
  }
  for (std::size_t s = 0; s < program_.steps_.size(); ++s) {
    if (!program_.steps_[s].invariant) execute(s, n);
  }
  for (const Output& out : program_.outputs_) {
    if (!out.direct)
      program_.store(out, pointers_[static_cast<std::size_t>(out.value)], operands_.out[out.position], begin,
                     n);
  }
}

void TileProgram::store(const Output& out, const void* from, void* base, std::int64_t begin,
                        std::int64_t n) const {
  const Bytes size = size_of(out.stored);
  const auto* x = static_cast<const std::byte*>(from);
  auto* y = static_cast<std::byte*>(base);
  if (out.kind == Kind::linear) {
    y += begin * size;
    if (out.convert != nullptr)
      out.convert(x, y, n);
    else if (x != y)
      std::memmove(y, x, static_cast<std::size_t>(n * size));
    return;
  }
  const std::int64_t inner = out.merged[static_cast<std::size_t>(axes_ - 1)];
  const Bytes width = size_of(values_[static_cast<std::size_t>(out.value)].dtype);
  for_runs(axes_, sizes_, out.merged, begin, n, [&](std::int64_t offset, std::int64_t length) {
    std::byte* to = y + offset * size;
    if (out.convert == nullptr) {
      scatter_bytes(x, to, inner, length, size);
    } else {
      for (std::int64_t k = 0; k < length; ++k) out.convert(x + k * width, to + k * inner * size, 1);
    }
    x += length * width;
  });
}

void TileProgram::fold(int value, const Value& as, const std::vector<bool>& reduced, bool keep) {
  TIDEMARK_CHECK(folds_.empty() || folded_axes_ == reduced, "reductions over different axes in one chain");
  folded_axes_ = reduced;
  const std::vector<std::int64_t> own = strides_of(as.type.shape, as.layout);
  Folded f{.value = value, .strides = std::vector<std::int64_t>(shape_.sizes().size(), 0)};
  for (std::size_t a = 0, k = 0; a < reduced.size(); ++a) {
    if (!reduced[a]) f.strides[a] = own[k];
    if (!reduced[a] || keep) ++k;
  }
  folds_.push_back(std::move(f));
}

void TileProgram::finish() {
  numel_ = shape_.numel();
  if (folds_.empty()) folded_axes_.assign(shape_.sizes().size(), false);
  order_and_merge();
  allocate();
}

}  // namespace tidemark::kernels
