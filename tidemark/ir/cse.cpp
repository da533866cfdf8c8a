// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <unordered_map>

#include "tidemark/ir/op.h"
#include "tidemark/ir/passes.h"

namespace tidemark {
namespace {

std::size_t mix(std::size_t seed, std::size_t value) { return seed ^ (value + 0x9E3779B97F4A7C15ull + (seed << 6) + (seed >> 2)); }

struct HashAttr {
  std::size_t operator()(std::int64_t x) const { return std::hash<std::int64_t>()(x); }
  std::size_t operator()(double x) const { return std::hash<std::uint64_t>()(std::bit_cast<std::uint64_t>(x)); }
  std::size_t operator()(const std::string& x) const { return std::hash<std::string>()(x); }
  std::size_t operator()(const std::vector<std::int64_t>& x) const {
    std::size_t h = x.size();
    for (const std::int64_t i : x) h = mix(h, std::hash<std::int64_t>()(i));
    return h;
  }
  std::size_t operator()(const Literal& x) const { return x.bytes->size(); }
};

// The op's address serves to tell ops apart within one run; nothing iterates over the table, so the order stays fixed.
std::size_t hash_of(const Node& node) {
  std::size_t h = std::hash<const void*>()(node.op);
  for (const ValueId v : node.in) h = mix(h, static_cast<std::size_t>(v));
  for (const auto& [name, value] : node.attrs) h = mix(mix(h, std::hash<std::string>()(name)), std::visit(HashAttr{}, value));
  return h;
}

}  // namespace

bool same_attrs(const Attrs& a, const Attrs& b) {
  if (!(a == b)) return false;
  for (auto x = a.begin(), y = b.begin(); x != a.end(); ++x, ++y) {
    const double *p = std::get_if<double>(&x->second), *q = std::get_if<double>(&y->second);
    if (p != nullptr && std::bit_cast<std::uint64_t>(*p) != std::bit_cast<std::uint64_t>(*q)) return false;
  }
  return true;
}

Graph cse(const Graph& graph) {
  Graph result = graph;
  result.nodes.clear();
  std::vector<ValueId> renamed(graph.values.size());
  for (std::size_t v = 0; v < renamed.size(); ++v) renamed[v] = static_cast<ValueId>(v);
  std::unordered_multimap<std::size_t, std::size_t> seen;  // hash → index in result.nodes
  for (const Node& original : graph.nodes) {
    Node node = original;
    for (ValueId& v : node.in) v = renamed[static_cast<std::size_t>(v)];
    const bool mergeable = node.regions.empty() && repeatable(node);
    const std::size_t h = hash_of(node);
    bool merged = false;
    if (mergeable) {
      const auto [first, last] = seen.equal_range(h);
      for (auto it = first; it != last && !merged; ++it) {
        const Node& other = result.nodes[it->second];
        if (other.op != node.op || other.in != node.in || !same_attrs(other.attrs, node.attrs)) continue;
        for (std::size_t i = 0; i < node.out.size(); ++i) renamed[static_cast<std::size_t>(node.out[i])] = other.out[i];
        merged = true;
      }
    }
    if (merged) continue;
    if (mergeable) seen.emplace(h, result.nodes.size());
    result.nodes.push_back(std::move(node));
  }
  // Two updates may now name one value; place_updates gives each input its own version again.
  for (ValueId& v : result.outputs) v = renamed[static_cast<std::size_t>(v)];
  return dce(result);
}

}  // namespace tidemark
