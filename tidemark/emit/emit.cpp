// SPDX-License-Identifier: Apache-2.0
#include "tidemark/emit/emit.h"

#include <map>

#include "tidemark/emit/prelude.h"
#include "tidemark/emit/writer.h"
#include "tidemark/ops/loops.h"

namespace tidemark {
namespace {

using emitting::Task;

std::string plus(const std::string& base, const std::string& offset) {
  return offset == "0" ? base : fmt::format("{} + {}", base, offset);
}
std::string plus(const std::string& base, Bytes offset) { return plus(base, std::to_string(offset)); }

class Emitter {
 public:
  explicit Emitter(const EmitOptions& options) : options_(options) {}

  std::string file(const EmitSource& s) {
    function(s, kEmittedEntry, "extern \"C\" void");
    std::string text = head(s);
    std::string formulas = emitting::kScalarFormulas;
    const std::size_t once = formulas.find("#pragma once\n");
    if (once != std::string::npos) formulas.erase(once, 13);
    text += "#include <algorithm>\n#include <cstring>\n#include <type_traits>\n\n" + formulas +
            emitting::kPrelude;
    for (const std::string& f : functions_) text += f;
    text += fmt::format(
        "\n#ifndef TIDEMARK_OWN_ARENA\n"
        "alignas(64) static unsigned char arena[{}];\n"
        "// inputs: pointers to the arrays listed above, each aligned as its elements are; returns the "
        "arena.\n"
        "extern \"C\" unsigned char* {}(unsigned char* const* inputs) {{\n  {}(inputs, arena);\n  return "
        "arena;\n}}\n#endif\n",
        std::max<Bytes>(s.program.arena_bytes, 1), options_.name, kEmittedEntry);
    return text;
  }

 private:
  std::string head(const EmitSource& s) const {
    std::string text = fmt::format(
        "// {}: emitted from a plan of {} tasks; an arena of {} bytes and the arrays that are given.\n",
        options_.name, s.program.instrs.size(), s.program.arena_bytes);
    text += "// Compile with -ffp-contract=off for the executor's bits.\n";
    const Graph& g = s.binding.graph;
    for (std::size_t i = 0; i < g.inputs.size(); ++i)
      text += fmt::format("//   inputs[{}]  {} {}\n", i, to_string(g.type(g.inputs[i])),
                          g.value(g.inputs[i]).name);
    for (std::size_t o = 0; o < g.outputs.size(); ++o) {
      const Place& p = s.program.outputs[o];
      text += fmt::format("//   result {}  {} at {} + {}\n", o, to_string(g.type(g.outputs[o])),
                          p.resident < 0 ? std::string("arena") : fmt::format("inputs[{}]", p.resident),
                          p.offset);
    }
    return text + "\n";
  }

  void function(const EmitSource& s, const std::string& name, const std::string& kind) {
    const Graph& g = s.binding.graph;
    std::string body;
    for (const Instr& instr : s.program.instrs) {
      if (instr.kind != Instr::Kind::run) fail(Error::Kind::unsupported, "[emit] the plan copies to a tier; plan it without");
      const std::int32_t n = s.binding.node_of_task[static_cast<std::size_t>(instr.task)];
      if (n < 0) fail(Error::Kind::unsupported, "[emit] task {} of the plan is no node of the graph (a codec, a factor, …)", instr.task);
      const Node& node = g.nodes[static_cast<std::size_t>(n)];
      Task task{.graph = g, .node = node};
      const Place* p = s.program.places.data() + instr.first_place;
      const auto address = [](const Place& place) {
        return plus(place.resident < 0 ? "arena" : fmt::format("r[{}]", place.resident), place.offset);
      };
      for (std::int32_t i = 0; i < instr.inputs; ++i) task.in.push_back(address(p[i]));
      for (std::int32_t o = 0; o < instr.outputs; ++o) task.out.push_back(address(p[instr.inputs + o]));
      task.workspace = address(p[instr.inputs + instr.outputs]);
      const std::string where = to_string(node.loc);
      body += fmt::format("  // {} = {}{}\n  {{\n", node.out.empty() ? "" : g.value(node.out[0]).name,
                          node.op->name, where.empty() ? "" : "  " + where);
      write(task, body);
      body += "  }\n";
    }
    functions_.push_back(fmt::format(
        "{} {}(unsigned char* const* r, unsigned char* arena) {{\n  (void)r;\n  (void)arena;\n{}}}\n\n", kind,
        name, body));
  }

