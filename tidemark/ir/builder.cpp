// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ir/builder.h"

#include <utility>

namespace tidemark {

namespace {
thread_local Attribution* attribution = nullptr;
}

Attribution::Attribution(const Graph& graph, const Node& node)
    : graph_(graph), node_(node), outer_(std::exchange(attribution, this)) {}
Attribution::~Attribution() { attribution = outer_; }

ValueId Builder::add_value(const Type& type, const std::string& name) {
  graph_.values.push_back(Value{.type = type, .name = name});
  return static_cast<ValueId>(graph_.values.size() - 1);
}

Tensor Builder::input(const Type& type, const std::string& name) {
  const ValueId id = add_value(type, name);
  graph_.inputs.push_back(id);
  return tensor(id);
}

Tensor Builder::tensor(ValueId id) { return Tensor(shared_from_this(), id, graph_.type(id)); }

Tensor Builder::lift(const Tensor& t) {
  if (t.recorder().get() == this) return t;
  if (t.recorder()->serial() > serial()) {
    fail(Error::Kind::usage,
         "[trace] a tensor of an inner, finished trace is used outside it; return it from the traced "
         "function");
  }
  // Identity: concrete tensors by storage, traced ones by (recorder, id); the capture keeps either alive.
  const void* key = t.concrete() ? static_cast<const void*>(t.storage().get()) : nullptr;
  if (key != nullptr) {
    const auto found = lifted_.find(key);
    if (found != lifted_.end() && graph_.type(found->second) == t.type()) return tensor(found->second);
  } else {
    for (std::size_t i = 0; i < captures_.size(); ++i) {
      const Tensor& c = captures_[i];
      if (!c.concrete() && c.recorder() == t.recorder() && c.id() == t.id() &&
          (t.id() >= 0 || c.same_as(t))) {
        return tensor(graph_.inputs[graph_.inputs.size() - captures_.size() + i]);
      }
    }
  }
  Tensor lifted = input(t.type(), "captured");
  captures_.push_back(t);
  if (key != nullptr) lifted_.emplace(key, lifted.id());
  return lifted;
}

Tensors Builder::record(const Op& op, std::span<const Tensor> in, Attrs attrs, std::vector<Graph> regions,
                        Where where) {
  if (finished_)
    fail(Error::Kind::usage, "[{}] a tensor of a finished trace is used; return it from the traced function",
         op.name);
  Node node{.op = &op,
            .attrs = std::move(attrs),
            .regions = std::move(regions),
            .loc = {where.file_name(), where.line()}};
  std::vector<Type> types;
  types.reserve(in.size());
  node.in.reserve(in.size());
  for (const Tensor& t : in) {
    node.in.push_back(lift(t).id());
    types.push_back(t.type());
  }
  const std::vector<Type> out = infer_types(op, types, node.attrs, node.regions, where);
  std::string name = Scope::path();
  name += name.empty() ? "" : ".";
  name += op.name;
  Tensors results;
  results.reserve(out.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const bool given = attribution != nullptr && i < attribution->node_.out.size();
    node.out.push_back(
        add_value(out[i], given ? attribution->graph_.value(attribution->node_.out[i]).name : name));
    results.push_back(tensor(node.out.back()));
  }
  if (attribution != nullptr) node.loc = attribution->node_.loc;
  graph_.nodes.push_back(std::move(node));
  return results;
}

void Builder::set_name(const Tensor& tensor, const std::string& name) {
  if (finished_)
    fail(Error::Kind::usage,
         "[name] a tensor of a finished trace is used; return it from the traced function");
  graph_.value(tensor.id()).name = name;
}

Graph Builder::finish(std::span<const Tensor> outputs) {
  for (const Tensor& t : outputs) graph_.outputs.push_back(lift(t).id());
  finished_ = true;
  return std::move(graph_);
}

}  // namespace tidemark
