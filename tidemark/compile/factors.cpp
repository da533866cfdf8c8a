// Masks and derivative factors: the part of a backward chain that needs no cotangent can be computed while its inputs are there,
// and what it gives is kept instead of them: a bit an element of relu's output, one product instead of two arrays.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tidemark/compile/maker_pass.h"
#include "tidemark/ir/op.h"
#include "tidemark/kernels/cpu/bits.h"
#include "tidemark/ops/fused.h"

namespace tidemark {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

bool is_dense(const Shape& shape, const Layout& layout) {
  if (!layout.blocked.empty() || layout.offset != 0) return false;
  const std::vector<std::int64_t> strides = strides_of(shape, layout);
  std::vector<std::pair<std::int64_t, std::int64_t>> axes;
  for (int a = 0; a < shape.rank(); ++a) {
    if (shape[a] > 1) axes.emplace_back(strides[static_cast<std::size_t>(a)], shape[a]);
  }
  std::sort(axes.begin(), axes.end());
  std::int64_t expected = 1;
  for (const auto& [stride, size] : axes) {
    if (stride != expected) return false;
    expected *= size;
  }
  return true;
}

// A backward chain, cut in two.
class Cut {
 public:
  Cut(const MakerPass& pass, plan::TaskId t, const Node& node)
      : pass_(pass),
        task_(t),
        region_(node.regions[0]),
        operands_(pass.posed.binding.operands_of_task[at(t)]),
        maker_(makers(region_)),
        early_(region_.values.size(), 0),
        constant_(region_.values.size(), 0),
        input_(region_.values.size(), -1) {}

  // The values to keep; false where nothing is won.
  bool find(bool bits) {
    bits_ = bits;
    mark();
    collect();
    improve();
    reach();
    saved = 0;
    for (const std::int32_t i : dropped) {
      const plan::BufferId b = operands_.in[at(i)].buffer;
      if (pass_.uses_from(b, task_) == 1) saved += pass_.posed.problem.size(b);
    }
    if (saved == 0) return false;
    const Bytes gone = saved;
    for (const ValueId v : factors) saved -= round_up(weight(v), pass_.posed.problem.align);
    return !factors.empty() && 10 * saved > gone;
  }

  bool is_bit(ValueId v) const { return bits_ && region_.type(v).dtype == DType::boolean; }
  Bytes weight(ValueId v) const {
    return is_bit(v) ? kernels::packed_bytes(region_.type(v)) : region_.type(v).bytes();
  }

  std::vector<ValueId> factors;       // made ahead
  std::vector<std::int32_t> dropped;  // inputs that the rest needs no more
  std::vector<std::int32_t> kept;     // inputs that it needs
  std::vector<std::int32_t> make_inputs;
  std::vector<char> in_make, in_rest;  // by node of the region
  Bytes saved = 0;

 private:
  void mark() {
    for (std::size_t i = 0; i < region_.inputs.size(); ++i) {
      const auto v = at(region_.inputs[i]);
      const plan::BufferId b = operands_.in[i].buffer;
      input_[v] = static_cast<std::int32_t>(i);
      constant_[v] = pass_.is_constant(b);
      early_[v] = constant_[v] || (pass_.is_passing(b) && pass_.is_gap(pass_.use_before(b, task_), task_));
    }
    std::vector<char> leaves(region_.values.size(), 0);
    for (const ValueId v : region_.outputs) leaves[at(v)] = 1;
    for (const Node& n : region_.nodes) {
      const bool whole = n.op->fold == Fold::none && !leaves[at(n.out[0])];
      early_[at(n.out[0])] =
          whole && std::all_of(n.in.begin(), n.in.end(), [&](ValueId v) { return early_[at(v)]; });
      constant_[at(n.out[0])] =
          whole && std::all_of(n.in.begin(), n.in.end(), [&](ValueId v) { return constant_[at(v)]; });
    }
  }

  void add(std::vector<ValueId>& list, ValueId v) const {
    if (!constant_[at(v)] && std::find(list.begin(), list.end(), v) == list.end()) list.push_back(v);
  }
  Bytes weight_of(const std::vector<ValueId>& list) const {
    Bytes sum = 0;
    for (const ValueId v : list) sum += weight(v);
    return sum;
  }

  // Early values that the others read.
  void collect() {
    cut_.clear();
    for (const Node& n : region_.nodes) {
      if (early_[at(n.out[0])]) continue;
      for (const ValueId v : n.in) {
        if (early_[at(v)]) add(cut_, v);
      }
    }
  }

