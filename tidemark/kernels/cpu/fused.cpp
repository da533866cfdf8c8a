// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/cpu/fused.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "tidemark/base/parallel.h"
#include "tidemark/kernels/cpu/fold.h"
#include "tidemark/kernels/cpu/known_chain.h"

namespace tidemark::kernels {
namespace {

constexpr std::int64_t kGrain = 32 * kTile;  // elements of the domain for a thread at a time
constexpr std::size_t kMaxFolds = 4;
constexpr std::int64_t kRowBatch = 256;  // results kept back before they are stored

struct FoldOutput {
  int value;
  std::size_t output;
  Fold fold;
  DType compute, stored;
  int axes = 0;  // the kept ones
  Strides sizes{}, strides{};
  ConvertFunction convert = nullptr;  // from the accumulator
};

// Accumulators -> elements [begin, begin + n) of the result, in walking order of the kept axes.
void store_results(const FoldOutput& f, const std::byte* from, void* base, std::int64_t begin,
                   std::int64_t n) {
  const Bytes size = size_of(f.stored);
  for_runs(f.axes, f.sizes, f.strides, begin, n, [&](std::int64_t offset, std::int64_t length) {
    auto* to = static_cast<std::byte*>(base) + offset * size;
    const std::int64_t stride = f.strides[static_cast<std::size_t>(f.axes - 1)];
    if (stride == 1 || length == 1) {
      f.convert(from, to, length);
    } else {
      for (std::int64_t k = 0; k < length; ++k) f.convert(from + k * 8, to + k * stride * size, 1);
    }
    from += length * 8;
  });
}

// What a stage of folding reads: tiles of a program, or accumulators of the stage before.
struct ProgramSource {
  const TileProgram& program;
  const Operands& operands;
  std::span<const FoldOutput> folds;
  std::int64_t tile() const { return program.tile(); }
  struct State {
    explicit State(const ProgramSource& s) : source(s), registers(s.program, s.operands, scratch) {}
    void run(std::int64_t begin, std::int64_t n) { registers.run(begin, n); }
    const std::byte* value(std::size_t f) const {
      return static_cast<const std::byte*>(registers.value(source.folds[f].value));
    }
    const ProgramSource& source;
    alignas(64) std::byte scratch[kScratchBytes];
    TileProgram::State registers;
  };
  DType dtype(std::size_t f) const { return folds[f].compute; }
};
struct MemorySource {
  std::span<const std::byte* const> arrays;
  std::span<const FoldOutput> folds;
  std::int64_t tile() const { return kTile; }
  struct State {
    explicit State(const MemorySource& s) : source(s) {}
    void run(std::int64_t b, std::int64_t) { begin = b; }
    const std::byte* value(std::size_t f) const { return source.arrays[f] + begin * 8; }
    const MemorySource& source;
    std::int64_t begin = 0;
  };
  DType dtype(std::size_t f) const { return is_float(folds[f].compute) ? DType::f64 : DType::i64; }
};

struct Stage {
  FoldExtents extents;
  std::int64_t chunks = 1, chunk = 0;  // of the folded axis; fixed by the extents
  bool lanes = false;                  // columns are folded as rows are
  Bytes partials = 0,
        results = 0;  // offsets in the workspace: [fold][outer][chunks][inner], [fold][outer][inner]
  std::int64_t count() const { return extents.outer * extents.inner; }
};

Stage make_stage(FoldExtents e, bool lanes = false) {
  Stage s{.extents = e, .lanes = lanes};
  if (e.inner == 1 || lanes) {
    s.chunk = kFoldChunk;
    s.chunks = std::max<std::int64_t>(1, (e.reduced + s.chunk - 1) / s.chunk);
  } else {
    s.chunk = e.reduced <= kFoldRowChunks * kFoldRows
                  ? std::max<std::int64_t>(e.reduced, 1)
                  : round_up((e.reduced + kFoldRowChunks - 1) / kFoldRowChunks, kFoldRows);
    s.chunks = std::max<std::int64_t>(1, (e.reduced + s.chunk - 1) / s.chunk);
  }
  return s;
}

// Where accumulators of a stage go: a later stage's array, or the outputs.
struct Sink {
  std::span<const FoldOutput> folds;
  std::span<std::byte* const> arrays;  // empty: the outputs
  const Operands& operands;
  void put(std::size_t f, std::int64_t begin, std::int64_t n, const std::byte* from) const {
    if (arrays.empty())
      store_results(folds[f], from, operands.out[folds[f].output], begin, n);
    else
      std::memcpy(arrays[f] + begin * 8, from, static_cast<std::size_t>(n * 8));
  }
};

template <typename Source>
void fold_rows(const Stage& stage, int threads, const Source& source, const Sink& sink,
               std::span<const FoldFunctions* const> f, std::byte* partials) {
  const FoldExtents e = stage.extents;
  const std::size_t folds = f.size();
  const std::int64_t tile = source.tile();
  const std::int64_t items = e.outer * stage.chunks;
  const std::int64_t per_item = std::max<std::int64_t>(1, std::min(e.reduced, stage.chunk));
  const std::int64_t grain = std::max<std::int64_t>(1, kFoldChunk / per_item);
  parallel_for(threads, items, grain, [&](std::int64_t first, std::int64_t end) {
    typename Source::State state(source);
    alignas(64) std::byte lanes[kMaxFolds][kFoldLanes * 8];
    alignas(64) std::byte results[kMaxFolds][kRowBatch * 8];
    std::int64_t held = 0;
    const auto flush = [&](std::int64_t next) {
      for (std::size_t k = 0; k < folds; ++k) {
        if (stage.chunks == 1)
          sink.put(k, next - held, held, results[k]);
        else
          std::memcpy(partials + (static_cast<std::int64_t>(k) * items + next - held) * 8, results[k],
                      static_cast<std::size_t>(held * 8));
      }
      held = 0;
    };
    const std::int64_t batch =
        stage.chunks == 1 && e.reduced > 0 && e.reduced <= tile / 2 ? tile / e.reduced : 0;
    std::int64_t in_tile = 0, tile_at = 0;  // rows computed ahead, and which
    for (std::int64_t item = first; item < end; ++item) {
      const std::int64_t o = item / stage.chunks, c = item % stage.chunks;
      const std::int64_t from = c * stage.chunk, to = std::min(e.reduced, from + stage.chunk);
      for (std::size_t k = 0; k < folds; ++k) f[k]->identity(results[k] + held * 8, 1);
      if (batch > 0) {
        if (item >= tile_at + in_tile) {
          tile_at = item;
          in_tile = std::min(batch, end - item);
          state.run(item * e.reduced, in_tile * e.reduced);
        }
        for (std::size_t k = 0; k < folds; ++k) {
          f[k]->identity_lanes(lanes[k], kFoldLanes);
          f[k]->add_lanes(lanes[k], state.value(k) + (item - tile_at) * e.reduced * size_of(source.dtype(k)),
                          e.reduced);
          f[k]->close_lanes(results[k] + held * 8, lanes[k], std::min(e.reduced, kFoldLanes));
        }
      } else {
        for (std::int64_t block = from; block < to; block += kFoldBlock) {
          const std::int64_t stop = std::min(to, block + kFoldBlock);
          for (std::size_t k = 0; k < folds; ++k) f[k]->identity_lanes(lanes[k], kFoldLanes);
          for (std::int64_t r = block; r < stop; r += tile) {
            const std::int64_t n = std::min(tile, stop - r);
            state.run(o * e.reduced + r, n);
            for (std::size_t k = 0; k < folds; ++k) f[k]->add_lanes(lanes[k], state.value(k), n);
          }
          for (std::size_t k = 0; k < folds; ++k)
            f[k]->close_lanes(results[k] + held * 8, lanes[k], std::min(stop - block, kFoldLanes));
        }
      }
      if (++held == kRowBatch) flush(item + 1);
    }
    if (held > 0) flush(end);
  });
}

// Columns i0 to i0 + width of fold k and chunk oc, whose sums are the result or, where there are more chunks, a part of it.
struct Columns {
  std::size_t k;
  std::int64_t oc, i0, width;
};
void put_columns(const Stage& stage, const Sink& sink, std::byte* partials, const Columns& at,
                 const std::byte* sums) {
  const FoldExtents& e = stage.extents;
  if (stage.chunks == 1)
    sink.put(at.k, at.oc * e.inner + at.i0, at.width, sums);
  else
    std::memcpy(
        partials + ((static_cast<std::int64_t>(at.k) * e.outer * stage.chunks + at.oc) * e.inner + at.i0) * 8,
        sums, static_cast<std::size_t>(at.width * 8));
}

// The lanes of each column, `stride` columns to a lane, onto its sum.
template <std::int64_t stride>
void close_columns(const FoldFunctions& f, std::byte* sums, const std::byte* lanes, std::int64_t width,
                   std::int64_t used) {
  alignas(64) std::byte column[kFoldLanes * 8];
  const std::int64_t size = f.lane_bytes;
  for (std::int64_t j = 0; j < width; ++j) {
    for (std::int64_t lane = 0; lane < kFoldLanes; ++lane)
      std::memcpy(column + lane * size, lanes + (lane * stride + j) * size, static_cast<std::size_t>(size));
    f.close_lanes(sums + j * 8, column, used);
  }
}

// Columns. By lanes, each is folded as fold_rows folds a row: element r goes to lane r % kFoldLanes of its column.
template <bool by_lanes, typename Source>
void fold_columns(const Stage& stage, int threads, const Source& source, const Sink& sink,
                  std::span<const FoldFunctions* const> f, std::byte* partials) {
  constexpr std::int64_t most = by_lanes ? 128 : kTile;  // columns at a time: they stay in the first cache
  constexpr std::int64_t lanes = by_lanes ? kFoldLanes : 1, together = by_lanes ? kFoldBlock : kFoldRows;
  const FoldExtents e = stage.extents;
  const std::size_t folds = f.size();
  const std::int64_t tile = source.tile();
  // Strips change no bit: each column is folded by itself.
  constexpr std::int64_t kLeast = 256;
  const std::int64_t shares = e.inner >= 2 * threads * kLeast ? 2 * threads : threads;
  const std::int64_t wanted = round_up((e.inner + shares - 1) / shares, kTileUnit);
  const std::int64_t strip = by_lanes ? most : std::min({tile, e.inner, std::max(wanted, kLeast)});
  const std::int64_t strips = (e.inner + strip - 1) / strip;
  const std::int64_t batch = strips == 1 ? std::max<std::int64_t>(1, tile / e.inner) : 1;  // rows in a tile
  parallel_for(threads, e.outer * stage.chunks * strips, 1, [&](std::int64_t first, std::int64_t end) {
    typename Source::State state(source);
    alignas(64) std::byte rows[kMaxFolds][lanes * most * 8];
    alignas(64) std::byte sums[kMaxFolds][most * 8];
    for (std::int64_t item = first; item < end; ++item) {
      const std::int64_t s = item % strips, oc = item / strips;
      const std::int64_t o = oc / stage.chunks, c = oc % stage.chunks;
      const std::int64_t from = c * stage.chunk, to = std::min(e.reduced, from + stage.chunk);
      const std::int64_t i0 = s * strip, width = std::min(strip, e.inner - i0);
      for (std::size_t k = 0; k < folds; ++k) f[k]->identity(sums[k], width);
      for (std::int64_t group = from; group < to; group += together) {
        const std::int64_t stop = std::min(to, group + together);
        for (std::size_t k = 0; k < folds; ++k)
          f[k]->identity_lanes(rows[k], by_lanes ? lanes * most : width);
        for (std::int64_t r = group; r < stop; r += batch) {
          const std::int64_t count = std::min(batch, stop - r);
          state.run((o * e.reduced + r) * e.inner + i0, strips == 1 ? count * e.inner : width);
          for (std::size_t k = 0; k < folds; ++k) {
            for (std::int64_t b = 0; b < count; ++b)
              f[k]->add_row(rows[k] + (r + b - group) % lanes * most * f[k]->lane_bytes,
                            state.value(k) + b * e.inner * size_of(source.dtype(k)), width);
          }
        }
        for (std::size_t k = 0; k < folds; ++k) {
          if constexpr (by_lanes)
            close_columns<most>(*f[k], sums[k], rows[k], width, std::min(stop - group, lanes));
          else
            f[k]->widen(sums[k], rows[k], width);
        }
      }
      for (std::size_t k = 0; k < folds; ++k) put_columns(stage, sink, partials, {k, oc, i0, width}, sums[k]);
    }
  });
}

template <typename Source>
void fold_stage(const Stage& stage, int threads, const Source& source, const Sink& sink,
                std::byte* workspace) {
  if (stage.count() == 0) return;  // a kept axis is empty: there is nothing to write
  const std::size_t folds = source.folds.size();
  const FoldExtents e = stage.extents;
  std::array<const FoldFunctions*, kMaxFolds> functions;
  for (std::size_t k = 0; k < folds; ++k)
    functions[k] = &fold_functions(source.dtype(k), source.folds[k].fold);
  const std::span<const FoldFunctions* const> f(functions.data(), folds);
  std::byte* partials = workspace + stage.partials;
  if (stage.lanes)
    fold_columns<true>(stage, threads, source, sink, f, partials);
  else if (e.inner == 1)
    fold_rows(stage, threads, source, sink, f, partials);
  else
    fold_columns<false>(stage, threads, source, sink, f, partials);
  if (stage.chunks == 1) return;
  // Partial rows in order, into the first.
  const std::int64_t width = e.inner;
  parallel_for(threads, e.outer * static_cast<std::int64_t>(folds), 1,
               [&](std::int64_t first, std::int64_t end) {
                 for (std::int64_t item = first; item < end; ++item) {
                   const auto k = static_cast<std::size_t>(item / e.outer);
                   const std::int64_t o = item % e.outer;
                   std::byte* base = partials + item * stage.chunks * width * 8;
                   for (std::int64_t c = 1; c < stage.chunks; ++c)
                     f[k]->combine(base, base + c * width * 8, width);
                   sink.put(k, o * width, width, base);
                 }
               });
}

class FusedKernel final : public Kernel {
 public:
  FusedKernel(TileProgram program, std::vector<FoldOutput> folds, int threads)
      : program_(std::move(program)), folds_(std::move(folds)), threads_(threads) {
    if (!folds_.empty()) plan_stages();
  }

