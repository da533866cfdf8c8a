// Codecs: an array is encoded behind the last use before its longest gap and decoded in front of the next one. `zeros` is offered where
// the contents are likely to suit it, the others where the user named them.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tidemark/compile/maker_pass.h"
#include "tidemark/ir/op.h"
#include "tidemark/kernels/cpu/codec.h"
#include "tidemark/ops/sparse.h"

namespace tidemark {
namespace {

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

bool likely_sparse(const Node& node, ValueId v) {
  if (node.regions.empty()) return often_zero(*node.op);
  const auto o = static_cast<std::size_t>(std::find(node.out.begin(), node.out.end(), v) - node.out.begin());
  const Graph& region = node.regions[0];
  if (o >= node.out.size() || o >= region.outputs.size()) return false;
  for (const Node& n : region.nodes) {
    if (std::find(n.out.begin(), n.out.end(), region.outputs[o]) != n.out.end()) return often_zero(*n.op);
  }
  return false;
}

// An array like b that the task which makes b reads and that is there around the gap anyway: b is likely close to it. -1: none.
plan::BufferId beside(const MakerPass& pass, plan::BufferId b, plan::TaskId to) {
  const Graph& g = pass.posed.binding.graph;
  const Value& x = g.value(pass.posed.binding.value_of_buffer[at(b)]);
  for (const plan::BufferId other : pass.posed.problem.tasks[at(pass.maker(b))].reads) {
    const ValueId v = other < pass.known_buffers() ? pass.posed.binding.value_of_buffer[at(other)] : -1;
    const bool there =
        v >= 0 && (pass.is_constant(other) || (pass.is_passing(other) && pass.uses_from(other, to) > 0));
    if (there && other != b && g.type(v) == x.type && g.value(v).layout == x.layout) return other;
  }
  return -1;
}

// A value is coded behind `from` and given back in front of `to`.
void offer(MakerPass& pass, plan::BufferId b, const std::string& name, plan::TaskId from, plan::TaskId to) {
  const plan::Problem& problem = pass.posed.problem;
  const Type type = pass.posed.binding.graph.type(pass.posed.binding.value_of_buffer[at(b)]);
  std::optional<kernels::Codec> codec = kernels::codec(name, type.shape, pass.options.threads);
  if (!codec) return;
  const plan::BufferId base = codec->against ? beside(pass, b, to) : -1;
  const Bytes saved = problem.size(b) - round_up(codec->slot, problem.align);
  if (saved <= 0 || (codec->against && base < 0)) return;
  const std::string called = problem.buffers[at(b)].name, encoded_name = called + "." + name;
  const plan::BufferId slot = pass.add_buffer(encoded_name, codec->slot, "encoded");
  Maker maker{.method = name,
              .buffer = b,
              .saved = saved,
              .lossy = codec->lossy,
              .can_overflow = codec->encode->can_overflow()};
  const auto add = [&](const char* kind, plan::TaskId before, std::unique_ptr<Kernel> kernel,
                       plan::BufferId in, plan::BufferId out, double flops) {
    NewTask task{.before = before, .kernel = std::move(kernel)};
    task.task.name = problem.buffers[at(out)].name;
    task.task.kind = std::string(kind) + " " + name;
    task.task.reads = {in};
    task.task.writes = {out};
    task.operands = {{{in, 0}}, {{out, 0}}};
    if (base >= 0) {
      task.task.reads.push_back(base);
      task.operands.in.push_back({base, 0});
    }
    task.task.lossy = maker.lossy && out == b;
    task.task.seconds = pass.seconds(codec_key(task.task.kind, type), codec->cost(flops, type));
    maker.seconds += task.task.seconds;
    maker.run.push_back(static_cast<plan::TaskId>(pass.add_task(std::move(task))));
  };
  add("encode", from + 1, std::move(codec->encode), b, slot, codec->encode_flops);
  add("decode", to, std::move(codec->decode), slot, b, codec->decode_flops);
  pass.add(std::move(maker));
}

}  // namespace

void check_names(std::span<const std::string> allow) {
  for (const std::string& name : allow) {
    if (name != kPlainInverse && (name == "zeros" || !kernels::codec(name, {8, 8}, 1)))
      fail(Error::Kind::usage,
           "[makers] nothing that is used by name is called '{}'; there are {} (where zstd was found), {}",
           name, kernels::kNamedCodecs, kPlainInverse);
  }
}

void find_codecs(MakerPass& pass) {
  const Graph& g = pass.posed.binding.graph;
  const auto buffers = static_cast<plan::BufferId>(pass.posed.problem.buffers.size());
  for (plan::BufferId b = 0; b < buffers; ++b) {
    const ValueId v = pass.posed.binding.value_of_buffer[at(b)];
    if (v < 0 || b >= pass.known_buffers() || !pass.is_passing(b)) continue;
    const Type& type = g.type(v);
    if (type.dtype != DType::f32 || pass.posed.problem.buffers[at(b)].bytes != type.bytes() ||
        type.bytes() == 0)
      continue;
    plan::TaskId from = -1, to = -1;
    const auto& uses = pass.uses(b);
    for (std::size_t k = 1; k < uses.size(); ++k) {
      if (!pass.is_gap(uses[k - 1], uses[k])) continue;
      if (from < 0 || pass.seconds_between(uses[k - 1], uses[k]) > pass.seconds_between(from, to))
        from = uses[k - 1], to = uses[k];
    }
    if (from < 0) continue;
    const std::int32_t n = pass.posed.binding.node_of_task[at(pass.maker(b))];
    for (const std::string& name : pass.options.allow) offer(pass, b, name, from, to);
    if (pass.options.lossless && n >= 0 && likely_sparse(g.nodes[at(n)], v))
      offer(pass, b, "zeros", from, to);
  }
}

}  // namespace tidemark
