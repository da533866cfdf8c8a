// MobileNetV2 (Sandler et al. 2018). Sizes: width (per cent of the channels), classes.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tidemark/nn/families.h"
#include "tidemark/nn/transformer.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/reduce.h"

namespace tidemark {
namespace {

// Expand (1x1), filter each channel (3x3), project (1x1); added to its input where the shapes agree.
struct Inverted {
  std::optional<ConvNorm> expand;
  ConvNorm depthwise, project;
  bool residual = false;
};
struct MobileNet {
  ConvNorm stem;
  std::vector<Inverted> blocks;
  ConvNorm head;
  Linear classifier;
};

struct InvertedStats {
  std::optional<RunningStats> expand;
  RunningStats depthwise, project;
};
struct Stats {
  RunningStats stem;
  std::vector<InvertedStats> blocks;
  RunningStats head;
};

struct Setting {
  std::int64_t expansion, channels, repeats, stride;
};
constexpr Setting kSettings[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                                 {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};

// To a multiple of 8, never more than a tenth below.
std::int64_t channels_at(std::int64_t channels, std::int64_t percent) {
  const std::int64_t scaled = channels * percent;
  const std::int64_t rounded = std::max<std::int64_t>(8, (scaled + 400) / 800 * 8);
  return rounded * 1000 < scaled * 9 ? rounded + 8 : rounded;
}

MobileNet make_mobilenet(Init& init, const Sizes& size) {
  MobileNet p;
  const std::int64_t percent = size["width"];
  std::int64_t in = channels_at(32, percent);
  p.stem = make_conv_norm(init, 3, in, 3, {.stride = {2, 2}, .padding = {1, 1}});
  for (const Setting& s : kSettings) {
    const std::int64_t out = channels_at(s.channels, percent);
    for (std::int64_t i = 0; i < s.repeats; ++i) {
      const std::int64_t stride = i == 0 ? s.stride : 1, hidden = in * s.expansion;
      Inverted block;
      if (s.expansion != 1) block.expand = make_conv_norm(init, in, hidden, 1);
      block.depthwise = make_conv_norm(init, hidden, hidden, 3,
                                       {.stride = {stride, stride}, .padding = {1, 1}, .groups = hidden});
      block.project = make_conv_norm(init, hidden, out, 1);
      block.residual = stride == 1 && in == out;
      p.blocks.push_back(std::move(block));
      in = out;
    }
  }
  const std::int64_t last = channels_at(1280, std::max<std::int64_t>(100, percent));
  p.head = make_conv_norm(init, in, last, 1);
  p.classifier = make_linear(init, last, size["classes"]);
  return p;
}

Stats make_stats(Init& init, const MobileNet& p) {
  Stats stats;
  stats.stem = make_running_stats(init, p.stem.norm);
  for (const Inverted& b : p.blocks) {
    InvertedStats s;
    if (b.expand) s.expand = make_running_stats(init, b.expand->norm);
    s.depthwise = make_running_stats(init, b.depthwise.norm);
    s.project = make_running_stats(init, b.project.norm);
    stats.blocks.push_back(std::move(s));
  }
  stats.head = make_running_stats(init, p.head.norm);
  return stats;
}

Tensor relu6(const Tensor& x) { return clamp(x, 0, 6); }

}  // namespace

Model mobilenet_v2(const std::string& name, const ModelOptions& options) {
  const Sizes size(name, options, {{"width", 100}, {"classes", 1000}});
  Family<MobileNet, Stats> f;
  f.name = name;
  f.batch = image_batch(options, 3, 224, size["classes"], 32);
  f.parameters = [=](Init& init) { return make_mobilenet(init, size); };
  f.state = [=](Init& init) {
    Init shapes({.abstract = true});
    return make_stats(init, make_mobilenet(shapes, size));
  };
  f.logits = [options](const MobileNet& p, Stats& stats, const Tensors& batch) {
    const BatchNormOptions norm{.training = options.training};
    Tensor x = relu6(conv_norm(p.stem, stats.stem, batch[0], norm));
    for (std::size_t i = 0; i < p.blocks.size(); ++i) {
      const Scope scope("blocks", static_cast<std::int64_t>(i));
      const Inverted& b = p.blocks[i];
      InvertedStats& s = stats.blocks[i];
      Tensor y = b.expand ? relu6(conv_norm(*b.expand, *s.expand, x, norm)) : x;
      y = relu6(conv_norm(b.depthwise, s.depthwise, y, norm));
      y = conv_norm(b.project, s.project, y, norm);
      x = b.residual ? x + y : y;
    }
    x = relu6(conv_norm(p.head, stats.head, x, norm));
    const Scope scope("classifier");
    const Dropout drop{options.training ? options.dropout : 0, options.dropout > 0 ? batch.back() : Tensor{}};
    return linear(p.classifier, drop(mean(x, {2, 3})));
  };
  f.loss = cross_entropy_of_batch;
  return erase(std::move(f));
}

}  // namespace tidemark
