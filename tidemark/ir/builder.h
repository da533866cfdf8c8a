// Builder: the Recorder that writes a Graph. Traces use it, and so do the transforms: a rule's tensor code,
// recorded into a Builder, becomes nodes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unordered_map>

#include "tidemark/ir/op.h"

namespace tidemark {

class TIDEMARK_API Builder : public Recorder {
 public:
  static std::shared_ptr<Builder> make() { return std::make_shared<Builder>(Graph{}); }
  explicit Builder(Graph graph) : graph_(std::move(graph)) {}

  Tensor input(const Type& type, const std::string& name = "");
  Tensor tensor(ValueId id);
  Tensors record(const Op& op, std::span<const Tensor> in, Attrs attrs, std::vector<Graph> regions,
                 Where where) override;
  void set_name(const Tensor& tensor, const std::string& name) override;
  // Tensors of older recorders become further inputs, remembered in captures().
  Tensor lift(const Tensor& tensor) override;

  const Graph& graph() const { return graph_; }
  Graph& graph() { return graph_; }
  // In the order of the inputs that were added for them, behind those asked for by input().
  const Tensors& captures() const { return captures_; }
  // Sets the outputs, ends the recording (later use of its tensors is an error) and gives the graph away.
  Graph finish(std::span<const Tensor> outputs);

 protected:
  ValueId add_value(const Type& type, const std::string& name);

 private:
  Graph graph_;
  Tensors captures_;
  std::unordered_map<const void*, ValueId> lifted_;
  bool finished_ = false;
};

// While it lives, what Builders of this thread record carries the line and the names of `node` in `graph`: a node that a
// transform wrote, and that is now recorded elsewhere, still belongs to the user's line.
class TIDEMARK_API Attribution {
 public:
  Attribution(const Graph& graph, const Node& node);
  ~Attribution();
  Attribution(const Attribution&) = delete;
  Attribution& operator=(const Attribution&) = delete;

 private:
  friend class Builder;
  const Graph& graph_;
  const Node& node_;
  Attribution* outer_;
};

}  // namespace tidemark
