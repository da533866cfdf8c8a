// SPDX-License-Identifier: Apache-2.0
#include "tidemark/grad/regions.h"

#include <algorithm>

#include "tidemark/grad/reverse.h"
#include "tidemark/ir/passes.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/loops.h"
#include "tidemark/ops/table.h"

namespace tidemark {
namespace {

using Flags = std::vector<char>;

// Which inputs a graph reads or returns.
Flags inputs_used(const Graph& g) {
  Flags value(g.values.size(), 0);
  for (const Node& n : g.nodes) {
    for (const ValueId v : n.in) value[static_cast<std::size_t>(v)] = 1;
  }
  for (const ValueId v : g.outputs) value[static_cast<std::size_t>(v)] = 1;
  Flags used;
  for (const ValueId v : g.inputs) used.push_back(value[static_cast<std::size_t>(v)]);
  return used;
}

// The graph with only what `outputs` (positions among its outputs) need. Inputs stay.
Graph restricted(Graph g, std::size_t first, std::size_t count) {
  g.outputs = std::vector<ValueId>(g.outputs.begin() + static_cast<std::ptrdiff_t>(first),
                                   g.outputs.begin() + static_cast<std::ptrdiff_t>(first + count));
  return dce(g);
}

// A graph whose operands are put together anew: each input taken from the old graph goes with the tensor that is given
// for it outside.
class Gathered {
 public:
  explicit Gathered(const Graph& from) : from_(from) {}
  void add(std::size_t input, const Tensor& outside) {
    inputs_.push_back(from_.inputs[input]);
    tensors_.push_back(outside);
  }
  int size() const { return static_cast<int>(tensors_.size()); }
  std::vector<ValueId> take_inputs() { return std::move(inputs_); }
  Tensors take_tensors() { return std::move(tensors_); }

 private:
  const Graph& from_;
  std::vector<ValueId> inputs_;
  Tensors tensors_;
};

constexpr std::int64_t kMostStacked = std::int64_t{1} << 40;

bool all_repeatable(const std::vector<Graph>& regions) {
  return std::all_of(regions.begin(), regions.end(), [](const Graph& g) { return repeatable(g); });
}

std::vector<ValueId> made_unrepeatably(const Graph& region) {
  std::vector<ValueId> made;
  for (const Node& n : region.nodes) {
    if (!repeatable(n)) made.insert(made.end(), n.out.begin(), n.out.end());
  }
  return made;
}

// A derivative of `region`, which begins with its nodes, without those that may not run again: their results are to be inputs.
void leave_unrepeatable(Graph& derivative, const Graph& region) {
  const auto end = derivative.nodes.begin() + static_cast<std::ptrdiff_t>(region.nodes.size());
  derivative.nodes.erase(
      std::remove_if(derivative.nodes.begin(), end, [](const Node& n) { return !repeatable(n); }), end);
}

// The result of the node that is value `v` of its region; see record_unrepeatable.
Tensor recorded(const Rule& r, const Graph& region, ValueId v, std::size_t first = 0) {
  const auto begin = region.outputs.begin() + static_cast<std::ptrdiff_t>(first),
             found = std::find(begin, region.outputs.end(), v);
  if (found == region.outputs.end())
    fail(Error::Kind::unsupported,
         "[{}] holds an op that may not run again, and what it made is not among the results ({}); "
         "stop_gradient() its input",
         r.node().op->name, to_string(r.node().loc));
  return r.y(static_cast<int>(found - region.outputs.begin()));
}

Tensors apply_recording(const Op& op, const Tensors& in, Attrs attrs, std::vector<Graph> regions) {
  const std::size_t results = regions[0].outputs.size();
  record_unrepeatable(op, attrs, regions);
  Tensors out = apply(op, in, std::move(attrs), Where::current(), std::move(regions));
  if (&op != &while_op) out.resize(results);
  return out;
}

struct LoopRule {
  const Rule& r;
  const Node& node = r.node();
  LoopShape s = loop_shape(node);
  const Graph& body = node.regions[0];
  bool is_while = node.op == &while_op;
  Flags vary;                                 // by body input
  bool again = all_repeatable(node.regions);  // steps may run again
  std::vector<ValueId> made = made_unrepeatably(body);

