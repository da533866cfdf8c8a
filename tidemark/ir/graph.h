// A Graph is plain data: values in single assignment, nodes in a valid order. trace makes one, passes and
// reverse turn one into another, pose and lower read it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "tidemark/ir/attrs.h"
#include "tidemark/ir/shape.h"

namespace tidemark {

struct Op;
using ValueId = std::int32_t;

// The user's line that asked for a node. `file` lives as long as the program (it comes from
// std::source_location).
struct Loc {
  const char* file = "";
  std::uint32_t line = 0;
  static Loc here(std::source_location l = std::source_location::current()) {
    return {l.file_name(), l.line()};
  }
};
TIDEMARK_API std::string to_string(const Loc& loc);  // "gpt.cpp:88", or "" where unknown

struct Value {
  Type type;
  Layout layout;
  ValueId alias_of = -1;  // the value whose storage this one views, or -1
  std::string name;       // for people; never used in logic
};

struct Graph;

struct Node {
  const Op* op = nullptr;
  std::vector<ValueId> in, out;
  Attrs attrs;
  std::vector<Graph> regions;  // bodies of fused chains, loops, branches, calls
  Loc loc;
};

struct Graph {
  std::vector<Value> values;
  std::vector<Node> nodes;  // a node reads only inputs and what earlier nodes made
  std::vector<ValueId> inputs, outputs;
  // (position in inputs, position in outputs): the output is the next version of that input and takes its
  // storage.
  std::vector<std::pair<int, int>> updates;

  const Value& value(ValueId id) const { return values[static_cast<std::size_t>(id)]; }
  Value& value(ValueId id) { return values[static_cast<std::size_t>(id)]; }
  const Type& type(ValueId id) const { return value(id).type; }
};

// Throws Error(internal) naming the node: ids, order, single assignment, types as the op's rule gives them,
// aliases. Called after every pass.
TIDEMARK_API void verify(const Graph& graph);

// For each value, the node that makes it; -1 for inputs.
TIDEMARK_API std::vector<std::int32_t> makers(const Graph& graph);

// A readable text form; parse(print(g)) prints the same again, but for the locations, which are comments.
TIDEMARK_API std::string print(const Graph& graph);
using FindOp = const Op* (*)(std::string_view name);
TIDEMARK_API Graph parse(std::string_view text, FindOp find);  // throws Error(data) naming the line
// 16 hex digits over structure, types and attributes; names and locations do not count.
TIDEMARK_API std::string hash(const Graph& graph);

}  // namespace tidemark
