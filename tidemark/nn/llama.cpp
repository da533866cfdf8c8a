// Llama 3.2 1B (Grattafiori et al. 2024): rotary positions, grouped queries, SiLU gates, output weights tied to the
// embedding. Sizes: vocab, width, depth, heads, groups (key and value heads), hidden.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>

#include "tidemark/nn/families.h"
#include "tidemark/nn/layers.h"
#include "tidemark/ops/attention.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/gather.h"
#include "tidemark/ops/matmul.h"
#include "tidemark/ops/norm.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

struct Attention {
  Tensor wq, wk, wv, wo;
};
struct Gated {
  Tensor gate, up, down;
};
struct Block {
  Tensor norm1;
  Attention attn;
  Tensor norm2;
  Gated mlp;
};
struct Llama {
  Tensor words;
  std::vector<Block> blocks;
  Tensor norm;
};

struct Rotation {
  Tensor cos, sin;  // (T, 1, D / 2)
};

// Rotary embedding (Su et al. 2021) with Llama 3's scaling: frequencies whose wavelength exceeds the 8192 tokens of the
// first training are slowed by 32, those below a quarter of it kept, those between blended.
Rotation rotation(const Tensor& beside, std::int64_t tokens, std::int64_t head) {
  constexpr double kBase = 500000, kFactor = 32, kLow = 1, kHigh = 4, kFirst = 8192;
  const Tensor exponent = iota_beside(beside, head / 2, beside.dtype()) * (2 / static_cast<double>(head));
  const Tensor plain = exp(exponent * -std::log(kBase));
  const Tensor turns = plain * (kFirst / (2 * std::numbers::pi));  // in the first context
  const Tensor blend = clamp((turns - kLow) / (kHigh - kLow), 0, 1);
  const Tensor frequency = plain * (blend + (1 - blend) / kFactor);
  const Tensor position = reshape(iota_beside(beside, tokens, beside.dtype()), {tokens, 1, 1});
  const Tensor angle = position * frequency;
  return {cos(angle), sin(angle)};
}

// x (B, T, H, D): element i of the first half is turned with element i of the second.
Tensor rotate(const Tensor& x, const Rotation& r) {
  const Tensors half = split(x, 2, -1);
  return concat({half[0] * r.cos - half[1] * r.sin, half[1] * r.cos + half[0] * r.sin}, -1);
}

Tensor attend(const Attention& p, const Tensor& x, const Rotation& r, std::int64_t heads,
              std::int64_t groups) {
  const Scope scope("attn");
  const std::int64_t b = x.size(0), t = x.size(1), d = p.wq.size(1) / heads;
  const Tensor q = rotate(reshape(matmul(x, p.wq), {b, t, heads, d}), r);
  const Tensor k = rotate(reshape(matmul(x, p.wk), {b, t, groups, d}), r);
  const Tensor v = reshape(matmul(x, p.wv), {b, t, groups, d});
  return matmul(reshape(attention(q, k, v, {.causal = true}), {b, t, heads * d}), p.wo);
}

Tensor gated(const Gated& p, const Tensor& x) {
  const Scope scope("mlp");
  return matmul(silu(matmul(x, p.gate)) * matmul(x, p.up), p.down);
}

constexpr double kEpsilon = 1e-5;

}  // namespace

Model llama(const std::string& name, const ModelOptions& options) {
  const Sizes size(
      name, options,
      {{"vocab", 128256}, {"width", 2048}, {"depth", 16}, {"heads", 32}, {"groups", 8}, {"hidden", 8192}});
  Family<Llama, Stateless> f;
  f.name = name;
  f.batch = token_batch(options, size["vocab"], 1024, 1);
  f.parameters = [=](Init& init) {
    const std::int64_t c = size["width"], narrow = c / size["heads"] * size["groups"],
                       hidden = size["hidden"];
    const auto weight = [&](std::int64_t in, std::int64_t out) { return init.normal({in, out}, 0.02); };
    Llama p;
    p.words = weight(size["vocab"], c);
    for (std::int64_t i = 0; i < size["depth"]; ++i) {
      Block b;
      b.norm1 = init.ones({c});
      b.attn.wq = weight(c, c);
      b.attn.wk = weight(c, narrow);
      b.attn.wv = weight(c, narrow);
      b.attn.wo = weight(c, c);
      b.norm2 = init.ones({c});
      b.mlp.gate = weight(c, hidden);
      b.mlp.up = weight(c, hidden);
      b.mlp.down = weight(hidden, c);
      p.blocks.push_back(std::move(b));
    }
    p.norm = init.ones({c});
    return p;
  };
  f.logits = [heads = size["heads"], groups = size["groups"]](const Llama& p, Stateless&,
                                                              const Tensors& batch) {
    Tensor x = embedding(p.words, batch[0]);
    const Rotation r = rotation(x, x.size(1), x.size(2) / heads);
    for (std::size_t i = 0; i < p.blocks.size(); ++i) {
      const Scope scope("blocks", static_cast<std::int64_t>(i));
      const Block& b = p.blocks[i];
      x += attend(b.attn, rms_norm(x, b.norm1, kEpsilon), r, heads, groups);
      x += gated(b.mlp, rms_norm(x, b.norm2, kEpsilon));
    }
    return matmul(rms_norm(x, p.norm, kEpsilon), transpose(p.words));
  };
  f.loss = cross_entropy_of_batch;
  return erase(std::move(f));
}

}  // namespace tidemark
