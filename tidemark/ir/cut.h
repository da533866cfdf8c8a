// Cutting the arrays of a node into equal parts along an axis each: what an Op says about how samples pass through it, for
// micro-batches (compile/micro_batches.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

#include "tidemark/ir/op.h"

namespace tidemark {

inline constexpr int kWhole = -1;  // every part has all of it
inline constexpr int kAdded = -2;  // of an output: what the parts give, added up, is the whole

struct CutArgs {
  std::span<const Type> in, out;  // of the whole
  const Attrs& attrs;
  std::span<const int> known;  // for each input the axis it is cut along; kWhole: it can be had either way
  int wanted = kWhole;         // the axis that output 0 is to be cut along, where no input is
  std::int64_t part = 0, parts = 1;
  // For each input that is cut: how long the stretches of its axis are that each part has its share of; 0, or none given: the axis is
  // one. The steps of a loop as rows of one matrix are stretches as long as the batch.
  std::span<const std::int64_t> stretches = {};
  std::int64_t wanted_stretch = 0;

  std::int64_t per_part(std::int64_t size) const { return size / parts; }
  // The axis of the first of these inputs that is cut, else the wanted one.
  int axis_of(std::initializer_list<int> inputs) const;
  // Of the inputs that are cut, or wanted; 0: their axes are one.
  std::int64_t stretch() const;
};

// The axes of one way to do it, and the attributes of the part.
struct Cut {
  std::vector<int> in, out;
  Attrs attrs;
  // As in CutArgs, of inputs and outputs that are cut; not given: those known or wanted, since samples come in any order to most ops.
  std::optional<std::int64_t> in_stretch = {}, out_stretch = {};
};

// Every input and output along this axis; those of the list are whole.
TIDEMARK_API Cut cut_alike(const CutArgs& args, int axis, std::initializer_list<int> whole_inputs = {});
// Along the first axis of everything.
TIDEMARK_API std::optional<Cut> cut_samples(const CutArgs& args);
// Every one along the axis that is known of one, where that is not the op's own; else empty.
TIDEMARK_API std::optional<Cut> cut_beside(const CutArgs& args, int own_axis);
// The same where the op's own are the last `own` axes.
TIDEMARK_API std::optional<Cut> cut_in_front(const CutArgs& args, int own);
TIDEMARK_API std::optional<Cut> cut_beside_axis(const CutArgs& args);  // its own: the attribute "axis"
// Whether the op's own axis is what is cut, in stretches that its pieces, of these sizes, are made of; then the stretch, else 0.
TIDEMARK_API std::int64_t cut_into_stretches(const CutArgs& args, std::span<const std::int64_t> sizes);
// Axes are aligned from the right; those of size 1 are repeated.
TIDEMARK_API std::optional<Cut> cut_aligned(const CutArgs& args);
// The attribute that holds the shape of output 0, for a part.
TIDEMARK_API Attrs cut_shape(const CutArgs& args, int axis);

// The op's own rule, or that of elementwise ops and sums. Empty: the op does not treat the parts apart. What comes back agrees with
// `known`, and every axis divides by the parts.
TIDEMARK_API std::optional<Cut> cut_of(const Op& op, const CutArgs& args);

}  // namespace tidemark
