// SPDX-License-Identifier: Apache-2.0
#include "tidemark/emit/emit.h"

#include <map>

#include "tidemark/emit/prelude.h"
#include "tidemark/emit/stencils.h"
#include "tidemark/emit/writer.h"
#include "tidemark/runtime/check_indices.h"

namespace tidemark {
namespace {

using emitting::plus;
using emitting::Task;

class Emitter {
 public:
  explicit Emitter(const EmitOptions& options) : options_(options) {}

  std::string file(const EmitSource& s) {
    whole_file_ = true;
    function(s, kEmittedEntry, "extern \"C\" void");
    return whole(s) +
           fmt::format(
               "\n#ifndef TIDEMARK_OWN_ARENA\n"
               "alignas(64) static unsigned char arena[{}];\n"
               "// inputs: pointers to the arrays listed above, each aligned as its elements are; returns "
               "the "
               "arena.\n"
               "extern \"C\" unsigned char* {}(unsigned char* const* inputs) {{\n  {}(inputs, arena);\n  "
               "return "
               "arena;\n}}\n#endif\n",
               std::max<Bytes>(s.program.arena_bytes, 1), options_.name, kEmittedEntry);
  }

  EmittedParts parts(const EmitSource& s) {
    EmittedParts parts;
    std::string body;
    const emitting::Stencils stencils(s);
    const auto end = [&](std::size_t i) {
      if (body.empty()) return;
      parts.runs.back().second = i;
      define(entry_of_part(parts.runs.size() - 1), "extern \"C\" void", body);
      body.clear();
    };
    for (std::size_t i = 0; i < s.program.instrs.size(); ++i) {
      const Node* node = node_of(s, s.program.instrs[i]);
      // By itself, so that what it refuses is told by its name.
      const bool alone = node != nullptr && emitting::may_refuse(*node);
      if (alone) end(i);
      const std::size_t functions = functions_.size();
      const auto regions = regions_;
      try {
        const std::string text = task_of(s, stencils, i);
        if (body.empty()) parts.runs.emplace_back(i, i);
        body += text;
        if (alone) end(i + 1);
      } catch (const Error& refused) {
        if (refused.kind() != Error::Kind::unsupported) throw;
        // Regions that were begun for it are nobody's.
        functions_.resize(functions);
        regions_ = regions;
        end(i);
      }
    }
    end(s.program.instrs.size());
    parts.text = whole(s);
    return parts;
  }

