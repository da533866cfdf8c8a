// Elementwise ops, fused chains and the reductions they end in, as loops.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "tidemark/emit/writer.h"

namespace tidemark::emitting {
namespace {

using Sizes = std::vector<std::int64_t>;

bool is_fused(const Node& n) {
  return std::string_view(n.op->name) == "fused" || std::string_view(n.op->name) == "fused_fold";
}

DType compute(DType d) { return d == DType::boolean ? DType::u8 : d; }

std::string filled(std::string text, const std::vector<std::string>& args) {
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string hole = fmt::format("{{{}}}", i);
    for (std::size_t at = text.find(hole); at != std::string::npos; at = text.find(hole, at + args[i].size()))
      text.replace(at, hole.size(), args[i]);
  }
  constexpr std::string_view kNamespace = "tidemark::scalar::";
  for (std::size_t at = text.find(kNamespace); at != std::string::npos; at = text.find(kNamespace, at))
    text.replace(at, kNamespace.size(), "scalar::");
  // The same numbers, in a form that compilers vectorise.
  constexpr std::string_view kSign = "scalar::sign(";
  for (std::size_t at = text.find(kSign); at != std::string::npos; at = text.find(kSign, at))
    text.replace(at, kSign.size(), "sign_of(");
  return text;
}

}  // namespace

std::string local_type(const Node& n, DType d) { return d == DType::boolean ? "bool" : type_name(n, d); }

std::string formula(const Node& n, const Graph& g, const std::vector<std::string>& args) {
  const std::string_view op = n.op->name;
  const DType out = g.type(n.out[0]).dtype;
  const DType in = n.in.empty() ? out : g.type(n.in.back()).dtype;
  const std::string to = local_type(n, out), from = type_name(n, in);
  if (op == "full") return fmt::format("static_cast<{}>({})", to, number(n.attrs.number("value")));
  if (op == "cast")
    return out == DType::boolean ? fmt::format("{} != 0", args[0])
                                 : fmt::format("static_cast<{}>({})", to, args[0]);
  if (op == "clamp") {
    const std::string low = fmt::format("static_cast<{}>({})", from, number(n.attrs.number("low"))),
                      high = fmt::format("static_cast<{}>({})", from, number(n.attrs.number("high")));
    return fmt::format("({0} < {1} ? {1} : {0}) > {2} ? {2} : ({0} < {1} ? {1} : {0})", args[0], low, high);
  }
  if (op == "logical_not") return fmt::format("!{}", args[0]);
  if (op == "div" && !is_float(out))
    return fmt::format(
        "static_cast<{0}>({2} == 0 ? 0 : {2} == static_cast<{0}>(-1) ? {0}(0) - {1} : {1} / {2})", to,
        args[0], args[1]);
  if (std::string_view(n.op->cpp).empty()) refuse(n, "no formula for one element");
  const std::string text = filled(n.op->cpp, args);
  return out == DType::boolean || out == DType::f64 ? text : fmt::format("static_cast<{}>({})", to, text);
}

namespace {

// A chain: its inputs, its steps, what it gives; a lone op is one of a single step.
struct Chain {
  const Task& task;
  const Graph* graph = nullptr;
  std::vector<const Node*> steps;
  std::unordered_map<ValueId, std::string> names;
  std::vector<std::pair<const Node*, std::size_t>> folds;  // reductions and the outputs they give
  std::vector<std::pair<ValueId, std::size_t>> maps;       // values and the outputs they are stored to
  Shape domain;
  std::vector<std::pair<ValueId, std::size_t>> inputs;

  explicit Chain(const Task& t) : task(t) {
    const Node& n = t.node;
    if (is_fused(n)) {
      graph = &n.regions[0];
      std::unordered_map<ValueId, const Node*> reductions;
      for (const Node& s : graph->nodes) {
        if (s.op->fold != Fold::none)
          reductions.emplace(s.out[0], &s);
        else
          steps.push_back(&s);
      }
      for (std::size_t i = 0; i < graph->inputs.size(); ++i) inputs.emplace_back(graph->inputs[i], i);
      domain = graph->outputs.empty() ? Shape{} : graph->type(graph->outputs[0]).shape;
      for (std::size_t o = 0; o < graph->outputs.size(); ++o) {
        const auto found = reductions.find(graph->outputs[o]);
        if (found == reductions.end()) {
          maps.emplace_back(graph->outputs[o], o);
        } else {
          folds.emplace_back(found->second, o);
        }
      }
      if (!folds.empty()) domain = graph->type(folds[0].first->in[0]).shape;
    } else {
      graph = &t.graph;
      for (std::size_t i = 0; i < n.in.size(); ++i) {
        if (std::none_of(inputs.begin(), inputs.end(), [&](const auto& p) { return p.first == n.in[i]; }))
          inputs.emplace_back(n.in[i], i);
      }
      if (n.op->fold != Fold::none) {
        folds.emplace_back(&n, 0);
        domain = graph->type(n.in[0]).shape;
      } else {
        steps.push_back(&n);
        maps.emplace_back(n.out[0], 0);
        domain = graph->type(n.out[0]).shape;
      }
    }
    for (std::size_t i = 0; i < inputs.size(); ++i)
      names[inputs[i].first] = fmt::format("v{}", inputs[i].first);
  }

