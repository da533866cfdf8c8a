// Kernels of loops and branches, made from kernels of their regions. A region's kernel takes the region's inputs and gives
// its outputs, and its workspace is part of the loop's. Eager code runs regions in order; compile/ gives planned ones.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "tidemark/ir/kernel.h"

namespace tidemark {

using RegionKernel = std::function<std::shared_ptr<const Kernel>(const Graph& region, int threads)>;

// Node after node, values in places of their own as long as they are needed.
TIDEMARK_API std::unique_ptr<Kernel> in_order(const Graph& region, int threads);

TIDEMARK_API std::unique_ptr<Kernel> scan_kernel(const KernelSpec& spec, const RegionKernel& region);
TIDEMARK_API std::unique_ptr<Kernel> while_kernel(const KernelSpec& spec, const RegionKernel& region);
[[noreturn]] TIDEMARK_API void too_many_trips(std::int64_t trips);
TIDEMARK_API std::unique_ptr<Kernel> cond_kernel(const KernelSpec& spec, const RegionKernel& region);

// Parts of a workspace, one behind the other, each aligned.
class WorkspaceParts {
 public:
  Bytes add(Bytes bytes) {
    const Bytes at = bytes_;
    bytes_ += round_up(bytes, kAlign);
    return at;
  }
  Bytes bytes() const { return bytes_; }
  static constexpr Bytes kAlign = 64;

 private:
  Bytes bytes_ = 0;
};

}  // namespace tidemark
