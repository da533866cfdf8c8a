// Times kernels on a device and writes what it learns into a DeviceProfile. Operands lie in a scratch arena larger than the
// caches and move through it from run to run, so that a kernel finds its operands as cold as it does in a step.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "tidemark/runtime/binding.h"
#include "tidemark/runtime/device.h"
#include "tidemark/runtime/profile.h"

namespace tidemark {

struct ProfilerOptions {
  int repeats = 7;          // at most; at least 3
  double seconds = 0.3;     // for one kernel, after which no further repeat begins
  Bytes scratch = 256_MiB;  // larger than any cache; more where a kernel's operands need it
};

class TIDEMARK_API Profiler {
 public:
  Profiler(std::shared_ptr<Device> device, const ProfilerOptions& options = {});

  // Median of several warm runs, the workspace included.
  Measured time(const Op& op, const KernelSpec& spec, const Kernel& kernel);
  // The same of what has its operands already.
  Measured time(const std::function<void()>& run);

 private:
  std::byte* room(Bytes bytes);
  void push_out(Bytes bytes) const;
  Measured timed(const std::function<void*()>& prepare, const std::function<bool(void*)>& run) const;

  std::shared_ptr<Device> device_;
  ProfilerOptions options_;
  std::shared_ptr<std::byte> arena_;
  Bytes arena_bytes_ = 0, next_ = 0;
};

// What the kernel of a task was prepared for.
TIDEMARK_API KernelSpec spec_of(const Graph& graph, const Node& node, int threads);

struct ProfileProgress {
  std::int64_t done = 0, of = 0;  // kernels
  std::string key;
};
// Times every kernel of the program that the profile has no point for (all of them with `again`) and fits the rooflines anew.
// `progress` false: stops, with what was measured kept. Returns how many were timed.
TIDEMARK_API std::int64_t measure(DeviceProfile& profile, const Binding& binding, Profiler& profiler,
                                  int threads, bool again = false,
                                  const std::function<bool(const ProfileProgress&)>& progress = {});

}  // namespace tidemark
