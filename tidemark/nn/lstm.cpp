// A language model of stacked LSTMs (Hochreiter & Schmidhuber 1997; sizes as the medium one of Zaremba et al. 2014).
// Sizes: vocab, hidden, depth. Each sequence starts from zeros.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/nn/families.h"
#include "tidemark/nn/layers.h"
#include "tidemark/nn/loss.h"
#include "tidemark/nn/transformer.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/gather.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

struct LstmModel {
  Tensor words;
  std::vector<Lstm> layers;
  Linear decoder;
};

}  // namespace

Model lstm_language_model(const std::string& name, const ModelOptions& options) {
  const Sizes size(name, options, {{"vocab", 10000}, {"hidden", 650}, {"depth", 2}});
  Family<LstmModel, Stateless> f;
  f.name = name;
  f.batch = token_batch(options, size["vocab"], 35, 20);
  f.parameters = [=](Init& init) {
    const std::int64_t c = size["hidden"];
    LstmModel p;
    p.words = init.uniform({size["vocab"], c}, 0.05);
    for (std::int64_t i = 0; i < size["depth"]; ++i) p.layers.push_back(make_lstm(init, c, c));
    p.decoder = make_linear(init, c, size["vocab"]);
    return p;
  };
  f.logits = [options](const LstmModel& p, Stateless&, const Tensors& batch) {
    const Dropout drop{options.training ? options.dropout : 0, options.dropout > 0 ? batch.back() : Tensor{}};
    // Time first: a step is then one contiguous slice.
    Tensor x = drop(embedding(p.words, transpose(batch[0], 0, 1)));
    const Tensor zero = full_beside(x, {{x.size(1), x.size(2)}, x.dtype()}, 0);
    for (std::size_t i = 0; i < p.layers.size(); ++i) {
      const Scope scope("layers", static_cast<std::int64_t>(i));
      LstmState state{zero, zero};
      x = drop(lstm(p.layers[i], x, state));
    }
    const Scope scope("decoder");
    return linear(p.decoder, x);
  };
  // Logits are (T, B, vocab): turning the labels is cheaper.
  f.loss = [](const Tensor& logits, const Tensors& batch) {
    return token_cross_entropy(logits, transpose(batch[1], 0, 1));
  };
  return erase(std::move(f));
}

}  // namespace tidemark
