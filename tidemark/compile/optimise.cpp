// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/optimise.h"

#include "tidemark/compile/loops.h"
#include "tidemark/ir/fuse.h"
#include "tidemark/ir/join.h"
#include "tidemark/ir/layout.h"
#include "tidemark/ir/passes.h"
#include "tidemark/ir/turn.h"
#include "tidemark/ops/fused.h"
#include "tidemark/ops/table.h"

namespace tidemark {
namespace {

double read(const std::byte* data, DType dtype) {
  return dispatch(dtype, [&]<typename T>() -> double {
    const T x = *reinterpret_cast<const T*>(data);
    if constexpr (std::is_same_v<T, Bf16> || std::is_same_v<T, F16>) {
      return static_cast<float>(x);
    } else {
      return static_cast<double>(x);
    }
  });
}

void write(std::byte* data, DType dtype, double value) {
  dispatch(dtype, [&]<typename T>() {
    if constexpr (std::is_same_v<T, Bf16> || std::is_same_v<T, F16>) {
      *reinterpret_cast<T*>(data) = T(static_cast<float>(value));
    } else {
      *reinterpret_cast<T*>(data) = static_cast<T>(value);
    }
  });
}

// One element through the very kernel that would have run, so that folding changes no bit.
std::optional<double> evaluate(const Node& node, std::span<const DType> in, DType out, std::span<const double> values) {
  KernelSpec spec{.attrs = node.attrs, .threads = 1};
  std::vector<std::shared_ptr<Storage>> storages;
  std::vector<const void*> inputs;
  for (std::size_t i = 0; i < in.size(); ++i) {
    spec.in.push_back(Value{.type = {Shape{}, in[i]}});
    storages.push_back(Storage::allocate(size_of(in[i])));
    write(storages.back()->data(), in[i], values[i]);
    inputs.push_back(storages.back()->data());
  }
  spec.out.push_back(Value{.type = {Shape{}, out}});
  const auto result = Storage::allocate(size_of(out));
  const std::unique_ptr<Kernel> kernel = prepare(*node.op, spec);
  const auto workspace = Storage::allocate(kernel->workspace());
  void* const outputs[] = {result->data()};
  kernel->run({inputs, outputs, workspace->data()});
  return read(result->data(), out);
}

Graph verified(Graph g) {
  verify(g);
  return g;
}

}  // namespace

Graph simplified(Graph graph, bool join) {
  graph = verified(dce(graph));
  graph = verified(fold(graph, evaluate));
  graph = verified(cse(graph));
  if (!join) return graph;
  return verified(join_products(std::move(graph), {*find_op("matmul"), *find_op("add"), *find_op("permute"), *find_op("concat")}));
}

Graph optimise(Graph graph, const OptimiseOptions& options) {
  if (options.simplify) {
    graph = simplified(std::move(graph), options.join);
    graph = verified(join_rows(std::move(graph), *find_op("add"), *find_op("index_add"), *find_op("index_add_to")));
    graph = verified(cse(dce(graph)));
    graph = verified(turn_products(std::move(graph), *find_op("matmul"), *find_op("permute")));
  }
  graph = verified(shape_loops(std::move(graph)));
  if (options.fuse) graph = verified(fuse(graph, fused_op, fused_fold_op));
  if (options.layouts) graph = verified(assign_layouts(std::move(graph), *find_op("contiguous")));
  graph = verified(place_updates(std::move(graph)));
  if (options.early_updates) graph = verified(early_updates(std::move(graph)));
  return graph;
}

}  // namespace tidemark
