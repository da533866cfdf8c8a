// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/micro_batches.h"

#include <algorithm>
#include <map>

#include "tidemark/base/text.h"
#include "tidemark/ir/cut.h"
#include "tidemark/ir/passes.h"
#include "tidemark/ops/loops.h"
#include "tidemark/ops/table.h"

namespace tidemark {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

// A program, or the body of a loop whose inputs are cut: there a value is whole, cut, or what a part adds to a sum, and one part is
// written at a time.
class Splitting {
 public:
  Splitting(const Graph& g, std::span<const int> batch, std::int64_t parts)
      : Splitting(g, parts, std::vector<int>(g.inputs.size(), kWhole), false) {
    for (const ValueId v : g.inputs) data_[at(v)] = is_key(g.type(v));
    for (const int i : batch) data_[at(g.inputs[at(i)])] = 1, inputs_[at(i)] = 0;
  }
  Splitting(const Graph& body, std::vector<int> inputs, std::int64_t parts)
      : Splitting(body, parts, std::move(inputs), true) {}

  Graph run() {
    while (!analyse()) {
    }
    find_needs();
    return emit();
  }

 private:
  Splitting(const Graph& g, std::int64_t parts, std::vector<int> inputs, bool body)
      : g_(g),
        parts_(parts),
        body_(body),
        inputs_(std::move(inputs)),
        maker_(makers(g)),
        data_(g.values.size(), 0),
        hoisted_(g.nodes.size(), 0) {}

  bool is_cut(ValueId v) const { return axis_[at(v)] >= 0; }
  int kind(ValueId v) const { return late_[at(v)] ? kAdded : axis_[at(v)]; }
  // How the node is cut for one part; `wanted` where none of its inputs is.
  std::optional<Cut> cut(const Node& node, std::int64_t part, int wanted = kWhole,
                         std::int64_t wanted_stretch = 0) {
    if (!node.regions.empty()) return wanted >= 0 ? std::nullopt : cut_loop(node);
    std::vector<Type> in, out;
    std::vector<int> known;
    std::vector<std::int64_t> stretches;
    for (const ValueId v : node.in) {
      in.push_back(g_.type(v));
      known.push_back(wanted >= 0 ? kWhole : axis_[at(v)]);
      stretches.push_back(stretch_[at(v)]);
    }
    for (const ValueId v : node.out) out.push_back(g_.type(v));
    return cut_of(*node.op, {.in = in,
                             .out = out,
                             .attrs = node.attrs,
                             .known = known,
                             .wanted = wanted,
                             .part = part,
                             .parts = parts_,
                             .stretches = stretches,
                             .wanted_stretch = wanted_stretch});
  }

  // A loop is cut where its body is: each state, slice and invariant along an axis of its own, or whole. A state that a step adds
  // something of its samples to (the gradient of a weight) is a sum.
  std::optional<Cut> cut_loop(const Node& node) {
    if (node.op != &scan_op && node.op != &while_op && node.op != &cond_op) return std::nullopt;
    const auto known = loops_.find(&node);
    if (known != loops_.end()) return known->second.cut;
    if (node.op == &cond_op) return cut_branches(node);
    const LoopShape s = loop_shape(node);
    const auto carries = at(s.carries), first_const = at(s.first_const());
    std::vector<int> in;
    for (std::size_t i = 0; i < node.in.size(); ++i) {
      in.push_back(axis_[at(node.in[i])]);
      if (in[i] >= 0 && stretch_[at(node.in[i])] > 0) return std::nullopt;
      if (in[i] == 0 && i >= carries && i < first_const)
        fail(Error::Kind::unsupported,
             "[micro_batches] samples are coupled: they are the steps of {}; leave micro_batches away",
             called(node));
    }
    Loop loop{.regions = {cut_body(node, s, in)}};
    if (node.op == &while_op) {
      // Every part runs as many steps as the whole: a condition on samples is one on a sum of them, and refused.
      loop.regions.push_back(cut_region(node, 1, in));
      loop.regions[1]->find_needs();
    }
    // A state that starts out cut goes on so.
    loop.results.assign(in.begin(), in.begin() + s.carries);
    loop.cut = {.in = in, .out = loop.results, .attrs = node.attrs, .in_stretch = 0, .out_stretch = 0};
    for (std::size_t o = carries; o < node.regions[0].outputs.size(); ++o) {
      const int kind = loop.regions[0]->kind(node.regions[0].outputs[o]);
      loop.results.push_back(kind);
      loop.cut.out.push_back(kind >= 0 ? kind + 1 : kind);
    }
    loop.cut.out.resize(node.out.size(), kWhole);  // how many steps a while_loop ran
    return loops_.insert({&node, std::move(loop)}).first->second.cut;
  }

