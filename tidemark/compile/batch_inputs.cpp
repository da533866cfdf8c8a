// Which inputs are the batch, and the names of its parts.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/base/text.h"
#include "tidemark/compile/micro_batches.h"
#include "tidemark/ir/op.h"

#include <algorithm>

namespace tidemark {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

}  // namespace

bool is_key(const Type& type) { return type == Type{{2}, DType::i64}; }

std::vector<int> batch_inputs(const Graph& graph, int arguments) {
  std::vector<char> state(graph.inputs.size(), 0);
  for (const auto& [in, out] : graph.updates) state[at(in)] = 1;
  std::vector<int> batch;
  std::int64_t length = -1;
  for (int i = (arguments < 0 ? static_cast<int>(graph.inputs.size()) : arguments) - 1; i >= 0; --i) {
    const Type& type = graph.type(graph.inputs[at(i)]);
    if (is_key(type)) continue;
    if (state[at(i)] || type.shape.rank() == 0 || (length >= 0 && type.shape[0] != length)) break;
    length = type.shape[0];
    batch.push_back(i);
  }
  std::reverse(batch.begin(), batch.end());
  return batch;
}

std::vector<int> batch_inputs(const Graph& graph, std::span<const int> named) {
  std::vector<int> batch;
  for (const int i : named) {
    const Type& type = graph.type(graph.inputs[at(i)]);
    if (is_key(type)) continue;
    const bool state =
        std::any_of(graph.updates.begin(), graph.updates.end(), [&](const auto& u) { return u.first == i; });
    if (state || type.shape.rank() == 0 || (!batch.empty() && type.shape[0] != batch_size(graph, batch)))
      fail(Error::Kind::usage,
           "[micro_batches] tensor {} of the arguments ({}) was named as batch: it is {}{}", i,
           to_string(type),
           state                    ? "state"
           : type.shape.rank() == 0 ? "a single number"
                                    : "not as long as the first, ",
           state || type.shape.rank() == 0 ? "" : to_string(graph.type(graph.inputs[at(batch[0])])));
    batch.push_back(i);
  }
  return batch;
}

std::int64_t batch_size(const Graph& graph, std::span<const int> batch) {
  return batch.empty() ? 0 : graph.type(graph.inputs[at(batch[0])]).shape[0];
}

bool names(std::string_view pattern, std::string_view name) {
  return glob_match(pattern, name) || glob_match(pattern, name.substr(0, name.rfind(kPartMark)));
}

}  // namespace tidemark