  void run(const Operands& operands) const override {
    if (folds_.empty())
      run_map(operands);
    else
      run_folds(operands);
  }

 private:
  void run_map(const Operands& operands) const {
    const std::int64_t row = program_.row();
    parallel_for(threads_, program_.numel(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      alignas(64) std::byte scratch[kScratchBytes];
      TileProgram::State state(program_, operands, scratch);
      for (std::int64_t at = begin; at < end;) {
        std::int64_t n = std::min(program_.tile(), end - at);
        if (row > 0) n = std::min(n, row - at % row);
        state.run(at, n);
        at += n;
      }
    });
  }

  void plan_stages() {
    std::vector<std::int64_t> sizes;
    std::vector<bool> reduced;
    for (int a = 0; a < program_.axes(); ++a) {
      const auto k = static_cast<std::size_t>(a);
      sizes.push_back(program_.sizes()[k]);
      reduced.push_back(program_.reduced()[k]);
    }
    for (std::size_t f = 0; f < folds_.size(); ++f) {
      FoldOutput& out = folds_[f];
      for (std::size_t a = 0; a < sizes.size(); ++a) {
        if (reduced[a]) continue;
        out.sizes[static_cast<std::size_t>(out.axes)] = sizes[a];
        out.strides[static_cast<std::size_t>(out.axes++)] = program_.fold_strides(f)[a];
      }
      if (out.axes == 0) out.sizes[static_cast<std::size_t>(out.axes++)] = 1;
    }
    // Axes that no operand could merge are one all the same: the order of folding depends on the shape alone, not on
    // how the inputs of a chain lie.
    for (std::size_t a = sizes.size(); a-- > 1;) {
      if (reduced[a] != reduced[a - 1]) continue;
      sizes[a - 1] *= sizes[a];
      sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(a));
      reduced.erase(reduced.begin() + static_cast<std::ptrdiff_t>(a));
    }
    if (program_.pixels()) {
      const auto [images, pixels, channels] = *program_.pixels();
      stages_.push_back(make_stage({images, pixels, channels}, true));
      reduced = {reduced.front() && images > 1, false};
      sizes = {images, channels};
    }
    // From the inside out: fold the innermost folded axis, with the kept ones inside it as columns.
    while (stages_.empty() || std::find(reduced.begin(), reduced.end(), true) != reduced.end()) {
      FoldExtents e;
      std::size_t at = sizes.size();
      while (at > 0 && !reduced[at - 1]) e.inner *= sizes[--at];
      if (at == 0) {  // nothing to fold: every element is a row of one
        e.outer = std::exchange(e.inner, 1);
      } else {
        e.reduced = sizes[at - 1];
        for (std::size_t a = 0; a + 1 < at; ++a) e.outer *= sizes[a];
        sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(at - 1));
        reduced.erase(reduced.begin() + static_cast<std::ptrdiff_t>(at - 1));
      }
      stages_.push_back(make_stage(e));
    }
    const auto folds = static_cast<std::int64_t>(folds_.size());
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      Stage& stage = stages_[s];
      if (stage.chunks > 1) {
        stage.partials = workspace_;
        workspace_ += round_up(folds * stage.count() * stage.chunks * 8, 64);
      }
      if (s + 1 < stages_.size()) {
        stage.results = workspace_;
        workspace_ += round_up(folds * stage.count() * 8, 64);
      }
    }
  }

  void run_folds(const Operands& operands) const {
    auto* workspace = static_cast<std::byte*>(operands.workspace);
    std::array<std::byte*, kMaxFolds> from{}, to{};
    const std::size_t folds = folds_.size();
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      const Stage& stage = stages_[s];
      const bool last = s + 1 == stages_.size();
      for (std::size_t k = 0; k < folds; ++k)
        to[k] = workspace + stage.results + static_cast<std::int64_t>(k) * stage.count() * 8;
      const Sink sink{folds_, {to.data(), last ? 0 : folds}, operands};
      if (s == 0) {
        fold_stage(stage, threads_, ProgramSource{program_, operands, folds_}, sink, workspace);
      } else {
        const std::array<const std::byte*, kMaxFolds> arrays{from[0], from[1], from[2], from[3]};
        fold_stage(stage, threads_, MemorySource{{arrays.data(), folds}, folds_}, sink, workspace);
      }
      from = to;
    }
  }

  TileProgram program_;
  std::vector<FoldOutput> folds_;
  std::vector<Stage> stages_;
  int threads_;
};

