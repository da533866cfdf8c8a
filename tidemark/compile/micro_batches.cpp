// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/micro_batches.h"

#include <algorithm>
#include <map>

#include "tidemark/base/text.h"
#include "tidemark/ir/cut.h"
#include "tidemark/ir/passes.h"
#include "tidemark/ops/table.h"

namespace tidemark {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

constexpr char kPartMark = '@';

bool is_key(const Type& type) { return type == Type{{2}, DType::i64}; }

class Splitting {
 public:
  Splitting(const Graph& g, std::span<const int> batch, std::int64_t parts)
      : g_(g), parts_(parts), maker_(makers(g)), data_(g.values.size(), 0), hoisted_(g.nodes.size(), 0) {
    for (const int i : batch) batch_.push_back(g.inputs[at(i)]);
    for (const ValueId v : g.inputs) data_[at(v)] = is_key(g.type(v));
    for (const ValueId v : batch_) data_[at(v)] = 1;
  }

  Graph run() {
    while (!analyse()) {
    }
    find_needs();
    return emit();
  }

 private:
  bool is_cut(ValueId v) const { return axis_[at(v)] >= 0; }
  // How the node is cut for one part; `wanted` where none of its inputs is.
  std::optional<Cut> cut(const Node& node, std::int64_t part, int wanted = kWhole, std::int64_t wanted_stretch = 0) const {
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

  // Finds along which axis each value is cut and which come after sums over the parts. False: sums of nothing but the batch, which
  // parts read, are now taken from the whole beforehand (how many labels count), and all is to be looked at again.
  bool analyse() {
    axis_.assign(g_.values.size(), kWhole);
    stretch_.assign(g_.values.size(), 0);
    late_.assign(g_.values.size(), 0);
    cut_.assign(g_.nodes.size(), 0);
    for (const ValueId v : batch_) axis_[at(v)] = 0;
    for (std::size_t n = 0; n < g_.nodes.size(); ++n) {
      const Node& node = g_.nodes[n];
      if (hoisted_[n]) continue;
      cut_[n] = std::any_of(node.in.begin(), node.in.end(), [&](ValueId v) { return is_cut(v); });
      const auto late = std::find_if(node.in.begin(), node.in.end(), [&](ValueId v) { return late_[at(v)]; });
      if (!cut_[n]) {
        for (const ValueId v : node.out) late_[at(v)] = late != node.in.end();
        continue;
      }
      if (late != node.in.end()) {
        if (hoist(*late)) return false;
        const Node& sum = sum_behind(*late);
        fail(Error::Kind::unsupported,
             "[micro_batches] samples are coupled: {} reads what {} makes of the whole batch; leave "
             "micro_batches away",
             called(node), called(sum));
      }
      const std::optional<Cut> found = cut(node, 0);
      if (!found && !node.regions.empty())
        fail(Error::Kind::unsupported,
             "[micro_batches] {} is not cut: its body would have to be; leave micro_batches away, or write the loop out",
             called(node));
      if (!found)
        fail(Error::Kind::unsupported,
             "[micro_batches] samples are coupled: {} mixes them; leave micro_batches away, or normalise by sample",
             called(node));
      for (std::size_t o = 0; o < node.out.size(); ++o) {
        if (found->out[o] == kAdded)
          late_[at(node.out[o])] = 1;
        else
          axis_[at(node.out[o])] = found->out[o], stretch_[at(node.out[o])] = *found->out_stretch;
      }
    }
    return true;
  }

  static std::string called(const Node& node) {
    const std::string line = to_string(node.loc);
    return line.empty() ? node.op->name : fmt::format("{} ({})", node.op->name, line);
  }

  // A node that added up parts, among those that v is made from.
  const Node& sum_behind(ValueId v) const {
    for (;;) {
      const Node& node = g_.nodes[at(maker_[at(v)])];
      const auto late = std::find_if(node.in.begin(), node.in.end(), [&](ValueId u) { return late_[at(u)]; });
      if (late == node.in.end()) return node;
      v = *late;
    }
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
        if (way.in[i] == kWhole || other)
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
      }
      for (auto& [v, list] : pieces) list.push_back(apart(part_of(v, axis_[at(v)], stretch_[at(v)], part), axis_[at(v)], stretch_[at(v)] / parts_));
    }
    emit_whole(true);
    for (const auto& [v, list] : pieces) {
      const std::int64_t axis = axis_[at(v)] + (stretch_[at(v)] > 0 ? 1 : 0);
      whole_[at(v)] = add_node({.op = find_op("concat"), .in = list, .attrs = {{"axis", axis}}}, {g_.value(v).name})[0];
      if (stretch_[at(v)] > 0) whole_[at(v)] = reshaped(whole_[at(v)], g_.type(v).shape.sizes(), g_.value(v).name);
    }
    for (const ValueId v : g_.outputs) out_.outputs.push_back(whole_[at(v)]);
    out_.updates = g_.updates;
    return dce(out_);
  }

