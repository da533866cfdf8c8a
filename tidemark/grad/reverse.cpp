// SPDX-License-Identifier: Apache-2.0
#include "tidemark/grad/reverse.h"

#include "tidemark/grad/regions.h"
#include "tidemark/ir/builder.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/reduce.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

Tensors tensors(Builder& b, const std::vector<ValueId>& ids) {
  Tensors result;
  result.reserve(ids.size());
  for (const ValueId id : ids) result.push_back(b.tensor(id));
  return result;
}

// The seeds (cotangents or tangents) gathered so far, by value.
class Seeds {
 public:
  explicit Seeds(std::size_t values) : seeds_(values) {}
  void add(ValueId v, const Type& type, const Tensor& seed) {
    if (!seed.defined() || !is_float(type.dtype)) return;
    // A rule may ignore that its op broadcasts; what was repeated is summed here, for all of them.
    const Tensor fitted = seed.shape() == type.shape ? seed : sum_to(seed, type.shape);
    Tensor& sum = seeds_[static_cast<std::size_t>(v)];
    sum = sum.defined() ? sum + fitted : fitted;
  }
  const Tensor& at(ValueId v) const { return seeds_[static_cast<std::size_t>(v)]; }
  Tensor take(ValueId v) { return std::move(seeds_[static_cast<std::size_t>(v)]); }
  bool any(const std::vector<ValueId>& values) const {
    for (const ValueId v : values) {
      if (at(v).defined()) return true;
    }
    return false;
  }
  void set(ValueId v, Tensor seed) { seeds_[static_cast<std::size_t>(v)] = std::move(seed); }

 private:
  Tensors seeds_;
};

}  // namespace

std::vector<char> depends_on(const Graph& f, std::span<const ValueId> wrt) {
  std::vector<char> varies(f.values.size(), 0);
  for (const ValueId v : wrt) varies[static_cast<std::size_t>(v)] = 1;
  for (const Node& n : f.nodes) {
    if (n.op->facts.zero_derivative) continue;
    bool any = false;
    for (const ValueId v : n.in) any = any || varies[static_cast<std::size_t>(v)];
    for (const ValueId v : n.out)
      varies[static_cast<std::size_t>(v)] |= static_cast<char>(any && is_float(f.type(v).dtype));
  }
  return varies;
}

namespace {

[[noreturn]] void no_rule(const Node& n, const char* mode) {
  fail(Error::Kind::unsupported, "[{}] has no {} derivative ({}); stop_gradient() its input", n.op->name,
       mode, to_string(n.loc));
}

// Nodes that a rule wrote carry the line and name of the node it was for.
void attribute(Graph& g, std::size_t first, const Node& n, const char* prefix) {
  for (std::size_t i = first; i < g.nodes.size(); ++i) {
    g.nodes[i].loc = n.loc;
    const std::string& of = g.value(n.out[0]).name;
    for (const ValueId v : g.nodes[i].out)
      g.value(v).name = fmt::format("{}{}.{}", prefix, of, g.nodes[i].op->name);
  }
}

}  // namespace

Graph reverse(const Graph& f, std::span<const ValueId> of, std::span<const ValueId> wrt) {
  const auto builder = std::make_shared<Builder>(f);
  Builder& b = *builder;
  b.graph().outputs.clear();
  b.graph().updates.clear();
  const std::vector<char> varies = depends_on(f, wrt);
  Seeds ct(f.values.size());
  Tensors outputs = tensors(b, f.outputs);
  for (const ValueId v : of) ct.add(v, f.type(v), b.input(f.type(v), "ct." + f.value(v).name));

  std::vector<char> kept(f.values.size(), 0);  // wrt values made inside f are read at the end
  for (const ValueId v : wrt) kept[static_cast<std::size_t>(v)] = 1;
  for (auto n = f.nodes.rbegin(); n != f.nodes.rend(); ++n) {
    if (!ct.any(n->out) || n->op->facts.zero_derivative) continue;
    std::vector<bool> needs;
    bool any = false;
    for (const ValueId v : n->in)
      any |= (needs.push_back(varies[static_cast<std::size_t>(v)] != 0), needs.back());
    if (!any) continue;
    const DerivativeRule vjp = vjp_of(*n->op);
    if (vjp == nullptr) no_rule(*n, "reverse");
    Tensors seeds;
    for (const ValueId v : n->out) seeds.push_back(kept[static_cast<std::size_t>(v)] ? ct.at(v) : ct.take(v));
    const std::size_t first = b.graph().nodes.size();
    const Tensors grads =
        vjp(Rule(*n, tensors(b, n->in), tensors(b, n->out), std::move(seeds), needs));
    TIDEMARK_CHECK(grads.size() == n->in.size(), "[{}] vjp gives {} results for {} inputs", n->op->name,
                   grads.size(), n->in.size());
    for (std::size_t i = 0; i < grads.size(); ++i) {
      if (needs[i]) ct.add(n->in[i], f.type(n->in[i]), grads[i]);
    }
    attribute(b.graph(), first, *n, "grad.");
  }
  for (const ValueId v : wrt) {
    outputs.push_back(ct.at(v).defined() ? ct.at(v) : zeros_like(b.tensor(v)));
  }
  return b.finish(outputs);
}

Graph forward(const Graph& f, std::span<const ValueId> wrt) {
  const auto builder = std::make_shared<Builder>(f);
  Builder& b = *builder;
  b.graph().outputs.clear();
  b.graph().updates.clear();
  Seeds dx(f.values.size());
  Tensors outputs = tensors(b, f.outputs);
  for (const ValueId v : wrt) dx.add(v, f.type(v), b.input(f.type(v), "d." + f.value(v).name));
  for (const Node& n : f.nodes) {
    if (!dx.any(n.in) || n.op->facts.zero_derivative) continue;
    const DerivativeRule jvp = jvp_of(*n.op);
    if (jvp == nullptr) no_rule(n, "forward");
    Tensors seeds;
    for (const ValueId v : n.in) seeds.push_back(dx.at(v));
    const std::size_t first = b.graph().nodes.size();
    const Tensors tangents = jvp(Rule(n, tensors(b, n.in), tensors(b, n.out), std::move(seeds), {}));
    TIDEMARK_CHECK(tangents.size() == n.out.size(), "[{}] jvp gives {} results for {} outputs", n.op->name,
                   tangents.size(), n.out.size());
    for (std::size_t i = 0; i < tangents.size(); ++i) {
      const Type& type = f.type(n.out[i]);
      if (!tangents[i].defined() || !is_float(type.dtype)) continue;
      dx.set(n.out[i],
             tangents[i].shape() == type.shape ? tangents[i] : broadcast_to(tangents[i], type.shape));
    }
    attribute(b.graph(), first, n, "tangent.");
  }
  for (const ValueId v : f.outputs)
    outputs.push_back(dx.at(v).defined() ? dx.at(v) : zeros_like(b.tensor(v)));
  return b.finish(outputs);
}

}  // namespace tidemark
