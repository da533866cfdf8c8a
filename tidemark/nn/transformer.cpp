// SPDX-License-Identifier: Apache-2.0
#include "tidemark/nn/transformer.h"

#include "tidemark/ops/attention.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/random.h"
#include "tidemark/ops/views.h"

namespace tidemark {

Tensor Dropout::operator()(const Tensor& x) const {
  return rate > 0 && key.defined() ? dropout(x, rate, key) : x;
}

Tensor self_attention(const SelfAttention& p, const Tensor& x, const AttentionShape& shape) {
  const Scope scope("attn");
  const std::int64_t b = x.size(0), t = x.size(1), c = x.size(2), d = c / shape.heads;
  // One split, not three slices: its gradient is one concatenation.
  Tensors qkv = split(linear(p.qkv, x), 3, -1);
  for (Tensor& part : qkv) part = reshape(part, {b, t, shape.heads, d});
  const Tensor y = attention(qkv[0], qkv[1], qkv[2], {.causal = shape.causal});
  return linear(p.out, reshape(y, {b, t, c}));
}

namespace {

Linear make_normal_linear(Init& init, std::int64_t in, std::int64_t out, double deviation) {
  Linear p;
  p.w = init.normal({in, out}, deviation);
  p.b = init.zeros({out});
  return p;
}

Tensor feed_forward(const FeedForward& p, const Tensor& x, const BlockOptions& options) {
  const Scope scope("mlp");
  const Tensor hidden = linear(p.up, x);
  return linear(p.down, options.activation ? options.activation(hidden, Where::current()) : gelu(hidden));
}

}  // namespace

TransformerBlock make_transformer_block(Init& init, const BlockInit& options) {
  const std::int64_t c = options.width;
  TransformerBlock p;
  p.norm1 = make_norm(init, c);
  p.attn.qkv = make_normal_linear(init, c, 3 * c, options.deviation);
  p.attn.out = make_normal_linear(init, c, c, options.out_deviation);
  p.norm2 = make_norm(init, c);
  p.mlp.up = make_normal_linear(init, c, options.hidden, options.deviation);
  p.mlp.down = make_normal_linear(init, options.hidden, c, options.out_deviation);
  return p;
}

Tensor pre_norm_block(const TransformerBlock& p, Tensor x, const BlockOptions& options) {
  x += options.dropout(self_attention(p.attn, layer_norm(p.norm1, x, options.epsilon), options.attention));
  x += options.dropout(feed_forward(p.mlp, layer_norm(p.norm2, x, options.epsilon), options));
  return x;
}

Tensor post_norm_block(const TransformerBlock& p, Tensor x, const BlockOptions& options) {
  x = layer_norm(p.norm1, x + options.dropout(self_attention(p.attn, x, options.attention)), options.epsilon);
  return layer_norm(p.norm2, x + options.dropout(feed_forward(p.mlp, x, options)), options.epsilon);
}

}  // namespace tidemark
