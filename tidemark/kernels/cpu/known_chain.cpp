// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/cpu/known_chain.h"

#include <algorithm>
#include <cmath>

#include "tidemark/base/parallel.h"
#include "tidemark/ir/op.h"
#include "tidemark/kernels/cpu/elementwise.h"

namespace tidemark::kernels {
namespace {

constexpr std::int64_t kGrain = 1 << 15;  // elements for a thread at a time

// A number: an input of one element, or a constant of the chain.
struct Number {
  int input = -1;
  float constant = 0;
  float at(const Operands& o) const {
    return input < 0 ? constant : *o.input<float>(static_cast<std::size_t>(input));
  }
};

// m1 = m beta1 + g rest1; v1 = v beta2 + g^2 rest2; p1 = p keep - first m1 / (sqrt(v1) second + epsilon), as
// nn/optimizer.cpp writes it. Without decay p1 starts from p itself.
struct Adam {
  std::size_t p = 0, m = 0, v = 0, g = 0;  // inputs
  std::size_t p1 = 0, m1 = 0, v1 = 0;      // outputs
  Number beta1, rest1, beta2, rest2, first, second, epsilon, keep;
  bool decays = false;
};

class Matching {
 public:
  explicit Matching(const KernelSpec& spec) : spec_(spec), g_(spec.regions[0]), maker_(makers(g_)) {}

  bool adam(Adam& a) const {
    if (g_.outputs.size() != 3) return false;
    for (std::size_t o = 0; o < 3; ++o) {
      const Node* last = made_by(g_.outputs[o], tiles::sub);
      if (last == nullptr) continue;
      a.p1 = o;
      return update(*last, a) && all_plain();
    }
    return false;
  }

 private:
  using Tile = TileFunction (*)(DType);
  const Node* made_by(ValueId v, Tile tile) const {
    const std::int32_t n = maker_[static_cast<std::size_t>(v)];
    if (n < 0) return nullptr;
    const Node& node = g_.nodes[static_cast<std::size_t>(n)];
    return node.op->tile == tile ? &node : nullptr;
  }
  bool array(ValueId v, std::size_t& position) const {
    if (g_.type(v).shape != spec_.out[0].type.shape) return false;
    const auto at = std::find(g_.inputs.begin(), g_.inputs.end(), v);
    position = static_cast<std::size_t>(at - g_.inputs.begin());
    return at != g_.inputs.end();
  }
  bool number(ValueId v, Number& number) const {
    if (g_.type(v).shape.numel() != 1 || g_.type(v).dtype != DType::f32) return false;
    if (const Node* constant = made_by(v, tiles::full)) {
      number.constant = static_cast<float>(constant->op->tile_params(constant->attrs)[0]);
      return true;
    }
    const auto at = std::find(g_.inputs.begin(), g_.inputs.end(), v);
    number.input = static_cast<int>(at - g_.inputs.begin());
    return at != g_.inputs.end();
  }
  bool output(ValueId v, std::size_t& position) const {
    const auto at = std::find(g_.outputs.begin(), g_.outputs.end(), v);
    position = static_cast<std::size_t>(at - g_.outputs.begin());
    return at != g_.outputs.end();
  }

  bool update(const Node& last, Adam& a) const {
    const Node* kept = made_by(last.in[0], tiles::mul);
    a.decays = kept != nullptr;
    if (kept != nullptr ? !array(kept->in[0], a.p) || !number(kept->in[1], a.keep) : !array(last.in[0], a.p))
      return false;
    const Node* ratio = made_by(last.in[1], tiles::div);
    const Node* above = ratio == nullptr ? nullptr : made_by(ratio->in[0], tiles::mul);
    const Node* below = ratio == nullptr ? nullptr : made_by(ratio->in[1], tiles::add);
    const Node* scaled = below == nullptr ? nullptr : made_by(below->in[0], tiles::mul);
    const Node* root = scaled == nullptr ? nullptr : made_by(scaled->in[0], tiles::sqrt);
    if (above == nullptr || root == nullptr) return false;
    const ValueId m1 = above->in[1], v1 = root->in[0];
    return number(above->in[0], a.first) && number(scaled->in[1], a.second) &&
           number(below->in[1], a.epsilon) && output(m1, a.m1) && output(v1, a.v1) && moments(m1, v1, a);
  }
  bool moments(ValueId m1, ValueId v1, Adam& a) const {
    const auto mean = [&](ValueId of, std::size_t& old, Number& beta, Number& rest) -> ValueId {
      const Node* sum = made_by(of, tiles::add);
      const Node* left = sum == nullptr ? nullptr : made_by(sum->in[0], tiles::mul);
      const Node* right = sum == nullptr ? nullptr : made_by(sum->in[1], tiles::mul);
      if (left == nullptr || right == nullptr || !array(left->in[0], old) || !number(left->in[1], beta) ||
          !number(right->in[1], rest))
        return -1;
      return right->in[0];
    };
    const ValueId g = mean(m1, a.m, a.beta1, a.rest1), squared = mean(v1, a.v, a.beta2, a.rest2);
    const Node* square = squared < 0 ? nullptr : made_by(squared, tiles::square);
    return g >= 0 && array(g, a.g) && square != nullptr && square->in[0] == g;
  }
  bool all_plain() const {
    const auto plain = [](const Value& v) {
      return v.type.dtype == DType::f32 && v.layout.strides.empty() && v.layout.blocked.empty();
    };
    return std::all_of(spec_.in.begin(), spec_.in.end(), plain) &&
           std::all_of(spec_.out.begin(), spec_.out.end(), plain);
  }

  const KernelSpec& spec_;
  const Graph& g_;
  std::vector<std::int32_t> maker_;
};

// Outputs may be the very inputs: an element is read before it is written, and no other is.
template <bool decays>
void run_adam(const Adam& a, const Operands& o, std::int64_t begin, std::int64_t end) {
  const float beta1 = a.beta1.at(o), rest1 = a.rest1.at(o), beta2 = a.beta2.at(o), rest2 = a.rest2.at(o);
  const float first = a.first.at(o), second = a.second.at(o), epsilon = a.epsilon.at(o), keep = a.keep.at(o);
  const auto *p = o.input<float>(a.p), *m = o.input<float>(a.m), *v = o.input<float>(a.v),
             *g = o.input<float>(a.g);
  auto *p1 = o.output<float>(a.p1), *m1 = o.output<float>(a.m1), *v1 = o.output<float>(a.v1);
#pragma GCC ivdep
  for (std::int64_t i = begin; i < end; ++i) {
    const float mean = m[i] * beta1 + g[i] * rest1;
    const float square = v[i] * beta2 + g[i] * g[i] * rest2;
    const float step = first * mean / (std::sqrt(square) * second + epsilon);
    p1[i] = (decays ? p[i] * keep : p[i]) - step;
    m1[i] = mean;
    v1[i] = square;
  }
}

}  // namespace

std::unique_ptr<Kernel> known_chain(const KernelSpec& spec) {
  Adam a;
  if (!Matching(spec).adam(a)) return nullptr;
  return make_kernel(0, [a, n = spec.out[0].type.shape.numel(), threads = spec.threads](const Operands& o) {
    parallel_for(threads, n, kGrain, [&](std::int64_t begin, std::int64_t end) {
      a.decays ? run_adam<true>(a, o, begin, end) : run_adam<false>(a, o, begin, end);
    });
  });
}

}  // namespace tidemark::kernels
