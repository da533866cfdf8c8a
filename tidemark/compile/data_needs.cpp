// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/data_needs.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "tidemark/ir/passes.h"
#include "tidemark/ops/loops.h"
#include "tidemark/runtime/profiler.h"

namespace tidemark {
namespace {

template <typename I>
std::size_t at(I id) {
  return static_cast<std::size_t>(id);
}

}  // namespace

// Numbers values and collects needs, regions inside their nodes. Recursion is as deep as loops are nested.
class NeedsWalk {
 public:
  explicit NeedsWalk(DataNeeds& out) : out_(out) {}

  void graph(const Graph& g) {
    out_.of_node_.resize(g.nodes.size());
    Scope scope{.graph = g, .number = std::vector<ValueNumber>(g.values.size(), -1), .maker = makers(g)};
    for (const ValueId v : g.inputs) set(scope, v, fresh());
    for (std::size_t n = 0; n < g.nodes.size(); ++n) visit(scope, n, out_.of_node_[n]);
    for (std::size_t v = 0; v < g.values.size(); ++v) {
      if (scope.number[v] >= 0) number(scope.number[v]).value = static_cast<ValueId>(v);
    }
  }

 private:
  struct Scope {
    const Graph& graph;
    std::vector<ValueNumber> number;
    std::vector<std::int32_t> maker;
    std::vector<ValueNumber> within;
    std::vector<std::size_t>
        loops;  // around it, outermost first: how many of the conditions all its steps have
    int depth() const { return static_cast<int>(loops.size()); }
  };
  using Needs = std::vector<DataNeed>;
  using List = std::vector<ValueNumber>;

  DataNeeds::Number& number(ValueNumber n) { return out_.numbers_[at(n)]; }
  ValueNumber fresh() {
    out_.numbers_.emplace_back();
    return static_cast<ValueNumber>(out_.numbers_.size() - 1);
  }
  static void set(Scope& s, ValueId v, ValueNumber n) { s.number[at(v)] = n; }

  // One number for all that give the same; `what`: an output, or kNode for the node itself.
  static constexpr int kNode = -1;
  ValueNumber of_node(const Node& node, const List& in, int what) {
    if (!node.regions.empty() || !repeatable(node)) return fresh();
    std::size_t h = std::hash<const void*>()(node.op) + at(what + 1);
    for (const ValueNumber n : in) h = h * 0x9E3779B97F4A7C15ull + at(n);
    const auto [first, last] = seen_.equal_range(h);
    for (auto it = first; it != last; ++it) {
      const Seen& s = it->second;
      if (s.node->op == node.op && s.in == in && s.what == what && same_attrs(s.node->attrs, node.attrs))
        return s.number;
    }
    const ValueNumber n = fresh();
    seen_.emplace(h, Seen{&node, in, what, n});
    return n;
  }
  // Conditions and slices: by a tag and two numbers.
  enum Tag : std::uint8_t { slice_of, counted_by, branch_of };
  ValueNumber tagged(Tag tag, ValueNumber a, ValueNumber b, int depth = 0) {
    const auto [found, is_new] = tagged_.try_emplace({tag, a, b, depth}, -1);
    if (is_new) found->second = fresh();
    return found->second;
  }

  // Of a step of a loop inside `depth` others: steps of loops in each other take their own.
  ValueNumber slice(ValueNumber whole, ValueNumber count, int depth) {
    const DataNeeds::Number& w = number(whole);
    if (w.slice >= 0 && w.count == count && w.depth == depth) return w.slice;
    const ValueNumber n = tagged(slice_of, whole, count, depth);
    number(n).part_of = whole;
    number(n).every_slice = count < 0;
    number(n).depth = depth;
    return n;
  }

  void need(Needs& needs, const Scope& s, ValueNumber of, const IndexRange& range, const Op& op) {
    if (range.limit >= 0) {
      for (const ValueNumber n : out_.inside(of)) {
        if (number(n).below >= 0 && number(n).below <= range.limit) return;
      }
      // In a branch that only some steps take, only their slices are looked at.
      while (number(of).every_slice && s.loops[at(number(of).depth)] == s.within.size())
        of = number(of).part_of;
    }
    DataNeed wanted{.of = of, .range = range, .op = &op, .within = s.within};
    const auto known = [&](const DataNeed& other) { return out_.covers(other, wanted); };
    if (std::none_of(needs.begin(), needs.end(), known)) needs.push_back(std::move(wanted));
  }
  static constexpr IndexRange kAnything{.limit = -1};

