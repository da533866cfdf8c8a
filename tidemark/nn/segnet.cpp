// SegNet (Badrinarayanan et al. 2017): the convolutions of VGG 16 with batch normalisation, then the way back, which
// puts each maximum where its pooling found it. Sizes: width (channels of the first stage), classes. Images must be
// divisible by 32.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tidemark/nn/families.h"
#include "tidemark/nn/layers.h"
#include "tidemark/ops/elementwise.h"

namespace tidemark {
namespace {

struct SegNet {
  std::vector<std::vector<ConvNorm>> encoder, decoder;
  Conv classifier;
};
struct Stats {
  std::vector<std::vector<RunningStats>> encoder, decoder;
};

constexpr int kStages = 5;
std::int64_t convs_in(int stage) { return stage < 2 ? 2 : 3; }

SegNet make_segnet(Init& init, const Sizes& size) {
  const auto width = [&](int stage) { return size["width"] << std::min(stage, 3); };
  SegNet p;
  std::int64_t in = 3;
  for (int s = 0; s < kStages; ++s) {
    std::vector<ConvNorm> stage;
    for (std::int64_t i = 0; i < convs_in(s); ++i) {
      stage.push_back(make_conv_norm(init, in, width(s), 3, {.padding = {1, 1}}));
      in = width(s);
    }
    p.encoder.push_back(std::move(stage));
  }
  // The way back, deepest stage first; the last convolution of the shallowest is the classifier.
  for (int s = kStages - 1; s >= 0; --s) {
    std::vector<ConvNorm> stage;
    const std::int64_t convs = s == 0 ? 1 : convs_in(s);
    for (std::int64_t i = 0; i < convs; ++i) {
      const std::int64_t out = i + 1 == convs && s > 0 ? width(s - 1) : width(s);
      stage.push_back(make_conv_norm(init, in, out, 3, {.padding = {1, 1}}));
      in = out;
    }
    p.decoder.push_back(std::move(stage));
  }
  p.classifier = make_conv(init, in, size["classes"], 3, {.padding = {1, 1}});
  return p;
}

Stats make_stats(Init& init, const SegNet& p) {
  const auto of = [&](const std::vector<std::vector<ConvNorm>>& stages) {
    std::vector<std::vector<RunningStats>> stats(stages.size());
    for (std::size_t s = 0; s < stages.size(); ++s) {
      for (const ConvNorm& c : stages[s]) stats[s].push_back(make_running_stats(init, c.norm));
    }
    return stats;
  };
  Stats stats;
  stats.encoder = of(p.encoder);
  stats.decoder = of(p.decoder);
  return stats;
}

Tensor stage(const std::vector<ConvNorm>& p, std::vector<RunningStats>& stats, Tensor x,
             const BatchNormOptions& norm) {
  for (std::size_t i = 0; i < p.size(); ++i) x = relu(conv_norm(p[i], stats[i], x, norm));
  return x;
}

}  // namespace

Model segnet(const std::string& name, const ModelOptions& options) {
  const Sizes size(name, options, {{"width", 64}, {"classes", 12}});
  Family<SegNet, Stats> f;
  f.name = name;
  f.batch = segmentation_batch(options, 3, 256, size["classes"], 4);
  if (f.batch[0].type.shape[2] % 32 != 0)
    fail(Error::Kind::usage, "[segnet] image size {}; give one divisible by 32", f.batch[0].type.shape[2]);
  f.parameters = [=](Init& init) { return make_segnet(init, size); };
  f.state = [=](Init& init) {
    Init shapes({.abstract = true});
    return make_stats(init, make_segnet(shapes, size));
  };
  f.logits = [training = options.training](const SegNet& p, Stats& stats, const Tensors& batch) {
    const BatchNormOptions norm{.training = training};
    Tensor x = batch[0];
    Tensors indices;
    std::vector<Pair> sizes;
    for (std::size_t s = 0; s < p.encoder.size(); ++s) {
      const Scope scope("encoder", static_cast<std::int64_t>(s));
      x = stage(p.encoder[s], stats.encoder[s], x, norm);
      sizes.push_back({x.size(2), x.size(3)});
      const auto [pooled, where_max] = max_pool2d_with_indices(x, {});
      x = pooled;
      indices.push_back(where_max);
    }
    for (std::size_t s = 0; s < p.decoder.size(); ++s) {
      const Scope scope("decoder", static_cast<std::int64_t>(s));
      x = max_unpool2d(x, indices.back(), sizes.back());
      indices.pop_back();
      sizes.pop_back();
      x = stage(p.decoder[s], stats.decoder[s], x, norm);
    }
    const Scope scope("classifier");
    return conv(p.classifier, x);
  };
  f.loss = cross_entropy_of_batch;
  return erase(std::move(f));
}

}  // namespace tidemark
