// SPDX-License-Identifier: Apache-2.0
#include "tidemark/emit/stencils.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace tidemark::emitting {
namespace {

std::string_view name_of(const Node& n) { return n.op->name; }

// Written with every box of the domain a loop of its own: more of them are more code than they are worth.
constexpr std::size_t kBoxes = 25;
// Computed twice rather than written and read. Not products: those of subnormal numbers take a hundred times as long.
bool is_cheap(const Node& n) {
  constexpr std::array<std::string_view, 5> kCheap{"add", "sub", "neg", "full", "abs"};
  const auto cheap = [&](const Node& step) {
    return std::find(kCheap.begin(), kCheap.end(), name_of(step)) != kCheap.end();
  };
  if (n.regions.empty()) return cheap(n);
  return n.regions[0].nodes.size() <= 3 &&
         std::all_of(n.regions[0].nodes.begin(), n.regions[0].nodes.end(), cheap);
}

bool is_move(const Node& n) { return name_of(n) == "pad" || name_of(n) == "update_slice"; }

// An elementwise op or a chain of them, every one of which has a form in C++.
bool has_formulas(const Graph& g, const Node& n) {
  if (name_of(n) != "fused" && !n.op->elementwise()) return false;
  const Graph& chain = n.regions.empty() ? g : n.regions[0];
  const std::vector<std::string> arguments(8, "x");
  try {
    for (const ValueId v : n.in) type_name(n, g.type(v).dtype);
    if (n.regions.empty()) formula(n, chain, arguments);
    for (std::size_t k = 0; !n.regions.empty() && k < chain.nodes.size(); ++k)
      formula(chain.nodes[k], chain, arguments);
  } catch (const Error& refused) {
    if (refused.kind() != Error::Kind::unsupported) throw;
    return false;
  }
  return true;
}

bool overlap(const Place& a, const Place& b) {
  return a.resident == b.resident && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

}  // namespace

const Node& Stencils::node(std::size_t j) const {
  const Instr& instr = s_.program.instrs[j];
  return s_.binding.graph
      .nodes[static_cast<std::size_t>(s_.binding.node_of_task[static_cast<std::size_t>(instr.task)])];
}
const Value& Stencils::input(std::size_t j, std::size_t i) const {
  return s_.binding.graph.value(node(j).in[i]);
}
const Value& Stencils::output(std::size_t j, std::size_t o) const {
  return s_.binding.graph.value(node(j).out[o]);
}
const Place& Stencils::place(std::size_t j, std::size_t operand) const {
  const Instr& instr = s_.program.instrs[j];
  return s_.program.places[static_cast<std::size_t>(instr.first_place) + operand];
}
std::string Stencils::address(std::size_t j, std::size_t operand) const {
  const Place& p = place(j, operand);
  return plus(p.resident < 0 ? "arena" : fmt::format("r[{}]", p.resident), p.offset);
}

bool Stencils::is_points(std::size_t j) const {
  const Instr& instr = s_.program.instrs[j];
  if (instr.kind != Instr::Kind::run) return false;
  const std::int32_t n = s_.binding.node_of_task[static_cast<std::size_t>(instr.task)];
  if (n < 0) return false;
  const Node& node = s_.binding.graph.nodes[static_cast<std::size_t>(n)];
  for (const ValueId v : node.out) {
    const Value& value = s_.binding.graph.value(v);
    const bool number = value.type.dtype == DType::f32 || value.type.dtype == DType::f64;
    if (!number || !value.layout.dense_row_major() || value.type.shape.numel() == 0) return false;
  }
  for (const ValueId v : node.in) {
    if (!s_.binding.graph.value(v).layout.blocked.empty()) return false;
  }
  if (name_of(node) == "update_slice") return node.attrs.integer("step") == 1;
  return name_of(node) == "pad" || has_formulas(s_.binding.graph, node);
}

// Where the operands of element-by-element tasks come from: straight from another one, or as a part of its output.
void Stencils::find_operands() {
  const Graph& g = s_.binding.graph;
  const std::size_t n = s_.program.instrs.size();
  const std::vector<std::int32_t> maker = makers(g);
  std::map<ValueId, std::size_t> made_by;
  for (std::size_t j = 0; j < n; ++j) {
    if (!points_[j]) continue;
    for (const ValueId v : node(j).out) {
      // Of values that are made again, each reader has its own.
      const auto [it, is_new] = made_by.emplace(v, j);
      if (!is_new) needed_[j] = needed_[it->second] = 1;
    }
  }
  const auto root = [&](ValueId v) {
    while (g.value(v).alias_of >= 0) v = g.value(v).alias_of;
    return v;
  };
  const auto must = [&](ValueId v) {
    const auto found = made_by.find(root(v));
    if (found != made_by.end()) needed_[found->second] = 1;
  };
  for (const ValueId v : g.outputs) must(v);
  operands_.resize(n);
  readers_.resize(n);
  for (std::size_t j = 0; j < n; ++j) {
    const Instr& instr = s_.program.instrs[j];
    const std::int32_t task =
        instr.task < 0 ? -1 : s_.binding.node_of_task[static_cast<std::size_t>(instr.task)];
    if (task < 0) {
      // What a copy or a task of several nodes reads is known by its place alone.
      for (std::size_t k = 0; k < n; ++k) needed_[k] = 1;
      continue;
    }
    const Node& reader = g.nodes[static_cast<std::size_t>(task)];
    for (std::size_t i = 0; i < reader.in.size(); ++i) {
      Operand operand{.maker = kNone};
      ValueId v = reader.in[i];
      operand.shift.assign(static_cast<std::size_t>(g.type(v).shape.rank()), 0);
      const Shape shape = g.type(v).shape;
      while (g.value(v).alias_of >= 0 && maker[static_cast<std::size_t>(v)] >= 0) {
        const Node& view = g.nodes[static_cast<std::size_t>(maker[static_cast<std::size_t>(v)])];
        if (name_of(view) != "slice" || view.attrs.integer("step") != 1) break;
        operand.shift[static_cast<std::size_t>(view.attrs.integer("axis"))] += view.attrs.integer("begin");
        v = view.in[0];
      }
      const auto found = made_by.find(v);
      const bool same_axes = points_[j] && (is_move(reader) || shape == g.type(reader.out[0]).shape);
      if (found == made_by.end() || !same_axes || found->second >= j) {
        must(reader.in[i]);
      } else {
        const std::vector<ValueId>& out = node(found->second).out;
        operand.maker = found->second;
        operand.output = static_cast<std::size_t>(std::find(out.begin(), out.end(), v) - out.begin());
        readers_[found->second].emplace_back(j, i);
      }
      operands_[j].push_back(std::move(operand));
    }
  }
}

namespace {

// Where output element 0 of a move lies in the part that is its input i.
std::vector<std::int64_t> place_of_part(const Node& n, std::size_t rank, std::size_t i) {
  std::vector<std::int64_t> shift(rank, 0);
  if (name_of(n) == "pad") {
    for (std::size_t a = 0; a < rank; ++a) shift[a] = -n.attrs.integers("low")[a];
  } else if (name_of(n) == "update_slice" && i == 1) {
    shift[static_cast<std::size_t>(n.attrs.integer("axis"))] = -n.attrs.integer("begin");
  }
  return shift;
}

std::vector<std::int64_t> sum(std::vector<std::int64_t> a, const std::vector<std::int64_t>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

}  // namespace

// What is read by one loop at one distance is computed there; what is cheap, at two.
void Stencils::choose() {
  const std::size_t n = points_.size();
  std::vector<std::set<std::pair<std::size_t, Shift>>> read_at(n);  // (loop, distance)
  for (std::size_t j = n; j-- > 0;) {
    if (!points_[j]) continue;
    const auto rank = static_cast<std::size_t>(output(j).type.shape.rank());
    for (const auto& [reader, i] : readers_[j]) {
      const Shift shift = sum(operands_[reader][i].shift, place_of_part(node(reader), rank, i));
      for (const auto& [loop, distance] : read_at[reader]) read_at[j].emplace(loop, sum(distance, shift));
    }
    const std::size_t most = is_move(node(j)) ? 4 : is_cheap(node(j)) ? 2 : 1;
    made_[j] = needed_[j] || read_at[j].size() > most || read_at[j].empty();
    if (made_[j]) read_at[j] = {{j, Shift(rank, 0)}};
  }
}

bool Stencils::reads_left_out(std::size_t j) const {
  return points_[j] && std::any_of(operands_[j].begin(), operands_[j].end(),
                                   [&](const Operand& o) { return o.maker != kNone && !made_[o.maker]; });
}

// Writes the loop of one instruction: one for each box of its domain inside which no pad or part begins or ends.
class Stencils::Writer {
 public:
  Writer(const Stencils& all, std::size_t loop) : all_(all), loop_(loop) {
    const Shape& domain = all.output(loop).type.shape;
    rank_ = static_cast<std::size_t>(domain.rank());
    for (std::size_t a = 0; a < rank_; ++a) cuts_.push_back({0, domain.sizes()[a]});
    look(loop, Shift(rank_, 0));
    for (const Read& read : reads_) strides_.push_back(domain_strides(all.input(read.instr, read.input)));
    strides_.push_back(domain_strides(all.output(loop)));
    for (std::vector<std::int64_t>& c : cuts_) {
      std::sort(c.begin(), c.end());
      c.erase(std::unique(c.begin(), c.end()), c.end());
    }
  }

