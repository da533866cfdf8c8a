// The parts that transformers share: self-attention with one product for queries, keys and values, a feed-forward
// pair, and a block of both.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/nn/layers.h"

namespace tidemark {

// Zeroes with probability `rate`; an undefined key or a rate of 0 leaves x as it is.
struct Dropout {
  double rate = 0;
  Tensor key;
  Tensor operator()(const Tensor& x) const;
};

struct SelfAttention {
  Linear qkv, out;
};
struct FeedForward {
  Linear up, down;
};
struct TransformerBlock {
  Norm norm1;
  SelfAttention attn;
  Norm norm2;
  FeedForward mlp;
};

struct AttentionShape {
  std::int64_t heads = 1;
  bool causal = false;
};
// x (B, T, C) -> (B, T, C).
TIDEMARK_API Tensor self_attention(const SelfAttention& p, const Tensor& x, const AttentionShape& shape);

struct BlockInit {
  std::int64_t width = 0, hidden = 0;
  double deviation = 0.02;      // of all weights
  double out_deviation = 0.02;  // of the weights that write to the residual stream
};
TIDEMARK_API TransformerBlock make_transformer_block(Init& init, const BlockInit& options);

struct BlockOptions {
  AttentionShape attention;
  double epsilon = 1e-5;
  Tensor (*activation)(const Tensor&, Where) = nullptr;  // null: gelu
  Dropout dropout;
};
// x + f(norm(x)), twice: GPT-2, ViT.
TIDEMARK_API Tensor pre_norm_block(const TransformerBlock& p, Tensor x, const BlockOptions& options);
// norm(x + f(x)), twice: BERT.
TIDEMARK_API Tensor post_norm_block(const TransformerBlock& p, Tensor x, const BlockOptions& options);

}  // namespace tidemark
