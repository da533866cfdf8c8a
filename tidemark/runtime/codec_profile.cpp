// SPDX-License-Identifier: Apache-2.0
#include "tidemark/runtime/codec_profile.h"

#include <bit>

#include "tidemark/base/random.h"
#include "tidemark/ir/storage.h"
#include "tidemark/kernels/cpu/codec.h"

namespace tidemark {
namespace {

// What activations look like to a codec: a sum of three even draws is near enough to normal; every other one is zero where `sparse`.
void fill(float* to, std::int64_t n, bool sparse) {
  Rng rng(7);
  const auto even = [&] { return static_cast<float>(rng.below(1 << 20)) / static_cast<float>(1 << 19) - 1; };
  for (std::int64_t i = 0; i < n; ++i) to[i] = sparse && i % 2 == 0 ? 0.0f : even() + even() + even();
}

}  // namespace

CodecKey codec_key(std::string_view task, const Type& array) {
  return {fmt::format("{} {}", task, name_of(array.dtype)), fmt::format("{} {}", task, to_string(array))};
}

Estimate estimate_codec(const DeviceProfile& profile, const CodecKey& key, const Cost& cost) {
  if (const auto point = profile.points.find(key.point); point != profile.points.end())
    return {Estimate::From::measured, point->second.seconds};
  if (const auto fitted = profile.ops.find(key.op); fitted != profile.ops.end())
    return {Estimate::From::op, fitted->second.seconds(cost)};
  return {Estimate::From::device, profile.roofline.seconds(cost)};
}

std::int64_t measure_codecs(DeviceProfile& profile, Profiler& profiler, int threads, bool again,
                            const std::function<bool(const ProfileProgress&)>& progress) {
  std::int64_t done = 0;
  const auto of = static_cast<std::int64_t>(2 * std::size(kernels::kCodecNames) * 2);
  for (const char* name : kernels::kCodecNames) {
    for (const Shape& shape : {Shape{128, 512}, Shape{2048, 512}}) {
      const Type type{shape, DType::f32};
      const CodecKey encode = codec_key(fmt::format("encode {}", name), type),
                     decode = codec_key(fmt::format("decode {}", name), type);
      if (!again && profile.points.count(encode.point) != 0 && profile.points.count(decode.point) != 0)
        continue;
      if (progress && !progress({done, of, encode.point})) break;
      const std::optional<kernels::Codec> codec = kernels::codec(name, shape, threads);
      if (!codec) continue;
      const auto array = Storage::allocate(type.bytes()), base = Storage::allocate(type.bytes()),
                 back = Storage::allocate(type.bytes()), slot = Storage::allocate(codec->slot),
                 workspace =
                     Storage::allocate(std::max(codec->encode->workspace(), codec->decode->workspace()));
      fill(reinterpret_cast<float*>(array->data()), shape.numel(), std::string_view(name) == "zeros");
      fill(reinterpret_cast<float*>(base->data()), shape.numel(), false);
      const auto time = [&](const CodecKey& key, const Kernel& kernel, void* from, void* to, double flops) {
        const void* in[] = {from, base->data()};
        void* out[] = {to};
        const Operands operands{
            {in, static_cast<std::size_t>(codec->against ? 2 : 1)}, out, workspace->data()};
        const Cost cost = codec->cost(flops, type);
        const Measured timed = profiler.time([&] { kernel.run(operands); });
        profile.points[key.point] = {key.op, cost, timed.seconds, timed.runs};
        ++done;
      };
      time(encode, *codec->encode, array->data(), slot->data(), codec->encode_flops);
      time(decode, *codec->decode, slot->data(), back->data(), codec->decode_flops);
    }
  }
  if (done > 0) fit_rooflines(profile);
  return done;
}

}  // namespace tidemark