  std::size_t boxes() const {
    std::size_t n = 1;
    for (const auto& c : cuts_) n *= c.size() - 1;
    return n;
  }
  // What is read: by which instruction, as which of its inputs, and how far away.
  struct Read {
    std::size_t instr, input;
    Shift shift;
  };
  const std::vector<Read>& reads() const { return reads_; }

  void write(std::string& out) {
    std::string loops;
    for (std::size_t box = 0; box < boxes(); ++box) {
      lines_.clear();
      known_.clear();
      begin_.assign(rank_, 0);
      std::vector<std::int64_t> extents(rank_);
      std::size_t rest = box;
      for (std::size_t a = rank_; a-- > 0;) {
        const std::size_t k = rest % (cuts_[a].size() - 1);
        rest /= cuts_[a].size() - 1;
        begin_[a] = cuts_[a][k];
        extents[a] = cuts_[a][k + 1] - begin_[a];
      }
      box_ = merged(extents, strides_);
      // All is read before anything is written: an output may lie over what another one reads.
      std::string stores;
      for (std::size_t o = 0; o < all_.node(loop_).out.size(); ++o) {
        const std::string value = element(loop_, o, Shift(rank_, 0));
        stores += fmt::format("y{}[{}] = {};\n", o, index(all_.output(loop_, o), Shift(rank_, 0)), value);
      }
      const std::string loop = nest(box_, "    ", lines_ + stores);
      loops += box_.sizes.empty() ? "    {\n" + loop + "    }\n" : loop;
    }
    const Node& n = all_.node(loop_);
    for (std::size_t o = 0; o < n.out.size(); ++o)
      out += "    " +
             declare(n, all_.output(loop_, o), fmt::format("y{}", o),
                     all_.address(loop_, static_cast<std::size_t>(all_.s_.program.instrs[loop_].inputs) + o),
                     false) +
             "\n";
    out += pointers_ + loops;
  }

