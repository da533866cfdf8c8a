// DeviceProfile: what ops take on a device. Measured points where there are any, a roofline fitted to them for other shapes,
// one for the whole device for other ops. pose reads it, the profiler and runs write it; docs/profiles.md has the file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tidemark/ir/op.h"

namespace tidemark {

// A task takes the larger of arithmetic and traffic, and a constant beside.
struct Roofline {
  double flops_per_second = 150e9;
  double bytes_per_second = 12e9;
  double seconds_per_task = 2e-6;
  double seconds(const Cost& cost) const;
  bool operator==(const Roofline&) const = default;
};

// One op at one shape.
struct Measured {
  std::string op;  // op_key
  Cost cost;
  double seconds = 0;     // median
  std::int64_t runs = 0;  // that it is the median of
};

struct DeviceProfile {
  std::string device = "cpu";  // "cpu (Intel(R) Xeon(R) …)", "NVIDIA H200"
  int threads = 0;             // 0: does not apply
  std::string library;         // versions of what ran; "" where nothing of ours did
  std::string made;            // how, for people
  Roofline roofline;
  std::map<std::string, Roofline> ops;     // by op_key
  std::map<std::string, Measured> points;  // by point_key
};

// "matmul f32": what one roofline is fitted for. The dtype is the first output's.
TIDEMARK_API std::string op_key(const Op& op, const KernelSpec& spec);
// "matmul f32(64,32) f32(32,16) 1b3c…": types in words; layouts, attributes and bodies in the hash.
TIDEMARK_API std::string point_key(const Op& op, const KernelSpec& spec);
// "cpu" and the processor's own name where the system tells it.
TIDEMARK_API std::string this_cpu();
// Versions of the library and of what computes under it.
TIDEMARK_API std::string library_versions();

struct Estimate {
  enum class From { measured, op, device } from = From::device;
  double seconds = 0;
};
TIDEMARK_API Estimate estimate(const DeviceProfile& profile, const Op& op, const KernelSpec& spec);

// Rooflines anew from the points; ops without points keep theirs.
TIDEMARK_API void fit_rooflines(DeviceProfile& profile);
// The one with the least error in the logarithm, points weighted by the root of their seconds, and not farther from `prior` than
// they ask for.
TIDEMARK_API Roofline fit_roofline(std::span<const Measured> points, const Roofline& prior);

// Throws Error(data) naming the place.
TIDEMARK_API DeviceProfile read_profile(std::string_view json);
TIDEMARK_API std::string write_profile(const DeviceProfile& profile);
// A shipped profile by its name, or a file. Throws Error(usage) naming those there are, Error(io), Error(data).
TIDEMARK_API DeviceProfile load_profile(const std::string& name_or_path);
// The same, as CompileOptions takes it.
TIDEMARK_API std::shared_ptr<const DeviceProfile> device_profile(const std::string& name_or_path);
// Names of the profiles that the library has in it.
TIDEMARK_API std::vector<std::string> shipped_profiles();
// What is taken for a CPU of so many threads before anything is measured: the shipped one, scaled.
TIDEMARK_API DeviceProfile cpu_profile(int threads);

}  // namespace tidemark