  // A value gives way to what it is made from where that is less.
  void improve() {
    for (bool better = true; better;) {
      better = false;
      for (std::size_t k = 0; k < cut_.size() && !better; ++k) {
        const std::int32_t m = maker_[at(cut_[k])];
        if (m < 0) continue;
        std::vector<ValueId> other = cut_;
        other.erase(other.begin() + static_cast<std::ptrdiff_t>(k));
        for (const ValueId v : region_.nodes[at(m)].in) add(other, v);
        if (weight_of(other) < weight_of(cut_)) {
          cut_ = std::move(other);
          better = true;
        }
      }
    }
  }

  // What each side needs.
  void reach() {
    factors.clear(), dropped.clear(), kept.clear(), make_inputs.clear();
    std::vector<char> is_factor(region_.values.size(), 0);
    for (const ValueId v : cut_) {
      if (maker_[at(v)] < 0) continue;
      factors.push_back(v);
      is_factor[at(v)] = 1;
    }
    const auto walk = [&](std::vector<ValueId> wanted, bool stop, std::vector<char>& nodes,
                          std::vector<std::int32_t>& inputs) {
      nodes.assign(region_.nodes.size(), 0);
      std::vector<char> seen(region_.values.size(), 0);
      while (!wanted.empty()) {
        const ValueId v = wanted.back();
        wanted.pop_back();
        if (seen[at(v)] || (stop && is_factor[at(v)])) continue;
        seen[at(v)] = 1;
        if (input_[at(v)] >= 0) inputs.push_back(input_[at(v)]);
        const std::int32_t m = maker_[at(v)];
        if (m < 0) continue;
        nodes[at(m)] = 1;
        wanted.insert(wanted.end(), region_.nodes[at(m)].in.begin(), region_.nodes[at(m)].in.end());
      }
      std::sort(inputs.begin(), inputs.end());
    };
    walk(region_.outputs, true, in_rest, kept);
    walk(factors, false, in_make, make_inputs);
    for (const std::int32_t i : make_inputs) {
      const auto v = at(region_.inputs[at(i)]);
      if (!constant_[v] && !std::binary_search(kept.begin(), kept.end(), i)) dropped.push_back(i);
    }
  }

