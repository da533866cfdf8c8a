// CheckIndices: a task that looks at indices before those that use them, so that updates can wait until they are accepted
// (compile/data_checks.h). Makes nothing; emit/ writes it out. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/op.h"

namespace tidemark {

// Refuses elements of its only operand out of a range as `op` does.
struct CheckIndices final : Kernel {
  CheckIndices(Type of, const IndexRange& in, const char* by) : type(std::move(of)), range(in), op(by) {}
  void run(const Operands& operands) const override;
  Type type;
  IndexRange range;
  const char* op;
};

}  // namespace tidemark
