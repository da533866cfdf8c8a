// What runs: a kernel prepared for given types and layouts. Preparing may allocate and look things up;
// running does neither. Made by the functions that an Op names, called by the executor and the evaluator.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "tidemark/ir/graph.h"

namespace tidemark {

// The pointers of one run. Views come with their layout's offset already applied.
struct Operands {
  std::span<const void* const> in;
  std::span<void* const> out;
  void* workspace = nullptr;  // 64-byte aligned, Kernel::workspace bytes
  template <typename T>
  const T* input(std::size_t i) const {
    return static_cast<const T*>(in[i]);
  }
  template <typename T>
  T* output(std::size_t i) const {
    return static_cast<T*>(out[i]);
  }
};

// The node that a kernel is prepared for. Everything is copied by the kernel; nothing need outlive the call.
struct KernelSpec {
  std::vector<Value> in, out;  // types and layouts
  Attrs attrs;
  std::vector<Graph> regions;
  int threads = 1;
};

class Kernel {
 public:
  explicit Kernel(Bytes workspace = 0) : workspace_(workspace) {}
  virtual ~Kernel() = default;
  virtual void run(const Operands& operands) const = 0;
  Bytes workspace() const { return workspace_; }
  // A codec whose result may not fit its slot says so with overflowed() behind a run.
  virtual bool can_overflow() const { return false; }
  virtual bool overflowed() const { return false; }

 protected:
  Bytes workspace_;
};

// A kernel from a callable: make_kernel(workspace, [=](const Operands& o) { ... }).
template <typename F>
std::unique_ptr<Kernel> make_kernel(Bytes workspace, F f) {
  class Function final : public Kernel {
   public:
    Function(Bytes w, F g) : Kernel(w), f_(std::move(g)) {}
    void run(const Operands& operands) const override { f_(operands); }

   private:
    F f_;
  };
  return std::make_unique<Function>(workspace, std::move(f));
}

}  // namespace tidemark