FoldOutput fold_output(const TileProgram& program, int value, std::size_t output, Fold fold, DType stored) {
  const DType compute = program.dtype(value);
  return {.value = value,
          .output = output,
          .fold = fold,
          .compute = compute,
          .stored = stored,
          .convert = convert_function(is_float(compute) ? DType::f64 : DType::i64, stored)};
}

std::vector<bool> reduced_axes(const Attrs& attrs, int rank) {
  std::vector<bool> reduced(static_cast<std::size_t>(rank), false);
  for (const std::int64_t a : attrs.integers("axes")) reduced[static_cast<std::size_t>(a)] = true;
  return reduced;
}

}  // namespace

bool accepts_strides(const KernelSpec& spec, int input) {
  const auto i = static_cast<std::size_t>(input);
  return (i < spec.in.size() ? spec.in[i] : spec.out[i - spec.in.size()]).layout.blocked.empty();
}

std::unique_ptr<Kernel> map(const KernelSpec& spec, TileFunction (*tile)(DType), std::vector<double> params) {
  const Value& out = spec.out[0];
  TileProgram program(out.type.shape);
  std::array<int, 4> in{};
  for (std::size_t i = 0; i < spec.in.size(); ++i) in[i] = program.input(spec.in[i]);
  const DType dtype = compute_dtype(spec.in.empty() ? out.type.dtype : spec.in.back().type.dtype);
  const TileFunction function = tile(dtype);
  if (function == nullptr) return nullptr;
  const int y = program.step(function, std::move(params), {in.data(), spec.in.size()}, out.type.dtype);
  program.output(y, out);
  program.finish();
  return std::make_unique<FusedKernel>(std::move(program), std::vector<FoldOutput>{}, spec.threads);
}

