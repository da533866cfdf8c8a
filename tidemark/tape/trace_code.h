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
  // Arrays in the order of the trace's inputs and outputs. False: a guard failed, and the outputs mean nothing. `workspace` is
  // 64-byte aligned.
  virtual bool run(std::span<const double* const> inputs, std::span<double* const> outputs,
                   std::byte* workspace) const = 0;
  virtual Bytes workspace() const = 0;
};
// Throws Error(unsupported) or Error(device) where it cannot.
using TraceCompiler = std::function<std::unique_ptr<TraceCode>(const Trace&)>;

class TIDEMARK_API TracePaths {
 public:
  // `most` of each kind, of which there are `kinds`: steps that are told apart beforehand.
  TracePaths(TraceCompiler compiler, int most, std::size_t kinds)
      : compiler_(std::move(compiler)), most_(most), codes_(kinds) {}
  ~TracePaths();
  TracePaths(const TracePaths&) = delete;
  TracePaths& operator=(const TracePaths&) = delete;

  // Along the path that holds for these numbers; false where none does.
  bool run(std::size_t kind, std::span<const double* const> inputs, std::span<double* const> outputs);
  // Another path; false where there are enough, where it cannot be compiled, or where its workspace would be larger than the one
  // that was frozen. `record` is called only where there is room for it.
  bool add(std::size_t kind, const std::function<Trace()>& record);
  // Makes the workspace somewhat larger than the paths met so far need; from now on it stays as it is.
  void freeze();
  void thaw() { frozen_ = false; }
  Bytes bytes() const { return workspace_bytes_; }
  int size() const;
  const std::string& refused() const { return refused_; }  // why the last one was, if any

 private:
  bool refuse(std::string why);
  void resize(Bytes bytes);

  TraceCompiler compiler_;
  int most_;
  std::vector<std::vector<std::unique_ptr<TraceCode>>> codes_;  // by kind; the one that held last is first
  std::byte* workspace_ = nullptr;
  Bytes workspace_bytes_ = 0;
  bool frozen_ = false, closed_ = false;
  std::string refused_;
};

}  // namespace tidemark::tape
