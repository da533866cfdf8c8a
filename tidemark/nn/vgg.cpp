// VGG 16 and 19 (Simonyan & Zisserman 2015), without batch normalisation. Sizes: width (channels of the first stage),
// hidden (of the classifier), classes.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tidemark/nn/families.h"
#include "tidemark/nn/transformer.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

struct Vgg {
  std::vector<std::vector<Conv>> stages;
  std::vector<Linear> classifier;
};

}  // namespace

Model vgg(const std::string& name, const ModelOptions& options) {
  const Sizes size(name, options, {{"width", 64}, {"hidden", 4096}, {"classes", 1000}});
  const std::int64_t long_stages = name == "vgg19" ? 4 : 3;
  Family<Vgg, Stateless> f;
  f.name = name;
  f.batch = image_batch(options, 3, 224, size["classes"], 32);
  f.parameters = [=](Init& init) {
    Vgg p;
    std::int64_t in = 3;
    for (int stage = 0; stage < 5; ++stage) {
      const std::int64_t out = size["width"] << std::min(stage, 3);
      std::vector<Conv> convs;
      for (std::int64_t i = 0; i < (stage < 2 ? 2 : long_stages); ++i) {
        convs.push_back(make_conv(init, in, out, 3, {.padding = {1, 1}}));
        in = out;
      }
      p.stages.push_back(std::move(convs));
    }
    p.classifier = {make_linear(init, in * 49, size["hidden"]),
                    make_linear(init, size["hidden"], size["hidden"]),
                    make_linear(init, size["hidden"], size["classes"])};
    return p;
  };
  f.logits = [options](const Vgg& p, Stateless&, const Tensors& batch) {
    Tensor x = batch[0];
    for (std::size_t s = 0; s < p.stages.size(); ++s) {
      const Scope scope("stages", static_cast<std::int64_t>(s));
      for (const Conv& c : p.stages[s]) x = relu(conv(c, x));
      x = max_pool2d(x, {});
    }
    const Scope scope("classifier");
    const Dropout drop{options.training ? options.dropout : 0, options.dropout > 0 ? batch.back() : Tensor{}};
    x = reshape(adaptive_avg_pool2d(x, {7, 7}), {x.size(0), -1});
    x = drop(relu(linear(p.classifier[0], x)));
    x = drop(relu(linear(p.classifier[1], x)));
    return linear(p.classifier[2], x);
  };
  f.loss = cross_entropy_of_batch;
  return erase(std::move(f));
}

}  // namespace tidemark
