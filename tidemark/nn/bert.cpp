// BERT base, uncased (Devlin et al. 2019), with its pooler and without further heads: words are predicted with the
// embedding's own weights, the next sentence from the first two pooled numbers. Sizes: vocab, positions, width, depth,
// heads, hidden.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/nn/families.h"
#include "tidemark/nn/loss.h"
#include "tidemark/nn/transformer.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/gather.h"
#include "tidemark/ops/matmul.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

struct Embeddings {
  Tensor words, positions, segments;
  Norm norm;
};
struct Bert {
  Embeddings embeddings;
  std::vector<TransformerBlock> blocks;
  Linear pooler;
};

constexpr double kEpsilon = 1e-12;

}  // namespace

Model bert(const std::string& name, const ModelOptions& options) {
  const Sizes size(
      name, options,
      {{"vocab", 30522}, {"positions", 512}, {"width", 768}, {"depth", 12}, {"heads", 12}, {"hidden", 3072}});
  Family<Bert, Stateless> f;
  f.name = name;
  // Tokens, labels (-100 where nothing is asked), segments, whether the second sentence follows.
  const std::int64_t b = or_default(options.batch, 8), t = or_default(options.seq, 128);
  if (t > size["positions"])
    fail(Error::Kind::usage, "[{}] {} tokens vs {} positions", name, t, size["positions"]);
  f.batch = {{"tokens", {{b, t}, DType::i64}, size["vocab"]},
             {"labels", {{b, t}, DType::i64}, size["vocab"]},
             {"segments", {{b, t}, DType::i64}, 2},
             {"follows", {{b}, DType::i64}, 2}};
  add_key(f.batch, options);
  f.parameters = [=](Init& init) {
    const std::int64_t c = size["width"];
    Bert p;
    p.embeddings.words = init.normal({size["vocab"], c}, 0.02);
    p.embeddings.positions = init.normal({size["positions"], c}, 0.02);
    p.embeddings.segments = init.normal({2, c}, 0.02);
    p.embeddings.norm = make_norm(init, c);
    for (std::int64_t i = 0; i < size["depth"]; ++i)
      p.blocks.push_back(make_transformer_block(init, {.width = c, .hidden = size["hidden"]}));
    p.pooler = make_linear(init, c, c);
    return p;
  };
  // The last hidden states; the loss reads words and sentences from them.
  f.logits = [=, heads = size["heads"]](const Bert& p, Stateless&, const Tensors& batch) {
    const Dropout drop{options.training ? options.dropout : 0, options.dropout > 0 ? batch.back() : Tensor{}};
    const Embeddings& e = p.embeddings;
    Tensor x = embedding(e.words, batch[0]) + embedding(e.segments, batch[2]) +
               slice(e.positions, 0, 0, batch[0].size(1));
    x = drop(layer_norm(e.norm, x, kEpsilon));
    for (std::size_t i = 0; i < p.blocks.size(); ++i) {
      const Scope scope("blocks", static_cast<std::int64_t>(i));
      x = post_norm_block(p.blocks[i], x,
                          {.attention = {.heads = heads}, .epsilon = kEpsilon, .dropout = drop});
    }
    return x;
  };
  Model model = erase(f);
  model.loss = [like =
                    [&] {
                      Init shapes({.abstract = true});
                      return f.parameters(shapes);
                    }(),
                hidden = model.logits](const Tensors& params, Tensors& state, const Tensors& batch) {
    const Bert p = unflatten(like, params);
    const Tensor x = hidden(params, state, batch);
    const Scope scope("loss");
    const Tensor words = token_cross_entropy(matmul(x, transpose(p.embeddings.words)), batch[1]);
    const Tensor pooled = tanh(linear(p.pooler, squeeze(slice(x, 1, 0, 1), 1)));
    return words + cross_entropy(slice(pooled, 1, 0, 2), batch[3]);
  };
  return model;
}

}  // namespace tidemark