  void write(const Task& t, std::string& out) {
    if (emitting::is_map(t.node)) {
      emitting::write_map(t, out);
    } else if (t.node.op == &scan_op || t.node.op == &scan_saving_op) {
      write_scan(t, out);
    } else if (t.node.op == &scan_adjoint_op) {
      write_adjoint(t, out);
    } else if (t.node.op == &cond_op) {
      write_cond(t, out);
    } else if (!emitting::write_move(t, out)) {
      const std::size_t before = out.size();
      if (!emitting::write_product(t, out))
        emitting::refuse(t.node, "has no plain form in C++; leave it to the executor");
      if (options_.exact && out.size() > before)
        emitting::refuse(t.node, "a plain loop would not have the executor's bits; leave it to the executor");
    }
  }

  // The function of a region, written once.
  std::string region(const Task& t, std::size_t which) {
    if (!options_.region) emitting::refuse(t.node, "its region is not given");
    const EmitSource s = options_.region(t.node, which);
    const auto found = regions_.find(&s.program);
    if (found != regions_.end()) return found->second;
    const std::string name = fmt::format("region_{}", regions_.size());
    regions_.emplace(&s.program, name);
    function(s, name, "static void");
    return name;
  }

  // Loops call a region with q: its inputs, then the places of its outputs.
  void write_scan(const Task& t, std::string& out) {
    const LoopShape s = loop_shape(t.node);
    const Graph& body = t.node.regions[0];
    const std::string f = region(t, 0);
    const std::size_t in = body.inputs.size();
    const auto bytes = [&](ValueId v) { return body.type(v).bytes(); };
    const auto c = static_cast<std::size_t>(s.carries), consts = static_cast<std::size_t>(s.first_const());
    std::vector<Bytes> second(c);
    Bytes work = 0;
    for (std::size_t i = 0; i < c; ++i) second[i] = work, work += round_up(bytes(body.outputs[i]), 64);
    out += fmt::format("    Bytes q[{}] = {{}};\n    Bytes work = {};\n",
                       std::max<std::size_t>(1, in + body.outputs.size()), t.workspace);
    for (std::size_t i = 0; i < in; ++i) out += fmt::format("    q[{}] = {};\n", i, t.in[i]);
    const bool saving = t.node.op == &scan_saving_op;
    out += s.counted ? fmt::format("    const std::int64_t n = *(const std::int64_t*)({});\n", t.in.back())
                     : fmt::format("    constexpr std::int64_t n = {};\n", s.trips);
    std::int64_t slots = 0;
    Bytes snapshot = 0;
    std::vector<std::int64_t> offset_of(c, -1);
    if (saving) {
      slots = t.node.attrs.integer("slots");
      for (const std::int64_t i : t.node.attrs.integers("snapshot")) {
        offset_of[static_cast<std::size_t>(i)] = snapshot;
        snapshot += round_up(bytes(body.inputs[static_cast<std::size_t>(i)]), 64);
      }
      out += fmt::format(
          "    std::int64_t kept = 0, depth = 0;\n    const auto next_kept = [&] {{ return {} - depth < 2 || "
          "n - kept < 2 ? -1 : kept + split_of(n - kept, {} - depth); }};\n",
          slots, slots);
      out += "    std::int64_t next = next_kept();\n";
    }
    out += "    for (std::int64_t i = 0; i < n; ++i) {\n";
    out += s.reverse ? "      const std::int64_t t = n - 1 - i;\n" : "      const std::int64_t t = i;\n";
    out += "      (void)t;\n";
    for (std::size_t i = 0; i < c; ++i)
      out +=
          fmt::format("      q[{}] = (n - 1 - i) % 2 == 0 ? {} : work + {};\n", in + i, t.out[i], second[i]);
    if (saving) {
      out +=
          "      if (i + 1 == next) {  // the state that this step makes is kept: it is made in its slot\n";
      for (std::size_t i = 0; i < c; ++i) {
        if (offset_of[i] >= 0)
          out += fmt::format("        q[{}] = {} + depth * {} + {};\n", in + i, t.out.back(), snapshot,
                             offset_of[i]);
      }
      out += "      }\n";
    }
    for (std::size_t i = c; i < consts; ++i)
      out += fmt::format("      q[{}] = {} + t * {};\n", i, t.in[i], bytes(body.inputs[i]));
    for (std::size_t o = c; o < body.outputs.size(); ++o)
      out += fmt::format("      q[{}] = {} + t * {};\n", in + o, t.out[o], bytes(body.outputs[o]));
    out += fmt::format("      {}(q, work + {});\n", f, work);
    for (std::size_t i = 0; i < c; ++i) out += fmt::format("      q[{}] = q[{}];\n", i, in + i);
    if (saving)
      out +=
          "      if (i + 1 == next) {\n        kept = next;\n        ++depth;\n        next = next_kept();\n "
          "     }\n";
    out += "    }\n";
    for (std::size_t i = 0; i < c; ++i)
      out += fmt::format("    copy({}, q[{}], {});\n", t.out[i], i, bytes(body.outputs[i]));
    if (s.counted) {
      for (std::size_t o = c; o < body.outputs.size(); ++o)
        out += fmt::format("    if (n < {1}) std::memset({0} + n * {2}, 0, ({1} - n) * {2});\n", t.out[o],
                           s.trips, bytes(body.outputs[o]));
    }
  }

