// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/native_steps.h"

#include <cstring>

#include "tidemark/compile/compiled.h"
#include "tidemark/front/eager.h"
#include "tidemark/runtime/compiled_part.h"
#include "tidemark/runtime/device.h"

namespace tidemark {
namespace {

class NativeCode final : public tape::TraceCode {
 public:
  NativeCode(const tape::Trace& trace, const NativeSteps& options)
      : made_(graph_of(trace, options.graph)),
        compiled_(made_.graph,
                  {.device = cpu({.threads = 1}),
                   .name = "step",
                   .native = true,
                   .native_cache = options.cache,
                   .correct = false},
                  cpu({.threads = 1})) {
    const Program& program = compiled_.program();
    for (std::size_t i = 0; i < program.instrs.size(); ++i) {
      if (dynamic_cast<const CompiledPart*>(program.instrs[i].kernel) == nullptr)
        fail(Error::Kind::unsupported,
             "[native_steps] '{}' has no plain form vs a step that is compiled whole; leave it to the tape",
             program.task_names[i]);
    }
    TIDEMARK_CHECK(program.outputs.size() == trace.outputs.size() + 1,
                   "[native_steps] a program of {} outputs vs {}", program.outputs.size(),
                   trace.outputs.size() + 1);
    for (const Trace::Output& o : trace.outputs)
      bytes_.push_back(o.numbers.size() * (trace.single ? sizeof(float) : sizeof(double)));
    for (const Tensor& t : made_.tables) tables_.push_back(t.storage()->data());
    pointers_.resize(trace.inputs.size() + tables_.size());
    std::copy(tables_.begin(), tables_.end(),
              pointers_.begin() + static_cast<std::ptrdiff_t>(trace.inputs.size()));
  }

  bool run(std::span<const void* const> inputs, std::span<void* const> outputs,
           std::byte* workspace) const override {
    std::copy(inputs.begin(), inputs.end(), pointers_.begin());
    const Program& program = compiled_.program();
    for (const Instr& part : program.instrs)
      part.kernel->run({.in = pointers_, .out = {}, .workspace = workspace});
    const auto at = [&](const Place& p) {
      return p.resident < 0
                 ? workspace + p.offset
                 : static_cast<const std::byte*>(pointers_[static_cast<std::size_t>(p.resident)]) + p.offset;
    };
    double failing = 0;
    std::memcpy(&failing, at(program.outputs.back()), sizeof failing);
    if (failing != 0) return false;
    for (std::size_t i = 0; i < outputs.size(); ++i)
      std::memcpy(outputs[i], at(program.outputs[i]), bytes_[i]);
    return true;
  }
  Bytes workspace() const override { return compiled_.program().arena_bytes; }

 private:
  using Trace = tape::Trace;
  TraceGraph made_;
  Compiled compiled_;
  std::vector<std::size_t> bytes_;
  std::vector<const void*> tables_;
  mutable std::vector<const void*> pointers_;
};

}  // namespace

tape::TraceCompiler native_steps(const NativeSteps& options) {
  return [options](const tape::Trace& trace) { return std::make_unique<NativeCode>(trace, options); };
}

}  // namespace tidemark