  // One of two branches is run, the same for all parts: what decides is a single number, whole or refused. What one branch cuts and the other
  // has for all samples alike is cut, and what one adds up (the gradient of a weight that the other does not read) is a sum.
  std::optional<Cut> cut_branches(const Node& node) {
    std::vector<int> in;
    for (const ValueId v : node.in) {
      in.push_back(axis_[at(v)]);
      if (in.back() >= 0 && stretch_[at(v)] > 0) return std::nullopt;
    }
    Loop loop{.cut = {.in = in, .out = {}, .attrs = node.attrs, .in_stretch = 0, .out_stretch = 0}};
    for (std::size_t r = 0; r < node.regions.size(); ++r) {
      loop.regions.push_back(cut_region(node, r, {in.begin() + 1, in.end()}));
      loop.regions[r]->find_needs();
    }
    for (std::size_t o = 0; o < node.out.size(); ++o) {
      const int yes = loop.regions[0]->kind(node.regions[0].outputs[o]),
                no = loop.regions[1]->kind(node.regions[1].outputs[o]);
      if (yes != no && yes != kWhole && no != kWhole)
        fail(Error::Kind::unsupported,
             "[micro_batches] {} is not cut: its result {} is {} in one branch vs {} in the other; leave "
             "micro_batches away",
             called(node), o, in_words(yes), in_words(no));
      loop.results.push_back(yes == kWhole ? no : yes);
    }
    loop.cut.out = loop.results;
    return loops_.insert({&node, std::move(loop)}).first->second.cut;
  }

  // One region of a loop, its inputs being these.
  std::shared_ptr<Splitting> cut_region(const Node& node, std::size_t region, std::vector<int> inputs) const {
    auto split = std::make_shared<Splitting>(node.regions[region], std::move(inputs), parts_);
    try {
      split->analyse();
    } catch (const Error& e) {
      throw Error(e.kind(), fmt::format("{} (in {})", e.what(), called(node)));
    }
    return split;
  }

  // Finds what the states are, starting from whole: one that a step turns into something cut is cut from the start.
  std::shared_ptr<Splitting> cut_body(const Node& node, const LoopShape& s, std::vector<int>& in) const {
    const Graph& body = node.regions[0];
    const auto carries = at(s.carries), first_const = at(s.first_const());
    for (;;) {
      std::vector<int> inside(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(body.inputs.size()));
      for (std::size_t i = carries; i < first_const; ++i) inside[i] -= inside[i] >= 0 ? 1 : 0;
      std::shared_ptr<Splitting> split = cut_region(node, 0, std::move(inside));
      bool same = true;
      const auto becomes = [&](std::size_t i, int kind) {
        // What is the same for all samples can be cut.
        if (kind == in[i] || (kind == kWhole && in[i] >= 0)) return;
        if (in[i] != kWhole || i >= carries)
          fail(Error::Kind::unsupported,
               "[micro_batches] {} is not cut: its {} {} is {} vs {}; leave micro_batches away", called(node),
               i < carries ? "state" : "input", i, in_words(in[i]), in_words(kind));
        in[i] = kind;
        same = false;
      };
      for (std::size_t i = 0; i < body.inputs.size() && same; ++i) {
        if (split->summed_[at(body.inputs[i])]) becomes(i, kAdded);
      }
      for (std::size_t i = 0; i < carries && same; ++i) becomes(i, split->kind(body.outputs[i]));
      if (!same) continue;
      split->find_needs();
      // What the body would take a part of comes in parts.
      for (std::size_t i = carries; i < body.inputs.size(); ++i) {
        const ValueId v = body.inputs[i];
        if (in[i] != kWhole || split->whole_needed_[at(v)] || split->wanted_[at(v)] < 0 ||
            split->wanted_stretch_[at(v)] > 0)
          continue;
        in[i] = split->wanted_[at(v)] + (i < first_const ? 1 : 0);
        same = false;
      }
      if (same) return split;
    }
  }