  void visit(Scope& s, std::size_t n, Needs& needs) {
    const Node& node = s.graph.nodes[n];
    List in;
    for (const ValueId v : node.in) in.push_back(s.number[at(v)]);
    if (is_loop(*node.op)) return loop(s, node, in, needs);
    if (node.op->facts.may_refuse) {
      if (node.op->indices != nullptr) {
        const IndexRange range = node.op->indices(spec_of(s.graph, node, 1));
        need(needs, s, in[at(range.array)], range, *node.op);
      } else {
        need(needs, s, of_node(node, in, kNode), kAnything, *node.op);
      }
    }
    for (std::size_t o = 0; o < node.out.size(); ++o) {
      const ValueNumber out = of_node(node, in, static_cast<int>(o));
      if (node.op->view != nullptr) number(out).part_of = in[0];
      set(s, node.out[o], out);
    }
    if (node.op->indices_made != nullptr) {
      const IndexRange range = node.op->indices_made(spec_of(s.graph, node, 1));
      number(s.number[at(node.out[at(range.array)])]).below = range.limit;
    }
  }

  // The numbers of the region's outputs.
  List region(const Graph& g, const List& inputs, std::vector<ValueNumber> within,
              std::vector<std::size_t> loops, Needs& needs) {
    Scope s{.graph = g,
            .number = std::vector<ValueNumber>(g.values.size(), -1),
            .maker = makers(g),
            .within = std::move(within),
            .loops = std::move(loops)};
    for (std::size_t i = 0; i < inputs.size(); ++i) set(s, g.inputs[i], inputs[i]);
    for (std::size_t n = 0; n < g.nodes.size(); ++n) visit(s, n, needs);
    List out;
    for (const ValueId v : g.outputs) out.push_back(s.number[at(v)]);
    return out;
  }
  // Of a step of a loop there.
  static std::vector<std::size_t> one_more(const Scope& s, const std::vector<ValueNumber>& within) {
    std::vector<std::size_t> loops = s.loops;
    loops.push_back(within.size());
    return loops;
  }
  static std::vector<ValueNumber> extended(std::vector<ValueNumber> within, ValueNumber by) {
    if (by >= 0) within.push_back(by);
    return within;
  }

  void loop(Scope& s, const Node& node, const List& in, Needs& needs) {
    for (const ValueId v : node.out) set(s, v, fresh());
    if (node.op == &cond_op) {
      const List operands(in.begin() + 1, in.end());
      for (std::size_t k = 0; k < node.regions.size(); ++k)
        region(node.regions[k], operands,
               extended(s.within, tagged(branch_of, in[0], static_cast<ValueNumber>(k))), s.loops, needs);
    } else if (node.op == &call_op) {
      region(node.regions[0], in, s.within, s.loops, needs);
    } else if (node.op == &scan_adjoint_op) {
      adjoint(s, node, in, needs);
    } else {
      steps(s, node, in, needs);
    }
  }

  void steps(Scope& s, const Node& node, const List& in, Needs& needs) {
    const LoopShape shape = loop_shape(node);
    const bool is_while = node.op == &while_op || node.op == &while_saving_op;
    ValueNumber count = shape.counted ? in.back() : -1;
    if (is_while) {
      // It refuses to go on; what is behind it counts its steps.
      need(needs, s, fresh(), kAnything, *node.op);
      count = s.number[at(node.out[node.out.size() - (node.op == &while_op ? 1 : 2)])];
      number(count).below = shape.trips + 1;
    } else if (shape.counted) {
      need(needs, s, count, {.limit = shape.trips + 1}, *node.op);
    }
    if (shape.trips == 0 && !is_while) return;
    const Graph& body = node.regions[0];
    List inputs;
    for (std::size_t i = 0; i < body.inputs.size(); ++i) {
      const bool carry = i < at(shape.carries);
      inputs.push_back(carry && body.outputs[i] != body.inputs[i] ? fresh()
                       : !carry && i < at(shape.first_const())    ? slice(in[i], count, s.depth())
                                                                  : in[i]);
    }
    carries_[&node] = List(inputs.begin(), inputs.begin() + shape.carries);
    const std::vector<ValueNumber> within =
        extended(s.within, count < 0 ? -1 : tagged(counted_by, count, -1));
    // Regions with tapes compute the same.
    const List made = region(body, inputs, within, one_more(s, within), needs);
    if (is_while) region(node.regions[1], inputs, within, one_more(s, within), needs);
    for (std::size_t o = at(shape.carries); o < made.size(); ++o) {
      DataNeeds::Number& stack = number(s.number[at(node.out[o])]);
      stack.slice = made[o], stack.count = count, stack.depth = s.depth();
    }
  }

