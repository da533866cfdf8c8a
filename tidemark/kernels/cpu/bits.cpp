// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/cpu/bits.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "tidemark/base/parallel.h"
#include "tidemark/ir/op.h"
#include "tidemark/kernels/cpu/fused.h"

namespace tidemark::kernels {
namespace {

constexpr std::size_t kMostOperands = 48;
constexpr std::int64_t kPart = 1 << 17;   // elements unpacked at a time
constexpr std::int64_t kGrain = 1 << 12;  // bytes of bits for a thread

// A byte's bits as eight booleans in memory order.
constexpr std::array<std::uint64_t, 256> spread_table() {
  std::array<std::uint64_t, 256> table{};
  for (unsigned b = 0; b < 256; ++b) {
    for (unsigned k = 0; k < 8; ++k) table[b] |= static_cast<std::uint64_t>((b >> k) & 1u) << (8 * k);
  }
  return table;
}
constexpr std::array<std::uint64_t, 256> kSpread = spread_table();
static_assert(std::endian::native == std::endian::little);

void unpack(int threads, const std::uint8_t* from, std::uint8_t* to, std::int64_t n) {
  parallel_for(threads, n / 8, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) std::memcpy(to + 8 * i, &kSpread[from[i]], 8);
  });
  for (std::int64_t i = n / 8 * 8; i < n; ++i) to[i] = (from[i / 8] >> (i % 8)) & 1u;
}

void pack(int threads, const std::uint8_t* from, std::uint8_t* to, std::int64_t n) {
  parallel_for(threads, (n + 7) / 8, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      unsigned byte = 0;
      const std::int64_t here = std::min<std::int64_t>(8, n - 8 * i);
      for (std::int64_t k = 0; k < here; ++k) byte |= static_cast<unsigned>(from[8 * i + k] != 0) << k;
      to[i] = static_cast<std::uint8_t>(byte);
    }
  });
}

class PackedChain final : public Kernel {
 public:
  struct Operand {
    Bytes step = 0;  // from part to part
    bool packed = false;
    Bytes unpacked = 0;  // its place in the workspace
  };
  std::vector<Operand> operands;  // inputs, then outputs
  std::size_t inputs = 0;
  std::int64_t parts = 0, elements = 0, last_elements = 0;  // of a part
  std::unique_ptr<Kernel> part, last;
  Bytes inner_workspace = 0;
  int threads = 1;
  void set_workspace(Bytes bytes) { workspace_ = bytes; }

  void run(const Operands& o) const override {
    std::array<const void*, kMostOperands> in{};
    std::array<void*, kMostOperands> out{};
    auto* workspace = static_cast<std::byte*>(o.workspace);
    for (std::int64_t p = 0; p < parts; ++p) {
      const bool is_last = p + 1 == parts;
      const std::int64_t n = is_last ? last_elements : elements;
      for (std::size_t k = 0; k < operands.size(); ++k) {
        const Operand& x = operands[k];
        std::byte* there = workspace + x.unpacked;
        if (k < inputs) {
          const auto* from = static_cast<const std::byte*>(o.in[k]) + p * x.step;
          if (x.packed)
            unpack(threads, reinterpret_cast<const std::uint8_t*>(from),
                   reinterpret_cast<std::uint8_t*>(there), n);
          in[k] = x.packed ? there : from;
        } else {
          out[k - inputs] = x.packed ? there : static_cast<std::byte*>(o.out[k - inputs]) + p * x.step;
        }
      }
      (is_last ? last : part)
          ->run({{in.data(), inputs}, {out.data(), operands.size() - inputs}, workspace + inner_workspace});
      for (std::size_t k = inputs; k < operands.size(); ++k) {
        if (!operands[k].packed) continue;
        pack(threads, reinterpret_cast<const std::uint8_t*>(workspace + operands[k].unpacked),
             static_cast<std::uint8_t*>(o.out[k - inputs]) + p * operands[k].step, n);
      }
    }
  }
};

// `type` over `rows` of the domain's first axis, where it has that axis.
bool has_rows(const Shape& shape, const Shape& domain) {
  return domain.rank() > 0 && shape.rank() == domain.rank() && shape[0] == domain[0];
}
Shape with_rows(const Shape& shape, const Shape& domain, std::int64_t rows) {
  if (!has_rows(shape, domain)) return shape;
  std::vector<std::int64_t> sizes = shape.sizes();
  sizes[0] = rows;
  return Shape(sizes);
}

std::unique_ptr<Kernel> prepare_rows(KernelSpec spec, const Shape& domain, std::int64_t rows) {
  for (auto* list : {&spec.in, &spec.out}) {
    for (Value& v : *list) v.type.shape = with_rows(v.type.shape, domain, rows);
  }
  for (Value& v : spec.regions[0].values) v.type.shape = with_rows(v.type.shape, domain, rows);
  return fused(spec);
}

}  // namespace

std::unique_ptr<Kernel> fused_with_bits(const KernelSpec& spec, const std::vector<char>& packed) {
  if (spec.out.empty() || spec.in.size() + spec.out.size() > kMostOperands) return nullptr;
  const Shape& domain = spec.out[0].type.shape;
  const std::int64_t numel = domain.numel();
  if (numel == 0 || domain.rank() == 0) return nullptr;
  for (const Node& n : spec.regions[0].nodes) {
    if (n.op->fold != Fold::none) return nullptr;
  }
  const std::int64_t rest = numel / domain[0];
  std::int64_t rows = std::clamp<std::int64_t>(kPart / std::max<std::int64_t>(rest, 1), 1, domain[0]);
  while (rows < domain[0] && rows * rest % 8 != 0) ++rows;
  auto kernel = std::make_unique<PackedChain>();
  kernel->inputs = spec.in.size();
  kernel->threads = spec.threads;
  Bytes workspace = 0;
  for (std::size_t k = 0; k < packed.size(); ++k) {
    const bool input = k < spec.in.size();
    const Value& v = input ? spec.in[k] : spec.out[k - spec.in.size()];
    if (!v.layout.blocked.empty()) return nullptr;
    const bool moves = has_rows(v.type.shape, domain);
    const std::int64_t stride = moves ? strides_of(v.type.shape, v.layout)[0] : 0;
    // What is written or packed is walked through in memory order: its first axis lies outermost.
    if ((!input || packed[k]) && (v.type.shape != domain || stride != rest)) return nullptr;
    PackedChain::Operand operand{.packed = packed[k] != 0};
    if (packed[k]) {
      if (v.type.dtype != DType::boolean) return nullptr;
      operand.step = rows * rest / 8;
      operand.unpacked = workspace;
      workspace += round_up(rows * rest, 64);
    } else {
      operand.step = rows * stride * size_of(v.type.dtype);
    }
    kernel->operands.push_back(operand);
  }
  kernel->parts = (domain[0] + rows - 1) / rows;
  const std::int64_t last_rows = domain[0] - (kernel->parts - 1) * rows;
  kernel->elements = rows * rest;
  kernel->last_elements = last_rows * rest;
  kernel->part = prepare_rows(spec, domain, rows);
  kernel->last = prepare_rows(spec, domain, last_rows);
  if (!kernel->part || !kernel->last) return nullptr;
  kernel->inner_workspace = workspace;
  kernel->set_workspace(workspace + std::max(kernel->part->workspace(), kernel->last->workspace()));
  return kernel;
}

}  // namespace tidemark::kernels
