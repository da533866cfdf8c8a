// One op in parts: what its rule for micro-batches says, tried on arrays.
// SPDX-License-Identifier: Apache-2.0
#include "tests/front/op_case.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/views.h"

namespace tidemark::testing {
namespace {

std::vector<Type> types_of(const Tensors& tensors) {
  std::vector<Type> types;
  for (const Tensor& t : tensors) types.push_back(t.type());
  return types;
}

// The axis with its stretches on one of their own in front of it.
Tensor apart(const Tensor& x, int axis, std::int64_t stretch) {
  std::vector<std::int64_t> sizes = x.shape().sizes();
  sizes[static_cast<std::size_t>(axis)] /= stretch;
  sizes.insert(sizes.begin() + axis + 1, stretch);
  return reshape(x, sizes);
}
Tensor joined(const Tensor& x, int axis) {
  std::vector<std::int64_t> sizes = x.shape().sizes();
  sizes[static_cast<std::size_t>(axis)] *= sizes[static_cast<std::size_t>(axis) + 1];
  sizes.erase(sizes.begin() + axis + 1);
  return reshape(x, sizes);
}
Tensor part_of(const Tensor& x, int axis, std::int64_t stretch, std::int64_t part, std::int64_t parts) {
  if (stretch > 0) return joined(part_of(apart(x, axis, stretch), axis + 1, 0, part, parts), axis);
  const std::int64_t each = x.size(axis) / parts;
  return slice(x, axis, part * each, (part + 1) * each);
}
Tensor together_of(Tensors pieces, int axis, std::int64_t stretch) {
  if (stretch == 0) return concat(pieces, axis);
  for (Tensor& p : pieces) p = apart(p, axis, stretch / static_cast<std::int64_t>(pieces.size()));
  return joined(concat(pieces, axis + 1), axis);
}

}  // namespace

std::optional<Cut> OpCase::cut(const Way& way, std::int64_t part) const {
  const std::vector<Type> in = types_of(in_), out = types_of(call(in_));
  const std::vector<std::int64_t> stretches(in.size(), way.stretch);
  return cut_of(op_, {.in = in,
                      .out = out,
                      .attrs = sample_.attrs,
                      .known = way.known,
                      .wanted = way.wanted,
                      .part = part,
                      .parts = way.parts,
                      .stretches = stretches,
                      .wanted_stretch = way.stretch});
}

// Each axis of each input alone, and each of the first output, in as many parts as it is long; and as stretches, each in as many.
std::vector<OpCase::Way> OpCase::ways() const {
  std::vector<Way> found;
  const auto try_axes = [&](const Type& type, auto&& make) {
    for (int axis = 0; axis < type.shape.rank(); ++axis) {
      if (type.shape[axis] < 2) continue;
      for (std::int64_t stretch = 2; stretch <= type.shape[axis]; ++stretch) {
        if (type.shape[axis] % stretch != 0) continue;
        Way way{std::vector<int>(in_.size(), kWhole), kWhole, stretch,
                stretch < type.shape[axis] ? stretch : 0};
        make(way, axis);
        if (cut(way, 0)) found.push_back(way);
      }
    }
  };
  for (std::size_t i = 0; i < in_.size(); ++i)
    try_axes(in_[i].type(), [&](Way& way, int axis) { way.known[i] = axis; });
  const Tensors out = call(in_);
  if (!out.empty()) try_axes(out[0].type(), [](Way& way, int axis) { way.wanted = axis; });
  return found;
}

int OpCase::ways_to_cut() const { return static_cast<int>(ways().size()); }

std::string OpCase::parts_make_the_whole() const {
  const Tensors whole = call(in_);
  for (const Way& way : ways()) {
    std::vector<Tensors> pieces(whole.size());
    Cut first;
    for (std::int64_t part = 0; part < way.parts; ++part) {
      const Cut how = *cut(way, part);
      if (part == 0) first = how;
      Tensors in = in_;
      for (std::size_t i = 0; i < in.size(); ++i) {
        if (how.in[i] == kWhole) continue;
        in[i] = part_of(in[i], how.in[i], *how.in_stretch, part, way.parts);
      }
      const Tensors out = in.empty() ? Tensors{apply_beside(whole[0], op_, how.attrs, Where::current())}
                                     : apply(op_, in, how.attrs, Where::current());
      for (std::size_t o = 0; o < out.size(); ++o) pieces[o].push_back(out[o]);
    }
    Tensors together;
    for (std::size_t o = 0; o < whole.size(); ++o) {
      Tensor all = pieces[o][0];
      if (first.out[o] == kAdded) {
        for (std::size_t k = 1; k < pieces[o].size(); ++k) all = all + pieces[o][k];
      } else {
        all = together_of(pieces[o], first.out[o], *first.out_stretch);
      }
      if (all.type() != whole[o].type())
        return fmt::format("output {} is {} vs {}", o, to_string(all.type()), to_string(whole[o].type()));
      together.push_back(all);
    }
    // Sums in another order; drawn numbers and places are the same.
    const bool exact = op_.facts.random || op_.view != nullptr;
    const double apart = distance(together, whole);
    if (exact ? !same_bits(together, whole) : apart > 1e-12 * sample_.tolerance)
      return fmt::format("in {} parts it is off by {}", way.parts, apart);
  }
  return "";
}

}  // namespace tidemark::testing
