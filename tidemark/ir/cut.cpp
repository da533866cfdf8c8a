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

bool divides(const Type& type, int axis, std::int64_t parts) {
  return axis < type.shape.rank() && type.shape[axis] > 0 && type.shape[axis] % parts == 0;
}

}  // namespace

int CutArgs::axis_of(std::initializer_list<int> inputs) const {
  for (const int i : inputs) {
    if (known[at(i)] >= 0) return known[at(i)];
  }
  return wanted;
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
  if (!cut) return std::nullopt;
  for (std::size_t i = 0; i < args.in.size(); ++i) {
    if (args.known[i] >= 0 && cut->in[i] != args.known[i]) return std::nullopt;
    if (cut->in[i] != kWhole && (cut->in[i] < 0 || !divides(args.in[i], cut->in[i], args.parts)))
      return std::nullopt;
  }
  for (std::size_t o = 0; o < args.out.size(); ++o) {
    if (cut->out[o] == kWhole || (cut->out[o] >= 0 && !divides(args.out[o], cut->out[o], args.parts)))
      return std::nullopt;
  }
  const bool asked = std::none_of(args.known.begin(), args.known.end(), [](int axis) { return axis >= 0; });
  if (asked && cut->out[0] != args.wanted) return std::nullopt;
  return cut;
}

}  // namespace tidemark
