// Layouts as a pass, after fusion and before posing: views become aliases of the storage they look at, images lie in
// the order their kernels are fast in, and where a kernel takes neither a copy is put in, a node like any other.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/op.h"

namespace tidemark {

// - An op with Op::view becomes an alias wherever strides can express it.
// - An op that wants channels last gets its arrays of 4 axes so, where it accepts them; ops that take any
//   strides go on in the order their inputs have.
// - An input that many read, and that Op::packed has a better form for, is copied into that form.
// - An input in a layout that Op::accepts refuses is copied by `copy` (the op `contiguous`) first, once for all readers.
// - Outputs of the graph are dense and row-major.
// Shapes stay as they are: every rule that looks at them is none the wiser.
TIDEMARK_API Graph assign_layouts(Graph graph, const Op& copy);

}  // namespace tidemark
