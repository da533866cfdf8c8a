// SPDX-License-Identifier: Apache-2.0
#include "tidemark/runtime/codec_profile.h"

#include <gtest/gtest.h>

#include "tidemark/kernels/cpu/codec.h"

namespace tidemark {
namespace {

TEST(CodecProfile, EveryCodecIsTimedOnceAndEstimatedFromIt) {
  DeviceProfile profile;
  profile.threads = 1;
  const Roofline device = profile.roofline;
  Profiler profiler(cpu({.threads = 1}), {.repeats = 3, .seconds = 1e-3, .scratch = 4_MiB});
  const std::int64_t timed = measure_codecs(profile, profiler, 1);
  EXPECT_EQ(timed, static_cast<std::int64_t>(profile.points.size()));
  EXPECT_EQ(profile.roofline, device) << "codecs say nothing about ops";
  EXPECT_EQ(measure_codecs(profile, profiler, 1), 0) << "known by now";
  const Type known{{2048, 512}, DType::f32}, other{{1024, 512}, DType::f32};
  for (const char* name : kernels::kCodecNames) {
    const auto codec = kernels::codec(name, known.shape, 1);
    if (!codec) continue;  // built without zstd
    const CodecKey key = codec_key(std::string("encode ") + name, known);
    const Estimate at = estimate_codec(profile, key, codec->cost(codec->encode_flops, known));
    EXPECT_EQ(at.from, Estimate::From::measured) << name;
    EXPECT_GT(at.seconds, 0) << name;
    const Estimate between = estimate_codec(profile, codec_key(std::string("encode ") + name, other),
                                            codec->cost(codec->encode_flops, other));
    EXPECT_EQ(between.from, Estimate::From::op) << name;
  }
  EXPECT_EQ(estimate_codec({}, codec_key("encode bf16", known), {1, 1}).from, Estimate::From::device);
  EXPECT_EQ(estimate_codec(cpu_profile(2), codec_key("encode zstd", known), {1, 1}).from, Estimate::From::op)
      << "shipped";
}

}  // namespace
}  // namespace tidemark