std::unique_ptr<Kernel> reduce(const KernelSpec& spec, Fold fold) {
  const Shape& shape = spec.in[0].type.shape;
  TileProgram program(shape);
  const int x = program.input(spec.in[0]);
  program.fold(x, spec.out[0], reduced_axes(spec.attrs, shape.rank()), spec.attrs.flag("keep"));
  program.finish();
  std::vector<FoldOutput> folds{fold_output(program, x, 0, fold, spec.out[0].type.dtype)};
  return std::make_unique<FusedKernel>(std::move(program), std::move(folds), spec.threads);
}

std::unique_ptr<Kernel> fused(const KernelSpec& spec) {
  if (auto whole = known_chain(spec)) return whole;
  const Graph& region = spec.regions[0];
  // The domain: what the reductions read, else what the outputs are.
  Shape domain = region.outputs.empty() ? Shape{} : region.type(region.outputs[0]).shape;
  for (const Node& n : region.nodes) {
    if (n.op->fold != Fold::none) domain = region.type(n.in[0]).shape;
  }
  TileProgram program(domain);
  std::vector<int> value(region.values.size(), -1);
  for (std::size_t i = 0; i < region.inputs.size(); ++i)
    value[static_cast<std::size_t>(region.inputs[i])] = program.input(spec.in[i]);
  std::unordered_map<ValueId, const Node*> reductions;
  for (const Node& n : region.nodes) {
    const ValueId out = n.out[0];
    if (n.op->fold != Fold::none) {
      reductions.emplace(out, &n);
      continue;
    }
    std::array<int, 4> in{};
    for (std::size_t k = 0; k < n.in.size(); ++k) in[k] = value[static_cast<std::size_t>(n.in[k])];
    const DType of = compute_dtype(n.in.empty() ? region.type(out).dtype : region.type(n.in.back()).dtype);
    value[static_cast<std::size_t>(out)] =
        program.step(n.op->tile(of), n.op->tile_params ? n.op->tile_params(n.attrs) : std::vector<double>{},
                     {in.data(), n.in.size()}, region.type(out).dtype);
  }
  std::vector<FoldOutput> folds;
  for (std::size_t o = 0; o < region.outputs.size(); ++o) {
    const auto found = reductions.find(region.outputs[o]);
    if (found == reductions.end()) {
      program.output(value[static_cast<std::size_t>(region.outputs[o])], spec.out[o], o);
      continue;
    }
    const Node& n = *found->second;
    const int of = value[static_cast<std::size_t>(n.in[0])];
    program.fold(of, spec.out[o], reduced_axes(n.attrs, domain.rank()), n.attrs.flag("keep"));
    folds.push_back(fold_output(program, of, o, n.op->fold, spec.out[o].type.dtype));
  }
  TIDEMARK_CHECK(folds.size() <= kMaxFolds);
  program.finish();
  return std::make_unique<FusedKernel>(std::move(program), std::move(folds), spec.threads);
}

}  // namespace tidemark::kernels
