// CompiledPart: the kernel of an instruction that stands for several of a plan (emit/emit.h makes them). What it refuses is told as its tasks
// would, each by an instruction of its own. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/runtime/program.h"

namespace tidemark {

// Whether it writes a buffer that the caller provides, here or in a tier.
bool writes_state(const Program& program, const Instr& instr);

class CompiledPart final : public Kernel {
 public:
  struct Task {
    std::string name;
    bool updates = false;  // writes state
  };
  CompiledPart(std::shared_ptr<const Kernel> code, std::vector<Task> tasks)
      : Kernel(code->workspace()), code_(std::move(code)), tasks_(std::move(tasks)) {}
  void run(const Operands& operands) const override { code_->run(operands); }
  // In order. One that may refuse its data is alone.
  const std::vector<Task>& tasks() const { return tasks_; }

 private:
  std::shared_ptr<const Kernel> code_;
  std::vector<Task> tasks_;
};

}  // namespace tidemark