 private:
  // The ends of parts inside what is computed here, and what it reads.
  void look(std::size_t j, const Shift& shift) {
    if (!seen_.emplace(j, shift).second) return;
    const Node& n = all_.node(j);
    if (is_move(n)) {
      const std::size_t part = name_of(n) == "pad" ? 0 : 1;
      const Shift at = place_of_part(n, rank_, part);
      for (std::size_t a = 0; a < rank_; ++a) {
        const std::int64_t begin = -at[a] - shift[a], end = begin + all_.input(j, part).type.shape.sizes()[a];
        for (const std::int64_t cut : {begin, end}) {
          if (cut > 0 && cut < cuts_[a][1]) cuts_[a].push_back(cut);
        }
      }
    }
    for (std::size_t i = 0; i < n.in.size(); ++i) {
      const Operand& o = all_.operands_[j][i];
      const Shift there = sum(shift, place_of_part(n, rank_, i));
      if (o.maker != kNone && !all_.made_[o.maker])
        look(o.maker, sum(there, o.shift));
      else
        reads_.push_back({j, i, there});
    }
  }

  // By axis of the domain; an axis of size 1 is the same for all.
  std::vector<std::int64_t> domain_strides(const Value& value) const {
    const Shape& shape = value.type.shape;
    const std::vector<std::int64_t> own = strides_of(shape, value.layout);
    std::vector<std::int64_t> strides(rank_, 0);
    const std::size_t first = rank_ - own.size();
    for (std::size_t a = first; a < rank_; ++a) {
      if (shape.sizes()[a - first] != 1) strides[a] = own[a - first];
    }
    return strides;
  }
  // The element of an array so far away from the one at hand.
  std::string index(const Value& value, const Shift& shift) const {
    const std::vector<std::int64_t> strides = domain_strides(value);
    std::int64_t offset = 0;
    for (std::size_t a = 0; a < rank_; ++a) offset += strides[a] * (begin_[a] + shift[a]);
    const auto which = std::find(strides_.begin(), strides_.end(), strides) - strides_.begin();
    return index_of(box_, static_cast<std::size_t>(which), offset);
  }

