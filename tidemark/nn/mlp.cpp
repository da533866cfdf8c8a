// A multilayer perceptron on flattened images. Sizes: inputs, hidden, depth (hidden layers), classes.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/nn/families.h"
#include "tidemark/nn/layers.h"
#include "tidemark/ops/elementwise.h"

namespace tidemark {
namespace {

struct Mlp {
  std::vector<Linear> layers;
};

}  // namespace

Model mlp(const std::string& name, const ModelOptions& options) {
  const Sizes size(name, options, {{"inputs", 784}, {"hidden", 1024}, {"depth", 2}, {"classes", 10}});
  Family<Mlp, Stateless> f;
  f.name = name;
  const std::int64_t b = or_default(options.batch, 128);
  f.batch = {{"x", {{b, size["inputs"]}, DType::f32}}, {"label", {{b}, DType::i64}, size["classes"]}};
  f.parameters = [size](Init& init) {
    Mlp p;
    std::int64_t width = size["inputs"];
    for (std::int64_t i = 0; i < size["depth"]; ++i) {
      p.layers.push_back(make_linear(init, width, size["hidden"]));
      width = size["hidden"];
    }
    p.layers.push_back(make_linear(init, width, size["classes"]));
    return p;
  };
  f.logits = [](const Mlp& p, Stateless&, const Tensors& batch) {
    Tensor x = batch[0];
    for (std::size_t i = 0; i < p.layers.size(); ++i) {
      const Scope scope("layers", static_cast<std::int64_t>(i));
      x = linear(p.layers[i], x);
      if (i + 1 < p.layers.size()) x = relu(x);
    }
    return x;
  };
  f.loss = cross_entropy_of_batch;
  return erase(std::move(f));
}

}  // namespace tidemark
