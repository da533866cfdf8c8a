// ViT-B/16 (Dosovitskiy et al. 2021). Sizes: patch, width, depth, heads, hidden, classes.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/nn/families.h"
#include "tidemark/nn/transformer.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

struct Vit {
  Conv patches;
  Tensor class_token, positions;
  std::vector<TransformerBlock> blocks;
  Norm norm;
  Linear classifier;
};

}  // namespace

Model vit(const std::string& name, const ModelOptions& options) {
  const Sizes size(
      name, options,
      {{"patch", 16}, {"width", 768}, {"depth", 12}, {"heads", 12}, {"hidden", 3072}, {"classes", 1000}});
  Family<Vit, Stateless> f;
  f.name = name;
  f.batch = image_batch(options, 3, 224, size["classes"], 32);
  const std::int64_t side = f.batch[0].type.shape[2], patch = size["patch"];
  if (side % patch != 0) fail(Error::Kind::usage, "[{}] image size {} vs patches of {}", name, side, patch);
  const std::int64_t tokens = (side / patch) * (side / patch) + 1;
  f.parameters = [=](Init& init) {
    const std::int64_t c = size["width"];
    Vit p;
    p.patches = make_conv(init, 3, c, patch, {.stride = {patch, patch}});
    p.class_token = init.zeros({1, 1, c});
    p.positions = init.normal({1, tokens, c}, 0.02);
    for (std::int64_t i = 0; i < size["depth"]; ++i)
      p.blocks.push_back(make_transformer_block(init, {.width = c, .hidden = size["hidden"]}));
    p.norm = make_norm(init, c);
    p.classifier = make_linear(init, c, size["classes"]);
    return p;
  };
  f.logits = [options, heads = size["heads"]](const Vit& p, Stateless&, const Tensors& batch) {
    const Dropout drop{options.training ? options.dropout : 0, options.dropout > 0 ? batch.back() : Tensor{}};
    const std::int64_t b = batch[0].size(0), c = p.norm.scale.size(0);
    Tensor x = conv(p.patches, batch[0]);
    x = transpose(reshape(x, {b, c, x.size(2) * x.size(3)}), 1, 2);
    x = concat({broadcast_to(p.class_token, {b, 1, c}), x}, 1);
    x = drop(x + p.positions);
    for (std::size_t i = 0; i < p.blocks.size(); ++i) {
      const Scope scope("blocks", static_cast<std::int64_t>(i));
      x = pre_norm_block(p.blocks[i], x, {.attention = {.heads = heads}, .epsilon = 1e-6, .dropout = drop});
    }
    // Only the class token is read; normalising it alone is the same.
    x = layer_norm(p.norm, squeeze(slice(x, 1, 0, 1), 1), 1e-6);
    return linear(p.classifier, x);
  };
  f.loss = cross_entropy_of_batch;
  return erase(std::move(f));
}

}  // namespace tidemark