  explicit LoopRule(const Rule& rule) : r(rule) {}
  std::size_t operands() const { return body.inputs.size(); }
  bool is_carry(std::size_t i) const { return i < static_cast<std::size_t>(s.carries); }
  bool is_const(std::size_t i) const { return i >= static_cast<std::size_t>(s.first_const()); }
  ValueId in(std::size_t i) const { return body.inputs[i]; }
  bool invariant(std::size_t carry) const { return body.outputs[carry] == body.inputs[carry]; }

  // From what varies outside to what varies in some step.
  void spread(const std::function<bool(int)>& seeded) {
    vary.assign(operands(), 0);
    for (std::size_t i = 0; i < operands(); ++i)
      vary[i] = seeded(static_cast<int>(i)) && is_float(body.type(in(i)).dtype);
    for (bool more = true; more;) {
      more = false;
      const Flags inside = depends_on(body, varying());
      for (std::size_t i = 0; is_carry(i) && i < operands(); ++i) {
        if (!vary[i] && inside[static_cast<std::size_t>(body.outputs[i])]) vary[i] = 1, more = true;
      }
    }
  }
  std::vector<ValueId> varying() const {
    std::vector<ValueId> ids;
    for (std::size_t i = 0; i < operands(); ++i) {
      if (vary[i]) ids.push_back(in(i));
    }
    return ids;
  }
  Tensor stack_of(ValueId v) const { return recorded(r, body, v, static_cast<std::size_t>(s.carries)); }
  // How many steps ran, for the loops that carry a count.
  Tensor count() const {
    return is_while ? r.y(r.outputs() - 1) : s.counted ? r.x(r.inputs() - 1) : Tensor{};
  }
};

// The states that the adjoint reads, stacked: the loop once more, with the state in which each step begins among its ys.
// compile/ makes one loop of this one and the one that is there, and keeps snapshots instead (compile/loops.h).
Tensors stacked_states(const LoopRule& l, const std::vector<std::size_t>& carries) {
  if (l.is_while && l.s.trips > kMostStacked)
    fail(Error::Kind::usage, "[while_loop] its gradient needs max_trips ({})", to_string(l.node.loc));
  if (!l.again) {
    Tensors stacks;
    for (const std::size_t i : carries) stacks.push_back(l.stack_of(l.in(i)));
    return stacks;
  }
  std::vector<Graph> regions = l.node.regions;
  for (const std::size_t i : carries) regions[0].outputs.push_back(l.in(i));
  Tensors in;
  for (int i = 0; i < l.r.inputs(); ++i) in.push_back(l.r.x(i));
  const Tensors all = apply(*l.node.op, in, l.node.attrs, Where::current(), std::move(regions));
  const auto first = all.begin() + l.s.carries + l.s.ys;
  return {first, first + static_cast<std::ptrdiff_t>(carries.size())};
}

// The steps' adjoints, last step first: a scan that hands the adjoints of the state on and adds those of the invariants
// up. The adjoint of a step starts from the running sums, so that their order is the steps' alone.
Tensors loop_vjp(const Rule& r) {
  LoopRule l(r);
  l.spread([&](int i) { return r.needs(i); });
  const auto n = l.operands();
  const auto carries = static_cast<std::size_t>(l.s.carries);
  std::vector<ValueId> of;
  std::vector<std::size_t> carry_of, y_of, const_of;  // what each cotangent is of
  for (std::size_t i = 0; i < carries; ++i) {
    if (l.vary[i]) of.push_back(l.body.outputs[i]), carry_of.push_back(i);
  }
  for (std::size_t i = carries; i < l.body.outputs.size(); ++i) {
    if (r.has_ct(static_cast<int>(i))) of.push_back(l.body.outputs[i]), y_of.push_back(i);
  }
  for (std::size_t i = carries; i < n; ++i) {
    if (l.vary[i] && l.is_const(i)) of.push_back(l.in(i)), const_of.push_back(i);
  }
  const std::vector<ValueId> wrt = l.varying();
  Graph derivative = reverse(l.body, of, wrt);
  leave_unrepeatable(derivative, l.body);
  derivative.inputs.insert(derivative.inputs.end(), l.made.begin(), l.made.end());
  Graph adjoint = restricted(std::move(derivative), l.body.outputs.size(), wrt.size());
  const Flags used = inputs_used(adjoint);

  const auto beside = [&](std::size_t i) { return zeros_like(r.x(static_cast<int>(i))); };
  std::vector<std::size_t> states;
  for (std::size_t i = 0; i < carries; ++i) {
    if (used[i] && !l.invariant(i)) states.push_back(i);
  }
  const Tensors stacks = states.empty() ? Tensors{} : stacked_states(l, states);
  Gathered operands(adjoint);
  LoopShape s{.trips = l.s.trips, .reverse = !l.s.reverse};
  const std::size_t first_ct = n, first_ct_y = n + carry_of.size(), first_ct_const = first_ct_y + y_of.size(),
                    first_made = first_ct_const + const_of.size();
  for (std::size_t k = 0; k < carry_of.size(); ++k)
    operands.add(first_ct + k, r.ct(static_cast<int>(carry_of[k])));
  for (std::size_t k = 0; k < const_of.size(); ++k) operands.add(first_ct_const + k, beside(const_of[k]));
  s.carries = operands.size();
  for (std::size_t k = 0; k < states.size(); ++k) operands.add(states[k], stacks[k]);
  for (std::size_t i = carries; i < static_cast<std::size_t>(l.s.first_const()); ++i) {
    if (used[i]) operands.add(i, r.x(static_cast<int>(i)));
  }
  for (std::size_t k = 0; k < y_of.size(); ++k) {
    if (used[first_ct_y + k]) operands.add(first_ct_y + k, r.ct(static_cast<int>(y_of[k])));
  }
  for (std::size_t k = 0; k < l.made.size(); ++k) {
    if (used[first_made + k]) operands.add(first_made + k, l.stack_of(l.made[k]));
  }
  s.xs = operands.size() - s.carries;
  for (std::size_t i = 0; i < n; ++i) {
    if (used[i] && (l.is_const(i) || (l.is_carry(i) && l.invariant(i))))
      operands.add(i, r.x(static_cast<int>(i)));
  }
  adjoint.inputs = operands.take_inputs();
  // Gradients come in the order of the inputs; the scan wants the state's and the invariants' first.
  std::vector<ValueId> of_x;
  std::vector<ValueId> ordered;
  for (std::size_t i = 0, k = 0; i < n; ++i) {
    if (!l.vary[i]) continue;
    (l.is_carry(i) || l.is_const(i) ? ordered : of_x).push_back(adjoint.outputs[k++]);
  }
  ordered.insert(ordered.end(), of_x.begin(), of_x.end());
  adjoint.outputs = std::move(ordered);

  Tensors in = operands.take_tensors();
  if (const Tensor count = l.count(); count.defined()) {
    s.counted = true;
    in.push_back(count);
  }
  const Tensors results = apply_recording(scan_op, in, loop_attrs(s), {std::move(adjoint)});
  Tensors grads(static_cast<std::size_t>(r.inputs()));
  std::size_t next = 0;
  for (const std::size_t i : carry_of) grads[i] = results[next++];
  for (const std::size_t i : const_of) grads[i] = results[next++];
  for (std::size_t i = carries; i < static_cast<std::size_t>(l.s.first_const()); ++i) {
    if (l.vary[i]) grads[i] = results[next++];
  }
  return grads;
}

// One loop that carries the state and its tangent.
Tensors loop_jvp(const Rule& r) {
  LoopRule l(r);
  l.spread([&](int i) { return r.has_dx(i); });
  const auto n = l.operands();
  const auto carries = static_cast<std::size_t>(l.s.carries);
  const std::vector<ValueId> wrt = l.varying();
  const Flags inside = depends_on(l.body, wrt);
  Graph both = forward(l.body, wrt);
  leave_unrepeatable(both, l.body);
  both.inputs.insert(both.inputs.end(), l.made.begin(), l.made.end());
  const bool stays_while = l.is_while && l.again;  // else the steps that ran are counted
  std::vector<std::size_t> tangent_input(n, 0);
  for (std::size_t i = 0, k = n; i < n; ++i) {
    if (l.vary[i]) tangent_input[i] = k++;
  }
  Gathered operands(both);
  LoopShape s{
      .trips = l.s.trips, .reverse = l.s.reverse, .counted = l.s.counted || l.is_while != stays_while};
  const auto add = [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) operands.add(i, r.x(static_cast<int>(i)));
    for (std::size_t i = first; i < last; ++i) {
      if (l.vary[i]) operands.add(tangent_input[i], r.dx(static_cast<int>(i)));
    }
  };
  add(0, carries);
  s.carries = operands.size();
  add(carries, static_cast<std::size_t>(l.s.first_const()));
  for (std::size_t k = 0; k < l.made.size(); ++k) operands.add(n + wrt.size() + k, l.stack_of(l.made[k]));
  s.xs = operands.size() - s.carries;
  add(static_cast<std::size_t>(l.s.first_const()), n);
  both.inputs = operands.take_inputs();
  const std::size_t outputs = l.body.outputs.size();
  std::vector<ValueId> ordered(both.outputs.begin(), both.outputs.begin() + l.s.carries);
  std::vector<int> tangent_of(static_cast<std::size_t>(r.outputs()), -1);
  for (std::size_t i = 0; i < outputs; ++i) {
    const bool wanted =
        i < carries ? l.vary[i] != 0 : inside[static_cast<std::size_t>(l.body.outputs[i])] != 0;
    if (!wanted) continue;
    tangent_of[i] = static_cast<int>(ordered.size());
    ordered.push_back(both.outputs[outputs + i]);
  }
  both.outputs = std::move(ordered);
  std::vector<Graph> regions{dce(both)};
  Tensors in = operands.take_tensors();
  if (stays_while) {
    // The condition looks at the state alone, and takes what the body takes.
    Graph condition = l.node.regions[1];
    const std::vector<ValueId> old = condition.inputs;
    std::vector<ValueId> inputs(regions[0].inputs.size(), -1);
    for (std::size_t i = 0; i < old.size(); ++i) {
      const std::size_t at = i < carries ? i : static_cast<std::size_t>(s.carries) + (i - carries);
      inputs[at] = old[i];
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] >= 0) continue;
      inputs[i] = static_cast<ValueId>(condition.values.size());
      condition.values.push_back(Value{.type = regions[0].type(regions[0].inputs[i])});
    }
    condition.inputs = std::move(inputs);
    regions.push_back(std::move(condition));
  }
  if (s.counted) in.push_back(l.count());
  const Tensors results =
      apply_recording(stays_while ? while_op : scan_op, in, loop_attrs(s), std::move(regions));
  Tensors tangents(static_cast<std::size_t>(r.outputs()));
  for (std::size_t i = 0; i < tangents.size(); ++i) {
    if (tangent_of[i] >= 0) tangents[i] = results[static_cast<std::size_t>(tangent_of[i])];
  }
  return tangents;
}

