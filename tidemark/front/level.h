// A Level records a function while it runs, one level above whatever its inputs live on: each operation is
// written into a Graph and also carried out on the payloads. What grad, vjp and jvp differentiate is that
// Graph, by the same reverse and forward that compiled code goes through; C++ branches and loops on values
// just work.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/builder.h"

namespace tidemark {

class TIDEMARK_API Level : public Builder {
 public:
  static std::shared_ptr<Level> make() { return std::make_shared<Level>(); }
  Level() : Builder(Graph{}) {}

  // An input whose payload is `below`.
  Tensor enter(const Tensor& below, const std::string& name = "");
  Tensors record(const Op& op, std::span<const Tensor> in, Attrs attrs, std::vector<Graph> regions,
                 Where where) override;
  void set_name(const Tensor& tensor, const std::string& name) override;
  Tensor lift(const Tensor& tensor) override;
  std::shared_ptr<Storage> contents(const Tensor& tensor) const override;
  // The value one level below; tensors of older recorders are their own payload.
  Tensor payload(const Tensor& t) const;

  // Σ seeds_i · ∂outputs_i / ∂wrt: the payloads of the gradients. Undefined seeds mean ones.
  Tensors pull_back(std::span<const Tensor> outputs, std::span<const Tensor> seeds,
                    std::span<const Tensor> wrt);
  // ∂outputs / ∂wrt · tangents.
  Tensors push_forward(std::span<const Tensor> outputs, std::span<const Tensor> wrt,
                       std::span<const Tensor> tangents);

 private:
  Tensors outputs_of(Graph derived, std::size_t first_output, std::span<const Tensor> seeds);
  Tensors payloads_;  // by value id
  Tensor below_;      // a tensor of the newest recorder below, for ops without inputs
};

// Carries out the nodes that `graph`'s outputs need and `known` (by value id, undefined where unknown) does
// not hold.
TIDEMARK_API Tensors interpret(const Graph& graph, Tensors known, const Tensor& beside);

}  // namespace tidemark
