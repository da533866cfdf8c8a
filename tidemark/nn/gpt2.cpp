// GPT-2 in its four published sizes (Radford et al. 2019), output weights tied to the embedding. Sizes: vocab,
// positions, width, depth, heads.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "tidemark/nn/families.h"
#include "tidemark/nn/transformer.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/gather.h"
#include "tidemark/ops/matmul.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

struct Gpt2 {
  Tensor words, positions;
  std::vector<TransformerBlock> blocks;
  Norm norm;
};

struct Published {
  const char* name;
  std::int64_t width, depth, heads;
};
constexpr Published kPublished[] = {{"gpt2-124m", 768, 12, 12},
                                    {"gpt2-355m", 1024, 24, 16},
                                    {"gpt2-774m", 1280, 36, 20},
                                    {"gpt2-1.5b", 1600, 48, 25}};

}  // namespace

Model gpt2(const std::string& name, const ModelOptions& options) {
  const Published* published = kPublished;
  while (name != published->name) ++published;
  const Sizes size(name, options,
                   {{"vocab", 50257},
                    {"positions", 1024},
                    {"width", published->width},
                    {"depth", published->depth},
                    {"heads", published->heads}});
  Family<Gpt2, Stateless> f;
  f.name = name;
  f.batch = token_batch(options, size["vocab"], 1024, 1);
  if (f.batch[0].type.shape[1] > size["positions"]) {
    fail(Error::Kind::usage, "[{}] {} tokens vs {} positions", name, f.batch[0].type.shape[1],
         size["positions"]);
  }
  f.parameters = [=](Init& init) {
    const std::int64_t c = size["width"];
    const BlockInit block{.width = c,
                          .hidden = 4 * c,
                          .out_deviation = 0.02 / std::sqrt(2 * static_cast<double>(size["depth"]))};
    Gpt2 p;
    p.words = init.normal({size["vocab"], c}, 0.02);
    p.positions = init.normal({size["positions"], c}, 0.01);
    for (std::int64_t i = 0; i < size["depth"]; ++i) p.blocks.push_back(make_transformer_block(init, block));
    p.norm = make_norm(init, c);
    return p;
  };
  f.logits = [options, heads = size["heads"]](const Gpt2& p, Stateless&, const Tensors& batch) {
    const Dropout drop{options.training ? options.dropout : 0, options.dropout > 0 ? batch.back() : Tensor{}};
    Tensor x = drop(embedding(p.words, batch[0]) + slice(p.positions, 0, 0, batch[0].size(1)));
    for (std::size_t i = 0; i < p.blocks.size(); ++i) {
      const Scope scope("blocks", static_cast<std::int64_t>(i));
      x = pre_norm_block(
          p.blocks[i], x,
          {.attention = {.heads = heads, .causal = true}, .activation = gelu_tanh, .dropout = drop});
    }
    return matmul(layer_norm(p.norm, x), transpose(p.words));
  };
  f.loss = cross_entropy_of_batch;
  return erase(std::move(f));
}

}  // namespace tidemark