// What ops of the regions made that may not run again: inputs of every region, tensors outside.
Tensors take_recorded(const Rule& r, std::vector<Graph>& derivatives) {
  const std::vector<Graph>& regions = r.node().regions;
  Tensors outside;
  for (std::size_t k = 0; k < regions.size(); ++k) leave_unrepeatable(derivatives[k], regions[k]);
  for (std::size_t of = 0; of < regions.size(); ++of) {
    for (const ValueId v : made_unrepeatably(regions[of])) {
      outside.push_back(recorded(r, regions[of], v));
      for (std::size_t k = 0; k < regions.size(); ++k) {
        Graph& g = derivatives[k];
        g.inputs.push_back(k == of ? v : static_cast<ValueId>(g.values.size()));
        if (k != of) g.values.push_back(Value{.type = outside.back().type()});
      }
    }
  }
  return outside;
}

// Branches and calls: the same node with the derivative of each region in its place. `first`: inputs before the regions'.
Tensors branch_vjp(const Rule& r, int first) {
  const Node& node = r.node();
  std::vector<std::size_t> with_ct, wanted;
  for (int o = 0; o < r.outputs(); ++o) {
    if (r.has_ct(o)) with_ct.push_back(static_cast<std::size_t>(o));
  }
  for (int i = first; i < r.inputs(); ++i) {
    if (r.needs(i)) wanted.push_back(static_cast<std::size_t>(i - first));
  }
  std::vector<Graph> regions;
  Flags used;
  for (const Graph& region : node.regions) {
    std::vector<ValueId> of, wrt;
    for (const std::size_t o : with_ct) of.push_back(region.outputs[o]);
    for (const std::size_t i : wanted) wrt.push_back(region.inputs[i]);
    regions.push_back(reverse(region, of, wrt));
  }
  const Tensors made = take_recorded(r, regions);
  for (Graph& region : regions) {
    region = restricted(std::move(region), node.regions[0].outputs.size(), wanted.size());
    const Flags here = inputs_used(region);
    used.resize(here.size(), 0);
    for (std::size_t i = 0; i < here.size(); ++i) used[i] |= here[i];
  }
  Tensors in(!node.in.empty() && first == 1 ? Tensors{r.x(0)} : Tensors{});
  const std::size_t operands = node.regions[0].inputs.size();
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (used[i])
      in.push_back(i < operands                    ? r.x(first + static_cast<int>(i))
                   : i < operands + with_ct.size() ? r.ct(static_cast<int>(with_ct[i - operands]))
                                                   : made[i - operands - with_ct.size()]);
  }
  if (in.empty()) in.push_back(r.ct(static_cast<int>(with_ct[0]))), used[operands] = 1;
  for (Graph& g : regions) {
    std::vector<ValueId> kept;
    for (std::size_t i = 0; i < used.size(); ++i) {
      if (used[i]) kept.push_back(g.inputs[i]);
    }
    g.inputs = std::move(kept);
  }
  Attrs attrs = node.attrs;
  if (attrs.find("name") != nullptr) attrs.set("name", attrs.text("name") + ".vjp");
  const Tensors results = apply_recording(*node.op, in, std::move(attrs), std::move(regions));
  Tensors grads(node.in.size());
  for (std::size_t k = 0; k < wanted.size(); ++k)
    grads[wanted[k] + static_cast<std::size_t>(first)] = results[k];
  return grads;
}

