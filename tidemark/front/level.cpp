// SPDX-License-Identifier: Apache-2.0
#include "tidemark/front/level.h"

#include "tidemark/front/eager.h"
#include "tidemark/grad/reverse.h"
#include "tidemark/ops/elementwise.h"

namespace tidemark {

Tensor Level::enter(const Tensor& below, const std::string& name) {
  Tensor t = input(below.type(), name);
  payloads_.push_back(below);
  if (!below_.defined() || below.recorder()->serial() > below_.recorder()->serial()) below_ = below;
  return t;
}

Tensor Level::lift(const Tensor& t) {
  Tensor lifted = Builder::lift(t);
  if (payloads_.size() < graph().values.size()) {
    payloads_.push_back(t);
    if (!below_.defined() || t.recorder()->serial() > below_.recorder()->serial()) below_ = t;
  }
  return lifted;
}

Tensors Level::record(const Op& op, std::span<const Tensor> in, Attrs attrs, std::vector<Graph> regions,
                      Where where) {
  Tensors results = Builder::record(op, in, attrs, regions, where);
  Tensors below;
  below.reserve(in.size());
  for (const Tensor& t : in) below.push_back(payload(t));
  Tensors values = in.empty() ? below_.recorder()->record(op, {}, std::move(attrs), std::move(regions), where)
                              : apply(op, below, std::move(attrs), where, std::move(regions));
  for (Tensor& v : values) payloads_.push_back(std::move(v));
  TIDEMARK_CHECK(payloads_.size() == graph().values.size());
  return results;
}

void Level::set_name(const Tensor& tensor, const std::string& name) {
  Builder::set_name(tensor, name);
  const Tensor below = payload(tensor);
  below.recorder()->set_name(below, name);
}

Tensor Level::payload(const Tensor& t) const {
  return t.recorder().get() == this ? payloads_[static_cast<std::size_t>(t.id())] : t;
}

std::shared_ptr<Storage> Level::contents(const Tensor& tensor) const {
  const Tensor below = payload(tensor);
  return below.storage() ? below.storage() : below.recorder()->contents(below);
}

Tensors interpret(const Graph& graph, Tensors known, const Tensor& beside) {
  known.resize(graph.values.size());
  std::vector<char> wanted(graph.values.size(), 0);
  const auto want = [&](ValueId v) {
    if (!known[static_cast<std::size_t>(v)].defined()) wanted[static_cast<std::size_t>(v)] = 1;
  };
  for (const ValueId v : graph.outputs) want(v);
  std::vector<char> runs(graph.nodes.size(), 0);
  for (std::size_t n = graph.nodes.size(); n-- > 0;) {
    for (const ValueId v : graph.nodes[n].out) runs[n] |= wanted[static_cast<std::size_t>(v)];
    if (runs[n]) {
      for (const ValueId v : graph.nodes[n].in) want(v);
    }
  }
  Tensors in;
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!runs[n]) continue;
    const Node& node = graph.nodes[n];
    in.clear();
    for (const ValueId v : node.in) in.push_back(known[static_cast<std::size_t>(v)]);
    const Attribution attribution(graph, node);
    const Where where = Where::current();
    Tensors out = in.empty() ? beside.recorder()->record(*node.op, {}, node.attrs, node.regions, where)
                             : apply(*node.op, in, node.attrs, where, node.regions);
    for (std::size_t i = 0; i < out.size(); ++i) {
      Tensor& slot = known[static_cast<std::size_t>(node.out[i])];
      if (!slot.defined()) slot = std::move(out[i]);
    }
  }
  Tensors results;
  for (const ValueId v : graph.outputs) {
    TIDEMARK_CHECK(known[static_cast<std::size_t>(v)].defined(),
                   "output %{} depends on an input that was not given", v);
    results.push_back(known[static_cast<std::size_t>(v)]);
  }
  return results;
}

Tensors Level::outputs_of(Graph derived, std::size_t first_output, std::span<const Tensor> seeds) {
  // The recorded nodes come first and their values keep their ids, so payloads are known; seeds are the last
  // inputs.
  Tensors known = payloads_;
  known.resize(derived.values.size());
  const std::size_t first_seed = derived.inputs.size() - seeds.size();
  for (std::size_t i = 0; i < seeds.size(); ++i)
    known[static_cast<std::size_t>(derived.inputs[first_seed + i])] = seeds[i];
  derived.outputs.erase(derived.outputs.begin(),
                        derived.outputs.begin() + static_cast<std::ptrdiff_t>(first_output));
  return interpret(derived, std::move(known), below_);
}

Tensors Level::pull_back(std::span<const Tensor> outputs, std::span<const Tensor> seeds,
                         std::span<const Tensor> wrt) {
  std::vector<ValueId> of, by;
  Tensors given;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Tensor y = lift(outputs[i]);
    of.push_back(y.id());
    Tensor seed = i < seeds.size() ? seeds[i] : Tensor{};
    if (seed.defined() && seed.type() != y.type()) {
      fail(Error::Kind::usage, "[vjp] the cotangent is {} vs the output {}", to_string(seed.type()),
           to_string(y.type()));
    }
    given.push_back(seed.defined() ? seed : ones_like(payload(y)));
  }
  for (const Tensor& t : wrt) by.push_back(t.id());
  Graph f = graph();
  f.outputs = of;
  return outputs_of(reverse(f, of, by), of.size(), given);
}

Tensors Level::push_forward(std::span<const Tensor> outputs, std::span<const Tensor> wrt,
                            std::span<const Tensor> tangents) {
  std::vector<ValueId> of, by;
  for (const Tensor& t : outputs) of.push_back(lift(t).id());
  for (std::size_t i = 0; i < wrt.size(); ++i) {
    by.push_back(wrt[i].id());
    if (tangents[i].type() != wrt[i].type()) {
      fail(Error::Kind::usage, "[jvp] the tangent is {} vs the input {}", to_string(tangents[i].type()),
           to_string(wrt[i].type()));
    }
  }
  Graph f = graph();
  f.outputs = of;
  return outputs_of(forward(f, by), of.size(), tangents);
}

}  // namespace tidemark