  void write_adjoint(const Task& t, std::string& out) {
    const AdjointShape s = adjoint_shape(t.node.attrs, t.node.regions);
    const Graph &advance = t.node.regions[0], &adjoint = t.node.regions[1];
    const bool again = s.slots < s.trips;
    const std::string back = region(t, 1), on = again ? region(t, 0) : "";
    std::vector<Bytes> offset;
    Bytes snapshot = 0;
    for (const ValueId v : advance.outputs)
      offset.push_back(snapshot), snapshot += round_up(advance.type(v).bytes(), 64);
    const auto a = static_cast<std::size_t>(s.adjoints), states = static_cast<std::size_t>(s.states);
    std::vector<Bytes> second(a);
    Bytes work = again ? round_up(s.slots * 8, 64) + 2 * snapshot : 0;
    const Bytes working = again ? round_up(s.slots * 8, 64) : 0;
    for (std::size_t i = 0; i < a; ++i)
      second[i] = work, work += round_up(adjoint.type(adjoint.outputs[i]).bytes(), 64);
    const auto at = [&](int i) { return t.in[static_cast<std::size_t>(i)]; };
    out +=
        fmt::format("    constexpr std::int64_t n = {};\n    Bytes work = {};\n    Bytes snapshots = {};\n",
                    s.trips, t.workspace, again ? t.out[0] : t.in[0]);
    if (again)
      out += fmt::format("    copy(snapshots, {}, {});\n", t.in[0], t.graph.type(t.node.in[0]).bytes());
    const std::size_t in = adjoint.inputs.size();
    out += fmt::format("    Bytes q[{}] = {{}};\n", std::max<std::size_t>(1, in + adjoint.outputs.size()));
    out += "    // A state: an address that its arrays are counted from, or null for the first one.\n";
    const auto array = [&](const std::string& state, std::size_t i) {
      return fmt::format("{0} != nullptr ? {0} + {1} : {2}", state, offset[i],
                         at(s.first_state() + static_cast<int>(i)));
    };
    for (std::size_t i = 0; i < a; ++i)
      out += fmt::format("    q[{}] = {};\n", i, at(s.first_adjoint() + static_cast<int>(i)));
    const std::size_t reads = s.states_read.size(), xs = static_cast<std::size_t>(s.adjoint_xs);
    for (int i = 0; i < s.adjoint_consts; ++i)
      out += fmt::format("    q[{}] = {};\n", a + reads + xs + static_cast<std::size_t>(i),
                         at(s.first_adjoint_const() + i));
    out += "    const auto reverse = [&](std::int64_t i, Bytes state) {\n";
    out += s.reverse ? "      const std::int64_t t = i;\n      (void)t;\n"
                     : "      const std::int64_t t = n - 1 - i;\n      (void)t;\n";
    for (std::size_t i = 0; i < a; ++i)
      out += fmt::format("      q[{}] = i % 2 == 0 ? {} : work + {};\n", in + i, t.out[1 + i], second[i]);
    for (std::size_t k = 0; k < reads; ++k)
      out += fmt::format("      q[{}] = {};\n", a + k,
                         array("state", static_cast<std::size_t>(s.states_read[k])));
    for (std::size_t k = 0; k < xs; ++k)
      out += fmt::format("      q[{}] = {} + t * {};\n", a + reads + k,
                         at(s.first_adjoint_x() + static_cast<int>(k)),
                         adjoint.type(adjoint.inputs[a + reads + k]).bytes());
    for (std::size_t o = a; o < adjoint.outputs.size(); ++o)
      out += fmt::format("      q[{}] = {} + t * {};\n", in + o, t.out[1 + o],
                         adjoint.type(adjoint.outputs[o]).bytes());
    out += fmt::format("      {}(q, work + {});\n", back, work);
    for (std::size_t i = 0; i < a; ++i) out += fmt::format("      q[{}] = q[{}];\n", i, in + i);
    out += "    };\n";
    if (!again) {
      out += fmt::format(
          "    for (std::int64_t i = n - 1; i >= 0; --i) reverse(i, i == 0 ? nullptr : snapshots + (i - 1) * "
          "{});\n",
          snapshot);
    } else {
      const std::size_t p_in = advance.inputs.size();
      out += fmt::format("    Bytes p[{}] = {{}};\n", p_in + states);
      for (int i = 0; i < s.advance_consts; ++i)
        out += fmt::format("    p[{}] = {};\n", s.states + s.advance_xs + i, at(s.first_advance_const() + i));
      out +=
          "    const auto advance = [&](std::int64_t from, std::int64_t to, Bytes state, Bytes into) {\n     "
          " for (std::int64_t i = from; i < to; ++i) {\n";
      out += s.reverse ? "        const std::int64_t t = i;\n        (void)t;\n"
                       : "        const std::int64_t t = n - 1 - i;\n        (void)t;\n";
      out += fmt::format(
          "        Bytes next = i + 1 == to && into != nullptr ? into : work + {} + (i & 1) * {};\n", working,
          snapshot);
      for (std::size_t i = 0; i < states; ++i)
        out += fmt::format("        p[{}] = {};\n        p[{}] = next + {};\n", i, array("state", i),
                           p_in + i, offset[i]);
      for (int x = 0; x < s.advance_xs; ++x)
        out += fmt::format("        p[{}] = {} + t * {};\n", s.states + x, at(s.first_advance_x() + x),
                           advance.type(advance.inputs[states + static_cast<std::size_t>(x)]).bytes());
      out += fmt::format(
          "        {}(p, work + {});\n        state = next;\n      }}\n      return state;\n    }};\n", on,
          work);
      out += fmt::format(
          "    const auto slot = [&](std::int64_t depth) -> Bytes {{ return depth == 0 ? nullptr : snapshots "
          "+ (depth - 1) * {0}; }};\n"
          "    auto* kept = (std::int64_t*)work;  // the steps whose states are kept, as a stack\n"
          "    std::int64_t depth = 1;\n"
          "    kept[0] = 0;\n"
          "    for (; depth < {1} && n - kept[depth - 1] > 1; ++depth) kept[depth] = kept[depth - 1] + "
          "split_of(n - kept[depth - 1], {1} - depth + 1);\n"
          "    for (std::int64_t to = n; to > 0;) {{\n"
          "      const std::int64_t top = kept[depth - 1];\n"
          "      if (top == to) {{\n"
          "        --depth;\n"
          "      }} else if (to - top == 1) {{\n"
          "        reverse(top, slot(depth - 1));\n"
          "        to = top;\n"
          "      }} else if (depth == {1}) {{\n"
          "        reverse(to - 1, advance(top, to - 1, slot(depth - 1), nullptr));\n"
          "        --to;\n"
          "      }} else {{\n"
          "        kept[depth] = top + split_of(to - top, {1} - depth + 1);\n"
          "        advance(top, kept[depth], slot(depth - 1), slot(depth));\n"
          "        ++depth;\n"
          "      }}\n"
          "    }}\n",
          snapshot, s.slots);
    }
    for (std::size_t i = 0; i < a; ++i)
      out += fmt::format("    copy({}, q[{}], {});\n", t.out[1 + i], i,
                         adjoint.type(adjoint.outputs[i]).bytes());
  }

  void write_cond(const Task& t, std::string& out) {
    const std::size_t in = t.in.size() - 1;
    out += fmt::format("    Bytes q[{}] = {{}};\n", in + t.out.size() + 1);
    for (std::size_t i = 0; i < in; ++i) out += fmt::format("    q[{}] = {};\n", i, t.in[i + 1]);
    for (std::size_t o = 0; o < t.out.size(); ++o) out += fmt::format("    q[{}] = {};\n", in + o, t.out[o]);
    const std::string yes = region(t, 0), no = region(t, 1);
    out += fmt::format("    if (*({}) != 0) {}(q, {});\n    else {}(q, {});\n", t.in[0], yes, t.workspace, no,
                       t.workspace);
  }

  const EmitOptions& options_;
  std::vector<std::string> functions_;  // callees first
  std::map<const Program*, std::string> regions_;
};

}  // namespace

std::string emit(const EmitSource& source, const EmitOptions& options) {
  return Emitter(options).file(source);
}

}  // namespace tidemark
