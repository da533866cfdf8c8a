// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/cpu/inverse.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <limits>
#include <type_traits>

#include "tidemark/base/parallel.h"
#include "tidemark/ir/op.h"
#include "tidemark/kernels/cpu/fused.h"

namespace tidemark::kernels {
namespace {

constexpr std::size_t kMostInputs = 24;
constexpr std::int64_t kPart = 1 << 16;  // elements at a time

// Floats as integers in their order: neighbours differ by one, +0 follows -0.
std::int64_t rank_of(float x) {
  const auto i = std::bit_cast<std::int32_t>(x);
  return i >= 0 ? i : std::int64_t{std::numeric_limits<std::int32_t>::min()} - i - 1;
}
float of_rank(std::int64_t r) {
  return std::bit_cast<float>(
      static_cast<std::int32_t>(r >= 0 ? r : std::int64_t{std::numeric_limits<std::int32_t>::min()} - r - 1));
}

bool has_rows(const Shape& shape, const Shape& domain) {
  return shape.rank() == domain.rank() && shape[0] == domain[0];
}

std::unique_ptr<Kernel> prepare_rows(KernelSpec spec, std::int64_t rows) {
  const Shape domain = spec.out[0].type.shape;
  const auto cut = [&](Value& v) {
    if (!has_rows(v.type.shape, domain)) return;
    std::vector<std::int64_t> sizes = v.type.shape.sizes();
    sizes[0] = rows;
    v.type.shape = Shape(sizes);
  };
  for (auto* list : {&spec.in, &spec.out}) std::for_each(list->begin(), list->end(), cut);
  std::for_each(spec.regions[0].values.begin(), spec.regions[0].values.end(), cut);
  return fused(spec);
}

// Where residuals lie: a byte an element, then for each block of a part what is kept as it is.
constexpr std::int64_t kBlock = 4096, kKept = kBlock / 32;
struct Kept {
  std::uint32_t at;  // in the block
  float value;
};
struct BlockRecord {
  std::int64_t count;
  Kept kept[kKept];
};
struct Residuals {
  std::int64_t n = 0, elements = 0;  // in all, in a part
  std::int64_t blocks_in_part() const { return (elements + kBlock - 1) / kBlock; }
  std::int64_t parts() const { return (n + elements - 1) / elements; }
  Bytes bytes() const {
    return round_up(n, 64) + parts() * blocks_in_part() * static_cast<Bytes>(sizeof(BlockRecord));
  }
  template <typename B>
  auto* records(B* base) const {
    using Record = std::conditional_t<std::is_const_v<B>, const BlockRecord, BlockRecord>;
    return reinterpret_cast<Record*>(base + round_up(n, 64));
  }
};

class EncodeResidual final : public Kernel {
 public:
  std::vector<Bytes> steps;  // of the chain's inputs, from part to part
  std::unique_ptr<Kernel> part, last;
  Residuals where;
  int threads = 1;
  void set_workspace(Bytes bytes) { workspace_ = bytes; }
  bool can_overflow() const override { return true; }
  bool overflowed() const override { return overflowed_; }

  void run(const Operands& o) const override {
    std::array<const void*, kMostInputs> in{};
    auto* about = static_cast<float*>(o.workspace);
    void* const out[] = {about};
    std::byte* rest = static_cast<std::byte*>(o.workspace) + round_up(where.elements * 4, 64);
    const auto* x = o.input<float>(steps.size());
    auto* residual = o.output<std::int8_t>(0);
    BlockRecord* records = where.records(residual);
    overflowed_ = false;
    for (std::int64_t p = 0; p < where.parts(); ++p) {
      const std::int64_t from = p * where.elements, count = std::min(where.elements, where.n - from);
      for (std::size_t k = 0; k < steps.size(); ++k)
        in[k] = static_cast<const std::byte*>(o.in[k]) + p * steps[k];
      (p + 1 < where.parts() ? part : last)->run({{in.data(), steps.size()}, out, rest});
      parallel_for(threads, (count + kBlock - 1) / kBlock, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t b = begin; b < end; ++b)
          encode(x + from, about, residual + from, b, count, records[p * where.blocks_in_part() + b]);
      });
      if (overflowed_) return;
    }
  }

 private:
  void encode(const float* x, const float* about, std::int8_t* residual, std::int64_t block,
              std::int64_t count, BlockRecord& record) const {
    record.count = 0;
    for (std::int64_t i = block * kBlock; i < std::min(count, (block + 1) * kBlock); ++i) {
      const std::int64_t r = rank_of(x[i]) - rank_of(about[i]);
      const bool small = r >= -128 && r <= 127;
      residual[i] = static_cast<std::int8_t>(small ? r : 0);
      if (small) continue;
      if (record.count == kKept) {
        overflowed_ = true;
        return;
      }
      record.kept[record.count++] = {static_cast<std::uint32_t>(i - block * kBlock), x[i]};
    }
  }
  mutable std::atomic<bool> overflowed_{false};
};

}  // namespace

ExactInverse exact_inverse(const KernelSpec& spec) {
  const Value& x = spec.out[0];
  const Shape& domain = x.type.shape;
  const std::int64_t n = domain.numel();
  if (domain.rank() == 0 || n == 0 || x.type.dtype != DType::f32 || spec.in.size() > kMostInputs ||
      !x.layout.blocked.empty())
    return {};
  const std::int64_t rest = n / domain[0];
  if (strides_of(domain, x.layout)[0] != rest) return {};
  const std::int64_t rows = std::clamp<std::int64_t>(kPart / rest, 1, domain[0]);
  auto encode = std::make_unique<EncodeResidual>();
  const Residuals where{n, rows * rest};
  encode->where = where;
  encode->threads = spec.threads;
  for (const Value& v : spec.in) {
    if (!v.layout.blocked.empty()) return {};
    const std::int64_t stride = has_rows(v.type.shape, domain) ? strides_of(v.type.shape, v.layout)[0] : 0;
    encode->steps.push_back(rows * stride * size_of(v.type.dtype));
  }
  encode->part = prepare_rows(spec, rows);
  encode->last = prepare_rows(spec, domain[0] - (domain[0] - 1) / rows * rows);
  if (!encode->part || !encode->last) return {};
  encode->set_workspace(round_up(rows * rest * 4, 64) +
                        std::max(encode->part->workspace(), encode->last->workspace()));

  std::shared_ptr<const Kernel> whole = fused(spec);
  if (!whole) return {};
  const int threads = spec.threads;
  const std::size_t inputs = spec.in.size();
  ExactInverse inverse{.encode = std::move(encode), .slot = where.bytes()};
  inverse.decode = make_kernel(whole->workspace(), [=](const Operands& o) {
    whole->run({o.in.first(inputs), o.out, o.workspace});
    const auto* residual = o.input<std::int8_t>(inputs);
    const BlockRecord* records = where.records(residual);
    auto* y = o.output<float>(0);
    parallel_for(threads, where.parts() * where.blocks_in_part(), 1,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t b = begin; b < end; ++b) {
                     const std::int64_t part = b / where.blocks_in_part(),
                                        from = part * where.elements + b % where.blocks_in_part() * kBlock;
                     const std::int64_t stop = std::min({n, (part + 1) * where.elements, from + kBlock});
                     if (from >= stop) continue;
                     for (std::int64_t i = from; i < stop; ++i) y[i] = of_rank(rank_of(y[i]) + residual[i]);
                     for (std::int64_t k = 0; k < records[b].count; ++k)
                       y[from + records[b].kept[k].at] = records[b].kept[k].value;
                   }
                 });
  });
  return inverse;
}

}  // namespace tidemark::kernels
