// What the codecs of kernels/cpu/codec.h take, in a DeviceProfile beside the ops: under "encode zstd f32" and "decode zstd f32", by the
// arithmetic and the bytes that the codec states. The profiler times both on arrays of a few sizes; makers are posed with them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>

#include "tidemark/runtime/profiler.h"

namespace tidemark {

struct CodecKey {
  std::string op, point;  // as op_key and point_key give them for ops
};
// `task`: "encode zstd".
TIDEMARK_API CodecKey codec_key(std::string_view task, const Type& array);
TIDEMARK_API Estimate estimate_codec(const DeviceProfile& profile, const CodecKey& key, const Cost& cost);

// Times what the profile has no points of, all with `again`, and fits the rooflines anew. Returns how many kernels were timed.
TIDEMARK_API std::int64_t measure_codecs(DeviceProfile& profile, Profiler& profiler, int threads,
                                         bool again = false,
                                         const std::function<bool(const ProfileProgress&)>& progress = {});

}  // namespace tidemark
