// U-Net (Ronneberger et al. 2015), padded and with batch normalisation, a class for each pixel. Sizes: channels, width
// (of the first level), depth (times halved), classes. Images must be divisible by 2^depth.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/nn/families.h"
#include "tidemark/nn/layers.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

struct Double {
  ConvNorm first, second;
};
struct Up {
  ConvTranspose up;
  Double convs;
};
struct UNet {
  std::vector<Double> down;
  std::vector<Up> up;
  Conv classifier;
};

struct DoubleStats {
  RunningStats first, second;
};
struct Stats {
  std::vector<DoubleStats> down, up;
};

Double make_double(Init& init, std::int64_t in, std::int64_t out) {
  Double p;
  p.first = make_conv_norm(init, in, out, 3, {.padding = {1, 1}});
  p.second = make_conv_norm(init, out, out, 3, {.padding = {1, 1}});
  return p;
}

Tensor double_conv(const Double& p, DoubleStats& stats, const Tensor& x, const BatchNormOptions& norm) {
  return relu(conv_norm(p.second, stats.second, relu(conv_norm(p.first, stats.first, x, norm)), norm));
}

UNet make_unet(Init& init, const Sizes& size) {
  UNet p;
  std::int64_t in = size["channels"];
  for (std::int64_t level = 0; level <= size["depth"]; ++level) {
    const std::int64_t out = size["width"] << level;
    p.down.push_back(make_double(init, in, out));
    in = out;
  }
  for (std::int64_t level = size["depth"] - 1; level >= 0; --level) {
    const std::int64_t out = size["width"] << level;
    Up up;
    up.up = make_conv_transpose(init, in, out, 2, {.stride = {2, 2}});
    up.convs = make_double(init, 2 * out, out);
    p.up.push_back(std::move(up));
    in = out;
  }
  p.classifier = make_conv(init, in, size["classes"], 1);
  return p;
}

Stats make_stats(Init& init, const UNet& p) {
  const auto of = [&](const Double& d) {
    DoubleStats s;
    s.first = make_running_stats(init, d.first.norm);
    s.second = make_running_stats(init, d.second.norm);
    return s;
  };
  Stats stats;
  for (const Double& d : p.down) stats.down.push_back(of(d));
  for (const Up& u : p.up) stats.up.push_back(of(u.convs));
  return stats;
}

}  // namespace

Model unet(const std::string& name, const ModelOptions& options) {
  const Sizes size(name, options, {{"channels", 3}, {"width", 64}, {"depth", 4}, {"classes", 2}});
  Family<UNet, Stats> f;
  f.name = name;
  f.batch = segmentation_batch(options, size["channels"], 256, size["classes"], 4);
  if (f.batch[0].type.shape[2] % (std::int64_t{1} << size["depth"]) != 0) {
    fail(Error::Kind::usage, "[unet] image size {} vs depth {}; give a size divisible by {}",
         f.batch[0].type.shape[2], size["depth"], std::int64_t{1} << size["depth"]);
  }
  f.parameters = [=](Init& init) { return make_unet(init, size); };
  f.state = [=](Init& init) {
    Init shapes({.abstract = true});
    return make_stats(init, make_unet(shapes, size));
  };
  f.logits = [training = options.training](const UNet& p, Stats& stats, const Tensors& batch) {
    const BatchNormOptions norm{.training = training};
    Tensor x = batch[0];
    Tensors skips;
    for (std::size_t i = 0; i < p.down.size(); ++i) {
      const Scope scope("down", static_cast<std::int64_t>(i));
      if (i > 0) x = max_pool2d(x, {});
      x = double_conv(p.down[i], stats.down[i], x, norm);
      skips.push_back(x);
    }
    skips.pop_back();
    for (std::size_t i = 0; i < p.up.size(); ++i) {
      const Scope scope("up", static_cast<std::int64_t>(i));
      x = concat({skips.back(), conv_transpose(p.up[i].up, x)}, 1);
      skips.pop_back();
      x = double_conv(p.up[i].convs, stats.up[i], x, norm);
    }
    const Scope scope("classifier");
    return conv(p.classifier, x);
  };
  f.loss = cross_entropy_of_batch;
  return erase(std::move(f));
}

}  // namespace tidemark
