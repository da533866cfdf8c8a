// What the files of emit/ share: addresses, types, and loops over arrays in given strides.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <functional>

#include "tidemark/emit/emit.h"
#include "tidemark/ir/op.h"

namespace tidemark::emitting {

// One task about to be written.
struct Task {
  const Graph& graph;
  const Node& node;
  std::vector<std::string> in, out;  // addresses, as expressions of type unsigned char*
  std::string workspace;
  bool exact = false;  // the executor's bits are asked for
  const Value& input(std::size_t i) const { return graph.value(node.in[i]); }
  const Value& output(std::size_t i) const { return graph.value(node.out[i]); }
};

// An address so many bytes behind another.
std::string plus(const std::string& base, Bytes offset);
[[noreturn]] void refuse(const Node& node, const std::string& why);
std::string type_name(const Node& node, DType dtype);  // refuses storage types
std::string number(double value);
// "const double* x0 = (const double*)(arena + 64);"
std::string declare(const Node& node, const Value& value, const std::string& name, const std::string& address,
                    bool constant);

// The task's operands as x0, x1, … and y0, y1, …
void declare_operands(const Task& task, std::string& out);

// Loops over axes, innermost last, merged where all operands allow it.
struct Loops {
  std::vector<std::int64_t> sizes;
  std::vector<std::vector<std::int64_t>> strides;  // by operand, axis
};
Loops merged(const std::vector<std::int64_t>& sizes, const std::vector<std::vector<std::int64_t>>& strides);
std::string index_of(const Loops& loops, std::size_t operand, std::int64_t offset = 0);
// `body` inside the loops over i0, i1, …
std::string nest(const Loops& loops, const std::string& indent, const std::string& body);

// The type of a local: truth values stay what the compiler knows best until they are stored.
std::string local_type(const Node& node, DType dtype);
// One element of an elementwise op; refuses one that has no form in C++.
std::string formula(const Node& node, const Graph& graph, const std::vector<std::string>& arguments);

void write_map(const Task& task, std::string& out);   // elementwise ops, fused chains, reductions
bool write_move(const Task& task, std::string& out);  // false: not an op of its own
bool write_product(const Task& task, std::string& out);
bool write_network(const Task& task, std::string& out);
bool is_map(const Node& node);
// Whether what its inputs hold may be refused, in its regions too.
bool may_refuse(const Node& node);
// Throws std::runtime_error, with the op's words, for the first element of an integer array that is out of the range.
void write_index_check(const char* op, const IndexRange& range, const Type& type, const std::string& array,
                       std::string& out);
// Of the task's indices, if it has any: x0, x1, … are declared.
void write_index_check(const Task& task, std::string& out);
// Loops and branches; `region`: the name of the function of a region. False: not one of them.
using RegionName = std::function<std::string(std::size_t which)>;
bool write_loop(const Task& task, const RegionName& region, std::string& out);
bool write_while(const Task& task, const RegionName& region, std::string& out);

}  // namespace tidemark::emitting
