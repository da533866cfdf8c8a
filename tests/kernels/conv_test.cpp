// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/cpu/conv.h"

#include "tests/kernels/support.h"
#include "tidemark/kernels/ref/conv.h"

namespace tidemark::kernels {
namespace {

struct Case {
  std::int64_t n, c, h, w, o, kh, kw, stride, pad, dilation, groups;
  std::string text() const {
    return fmt::format("n{} c{} {}x{} o{} k{}x{} s{} p{} d{} g{}", n, c, h, w, o, kh, kw, stride, pad,
                       dilation, groups);
  }
};

const Case kCases[] = {
    {2, 3, 9, 7, 5, 3, 3, 1, 1, 1, 1},    {1, 16, 8, 8, 32, 3, 3, 2, 1, 1, 1},
    {2, 4, 11, 9, 6, 3, 2, 2, 1, 2, 2},   {1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1},
    {2, 20, 6, 5, 36, 1, 1, 1, 0, 1, 1},  {2, 20, 6, 5, 36, 1, 1, 2, 0, 1, 1},
    {2, 19, 7, 6, 19, 3, 3, 1, 1, 1, 19}, {1, 33, 9, 8, 33, 5, 3, 2, 2, 1, 33},
    {1, 8, 6, 6, 16, 3, 3, 1, 1, 1, 8},   {1, 3, 17, 17, 16, 7, 7, 2, 3, 1, 1},
    {3, 40, 5, 5, 24, 3, 3, 1, 0, 1, 4},  {0, 3, 8, 8, 4, 3, 3, 1, 1, 1, 1},
    {1, 64, 4, 4, 64, 3, 3, 1, 1, 1, 1},  {2, 6, 5, 5, 4, 2, 2, 3, 0, 1, 2},
    {1, 2, 4, 4, 3, 4, 4, 1, 3, 1, 1},
};

using Prepare = std::unique_ptr<Kernel> (*)(const KernelSpec&);
struct Direction {
  const char* what;
  ConvResult result;
  Prepare fast, plain;
};
const Direction kDirections[] = {
    {"forward", ConvResult::y, conv2d, conv2d_reference},
    {"backward data", ConvResult::x, conv2d_backward_data, conv2d_backward_data_reference},
    {"backward weights", ConvResult::w, conv2d_backward_weights, conv2d_backward_weights_reference},
};

KernelSpec spec_of(const Case& c, ConvResult result, bool last, DType t, int threads = 2) {
  const std::int64_t oh = (c.h + 2 * c.pad - c.dilation * (c.kh - 1) - 1) / c.stride + 1;
  const std::int64_t ow = (c.w + 2 * c.pad - c.dilation * (c.kw - 1) - 1) / c.stride + 1;
  const auto image = [&](const Shape& s) { return last ? channels_last(s, t) : dense(s, t); };
  const Value x = image({c.n, c.c, c.h, c.w}), y = image({c.n, c.o, oh, ow});
  const Value w = dense({c.o, c.c / c.groups, c.kh, c.kw}, t);
  KernelSpec spec;
  spec.in = result == ConvResult::y   ? std::vector{x, w}
            : result == ConvResult::x ? std::vector{y, w}
                                      : std::vector{x, y};
  spec.out = {result == ConvResult::y ? y : result == ConvResult::x ? x : w};
  spec.attrs = {{"stride", std::vector{c.stride, c.stride}},
                {"padding", std::vector{c.pad, c.pad}},
                {"dilation", std::vector{c.dilation, c.dilation}},
                {"groups", c.groups}};
  spec.threads = threads;
  return spec;
}

TEST(Conv, FastAgreesWithPlain) {
  for (const DType t : {DType::f64, DType::f32, DType::f16}) {
    for (const Case& c : kCases) {
      for (const bool last : {false, true}) {
        for (const Direction& d : kDirections) {
          Bed bed(spec_of(c, d.result, last, t));
          const auto fast = d.fast(bed.spec);
          ASSERT_NE(fast, nullptr);
          expect_agreement(bed, *fast, *d.plain(bed.spec), tolerance(t),
                           fmt::format("{} {} {} {}", name_of(t), d.what,
                                       last ? "channels last" : "channels first", c.text()));
        }
      }
    }
  }
}

TEST(Conv, EveryWayAgreesWithPlain) {
  using Way = std::unique_ptr<Kernel> (*)(const Conv&, ConvResult, int);
  struct {
    const char* what;
    Way way;
    int used = 0;
  } ways[] = {{"pointwise", pointwise_conv},
              {"onednn", onednn_conv},
              {"depthwise", depthwise_conv},
              {"packed", packed_conv}};
  for (auto& way : ways) {
    for (const Case& c : kCases) {
      for (const bool last : {false, true}) {
        for (const Direction& d : kDirections) {
          Bed bed(spec_of(c, d.result, last, DType::f32));
          const auto kernel = way.way(conv_of(bed.spec, d.result), d.result, 2);
          if (kernel == nullptr) continue;
          ++way.used;
          expect_agreement(bed, *kernel, *d.plain(bed.spec), tolerance(DType::f32),
                           fmt::format("{} {} {}", way.what, d.what, c.text()));
        }
      }
    }
#ifndef TIDEMARK_WITH_ONEDNN
    if (std::string(way.what) == "onednn") continue;
#endif
    EXPECT_GT(way.used, 0) << way.what;
  }
}

TEST(Conv, RunsWithoutLargeAllocations) {
  for (const Case& c :
       {Case{2, 64, 16, 16, 64, 3, 3, 1, 1, 1, 1}, Case{2, 64, 16, 16, 128, 1, 1, 1, 0, 1, 1},
        Case{2, 64, 16, 16, 128, 1, 1, 2, 0, 1, 1}, Case{2, 96, 16, 16, 96, 3, 3, 2, 1, 1, 96},
        Case{2, 3, 32, 32, 64, 7, 7, 2, 3, 1, 1}}) {
    for (const bool last : {false, true}) {
      for (const Direction& d : kDirections) {
        Bed bed(spec_of(c, d.result, last, DType::f32));
        const auto kernel = d.fast(bed.spec);
        const auto workspace = Storage::allocate(kernel->workspace());
        bed.run(*kernel, workspace->data());
        const LargeAllocations counted;
        bed.run(*kernel, workspace->data());
        EXPECT_EQ(counted.count(), 0) << d.what << " " << c.text() << (last ? " last" : " first");
      }
    }
  }
}

}  // namespace
}  // namespace tidemark::kernels