  Sizes domain_strides(const Value& value) const {
    const Shape& shape = value.type.shape;
    const Sizes own = strides_of(shape, value.layout);
    Sizes strides(domain.sizes().size(), 0);
    const int shift = domain.rank() - shape.rank();
    for (int a = 0; a < shape.rank(); ++a) {
      if (shape[a] != 1) strides[static_cast<std::size_t>(a + shift)] = own[static_cast<std::size_t>(a)];
    }
    return strides;
  }

  // The values that `wanted` needs, as statements; operand k of the inputs is read at index[k].
  std::string statements(const std::vector<ValueId>& wanted, const std::vector<std::string>& index) {
    std::unordered_map<ValueId, bool> needed;
    for (const ValueId v : wanted) needed[v] = true;
    for (auto s = steps.rbegin(); s != steps.rend(); ++s) {
      if (!needed.count((*s)->out[0])) continue;
      for (const ValueId v : (*s)->in) needed[v] = true;
    }
    std::string text;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      if (!needed.count(inputs[k].first)) continue;
      text += fmt::format("const {} v{} = x{}[{}];\n",
                          type_name(task.node, compute(graph->type(inputs[k].first).dtype)), inputs[k].first,
                          k, index[k]);
    }
    for (const Node* s : steps) {
      if (!needed.count(s->out[0])) continue;
      std::vector<std::string> args;
      for (const ValueId v : s->in) args.push_back(fmt::format("v{}", v));
      text += fmt::format("const {} v{} = {};\n", local_type(task.node, graph->type(s->out[0]).dtype),
                          s->out[0], formula(*s, *graph, args));
    }
    return text;
  }
};

void write_maps(Chain& c, std::string& out) {
  if (c.maps.empty() || c.domain.numel() == 0) return;
  std::vector<Sizes> strides;
  for (const auto& [v, o] : c.maps) strides.push_back(c.domain_strides(c.task.output(o)));
  for (const auto& [v, i] : c.inputs) strides.push_back(c.domain_strides(c.task.input(i)));
  const Loops l = merged(c.domain.sizes(), strides);
  std::vector<std::string> index;
  for (std::size_t k = 0; k < c.inputs.size(); ++k) index.push_back(index_of(l, c.maps.size() + k));
  std::vector<ValueId> wanted;
  for (const auto& [v, o] : c.maps) wanted.push_back(v);
  std::string body = c.statements(wanted, index);
  for (std::size_t k = 0; k < c.maps.size(); ++k)
    body += fmt::format("y{}[{}] = v{};\n", c.maps[k].second, index_of(l, k), c.maps[k].first);
  out += nest(l, "    ", body);
}

// The position along a group of axes, as a sum of strides: divided up where the axes do not lie behind one another.
std::string position(const std::string& variable, const Sizes& sizes, const Sizes& strides) {
  const Loops l = merged(sizes, {strides});
  std::string text;
  std::int64_t inner = 1;
  for (std::size_t a = l.sizes.size(); a-- > 0;) {
    const std::int64_t s = l.strides[0][a];
    std::string at = inner == 1 ? variable : fmt::format("{} / {}", variable, inner);
    if (a > 0) at = fmt::format("{} % {}", at, l.sizes[a]);
    inner *= l.sizes[a];
    if (s != 0) text += fmt::format("{}({}) * {}", text.empty() ? "" : " + ", at, s);
  }
  return text.empty() ? "0" : text;
}

