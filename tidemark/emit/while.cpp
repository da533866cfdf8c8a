// A loop of unknown length as C++: the sweep of compile/loop_kernels.cpp, with the OnlineStates of schedule/online_states.h, which the file
// then has as text. More steps than there may be are thrown, as the executor throws them.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/emit/writer.h"
#include "tidemark/ops/loops.h"

namespace tidemark::emitting {

bool write_while(const Task& t, const RegionName& region, std::string& out) {
  const bool saving = t.node.op == &while_saving_op;
  if (t.node.op != &while_op && !saving) return false;
  const LoopShape s = loop_shape(t.node);
  const Graph& body = t.node.regions[0];
  const auto size = [&](ValueId v) { return body.type(v).bytes(); };
  const std::size_t in = body.inputs.size(), outputs = body.outputs.size();
  const auto carries = static_cast<std::size_t>(s.carries);
  std::vector<Bytes> in_state(carries, -1);
  Bytes state = 0;
  for (std::size_t k = 0; saving && k < t.node.attrs.integers("snapshot").size(); ++k) {
    const auto i = static_cast<std::size_t>(t.node.attrs.integers("snapshot")[k]);
    in_state[i] = state;
    state += round_up(size(body.inputs[i]), 64);
  }
  const std::int64_t places = saving ? online_places(t.node.attrs.integer("bytes"), state, s.trips) : 0;
  const bool all = places >= s.trips - 1;

  out += fmt::format("    Bytes q[{}] = {{}};\n    Bytes work = {};\n", in + outputs + 1, t.workspace);
  for (std::size_t i = 0; i < in; ++i) out += fmt::format("    q[{}] = {};\n", i, t.in[i]);
  if (saving && !all)
    out += fmt::format("    tidemark::schedule::OnlineStates states({}, {});\n", places,
                       plus(t.out.back(), places * state));
  std::vector<Bytes> second;
  Bytes work = 0;
  for (std::size_t i = 0; i < carries; ++i)
    second.push_back(work), work += round_up(size(body.outputs[i]), 64);
  out += fmt::format(
      "    unsigned char more = 0;\n    std::int64_t n = 0;\n    for (;; ++n) {{\n"
      "      q[{0}] = &more;\n      {1}(q, work + {2});\n      if (more == 0) break;\n"
      "      if (n == {3})\n        throw std::runtime_error(\"[while_loop] the condition still holds after "
      "max_trips {3} steps; give it "
      "more\");\n",
      in, region(1), work, s.trips);
  if (saving && all) out += fmt::format("      const std::int64_t place = n + 1 < {} ? n : -1;\n", s.trips);
  if (saving && !all)
    out += "      const std::int64_t place = states.next() == n + 1 ? states.take() : -1;\n";
  for (std::size_t i = 0; i < carries; ++i)
    out += fmt::format("      q[{}] = n % 2 == 0 ? {} : work + {};\n", in + i, t.out[i], second[i]);
  if (saving) {
    out += "      if (place >= 0) {  // the state that this step makes is kept: it is made in its place\n";
    for (std::size_t i = 0; i < carries; ++i) {
      if (in_state[i] >= 0)
        out +=
            fmt::format("        q[{}] = {} + place * {} + {};\n", in + i, t.out.back(), state, in_state[i]);
    }
    out += "      }\n";
  }
  for (std::size_t o = carries; o < outputs; ++o)
    out += fmt::format("      q[{}] = {} + n * {};\n", in + o, t.out[o], size(body.outputs[o]));
  out += fmt::format("      {}(q, work + {});\n", region(0), work);
  for (std::size_t i = 0; i < carries; ++i) out += fmt::format("      q[{}] = q[{}];\n", i, in + i);
  out += "    }\n";
  if (saving && !all) out += "    states.finish(n);\n";
  for (std::size_t i = 0; i < carries; ++i)
    out += fmt::format("    copy({}, q[{}], {});\n", t.out[i], i, size(body.outputs[i]));
  for (std::size_t o = carries; o < outputs; ++o)
    out += fmt::format("    if (n < {1}) std::memset({0} + n * {2}, 0, ({1} - n) * {2});\n", t.out[o],
                       s.trips, size(body.outputs[o]));
  out += fmt::format("    *(std::int64_t*)({}) = n;\n", t.out[t.out.size() - (saving ? 2 : 1)]);
  return true;
}

}  // namespace tidemark::emitting