  std::string let(const std::string& key, const std::string& type, const std::string& expression) {
    std::string name = fmt::format("v{}", known_.size());
    known_.emplace(key, name);
    lines_ += fmt::format("const {} {} = {};\n", type, name, expression);
    return name;
  }
  static std::string key_of(char kind, std::size_t j, std::int64_t which, const Shift& shift) {
    std::string key = fmt::format("{}{}:{}", kind, j, which);
    for (const std::int64_t s : shift) key += fmt::format(" {}", s);
    return key;
  }

  std::string operand(std::size_t j, std::size_t i, const Shift& shift) {
    const Operand& o = all_.operands_[j][i];
    if (o.maker != kNone && !all_.made_[o.maker]) return element(o.maker, o.output, sum(shift, o.shift));
    const Value& value = all_.input(j, i);
    const std::string address = all_.address(j, i), at = index(value, shift);
    const std::string type = type_name(all_.node(j), value.type.dtype);
    const auto [pointer, is_new] =
        pointer_of_.emplace(address + type, fmt::format("x{}", pointer_of_.size()));
    if (is_new) pointers_ += "    " + declare(all_.node(j), value, pointer->second, address, true) + "\n";
    const std::string key = pointer->second + "[" + at + "]";
    const auto found = known_.find(key);
    return found != known_.end() ? found->second : let(key, type, key);
  }

  // Output o of instruction j, so far away from the element at hand.
  std::string element(std::size_t j, std::size_t o, const Shift& shift) {
    const Node& n = all_.node(j);
    if (is_move(n)) {
      const std::size_t part = name_of(n) == "pad" ? 0 : 1;
      const Shift there = sum(shift, place_of_part(n, rank_, part));
      bool inside = true;
      for (std::size_t a = 0; a < rank_; ++a) {
        const std::int64_t at = begin_[a] + there[a];
        inside = inside && at >= 0 && at < all_.input(j, part).type.shape.sizes()[a];
      }
      if (inside) return operand(j, part, there);
      if (part == 1) return operand(j, 0, shift);
      return fmt::format("static_cast<{}>({})", type_name(n, all_.output(j).type.dtype),
                         number(n.attrs.number("value")));
    }
    if (n.regions.empty()) return step(j, n, all_.s_.binding.graph, n.out[0], shift);
    return step(j, n, n.regions[0], n.regions[0].outputs[o], shift);
  }

