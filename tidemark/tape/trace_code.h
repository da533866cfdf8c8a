// What is made of traces: code that runs them (compile/native_steps.h makes it), and the paths through a step that were met so far, each
// with its own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "tidemark/base/bytes.h"
#include "tidemark/tape/trace.h"

namespace tidemark::tape {

class TIDEMARK_API TraceCode {
 public:
  virtual ~TraceCode() = default;
  // Arrays in the order of the trace's inputs and outputs, of floats where it is `single`. False: a guard failed, and the outputs mean nothing. `workspace` is
  // 64-byte aligned.
  virtual bool run(std::span<const void* const> inputs, std::span<void* const> outputs,
                   std::byte* workspace) const = 0;
  virtual Bytes workspace() const = 0;
};
// Throws Error(unsupported) or Error(device) where it cannot.
using TraceCompiler = std::function<std::unique_ptr<TraceCode>(const Trace&)>;

// A recording of a step: what its adjoint does, and what tells it from others (Tracer::Writes::fingerprint).
struct TracedStep {
  Trace trace;
  std::uint64_t fingerprint = 0;
};

class TIDEMARK_API TracePaths {
 public:
  struct Path {
    std::unique_ptr<TraceCode> code;
    std::vector<StepFact> facts;
    std::uint64_t fingerprint = 0;
    // Whether the step is known to be what it was when this was recorded, as far as one call of `begin` and the next go.
    bool checked = false;
  };

  TracePaths(TraceCompiler compiler, int most) : compiler_(std::move(compiler)), most_(most) {}
  ~TracePaths();
  TracePaths(const TracePaths&) = delete;
  TracePaths& operator=(const TracePaths&) = delete;

  // What the step reads from outside may have changed, and the workspace may grow.
  void begin();
  // Along the path that holds for this step and these numbers; null where none does. Valid until paths are added or dropped.
  Path* run(std::int64_t step, std::span<const void* const> inputs, std::span<void* const> outputs);
  // A path that is no more what the step does.
  void drop(const Path& path);
  // Another path; false where there are enough, where it cannot be compiled, or where its workspace would be larger than the one
  // that was frozen. `record` is called only where there is room for it.
  bool add(const std::function<TracedStep()>& record);
  // Makes the workspace somewhat larger than the paths met so far need; from now on it stays as it is.
  void freeze();
  Bytes bytes() const { return workspace_bytes_; }
  int size() const { return static_cast<int>(paths_.size()); }
  const std::string& refused() const { return refused_; }  // why the last one was, if any

 private:
  bool refuse(std::string why);
  void resize(Bytes bytes);

  TraceCompiler compiler_;
  int most_;
  std::vector<Path> paths_;  // the one that held last is first
  std::byte* workspace_ = nullptr;
  Bytes workspace_bytes_ = 0;
  bool frozen_ = false, closed_ = false;
  std::string refused_;
};

}  // namespace tidemark::tape
