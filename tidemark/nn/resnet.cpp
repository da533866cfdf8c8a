// ResNet 18, 50 and 152 (He et al. 2016; the stride of a bottleneck is in its 3x3 convolution). Sizes: width (channels
// after the stem), classes, blocks1 … blocks4 (blocks in each stage).
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/nn/families.h"
#include "tidemark/nn/layers.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/reduce.h"

namespace tidemark {
namespace {

struct Block {
  std::vector<ConvNorm> layers;  // two 3x3, or 1x1, 3x3, 1x1
  std::optional<ConvNorm> shortcut;
};
struct ResNet {
  ConvNorm stem;
  std::vector<std::vector<Block>> stages;
  Linear classifier;
};

struct BlockStats {
  std::vector<RunningStats> layers;
  std::optional<RunningStats> shortcut;
};
struct Stats {
  RunningStats stem;
  std::vector<std::vector<BlockStats>> stages;
};

Tensor residual_block(const Block& p, BlockStats& stats, const Tensor& x, const BatchNormOptions& options) {
  Tensor y = x;
  for (std::size_t i = 0; i < p.layers.size(); ++i) {
    y = conv_norm(p.layers[i], stats.layers[i], y, options);
    if (i + 1 < p.layers.size()) y = relu(y);
  }
  return relu(y + (p.shortcut ? conv_norm(*p.shortcut, *stats.shortcut, x, options) : x));
}

ResNet make_resnet(Init& init, const Sizes& size, bool bottleneck) {
  ResNet p;
  std::int64_t in = size["width"];
  p.stem = make_conv_norm(init, 3, in, 7, {.stride = {2, 2}, .padding = {3, 3}});
  for (int s = 0; s < 4; ++s) {
    const std::int64_t width = size["width"] << s, out = bottleneck ? 4 * width : width;
    std::vector<Block> stage;
    for (std::int64_t i = 0; i < size["blocks" + std::to_string(s + 1)]; ++i) {
      const std::int64_t stride = s > 0 && i == 0 ? 2 : 1;
      const ConvOptions strided{.stride = {stride, stride}, .padding = {1, 1}};
      Block block;
      if (bottleneck) {
        block.layers = {make_conv_norm(init, in, width, 1), make_conv_norm(init, width, width, 3, strided),
                        make_conv_norm(init, width, out, 1)};
      } else {
        block.layers = {make_conv_norm(init, in, width, 3, strided),
                        make_conv_norm(init, width, out, 3, {.padding = {1, 1}})};
      }
      if (stride != 1 || in != out)
        block.shortcut = make_conv_norm(init, in, out, 1, {.stride = {stride, stride}});
      stage.push_back(std::move(block));
      in = out;
    }
    p.stages.push_back(std::move(stage));
  }
  p.classifier = make_linear(init, in, size["classes"]);
  return p;
}

Stats make_stats(Init& init, const ResNet& p) {
  const auto of = [&](const ConvNorm& c) { return make_running_stats(init, c.norm); };
  Stats stats;
  stats.stem = of(p.stem);
  for (const auto& stage : p.stages) {
    std::vector<BlockStats> blocks(stage.size());
    for (std::size_t i = 0; i < stage.size(); ++i) {
      for (const ConvNorm& c : stage[i].layers) blocks[i].layers.push_back(of(c));
      if (stage[i].shortcut) blocks[i].shortcut = of(*stage[i].shortcut);
    }
    stats.stages.push_back(std::move(blocks));
  }
  return stats;
}

}  // namespace

Model resnet(const std::string& name, const ModelOptions& options) {
  const bool bottleneck = name != "resnet18";
  const std::int64_t second = name == "resnet18" ? 2 : name == "resnet50" ? 4 : 8;
  const std::int64_t third = name == "resnet18" ? 2 : name == "resnet50" ? 6 : 36;
  const std::int64_t ends = name == "resnet18" ? 2 : 3;
  const Sizes size(name, options,
                   {{"width", 64},
                    {"classes", 1000},
                    {"blocks1", ends},
                    {"blocks2", second},
                    {"blocks3", third},
                    {"blocks4", ends}});
  Family<ResNet, Stats> f;
  f.name = name;
  f.batch = image_batch(options, 3, 224, size["classes"], 32);
  f.parameters = [=](Init& init) { return make_resnet(init, size, bottleneck); };
  f.state = [=](Init& init) {
    Init shapes({.abstract = true});
    return make_stats(init, make_resnet(shapes, size, bottleneck));
  };
  f.logits = [training = options.training](const ResNet& p, Stats& stats, const Tensors& batch) {
    const BatchNormOptions norm{.training = training};
    Tensor x = batch[0];
    {
      const Scope scope("stem");
      x = relu(conv_norm(p.stem, stats.stem, x, norm));
      x = max_pool2d(x, {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}});
    }
    for (std::size_t s = 0; s < p.stages.size(); ++s) {
      const Scope stage("stages", static_cast<std::int64_t>(s));
      for (std::size_t i = 0; i < p.stages[s].size(); ++i) {
        const Scope block(std::to_string(i));
        x = residual_block(p.stages[s][i], stats.stages[s][i], x, norm);
      }
    }
    const Scope scope("classifier");
    return linear(p.classifier, mean(x, {2, 3}));
  };
  f.loss = cross_entropy_of_batch;
  return erase(std::move(f));
}

}  // namespace tidemark