void write_fold(Chain& c, const Node& fold, std::size_t output, std::string& out) {
  const auto rank = static_cast<std::size_t>(c.domain.rank());
  std::vector<bool> reduced(rank, false);
  for (const std::int64_t a : fold.attrs.integers("axes")) reduced[static_cast<std::size_t>(a)] = true;
  // Axes of size 1 count for nothing; neighbours of one kind are one.
  struct Group {
    bool reduced = false;
    std::vector<std::size_t> axes;
  };
  std::vector<Group> groups;
  for (std::size_t a = 0; a < rank; ++a) {
    if (c.domain.sizes()[a] == 1) continue;
    if (groups.empty() || groups.back().reduced != reduced[a]) groups.push_back({.reduced = reduced[a]});
    groups.back().axes.push_back(a);
  }
  // Then all axes that stay are outside, and the sum has an order of its own.
  const bool scattered =
      std::count_if(groups.begin(), groups.end(), [](const Group& g) { return g.reduced; }) > 1;
  if (scattered && c.task.exact)
    refuse(c.task.node, "a reduction over axes with others between them; reduce one after the other");
  std::int64_t extent[3] = {1, 1, 1};  // outside, folded, inside
  std::vector<std::size_t> axes[3];
  bool inside = false;
  for (const Group& g : groups) {
    const int part = g.reduced ? 1 : inside && !scattered ? 2 : 0;
    inside = inside || g.reduced;
    for (const std::size_t a : g.axes) {
      axes[part].push_back(a);
      extent[part] *= c.domain.sizes()[a];
    }
  }
  if (extent[0] * extent[2] == 0) return;
  const char* variables[3] = {"o", "r", "i"};
  const auto index = [&](const Sizes& strides, bool result) {
    std::string text;
    for (int p = 0; p < 3; ++p) {
      if (result && p == 1) continue;
      Sizes sizes, own;
      for (const std::size_t a : axes[p]) sizes.push_back(c.domain.sizes()[a]), own.push_back(strides[a]);
      const std::string at = position(variables[p], sizes, own);
      if (at != "0") text += (text.empty() ? "" : " + ") + at;
    }
    return text.empty() ? std::string("0") : text;
  };
  std::vector<std::string> indices;
  for (const auto& [v, i] : c.inputs) indices.push_back(index(c.domain_strides(c.task.input(i)), false));
  const ValueId of = fold.in[0];
  const std::string type = type_name(c.task.node, compute(c.graph->type(of).dtype));
  // The result's strides, spread over the domain's axes.
  const Value& y = c.task.output(output);
  const Sizes own = strides_of(y.type.shape, y.layout);
  Sizes spread(rank, 0);
  for (std::size_t a = 0, k = 0; a < rank; ++a) {
    if (fold.attrs.flag("keep")) {
      if (!reduced[a]) spread[a] = own[a];
    } else if (!reduced[a]) {
      spread[a] = own[k++];
    }
  }
  static constexpr const char* kNames[] = {"", "Sum", "Max", "Min", "Prod"};
  const char* name = kNames[static_cast<int>(fold.op->fold)];
  const std::string stored = type_name(c.task.node, y.type.dtype);
  std::string element;
  const std::string lines = c.statements({of}, indices);
  for (std::size_t begin = 0; begin < lines.size();) {
    const std::size_t end = lines.find('\n', begin);
    element += "      " + lines.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  element += fmt::format("      return v{};\n", of);
  const std::string put = fmt::format("y{}[{}] = static_cast<{}>", output, index(spread, true), stored);
  if (extent[2] == 1) {
    out += fmt::format(
        "    for (std::int64_t o = 0; o < {}; ++o) {{\n    {}(fold_row<{}, {}>({}, [&](std::int64_t r) "
        "{{\n{}    }}));\n    }}\n",
        extent[0], put, type, name, extent[1], element);
  } else {
    out += fmt::format(
        "    fold_columns<{}, {}>({}, {}, {}, [&](std::int64_t o, std::int64_t r, std::int64_t i) {{\n{}    "
        "}}, [&](std::int64_t o, std::int64_t i, auto sum) {{ (void)o; {}(sum); }});\n",
        type, name, extent[0], extent[1], extent[2], "      (void)o;\n" + element, put);
  }
}

}  // namespace

bool is_map(const Node& n) { return is_fused(n) || n.op->elementwise() || n.op->fold != Fold::none; }

void write_map(const Task& task, std::string& out) {
  Chain c(task);
  for (std::size_t o = 0; o < task.out.size(); ++o)
    out += "    " + declare(task.node, task.output(o), fmt::format("y{}", o), task.out[o], false) + "\n";
  for (std::size_t k = 0; k < c.inputs.size(); ++k)
    out += "    " +
           declare(task.node, task.input(c.inputs[k].second), fmt::format("x{}", k),
                   task.in[c.inputs[k].second], true) +
           "\n";
  write_maps(c, out);
  for (const auto& [fold, output] : c.folds) write_fold(c, *fold, output, out);
}

}  // namespace tidemark::emitting
