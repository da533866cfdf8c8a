// Codecs: an array is encoded behind the last use before its longest gap and decoded in front of the next one. Lossless ones are
// offered where the contents are likely to suit them, lossy ones where the user named them.
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

void offer(MakerPass& pass, plan::BufferId b, const std::string& name, plan::TaskId from, plan::TaskId to) {
  const std::int64_t n = pass.posed.problem.buffers[at(b)].bytes / 4;
  std::optional<kernels::Codec> codec = kernels::codec(name, n, pass.options.threads);
  const Bytes align = pass.posed.problem.align;
  const Bytes saved = pass.posed.problem.size(b) - round_up(codec->slot, align);
  if (saved <= 0) return;
  const std::string& called = pass.posed.problem.buffers[at(b)].name;
  const std::string encoded_name = called + "." + name;
  const plan::BufferId slot = pass.add_buffer(encoded_name, codec->slot, "encoded");
  Maker maker{.method = name,
              .buffer = b,
              .saved = saved,
              .lossy = codec->lossy,
              .can_overflow = codec->encode->can_overflow()};
  NewTask encode{.before = from + 1, .kernel = std::move(codec->encode)},
      decode{.before = to, .kernel = std::move(codec->decode)};
  encode.task.name = encoded_name;
  encode.task.kind = "encode " + name;
  encode.task.reads = {b};
  encode.task.writes = {slot};
  encode.operands = {{{b, 0}}, {{slot, 0}}};
  decode.task.name = pass.posed.problem.buffers[at(b)].name;
  decode.task.kind = "decode " + name;
  decode.task.reads = {slot};
  decode.task.writes = {b};
  decode.task.lossy = maker.lossy;
  decode.operands = {{{slot, 0}}, {{b, 0}}};
  encode.task.seconds = decode.task.seconds =
      pass.seconds(pass.posed.problem.size(b) + pass.posed.problem.size(slot));
  maker.seconds = 2 * encode.task.seconds;
  maker.run = {static_cast<plan::TaskId>(pass.add_task(std::move(encode))),
               static_cast<plan::TaskId>(pass.add_task(std::move(decode)))};
  pass.add(std::move(maker));
}

}  // namespace

void find_codecs(MakerPass& pass) {
  for (const std::string& name : pass.options.allow) {
    const auto codec = kernels::codec(name, 1, 1);
    if (!codec || !codec->lossy)
      fail(Error::Kind::usage, "[makers] no lossy codec is called '{}'; there are {}", name,
           kernels::kLossyCodecs);
  }
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
    if (!pass.options.allow.empty()) {
      offer(pass, b, pass.options.allow.front(), from, to);
    } else if (pass.options.lossless && n >= 0 && likely_sparse(g.nodes[at(n)], v)) {
      offer(pass, b, "zeros", from, to);
    }
  }
}

}  // namespace tidemark
