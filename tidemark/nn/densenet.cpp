// DenseNet 121 (Huang et al. 2017): each layer reads all earlier ones of its block. Sizes: growth, width (channels
// after the stem), classes, layers1 … layers4 (in each block).
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/nn/families.h"
#include "tidemark/nn/layers.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/reduce.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

// Batch norm, relu, convolution: the order within DenseNet.
struct NormConv {
  Norm norm;
  Conv conv;
};
struct DenseLayer {
  NormConv narrow, grow;  // 1x1 to 4 * growth, 3x3 to growth
};
struct DenseNet {
  ConvNorm stem;
  std::vector<std::vector<DenseLayer>> blocks;
  std::vector<NormConv> transitions;
  Norm norm;
  Linear classifier;
};

struct LayerStats {
  RunningStats narrow, grow;
};
struct Stats {
  RunningStats stem;
  std::vector<std::vector<LayerStats>> blocks;
  std::vector<RunningStats> transitions;
  RunningStats norm;
};

NormConv make_norm_conv(Init& init, std::int64_t in, std::int64_t out, std::int64_t kernel) {
  NormConv p;
  p.norm = make_norm(init, in);
  p.conv = make_conv(init, in, out, kernel, {.padding = {kernel / 2, kernel / 2}}, {.bias = false});
  return p;
}

Tensor norm_conv(const NormConv& p, RunningStats& stats, const Tensor& x, const BatchNormOptions& options) {
  return conv(p.conv, relu(batch_norm(p.norm, stats, x, options)));
}

DenseNet make_densenet(Init& init, const Sizes& size) {
  DenseNet p;
  std::int64_t channels = size["width"];
  const std::int64_t growth = size["growth"];
  p.stem = make_conv_norm(init, 3, channels, 7, {.stride = {2, 2}, .padding = {3, 3}});
  for (int b = 1; b <= 4; ++b) {
    std::vector<DenseLayer> layers;
    for (std::int64_t i = 0; i < size["layers" + std::to_string(b)]; ++i) {
      DenseLayer layer;
      layer.narrow = make_norm_conv(init, channels, 4 * growth, 1);
      layer.grow = make_norm_conv(init, 4 * growth, growth, 3);
      layers.push_back(std::move(layer));
      channels += growth;
    }
    p.blocks.push_back(std::move(layers));
    if (b == 4) break;
    p.transitions.push_back(make_norm_conv(init, channels, channels / 2, 1));
    channels /= 2;
  }
  p.norm = make_norm(init, channels);
  p.classifier = make_linear(init, channels, size["classes"]);
  return p;
}

Stats make_stats(Init& init, const DenseNet& p) {
  Stats stats;
  stats.stem = make_running_stats(init, p.stem.norm);
  for (const auto& block : p.blocks) {
    std::vector<LayerStats> layers;
    for (const DenseLayer& layer : block) {
      LayerStats s;
      s.narrow = make_running_stats(init, layer.narrow.norm);
      s.grow = make_running_stats(init, layer.grow.norm);
      layers.push_back(std::move(s));
    }
    stats.blocks.push_back(std::move(layers));
  }
  for (const NormConv& t : p.transitions) stats.transitions.push_back(make_running_stats(init, t.norm));
  stats.norm = make_running_stats(init, p.norm);
  return stats;
}

Tensor dense_block(const std::vector<DenseLayer>& p, std::vector<LayerStats>& stats, Tensor x,
                   const BatchNormOptions& norm) {
  for (std::size_t i = 0; i < p.size(); ++i) {
    const Scope layer("layers", static_cast<std::int64_t>(i));
    const Tensor narrow = norm_conv(p[i].narrow, stats[i].narrow, x, norm);
    x = concat({x, norm_conv(p[i].grow, stats[i].grow, narrow, norm)}, 1);
  }
  return x;
}

}  // namespace

Model densenet(const std::string& name, const ModelOptions& options) {
  const Sizes size(name, options,
                   {{"growth", 32},
                    {"width", 64},
                    {"classes", 1000},
                    {"layers1", 6},
                    {"layers2", 12},
                    {"layers3", 24},
                    {"layers4", 16}});
  Family<DenseNet, Stats> f;
  f.name = name;
  f.batch = image_batch(options, 3, 224, size["classes"], 32);
  f.parameters = [=](Init& init) { return make_densenet(init, size); };
  f.state = [=](Init& init) {
    Init shapes({.abstract = true});
    return make_stats(init, make_densenet(shapes, size));
  };
  f.logits = [training = options.training](const DenseNet& p, Stats& stats, const Tensors& batch) {
    const BatchNormOptions norm{.training = training};
    Tensor x = relu(conv_norm(p.stem, stats.stem, batch[0], norm));
    x = max_pool2d(x, {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}});
    for (std::size_t b = 0; b < p.blocks.size(); ++b) {
      const Scope block("blocks", static_cast<std::int64_t>(b));
      x = dense_block(p.blocks[b], stats.blocks[b], x, norm);
      if (b < p.transitions.size())
        x = avg_pool2d(norm_conv(p.transitions[b], stats.transitions[b], x, norm), {});
    }
    x = relu(batch_norm(p.norm, stats.norm, x, norm));
    const Scope scope("classifier");
    return linear(p.classifier, mean(x, {2, 3}));
  };
  f.loss = cross_entropy_of_batch;
  return erase(std::move(f));
}

}  // namespace tidemark
