// Data that emitted code refuses, as the executor does and in its words: indices out of range, looked at before they are used. Loops that go
// on for too long: while.cpp.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "tidemark/emit/writer.h"
#include "tidemark/runtime/profiler.h"

namespace tidemark::emitting {
namespace {

// The words of an op alone, whatever this thread is doing.
class AsTheyAre final : public ErrorContext {
 public:
  std::string complete(Error::Kind, std::string message) const override { return message; }
};

// What the op says of an index, as an expression; numbers that nothing else is stand for what is known when it runs.
std::string message_of(const char* op, const IndexRange& range, const std::string& index,
                       const std::string& position) {
  constexpr std::int64_t kIndex = std::numeric_limits<std::int64_t>::min() + 1,
                         kPosition = std::numeric_limits<std::int64_t>::max() - 1;
  std::string words;
  try {
    const AsTheyAre context;
    range.refuse(op, kIndex, kPosition, range.limit);
  } catch (const Error& e) {
    words = e.what();
  }
  TIDEMARK_CHECK(!words.empty(), "[emit] {} refuses no index", op);
  words = "std::string(\"" + words + "\")";
  for (const auto& [mark, expression] : {std::pair{kIndex, index}, std::pair{kPosition, position}}) {
    const std::string text = std::to_string(mark);
    const std::size_t at = words.find(text);
    if (at != std::string::npos)
      words.replace(at, text.size(), fmt::format("\" + std::to_string({}) + \"", expression));
  }
  return words;
}

}  // namespace

bool may_refuse(const Node& node) {
  return node.op->facts.may_refuse ||
         std::any_of(node.regions.begin(), node.regions.end(), [](const Graph& region) {
           return std::any_of(region.nodes.begin(), region.nodes.end(), may_refuse);
         });
}

void write_index_check(const char* op, const IndexRange& range, const Type& type, const std::string& array,
                       std::string& out) {
  if (type.shape.numel() == 0) return;
  out += fmt::format(
      "    if (const std::int64_t bad = bad_index({}, {}, {}{}); bad >= 0)\n      throw "
      "std::runtime_error({});\n",
      array, type.shape.numel(), range.limit, range.ignore ? fmt::format(", {}", *range.ignore) : "",
      message_of(op, range, array + "[bad]", "bad"));
}

void write_index_check(const Task& t, std::string& out) {
  const Op& op = *t.node.op;
  if (op.indices == nullptr) return;
  const IndexRange range = op.indices(spec_of(t.graph, t.node, 1));
  write_index_check(op.name, range, t.input(static_cast<std::size_t>(range.array)).type,
                    fmt::format("x{}", range.array), out);
}

}  // namespace tidemark::emitting