  // States are those in which steps of the loop that saved them began.
  void adjoint(Scope& s, const Node& node, const List& in, Needs& needs) {
    const AdjointShape shape = adjoint_shape(node.attrs, node.regions);
    if (shape.trips == 0) return;
    const ValueNumber count = shape.counted ? in.back() : -1;
    const std::int32_t saving = s.maker[at(node.in[0])];
    List states;
    for (int i = 0; i < shape.states; ++i) {
      const auto known = saving < 0 ? carries_.end() : carries_.find(&s.graph.nodes[at(saving)]);
      states.push_back(known == carries_.end()
                           ? fresh()
                           : known->second[at(s.graph.nodes[at(saving)].attrs.integers("snapshot")[at(i)])]);
    }
    const auto add = [&](List& to, int first, int n, bool slices) {
      for (int i = first; i < first + n; ++i)
        to.push_back(slices ? slice(in[at(i)], count, s.depth()) : in[at(i)]);
    };
    const std::vector<ValueNumber> within =
        extended(s.within, count < 0 ? -1 : tagged(counted_by, count, -1));
    List advance = states, back;
    add(advance, shape.first_advance_x(), shape.advance_xs, true);
    add(advance, shape.first_advance_const(), shape.advance_consts, false);
    region(node.regions[0], advance, within, one_more(s, within), needs);
    for (int i = 0; i < shape.adjoints; ++i) back.push_back(fresh());
    for (const std::int64_t i : shape.states_read) back.push_back(states[at(i)]);
    add(back, shape.first_adjoint_x(), shape.adjoint_xs, true);
    add(back, shape.first_adjoint_const(), shape.adjoint_consts, false);
    region(node.regions[1], back, within, one_more(s, within), needs);
  }

  struct Seen {
    const Node* node;
    List in;
    int what;
    ValueNumber number;
  };
  DataNeeds& out_;
  std::unordered_multimap<std::size_t, Seen> seen_;
  std::map<std::tuple<Tag, ValueNumber, ValueNumber, int>, ValueNumber> tagged_;
  std::unordered_map<const Node*, List> carries_;
};

DataNeeds::DataNeeds(const Graph& graph) { NeedsWalk(*this).graph(graph); }

bool DataNeeds::any() const {
  return std::any_of(of_node_.begin(), of_node_.end(), [](const auto& needs) { return !needs.empty(); });
}

std::vector<ValueNumber> DataNeeds::inside(ValueNumber n) const {
  std::vector<ValueNumber> all;
  for (; n >= 0; n = numbers_[at(n)].part_of) all.push_back(n);
  return all;
}

bool DataNeeds::covers(const DataNeed& accepted, const DataNeed& wanted) const {
  if (accepted.within.size() > wanted.within.size() ||
      !std::equal(accepted.within.begin(), accepted.within.end(), wanted.within.begin()))
    return false;
  if (!wanted.indices()) return accepted.of == wanted.of && !accepted.indices();
  if (!accepted.indices() || accepted.range.limit > wanted.range.limit) return false;
  if (accepted.range.ignore && accepted.range.ignore != wanted.range.ignore) return false;
  for (ValueNumber n = wanted.of; n >= 0; n = numbers_[at(n)].part_of) {
    if (n == accepted.of) return true;
  }
  return false;
}

}  // namespace tidemark