Tensors branch_jvp(const Rule& r, int first) {
  const Node& node = r.node();
  std::vector<std::size_t> moving;
  Tensors in;
  for (int i = 0; i < r.inputs(); ++i) {
    in.push_back(r.x(i));
    if (i >= first && r.has_dx(i) && is_float(r.x(i).dtype()))
      moving.push_back(static_cast<std::size_t>(i - first));
  }
  for (const std::size_t i : moving) in.push_back(r.dx(static_cast<int>(i) + first));
  std::vector<Graph> regions;
  for (const Graph& region : node.regions) {
    std::vector<ValueId> wrt;
    for (const std::size_t i : moving) wrt.push_back(region.inputs[i]);
    regions.push_back(forward(region, wrt));
  }
  for (const Tensor& t : take_recorded(r, regions)) in.push_back(t);
  const std::size_t outputs = node.regions[0].outputs.size();
  for (Graph& region : regions) region = restricted(std::move(region), outputs, outputs);
  Attrs attrs = node.attrs;
  if (attrs.find("name") != nullptr) attrs.set("name", attrs.text("name") + ".jvp");
  return apply_recording(*node.op, in, std::move(attrs), std::move(regions));
}

}  // namespace

void record_unrepeatable(const Op& op, const Attrs& attrs, std::vector<Graph>& regions) {
  if (all_repeatable(regions)) return;
  if (&op == &scan_op || &op == &while_op) {
    Graph& body = regions[0];
    if (attrs.integer("trips") > kMostStacked) return;
    const std::vector<ValueId> made = made_unrepeatably(body);
    for (std::size_t i = 0; i < static_cast<std::size_t>(attrs.integer("carries")); ++i) {
      if (body.outputs[i] != body.inputs[i]) body.outputs.push_back(body.inputs[i]);
    }
    body.outputs.insert(body.outputs.end(), made.begin(), made.end());
    return;
  }
  std::vector<std::vector<ValueId>> made;
  for (const Graph& region : regions) made.push_back(made_unrepeatably(region));
  const std::vector<Graph> given = regions;
  for (std::size_t of = 0; of < made.size(); ++of) {
    for (const ValueId v : made[of]) {
      const Type& type = given[of].type(v);
      for (std::size_t k = 0; k < regions.size(); ++k) {
        Graph& g = regions[k];
        g.outputs.push_back(k == of ? v : static_cast<ValueId>(g.values.size()));
        if (k == of) continue;
        g.values.push_back(Value{.type = type});
        g.nodes.push_back({.op = find_op("full"),
                           .out = {g.outputs.back()},
                           .attrs = Attrs{{"shape", type.shape.sizes()},
                                          {"dtype", static_cast<std::int64_t>(type.dtype)},
                                          {"value", 0.0}}});
      }
    }
  }
}

DerivativeRule vjp_of(const Op& op) {
  if (&op == &scan_op || &op == &while_op) return loop_vjp;
  if (&op == &cond_op) return [](const Rule& r) { return branch_vjp(r, 1); };
  if (&op == &call_op) return [](const Rule& r) { return branch_vjp(r, 0); };
  return op.vjp;
}

DerivativeRule jvp_of(const Op& op) {
  if (&op == &scan_op || &op == &while_op) return loop_jvp;
  if (&op == &cond_op) return [](const Rule& r) { return branch_jvp(r, 1); };
  if (&op == &call_op) return [](const Rule& r) { return branch_jvp(r, 0); };
  return op.jvp;
}

}  // namespace tidemark