 private:
  std::string head(const EmitSource& s) const {
    std::string text = fmt::format(
        "// {}: emitted from a plan of {} tasks; an arena of {} bytes and the arrays that are given.\n",
        options_.name, s.program.instrs.size(), s.program.arena_bytes);
    text += "// Compile with -std=c++20 -ffp-contract=off for the executor's bits.\n";
    if (refuses_)
      text +=
          "// Throws std::runtime_error for data that it cannot take: an index out of range, a loop that\n"
          "// goes on for too long. Arrays that it updates are as before then, unless what is refused was\n"
          "// made from an updated one or the step was compiled with .atomic = false.\n";
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

  static std::string without_pragma(std::string header) {
    const std::size_t once = header.find("#pragma once\n");
    if (once != std::string::npos) header.erase(once, 13);
    return header;
  }

  std::string whole(const EmitSource& s) const {
    const std::string formulas = without_pragma(emitting::kScalarFormulas);
    std::string text = head(s) + "#include <algorithm>\n#include <cstring>\n" +
                       (refuses_ ? "#include <stdexcept>\n#include <string>\n" : "") +
                       "#include <type_traits>\n\n" + formulas + emitting::kPrelude +
                       (networks_ ? emitting::kNetworks : "") +
                       (online_ ? without_pragma(emitting::kOnlineStates) : "");
    for (const std::string& f : functions_) text += f;
    return text;
  }

  static std::string address(const Place& place) {
    return plus(place.resident < 0 ? "arena" : fmt::format("r[{}]", place.resident), place.offset);
  }

  static const Node* node_of(const EmitSource& s, const Instr& instr) {
    if (instr.kind != Instr::Kind::run) return nullptr;
    const std::int32_t n = s.binding.node_of_task[static_cast<std::size_t>(instr.task)];
    return n < 0 ? nullptr : &s.binding.graph.nodes[static_cast<std::size_t>(n)];
  }

  std::string task_of(const EmitSource& s, const emitting::Stencils& stencils, std::size_t j) {
    const Instr& instr = s.program.instrs[j];
    const Graph& g = s.binding.graph;
    if (instr.kind != Instr::Kind::run)
      fail(Error::Kind::unsupported, "[emit] the plan copies to a tier; plan it without");
    const Node* found = node_of(s, instr);
    if (found == nullptr && instr.outputs == 0 && whole_file_) return check_of(s, j);
    if (found == nullptr)
      fail(Error::Kind::unsupported,
           "[emit] task {} of the plan is no node of the graph (a codec, a factor, …); plan it with .makers "
           "= false",
           instr.task);
    const Node& node = *found;
    Task task{.graph = g, .node = node, .exact = options_.exact};
    const auto operand = [&](std::int32_t k) {
      return address(s.program.places[static_cast<std::size_t>(instr.first_place + k)]);
    };
    for (std::int32_t i = 0; i < instr.inputs; ++i) task.in.push_back(operand(i));
    for (std::int32_t o = 0; o < instr.outputs; ++o) task.out.push_back(operand(instr.inputs + o));
    task.workspace = operand(instr.inputs + instr.outputs);
    const std::string where = to_string(node.loc);
    std::string text = fmt::format("  // {} = {}{}", node.out.empty() ? "" : g.value(node.out[0]).name,
                                   node.op->name, where.empty() ? "" : "  " + where);
    if (stencils.left_out(j)) return text + ": computed where it is read\n";
    text += "\n  {\n";
    if (stencils.joined(j))
      stencils.write(j, text);
    else
      write(task, text);
    return text + "  }\n";
  }

  // Makes nothing: updates wait for it.
  std::string check_of(const EmitSource& s, std::size_t j) {
    const Instr& instr = s.program.instrs[j];
    std::string text = fmt::format("  // {}: updates wait until it was accepted\n", s.program.task_names[j]);
    const auto* check = dynamic_cast<const CheckIndices*>(instr.kernel);
    if (check == nullptr) return text;
    refuses_ = true;
    const Place& place = s.program.places[static_cast<std::size_t>(instr.first_place)];
    text += fmt::format("  {{\n    auto* x0 = (const std::{}*)({});\n",
                        check->type.dtype == DType::i64 ? "int64_t" : "int32_t", address(place));
    emitting::write_index_check(check->op, check->range, check->type, "x0", text);
    return text + "  }\n";
  }

  void define(const std::string& name, const std::string& kind, const std::string& body) {
    functions_.push_back(fmt::format(
        "{} {}(unsigned char* const* r, unsigned char* arena) {{\n  (void)r;\n  (void)arena;\n{}}}\n\n", kind,
        name, body));
  }

  void function(const EmitSource& s, const std::string& name, const std::string& kind) {
    std::string body;
    const emitting::Stencils stencils(s);
    for (std::size_t j = 0; j < s.program.instrs.size(); ++j) body += task_of(s, stencils, j);
    define(name, kind, body);
  }

  // A packed weight is packed by who reads it: the executor's kernels their way, plain loops in rows, which take no more room.
  void expect_own_packing(const Task& t) const {
    const auto expect = [&](const Value& v) {
      if (!v.layout.blocked.empty() && (t.exact || v.layout.blocked_bytes < v.type.bytes()))
        emitting::refuse(t.node, "a packed weight; leave it to the executor");
    };
    for (std::size_t i = 0; i < t.node.in.size(); ++i) expect(t.input(i));
    for (std::size_t o = 0; o < t.node.out.size(); ++o) expect(t.output(o));
  }

  void write(const Task& t, std::string& out) {
    expect_own_packing(t);
    refuses_ = refuses_ || t.node.op->facts.may_refuse;
    if (emitting::is_map(t.node)) {
      emitting::write_map(t, out);
    } else if (const emitting::RegionName name = [&](std::size_t which) { return region(t, which); };
               emitting::write_loop(t, name, out)) {
      return;
    } else if (emitting::write_while(t, name, out)) {
      online_ = true;
    } else if (!emitting::write_move(t, out)) {
      const std::size_t before = out.size();
      const bool network = emitting::write_network(t, out);
      networks_ = networks_ || network;
      if (!network && !emitting::write_product(t, out))
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
    std::string name = fmt::format("region_{}", regions_.size());
    regions_.emplace(&s.program, name);
    function(s, name, "static void");
    return name;
  }

  const EmitOptions& options_;
  bool whole_file_ = false;             // else what has no form is left to the executor
  bool networks_ = false;               // whether a function of networks.txt is called
  bool refuses_ = false;                // whether it may throw
  bool online_ = false;                 // whether there is a loop of unknown length
  std::vector<std::string> functions_;  // callees first
  std::map<const Program*, std::string> regions_;
};

}  // namespace

std::string emit(const EmitSource& source, const EmitOptions& options) {
  return Emitter(options).file(source);
}

EmittedParts emit_parts(const EmitSource& source, const EmitOptions& options) {
  return Emitter(options).parts(source);
}

std::string entry_of_part(std::size_t k) { return fmt::format("{}_{}", kEmittedEntry, k); }

}  // namespace tidemark
