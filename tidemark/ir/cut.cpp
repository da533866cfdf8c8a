// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ir/cut.h"

#include <algorithm>

namespace tidemark {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

std::optional<Cut> cut_fold(const CutArgs& a, Fold fold) {
  if (a.known[0] < 0) return std::nullopt;
  const auto& axes = a.attrs.integers("axes");
  int out = a.known[0];
  if (std::find(axes.begin(), axes.end(), out) != axes.end()) {
    if (fold != Fold::sum) return std::nullopt;
    out = kAdded;
  } else if (!a.attrs.flag("keep")) {
    out -= static_cast<int>(
        std::count_if(axes.begin(), axes.end(), [&](std::int64_t x) { return x < a.known[0]; }));
  }
  return Cut{{a.known[0]}, {out}, a.attrs};
}

bool divides(const Type& type, int axis, std::int64_t parts, std::int64_t stretch) {
  if (axis >= type.shape.rank() || type.shape[axis] <= 0) return false;
  return stretch > 0 ? type.shape[axis] % stretch == 0 && stretch % parts == 0
                     : type.shape[axis] % parts == 0;
}

// Inputs whose stretches are of one length; an axis that is one is as long as itself.
bool alike(const CutArgs& args, std::int64_t stretch) {
  for (std::size_t i = 0; i < args.in.size() && stretch > 0; ++i) {
    if (args.known[i] >= 0 &&
        (args.stretches[i] > 0 ? args.stretches[i] : args.in[i].shape[args.known[i]]) != stretch)
      return false;
  }
  return true;
}

}  // namespace

int CutArgs::axis_of(std::initializer_list<int> inputs) const {
  for (const int i : inputs) {
    if (known[at(i)] >= 0) return known[at(i)];
  }
  return wanted;
}

std::int64_t CutArgs::stretch() const {
  bool any = false;
  for (std::size_t i = 0; i < known.size(); ++i) {
    any = any || known[i] >= 0;
    if (known[i] >= 0 && i < stretches.size() && stretches[i] > 0) return stretches[i];
  }
  return any ? 0 : wanted_stretch;
}

std::int64_t cut_into_stretches(const CutArgs& args, std::span<const std::int64_t> sizes) {
  const auto axis = static_cast<int>(args.attrs.integer("axis", 0));
  const bool own = std::all_of(args.known.begin(), args.known.end(), [&](int k) { return k == axis; });
  // Pieces of one stretch each know of none.
  const std::int64_t known = args.stretch(), stretch = known > 0 ? known : sizes.empty() ? 0 : sizes[0];
  const bool whole = stretch > 0 && std::all_of(sizes.begin(), sizes.end(),
                                                [&](std::int64_t n) { return n % stretch == 0; });
  return own && whole ? stretch : 0;
}

Cut cut_alike(const CutArgs& args, int axis, std::initializer_list<int> whole_inputs) {
  Cut cut{std::vector<int>(args.in.size(), axis), std::vector<int>(args.out.size(), axis), args.attrs};
  for (const int i : whole_inputs) cut.in[at(i)] = kWhole;
  return cut;
}

std::optional<Cut> cut_samples(const CutArgs& args) { return cut_alike(args, 0); }

std::optional<Cut> cut_beside(const CutArgs& args, int own_axis) {
  const auto known = std::find_if(args.known.begin(), args.known.end(), [](int axis) { return axis >= 0; });
  if (known == args.known.end() || *known == own_axis) return std::nullopt;
  return cut_alike(args, *known);
}

std::optional<Cut> cut_in_front(const CutArgs& args, int own) {
  const auto known = std::find_if(args.known.begin(), args.known.end(), [](int axis) { return axis >= 0; });
  if (known == args.known.end() || *known >= args.in[0].shape.rank() - own) return std::nullopt;
  return cut_alike(args, *known);
}

std::optional<Cut> cut_beside_axis(const CutArgs& args) {
  return cut_beside(args, static_cast<int>(args.attrs.integer("axis", 0)));
}

std::optional<Cut> cut_aligned(const CutArgs& a) {
  int axis = a.wanted;
  for (std::size_t i = 0; i < a.in.size() && axis < 0; ++i) {
    if (a.known[i] >= 0) axis = a.known[i] + a.out[0].shape.rank() - a.in[i].shape.rank();
  }
  if (axis < 0) return std::nullopt;
  Cut cut{.attrs = a.attrs};
  for (const Type& t : a.in) {
    const int own = axis - (a.out[0].shape.rank() - t.shape.rank());
    cut.in.push_back(own >= 0 && t.shape[own] == a.out[0].shape[axis] ? own : kWhole);
  }
  cut.out.assign(a.out.size(), axis);
  return cut;
}

Attrs cut_shape(const CutArgs& args, int axis) {
  std::vector<std::int64_t> sizes = args.out[0].shape.sizes();
  if (axis >= 0 && axis < args.out[0].shape.rank()) sizes[at(axis)] = args.per_part(sizes[at(axis)]);
  Attrs attrs = args.attrs;
  return attrs.set("shape", std::move(sizes));
}

std::optional<Cut> cut_of(const Op& op, const CutArgs& args) {
  std::optional<Cut> cut = op.cut != nullptr       ? op.cut(args)
                           : op.fold != Fold::none ? cut_fold(args, op.fold)
                           : op.elementwise()      ? cut_aligned(args)
                                                   : std::nullopt;
  const std::int64_t stretch = args.stretch();
  // What is drawn at random is numbered by its place.
  if (!cut || !alike(args, stretch) || (stretch > 0 && op.facts.random)) return std::nullopt;
  if (!cut->in_stretch) cut->in_stretch = stretch;
  if (!cut->out_stretch) cut->out_stretch = stretch;
  for (std::size_t i = 0; i < args.in.size(); ++i) {
    if (args.known[i] >= 0 && cut->in[i] != args.known[i]) return std::nullopt;
    if (cut->in[i] != kWhole &&
        (cut->in[i] < 0 || !divides(args.in[i], cut->in[i], args.parts, *cut->in_stretch)))
      return std::nullopt;
  }
  for (std::size_t o = 0; o < args.out.size(); ++o) {
    if (cut->out[o] == kWhole ||
        (cut->out[o] >= 0 && !divides(args.out[o], cut->out[o], args.parts, *cut->out_stretch)))
      return std::nullopt;
  }
  const bool asked = std::none_of(args.known.begin(), args.known.end(), [](int axis) { return axis >= 0; });
  if (asked && cut->out[0] != args.wanted) return std::nullopt;
  return cut;
}

}  // namespace tidemark
