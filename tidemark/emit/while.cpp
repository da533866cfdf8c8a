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
  const OnlineArea area = saving ? online_area_of(t.node.attrs, state) : OnlineArea{};
  const Bytes tape = area.taped > 0 ? t.node.attrs.integer("tape") : 0;
  const bool states = saving && !area.all, every_state = saving && area.all && tape == 0;
  // Behind tapes, the first place has the state from which the others are counted.
  const std::int64_t first = tape > 0 && area.places > 0 ? 1 : 0;
  std::vector<Bytes> tapes;
  for (std::size_t k = outputs; tape > 0 && k < t.node.regions[2].outputs.size(); ++k)
    tapes.push_back(t.node.regions[2].type(t.node.regions[2].outputs[k]).bytes());

  out += fmt::format("    Bytes q[{}] = {{}};\n    Bytes work = {};\n", in + outputs + tapes.size() + 1,
                     t.workspace);
  for (std::size_t i = 0; i < in; ++i) out += fmt::format("    q[{}] = {};\n", i, t.in[i]);
  if (states)
    out += fmt::format("    tidemark::schedule::OnlineStates states({}, {});\n", area.places - first,
                       plus(t.out.back(), area.segments));
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
  if (first > 0) {
    out += fmt::format(
        "      if (n == {}) {{  // the tapes make way for states, of which this is the first\n", area.taped);
    for (std::size_t i = 0; i < carries; ++i) {
      if (in_state[i] >= 0)
        out += fmt::format("        copy({}, q[{}], {});\n", plus(t.out.back(), in_state[i]), i,
                           size(body.inputs[i]));
    }
    out += "      }\n";
  }
  if (every_state) out += fmt::format("      const std::int64_t place = n + 1 < {} ? n : -1;\n", s.trips);
  if (states)
    out += fmt::format(
        "      const std::int64_t place = n >= {0} && states.next() == n + 1 - {0} ? {1} + states.take() : "
        "-1;\n",
        area.taped, first);
  for (std::size_t i = 0; i < carries; ++i)
    out += fmt::format("      q[{}] = n % 2 == 0 ? {} : work + {};\n", in + i, t.out[i], second[i]);
  if (states || every_state) {
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
  if (tape > 0) {
    out += fmt::format("      if (n < {}) {{\n", area.taped);
    Bytes offset = 0;
    for (std::size_t k = 0; k < tapes.size(); offset += round_up(tapes[k++], 64))
      out += fmt::format("        q[{}] = {} - (n + 1) * {} + {};\n", in + outputs + k,
                         plus(t.out.back(), area.segments), tape, offset);
    out += fmt::format("        {}(q, work + {});\n      }} else {{\n", region(2), work);
  }
  if (area.taped < s.trips) out += fmt::format("      {}(q, work + {});\n", region(0), work);
  if (tape > 0) out += "      }\n";
  for (std::size_t i = 0; i < carries; ++i) out += fmt::format("      q[{}] = q[{}];\n", i, in + i);
  out += "    }\n";
  if (states) out += fmt::format("    if (n > {0}) states.finish(n - {0});\n", area.taped);
  for (std::size_t i = 0; i < carries; ++i)
    out += fmt::format("    copy({}, q[{}], {});\n", t.out[i], i, size(body.outputs[i]));
  for (std::size_t o = carries; o < outputs; ++o)
    out += fmt::format("    if (n < {1}) std::memset({0} + n * {2}, 0, ({1} - n) * {2});\n", t.out[o],
                       s.trips, size(body.outputs[o]));
  out += fmt::format("    *(std::int64_t*)({}) = n;\n", t.out[t.out.size() - (saving ? 2 : 1)]);
  return true;
}

}  // namespace tidemark::emitting