  const MakerPass& pass_;
  plan::TaskId task_;
  const Graph& region_;
  const TaskOperands& operands_;
  std::vector<std::int32_t> maker_;
  std::vector<char> early_, constant_;
  std::vector<std::int32_t> input_;
  std::vector<ValueId> cut_;
  bool bits_ = true;
};

// The chosen nodes of a region with new inputs and outputs; all values stay.
Graph part_of(const Graph& region, const std::vector<char>& nodes, std::vector<ValueId> inputs,
              std::vector<ValueId> outputs) {
  Graph part;
  part.values = region.values;
  for (std::size_t n = 0; n < region.nodes.size(); ++n) {
    if (nodes[n]) part.nodes.push_back(region.nodes[n]);
  }
  part.inputs = std::move(inputs);
  part.outputs = std::move(outputs);
  return part;
}

struct Prepared {
  std::unique_ptr<Kernel> make, use;
  double make_seconds = 0, use_seconds = 0;
};

void offer(MakerPass& pass, plan::TaskId t, const Node& node) {
  const Graph& g = pass.posed.binding.graph;
  const Graph& region = node.regions[0];
  Cut cut(pass, t, node);
  Prepared prepared;
  std::vector<Value> kept_values;
  for (const bool as_bits : {true, false}) {
    if (!cut.find(as_bits)) continue;
    // The order in memory of an array that the factor stands for.
    kept_values.clear();
    for (const ValueId v : cut.factors) {
      Value value{.type = region.type(v)};
      for (const std::int32_t i : cut.make_inputs) {
        const Value& like = g.value(node.in[at(i)]);
        if (like.type.shape == value.type.shape && is_dense(like.type.shape, like.layout)) {
          value.layout = like.layout;
          break;
        }
      }
      kept_values.push_back(std::move(value));
    }
    KernelSpec make{.threads = pass.options.threads},
        use{.attrs = node.attrs, .threads = pass.options.threads};
    std::vector<ValueId> make_in, use_in;
    std::vector<char> make_packed, use_packed;
    for (const std::int32_t i : cut.make_inputs) {
      make.in.push_back(g.value(node.in[at(i)]));
      make_in.push_back(region.inputs[at(i)]);
      make_packed.push_back(0);
    }
    for (std::size_t k = 0; k < cut.factors.size(); ++k) {
      make.out.push_back(kept_values[k]);
      use.in.push_back(kept_values[k]);
      use_in.push_back(cut.factors[k]);
      make_packed.push_back(cut.is_bit(cut.factors[k]));
      use_packed.push_back(cut.is_bit(cut.factors[k]));
    }
    for (const std::int32_t i : cut.kept) {
      use.in.push_back(g.value(node.in[at(i)]));
      use_in.push_back(region.inputs[at(i)]);
      use_packed.push_back(0);
    }
    for (const ValueId v : node.out) {
      use.out.push_back(g.value(v));
      use_packed.push_back(0);
    }
    make.regions.push_back(part_of(region, cut.in_make, make_in, cut.factors));
    use.regions.push_back(part_of(region, cut.in_rest, use_in, region.outputs));
    const bool any_packed = std::find(use_packed.begin(), use_packed.end(), 1) != use_packed.end();
    prepared.make = any_packed ? kernels::fused_with_bits(make, make_packed) : prepare(fused_op, make);
    prepared.use = any_packed ? kernels::fused_with_bits(use, use_packed) : prepare(*node.op, use);
    prepared.make_seconds = pass.seconds(fused_op, make);
    prepared.use_seconds = pass.seconds(*node.op, use);
    if (prepared.make && prepared.use) break;
    prepared = {};
  }
  if (!prepared.make || !prepared.use) return;

  const plan::Task& old = pass.posed.problem.tasks[at(t)];
  const TaskOperands& operands = pass.posed.binding.operands_of_task[at(t)];
  NewTask make{.kernel = std::move(prepared.make)}, use{.kernel = std::move(prepared.use)};
  plan::TaskId behind = -1;
  for (const std::int32_t i : cut.make_inputs) {
    const BufferPart& part = operands.in[at(i)];
    make.operands.in.push_back(part);
    if (std::find(make.task.reads.begin(), make.task.reads.end(), part.buffer) == make.task.reads.end())
      make.task.reads.push_back(part.buffer);
    behind = std::max(behind, pass.use_before(part.buffer, t));
  }
  bool mask = true;
  for (std::size_t k = 0; k < cut.factors.size(); ++k) {
    const bool bit = cut.is_bit(cut.factors[k]);
    mask = mask && bit;
    const plan::BufferId b = pass.add_buffer(old.name + (bit ? ".mask" : ".factor"),
                                             cut.weight(cut.factors[k]), bit ? "mask" : "factor");
    make.operands.out.push_back({b, 0});
    make.task.writes.push_back(b);
    use.operands.in.push_back({b, 0});
    use.task.reads.push_back(b);
  }
  for (const std::int32_t i : cut.kept) {
    const BufferPart& part = operands.in[at(i)];
    use.operands.in.push_back(part);
    if (std::find(use.task.reads.begin(), use.task.reads.end(), part.buffer) == use.task.reads.end())
      use.task.reads.push_back(part.buffer);
  }
  use.operands.out = operands.out;
  use.task.writes = old.writes;
  for (const auto& pair : old.in_place) {
    if (std::find(use.task.reads.begin(), use.task.reads.end(), pair.first) != use.task.reads.end())
      use.task.in_place.push_back(pair);
  }
  make.before = behind + 1;
  make.task.name = old.name + (mask ? ".mask" : ".factor");
  make.task.kind = mask ? "make mask" : "make factor";
  make.task.seconds = prepared.make_seconds;
  use.before = t + 1;
  use.task.name = old.name;
  use.task.kind = old.kind + (mask ? " by mask" : " by factor");
  use.task.seconds = prepared.use_seconds;
  use.task.instead_of = t;
  Maker maker{.method = mask ? "mask" : "factor",
              .buffer = operands.in[at(cut.dropped.front())].buffer,
              .instead = {t},
              .saved = cut.saved};
  maker.seconds = prepared.make_seconds + prepared.use_seconds - old.seconds;
  maker.run = {static_cast<plan::TaskId>(pass.add_task(std::move(make))),
               static_cast<plan::TaskId>(pass.add_task(std::move(use)))};
  pass.add(std::move(maker));
}

}  // namespace

void find_factors(MakerPass& pass) {
  for_each_node_task(pass, [&](plan::TaskId t, const Node& node) {
    if (node.op == &fused_op || node.op == &fused_fold_op) offer(pass, t, node);
  });
}

}  // namespace tidemark