  void emit_whole(bool late) {
    for (std::size_t n = 0; n < g_.nodes.size(); ++n) {
      const Node& node = g_.nodes[n];
      if (cut_[n] || by_part_[n]) continue;
      const bool is_late =
          std::any_of(node.out.begin(), node.out.end(), [&](ValueId v) { return late_[at(v)]; });
      const bool needed =
          node.op->facts.effect ||
          std::any_of(node.out.begin(), node.out.end(), [&](ValueId v) { return whole_needed_[at(v)]; });
      if (is_late != late || !needed) continue;
      Node copy = node;
      std::vector<std::string> names;
      for (ValueId& v : copy.in) v = whole_[at(v)];
      for (const ValueId v : node.out) names.push_back(g_.value(v).name);
      const std::vector<ValueId> made = add_node(std::move(copy), names);
      for (std::size_t o = 0; o < made.size(); ++o) whole_[at(node.out[o])] = made[o];
    }
  }

  void emit_part(const Node& node, std::int64_t part, int wanted) {
    const Cut way = *cut(node, part, wanted, wanted >= 0 ? wanted_stretch_[at(node.out[0])] : 0);
    Node copy = node;
    copy.attrs = way.attrs;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < node.in.size(); ++i) {
      copy.in[i] = way.in[i] == kWhole ? whole_[at(node.in[i])] : part_of(node.in[i], way.in[i], *way.in_stretch, part);
    }
    for (const ValueId v : node.out) names.push_back(part_name(v, part));
    const std::vector<ValueId> made = add_node(std::move(copy), names);
    for (std::size_t o = 0; o < made.size(); ++o) {
      const ValueId v = node.out[o];
      if (way.out[o] != kAdded) {
        part_[at(v)] = made[o];
      } else if (part == 0) {
        whole_[at(v)] = made[o];
      } else {
        whole_[at(v)] = add_node({.op = find_op("add"), .in = {whole_[at(v)], made[o]}, .loc = node.loc},
                                 {g_.value(v).name})[0];
      }
    }
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
    return name.empty() ? name : fmt::format("{}{}{}", name, kPartMark, part + 1);
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
  std::vector<std::int32_t> maker_;
  std::vector<ValueId> batch_;
  std::vector<char> data_;     // by value: the batch and keys
  std::vector<char> hoisted_;  // by node: done with the whole, though its inputs are cut
  std::vector<int> axis_;      // by value
  std::vector<std::int64_t> stretch_, wanted_stretch_;  // CutArgs::stretches, beside axis_ and wanted_
  std::vector<char> late_;     // by value: there when all parts are done
  std::vector<char> cut_, by_part_;
  std::vector<char> whole_needed_;
  std::vector<int> wanted_;
  Graph out_;
  std::vector<ValueId> whole_, part_;  // by value of g_: its ids in out_, of the part being written
};

}  // namespace

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
    const bool state = std::any_of(graph.updates.begin(), graph.updates.end(), [&](const auto& u) { return u.first == i; });
    if (state || type.shape.rank() == 0 || (!batch.empty() && type.shape[0] != batch_size(graph, batch)))
      fail(Error::Kind::usage, "[micro_batches] tensor {} of the arguments ({}) was named as batch: it is {}{}", i, to_string(type),
           state ? "state" : type.shape.rank() == 0 ? "a single number" : "not as long as the first, ",
           state || type.shape.rank() == 0 ? "" : to_string(graph.type(graph.inputs[at(batch[0])])));
    batch.push_back(i);
  }
  return batch;
}

std::int64_t batch_size(const Graph& graph, std::span<const int> batch) {
  return batch.empty() ? 0 : graph.type(graph.inputs[at(batch[0])]).shape[0];
}

Graph split_batch(const Graph& graph, std::span<const int> batch, std::int64_t parts) {
  const std::int64_t n = batch_size(graph, batch);
  if (parts < 1 || n == 0 || n % parts != 0)
    fail(Error::Kind::usage, "[micro_batches] a batch of {} vs {} equal parts", n, parts);
  if (parts == 1) return graph;
  const Graph live = dce(graph);
  Graph split = Splitting(live, batch, parts).run();
  verify(split);
  return split;
}

bool names(std::string_view pattern, std::string_view name) {
  return glob_match(pattern, name) || glob_match(pattern, name.substr(0, name.rfind(kPartMark)));
}

}  // namespace tidemark