  // Finds along which axis each value is cut and which come after sums over the parts. False: sums of nothing but the batch, which
  // parts read, are now taken from the whole beforehand (how many labels count), and all is to be looked at again.
  bool analyse() {
    axis_.assign(g_.values.size(), kWhole);
    stretch_.assign(g_.values.size(), 0);
    late_.assign(g_.values.size(), 0);
    summed_.assign(g_.values.size(), 0);
    same_.assign(g_.values.size(), 0);
    repeated_.assign(g_.nodes.size(), 0);
    cut_.assign(g_.nodes.size(), 0);
    loops_.clear();
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i] == kAdded)
        late_[at(g_.inputs[i])] = 1;
      else
        axis_[at(g_.inputs[i])] = inputs_[i];
    }
    for (std::size_t n = 0; n < g_.nodes.size(); ++n) {
      const Node& node = g_.nodes[n];
      if (hoisted_[n]) continue;
      cut_[n] = std::any_of(node.in.begin(), node.in.end(), [&](ValueId v) { return is_cut(v); });
      const auto late = std::find_if(node.in.begin(), node.in.end(), [&](ValueId v) { return late_[at(v)]; });
      const bool any_late = late != node.in.end();
      if (any_late && (cut_[n] || (body_ && !adds(node)))) {
        if (!body_ && hoist(*late)) return false;
        const Node* sum = sum_behind(*late);
        fail(Error::Kind::unsupported,
             "[micro_batches] samples are coupled: {} reads what {} makes of the whole batch; leave "
             "micro_batches away",
             called(node), sum != nullptr ? called(*sum) : "a step");
      }
      if (!cut_[n]) {
        repeated_[n] =
            !any_late && std::any_of(node.in.begin(), node.in.end(), [&](ValueId v) { return same_[at(v)]; });
        if (repeated_[n] && !repeatable(node))
          fail(Error::Kind::unsupported,
               "[micro_batches] {} would run once in every part, and may not run again; leave micro_batches away",
               called(node));
        for (const ValueId v : node.out) late_[at(v)] = any_late, same_[at(v)] = repeated_[n];
        continue;
      }
      const std::optional<Cut> found = cut(node, 0);
      if (!found && !node.regions.empty())
        fail(Error::Kind::unsupported,
             "[micro_batches] {} is not cut: its body would have to be; leave micro_batches away, or write "
             "the loop out",
             called(node));
      if (!found)
        fail(Error::Kind::unsupported,
             "[micro_batches] samples are coupled: {} mixes them; leave micro_batches away, or normalise by "
             "sample",
             called(node));
      for (std::size_t o = 0; o < node.out.size(); ++o) {
        if (found->out[o] == kAdded)
          late_[at(node.out[o])] = 1;
        else if (found->out[o] == kWhole)
          same_[at(node.out[o])] = !body_;
        else
          axis_[at(node.out[o])] = found->out[o], stretch_[at(node.out[o])] = *found->out_stretch;
      }
    }
    return true;
  }

  // Of a body: whether the node adds to a sum. An input that stands beside one is one too, once the loop knows.
  bool adds(const Node& node) {
    if (node.op != find_op("add")) return false;
    for (const ValueId v : node.in) {
      if (late_[at(v)]) continue;
      if (maker_[at(v)] >= 0) return false;
      summed_[at(v)] = 1;
    }
    return true;
  }

  static std::string in_words(int kind) {
    return kind == kWhole   ? "the same for all samples"
           : kind == kAdded ? "a sum over samples"
                            : fmt::format("cut along axis {}", kind);
  }
  static std::string called(const Node& node) {
    const std::string line = to_string(node.loc);
    return line.empty() ? node.op->name : fmt::format("{} ({})", node.op->name, line);
  }

  // A node that added up parts, among those that v is made from; null where that is done in another step.
  const Node* sum_behind(ValueId v) const {
    while (maker_[at(v)] >= 0) {
      const Node& node = g_.nodes[at(maker_[at(v)])];
      const auto late = std::find_if(node.in.begin(), node.in.end(), [&](ValueId u) { return late_[at(u)]; });
      if (late == node.in.end()) return &node;
      v = *late;
    }
    return nullptr;
  }

  // Whether v is made from the batch and keys alone; then everything on the way to it is done with the whole.
  bool hoist(ValueId v) {
    std::vector<ValueId> open{v};
    std::vector<std::int32_t> nodes;
    std::vector<char> seen(g_.values.size(), 0);
    while (!open.empty()) {
      const ValueId u = open.back();
      open.pop_back();
      if (std::exchange(seen[at(u)], 1)) continue;
      const std::int32_t n = maker_[at(u)];
      if (n < 0 && !data_[at(u)]) return false;
      if (n < 0) continue;
      nodes.push_back(n);
      const Node& node = g_.nodes[at(n)];
      open.insert(open.end(), node.in.begin(), node.in.end());
    }
    for (const std::int32_t n : nodes) hoisted_[at(n)] = 1;
    return true;
  }

  // Which values are needed whole, and which of those that are the same for all parts can be made part by part: no array as long as
  // the batch is made to be cut.
  void find_needs() {
    whole_needed_.assign(g_.values.size(), 0);
    wanted_.assign(g_.values.size(), kWhole);
    wanted_stretch_.assign(g_.values.size(), 0);
    by_part_.assign(g_.nodes.size(), 0);
    for (const ValueId v : g_.outputs) whole_needed_[at(v)] = !is_cut(v);
    const auto need = [&](const Node& node, const Cut& way) {
      for (std::size_t i = 0; i < node.in.size(); ++i) {
        const ValueId v = node.in[i];
        if (is_cut(v)) continue;
        const bool other = wanted_[at(v)] >= 0 && !wants(v, way.in[i], *way.in_stretch);
        if (way.in[i] < 0 || other)
          whole_needed_[at(v)] = 1;
        else
          wanted_[at(v)] = way.in[i], wanted_stretch_[at(v)] = *way.in_stretch;
      }
    };
    for (std::size_t n = g_.nodes.size(); n-- > 0;) {
      const Node& node = g_.nodes[n];
      if (cut_[n]) {
        need(node, *cut(node, 0));
        continue;
      }
      const ValueId v = node.out.empty() ? -1 : node.out[0];
      if (node.out.size() == 1 && wanted_[at(v)] >= 0 && !whole_needed_[at(v)]) {
        if (const std::optional<Cut> way = cut(node, 0, wanted_[at(v)], wanted_stretch_[at(v)])) {
          by_part_[n] = 1;
          need(node, *way);
          continue;
        }
      }
      const bool needed = node.op->facts.effect ||
                          std::any_of(node.out.begin(), node.out.end(),
                                      [&](ValueId o) { return whole_needed_[at(o)] || wanted_[at(o)] >= 0; });
      for (const ValueId o : node.out) whole_needed_[at(o)] = needed;
      for (const ValueId u : node.in) whole_needed_[at(u)] = whole_needed_[at(u)] || needed;
    }
  }

  Graph emit() {
    whole_.assign(g_.values.size(), -1);
    for (const ValueId v : g_.inputs) {
      whole_[at(v)] = add_value(g_.type(v), g_.value(v).name);
      out_.inputs.push_back(whole_[at(v)]);
    }
    emit_whole(false);
    std::map<ValueId, std::vector<ValueId>> pieces;  // of results that are cut
    for (const ValueId v : g_.outputs) {
      if (is_cut(v)) pieces[v];
    }
    for (std::int64_t part = 0; part < parts_; ++part) {
      part_.assign(g_.values.size(), -1);
      for (std::size_t n = 0; n < g_.nodes.size(); ++n) {
        if (cut_[n] || by_part_[n])
          emit_part(g_.nodes[n], part, by_part_[n] ? wanted_[at(g_.nodes[n].out[0])] : kWhole);
        else if (repeated_[n] && needed(g_.nodes[n]))
          emit_whole(g_.nodes[n]);
      }
      for (auto& [v, list] : pieces)
        list.push_back(
            apart(part_of(v, axis_[at(v)], stretch_[at(v)], part), axis_[at(v)], stretch_[at(v)] / parts_));
    }
    emit_whole(true);
    for (const auto& [v, list] : pieces) {
      const std::int64_t axis = axis_[at(v)] + (stretch_[at(v)] > 0 ? 1 : 0);
      whole_[at(v)] =
          add_node({.op = find_op("concat"), .in = list, .attrs = {{"axis", axis}}}, {g_.value(v).name})[0];
      if (stretch_[at(v)] > 0)
        whole_[at(v)] = reshaped(whole_[at(v)], g_.type(v).shape.sizes(), g_.value(v).name);
    }
    for (const ValueId v : g_.outputs) out_.outputs.push_back(whole_[at(v)]);
    out_.updates = g_.updates;
    return dce(out_);
  }

  // The body of a loop for one part; `results`: what each of its outputs is to be, an axis, kWhole or kAdded.
  Graph emit_body(std::int64_t part, const std::vector<int>& results) {
    out_ = {};
    whole_.assign(g_.values.size(), -1);
    part_.assign(g_.values.size(), -1);
    for (const ValueId v : g_.inputs) {
      auto sizes = g_.type(v).shape.sizes();
      if (is_cut(v)) sizes[at(axis_[at(v)])] /= parts_;
      out_.inputs.push_back(add_value({Shape(std::move(sizes)), g_.type(v).dtype}, g_.value(v).name));
      (is_cut(v) ? part_ : whole_)[at(v)] = out_.inputs.back();
    }
    for (std::size_t n = 0; n < g_.nodes.size(); ++n) {
      const Node& node = g_.nodes[n];
      if (cut_[n] || by_part_[n])
        emit_part(node, part, by_part_[n] ? wanted_[at(node.out[0])] : kWhole);
      else if (needed(node))
        emit_whole(node);
    }
    for (std::size_t o = 0; o < g_.outputs.size(); ++o) {
      const ValueId v = g_.outputs[o];
      // The same in every part: one of them gives it to the sum.
      const bool nothing = results[o] == kAdded && kind(v) == kWhole && part > 0;
      out_.outputs.push_back(results[o] >= 0 ? part_of(v, results[o], 0, part)
                             : nothing       ? zeros(g_.type(v))
                                             : whole_[at(v)]);
    }
    return dce(out_);
  }

  bool needed(const Node& node) const {
    return node.op->facts.effect ||
           std::any_of(node.out.begin(), node.out.end(), [&](ValueId v) { return whole_needed_[at(v)]; });
  }

  void emit_whole(const Node& node) {
    Node copy = node;
    std::vector<std::string> names;
    for (ValueId& v : copy.in) v = whole_[at(v)];
    for (const ValueId v : node.out) names.push_back(g_.value(v).name);
    const std::vector<ValueId> made = add_node(std::move(copy), names);
    for (std::size_t o = 0; o < made.size(); ++o) whole_[at(node.out[o])] = made[o];
  }

  void emit_whole(bool late) {
    for (std::size_t n = 0; n < g_.nodes.size(); ++n) {
      const Node& node = g_.nodes[n];
      if (cut_[n] || by_part_[n] || repeated_[n]) continue;
      const bool is_late =
          std::any_of(node.out.begin(), node.out.end(), [&](ValueId v) { return late_[at(v)]; });
      if (is_late == late && needed(node)) emit_whole(node);
    }
  }

  void emit_part(const Node& node, std::int64_t part, int wanted) {
    const Cut way = *cut(node, part, wanted, wanted >= 0 ? wanted_stretch_[at(node.out[0])] : 0);
    Node copy = node;
    copy.attrs = way.attrs;
    if (const auto loop = loops_.find(&node); loop != loops_.end()) {
      copy.regions.clear();
      const std::vector<int> none(1, kWhole);  // of the condition of a while_loop
      for (const auto& region : loop->second.regions) {
        const bool condition = node.op == &while_op && !copy.regions.empty();
        copy.regions.push_back(region->emit_body(part, condition ? none : loop->second.results));
      }
    }
    std::vector<std::string> names;
    for (std::size_t i = 0; i < node.in.size(); ++i) {
      const ValueId v = node.in[i];
      copy.in[i] = way.in[i] >= 0 ? part_of(v, way.in[i], *way.in_stretch, part)
                   : way.in[i] == kAdded && part > 0 && !late_[at(v)] ? zeros(g_.type(v))
                                                                      : whole_[at(v)];
    }
    for (const ValueId v : node.out) names.push_back(part_name(v, part));
    const std::vector<ValueId> made = add_node(std::move(copy), names);
    for (std::size_t o = 0; o < made.size(); ++o) {
      const ValueId v = node.out[o];
      if (way.out[o] >= 0) {
        part_[at(v)] = made[o];
      } else if (part == 0 || body_ || way.out[o] == kWhole) {
        whole_[at(v)] = made[o];
      } else {
        whole_[at(v)] = add_node({.op = find_op("add"), .in = {whole_[at(v)], made[o]}, .loc = node.loc},
                                 {g_.value(v).name})[0];
      }
    }
  }

  ValueId zeros(const Type& type) {
    return add_node({.op = find_op("full"),
                     .attrs = {{"shape", type.shape.sizes()},
                               {"dtype", static_cast<std::int64_t>(type.dtype)},
                               {"value", 0.0}}},
                    {""})[0];
  }
  bool wants(ValueId v, int axis, std::int64_t stretch) const {
    return wanted_[at(v)] == axis && wanted_stretch_[at(v)] == stretch;
  }
  ValueId reshaped(ValueId v, const std::vector<std::int64_t>& sizes, const std::string& name) {
    return add_node({.op = find_op("reshape"), .in = {v}, .attrs = {{"shape", sizes}}}, {name})[0];
  }
  // With the stretches of the axis on one of their own in front of it.
  ValueId apart(ValueId v, int axis, std::int64_t stretch) {
    if (stretch == 0) return v;
    std::vector<std::int64_t> sizes = out_.type(v).shape.sizes();
    sizes[at(axis)] /= stretch;
    sizes.insert(sizes.begin() + axis + 1, stretch);
    return reshaped(v, sizes, "");
  }
  ValueId part_of(ValueId v, int axis, std::int64_t stretch, std::int64_t part) {
    const bool known = is_cut(v) || wants(v, axis, stretch);
    if (part_[at(v)] >= 0 && known) return part_[at(v)];
    const std::int64_t each = (stretch > 0 ? stretch : g_.type(v).shape[axis]) / parts_;
    ValueId made = add_node({.op = find_op("slice"),
                             .in = {apart(whole_[at(v)], axis, stretch)},
                             .attrs = {{"axis", std::int64_t{axis + (stretch > 0 ? 1 : 0)}},
                                       {"begin", part * each},
                                       {"end", (part + 1) * each},
                                       {"step", std::int64_t{1}}}},
                            {part_name(v, part)})[0];
    if (stretch > 0) {
      std::vector<std::int64_t> sizes = g_.type(v).shape.sizes();
      sizes[at(axis)] /= parts_;
      made = reshaped(made, sizes, part_name(v, part));
    }
    if (known) part_[at(v)] = made;
    return made;
  }

  std::string part_name(ValueId v, std::int64_t part) const {
    const std::string& name = g_.value(v).name;
    return name.empty() || body_ ? name : fmt::format("{}{}{}", name, kPartMark, part + 1);
  }
  ValueId add_value(const Type& type, const std::string& name) {
    out_.values.push_back(Value{.type = type, .name = name});
    return static_cast<ValueId>(out_.values.size() - 1);
  }
  std::vector<ValueId> add_node(Node node, const std::vector<std::string>& names) {
    std::vector<Type> in;
    for (const ValueId v : node.in) in.push_back(out_.type(v));
    const std::vector<Type> types = infer_types(*node.op, in, node.attrs, node.regions, Where{});
    node.out.clear();
    for (std::size_t o = 0; o < types.size(); ++o) node.out.push_back(add_value(types[o], names[o]));
    out_.nodes.push_back(std::move(node));
    return out_.nodes.back().out;
  }

  const Graph& g_;
  std::int64_t parts_;
  bool body_;
  std::vector<int> inputs_;  // by input: an axis, kWhole or, of a body, kAdded
  std::vector<std::int32_t> maker_;
  std::vector<char> data_;     // by value: the batch and keys
  std::vector<char> hoisted_;  // by node: done with the whole, though its inputs are cut
  std::vector<int> axis_;      // by value
  std::vector<std::int64_t> stretch_, wanted_stretch_;  // CutArgs::stretches, beside axis_ and wanted_
  std::vector<char> late_;    // by value: there when all parts are done; of a body: what a part adds to a sum
  std::vector<char> summed_;  // by value: inputs of a body that have to be sums
  std::vector<char> same_;    // by value: the same for all samples, but each part's loop makes it
  std::vector<char> cut_, by_part_,
      repeated_;  // by node; repeated: in each part, since it reads what is the same in all
  std::vector<char> whole_needed_;
  std::vector<int> wanted_;
  struct Loop {
    Cut cut = {};
    std::vector<std::shared_ptr<Splitting>> regions;
    std::vector<int> results =
        {};  // of the body or of either branch: an axis of the region's own, kWhole or kAdded
  };
  std::map<const Node*, Loop> loops_;
  Graph out_;
  std::vector<ValueId> whole_, part_;  // by value of g_: its ids in out_, of the part being written
};

}  // namespace

Graph split_batch(const Graph& graph, std::span<const int> batch, std::int64_t parts) {
  const std::int64_t n = batch_size(graph, batch);
  if (parts < 1 || n == 0 || n % parts != 0)
    fail(Error::Kind::usage,
         "[micro_batches] a batch of {} vs {} equal parts; a number that divides it, or may_split, works it "
         "through",
         n, parts);
  if (parts == 1) return graph;
  const Graph live = dce(graph);
  Graph split = Splitting(live, batch, parts).run();
  verify(split);
  return split;
}

}  // namespace tidemark