  // A value of the chain that instruction j is.
  std::string step(std::size_t j, const Node& n, const Graph& g, ValueId v, const Shift& shift) {
    const std::string key = key_of('s', j, v, shift);
    if (const auto found = known_.find(key); found != known_.end()) return found->second;
    const Node* maker = n.regions.empty() ? &n : nullptr;
    for (std::size_t k = 0; maker == nullptr && k < g.nodes.size(); ++k) {
      if (g.nodes[k].out[0] == v) maker = &g.nodes[k];
    }
    if (maker == nullptr) {
      const auto input = std::find(g.inputs.begin(), g.inputs.end(), v) - g.inputs.begin();
      return operand(j, static_cast<std::size_t>(input), shift);
    }
    std::vector<std::string> args;
    for (std::size_t i = 0; i < maker->in.size(); ++i)
      args.push_back(n.regions.empty() ? operand(j, i, shift) : step(j, n, g, maker->in[i], shift));
    return let(key, local_type(n, g.type(v).dtype), formula(*maker, g, args));
  }

  const Stencils& all_;
  std::size_t loop_, rank_ = 0;
  std::vector<std::vector<std::int64_t>> cuts_;  // by axis
  std::set<std::pair<std::size_t, Shift>> seen_;
  std::vector<Read> reads_;
  std::vector<std::vector<std::int64_t>> strides_;  // of all that is read and written
  Loops box_;                                       // the box at hand, and where it begins
  std::vector<std::int64_t> begin_;
  std::map<std::string, std::string> known_;  // what has a name in it
  std::map<std::string, std::string> pointer_of_;
  std::string lines_, pointers_;
};

// Whether instruction j may read here what those that are left out read earlier; if not, one of them is made where it was.
bool Stencils::mend(std::size_t j) {
  const Writer writer(*this, j);
  if (writer.boxes() > kBoxes) {
    for (const Operand& o : operands_[j]) {
      if (o.maker != kNone) needed_[o.maker] = 1;
    }
    return false;
  }
  const auto inputs = static_cast<std::size_t>(s_.program.instrs[j].inputs), outputs = node(j).out.size();
  for (const Writer::Read& read : writer.reads()) {
    const Place& from = place(read.instr, read.input);
    bool good = true;
    for (std::size_t k = read.instr; k < j && good; ++k) {
      // Of those that are left out, nothing is written.
      if (k == read.instr || left_out(k)) continue;
      const Instr& instr = s_.program.instrs[k];
      for (std::int32_t o = instr.inputs; o <= instr.inputs + instr.outputs; ++o)
        good = good && !overlap(place(k, static_cast<std::size_t>(o)), from);
    }
    for (std::size_t o = 0; o < outputs && good; ++o) {
      const Place& to = place(j, inputs + o);
      if (!overlap(to, from)) continue;
      // In place: every element is read where it is written.
      const Value& value = input(read.instr, read.input);
      good = to.offset == from.offset && value.type == output(j, o).type && value.layout.dense_row_major() &&
             std::all_of(read.shift.begin(), read.shift.end(), [](std::int64_t s) { return s == 0; });
    }
    if (good) continue;
    if (read.instr != j) {
      needed_[read.instr] = 1;
    } else {
      for (const Operand& o : operands_[j]) {
        if (o.maker != kNone) needed_[o.maker] = 1;
      }
    }
    return false;
  }
  return true;
}

Stencils::Stencils(const EmitSource& source) : s_(source) {
  const std::size_t n = s_.program.instrs.size();
  points_.resize(n);
  made_.assign(n, 1);
  needed_.assign(n, 0);
  for (std::size_t j = 0; j < n; ++j) points_[j] = is_points(j);
  find_operands();
  for (bool good = false; !good;) {
    choose();
    good = true;
    for (std::size_t j = 0; j < n && good; ++j) good = !joined(j) || mend(j);
  }
}

void Stencils::write(std::size_t j, std::string& out) const { Writer(*this, j).write(out); }

}  // namespace tidemark::emitting
