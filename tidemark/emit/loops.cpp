// Loops and branches as C++: a function for each region (emit.cpp writes them), called with q: its inputs, then the places of
// its outputs. Loops of unknown length: while.cpp, and their adjoints here. The sweeps are those of compile/loop_kernels.cpp, with the struct Sized of the prelude.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ops/loops.h"
#include "tidemark/emit/writer.h"

namespace tidemark::emitting {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// Where the arrays lie, each aligned; at the end, what all of them take.
std::vector<Bytes> offsets_of(const Graph& g, std::span<const ValueId> ids) {
  std::vector<Bytes> offsets{0};
  for (const ValueId v : ids) offsets.push_back(offsets.back() + round_up(g.type(v).bytes(), 64));
  return offsets;
}

std::int64_t depths_of(std::int64_t trips, Bytes state, Bytes tape, Bytes bytes) {
  const std::int64_t most = trips - (tape > 0 ? 0 : 1);
  return state > 0 ? std::min(bytes / state, most) : most;
}

// Declares `sized`, its table at `work`; returns the bytes of the table.
Bytes declare_sized(std::int64_t trips, Bytes state, Bytes tape, Bytes bytes, std::int64_t levels,
                    Bytes table, std::string& out) {
  const std::int64_t depths = depths_of(trips, state, tape, bytes);
  out += fmt::format(
      "    const Sized sized{{{}, {}, {}, {}, {}, (std::int64_t*)(work + {})}};\n    sized.fill();\n", depths,
      state, tape, bytes, levels, table);
  return round_up((depths + 2) * levels * 8, 64);
}

class ScanWriter {
 public:
  ScanWriter(const Task& t, const RegionName& region, std::string& out)
      : t_(t),
        region_(region),
        out_(out),
        s_(loop_shape(t.node)),
        body_(t.node.regions[0]),
        saving_(t.node.op == &scan_saving_op) {
    if (!saving_) return;
    bytes_ = t.node.attrs.integer("bytes");
    if (t.node.attrs.find("splits") == nullptr)
      tape_ = t.node.attrs.integer("tape", 0);
    else
      splits_ = t.node.attrs.integers("splits");
  }

  void write() {
    const std::size_t in = body_.inputs.size(), outputs = body_.outputs.size();
    const auto c = at(s_.carries), consts = at(s_.first_const());
    std::vector<Bytes> tapes{0};
    if (tape_ > 0)
      tapes = offsets_of(t_.node.regions[1], std::span(t_.node.regions[1].outputs).subspan(outputs));
    const bool all_taped = tape_ > 0 && s_.trips <= bytes_ / tape_;
    out_ += fmt::format("    Bytes q[{}] = {{}};\n    Bytes work = {};\n",
                        std::max<std::size_t>(1, in + outputs + tapes.size()), t_.workspace);
    for (std::size_t i = 0; i < in; ++i) out_ += fmt::format("    q[{}] = {};\n", i, t_.in[i]);
    out_ += s_.counted ? fmt::format("    const std::int64_t n = *(const std::int64_t*)({});\n", t_.in.back())
                       : fmt::format("    constexpr std::int64_t n = {};\n", s_.trips);
    Bytes work = 0;
    std::vector<std::int64_t> offset_of(c, -1);
    Bytes snapshot = 0;
    if (saving_) {
      for (const std::int64_t i : t_.node.attrs.integers("snapshot")) {
        offset_of[static_cast<std::size_t>(i)] = snapshot;
        snapshot += round_up(size(body_.inputs[static_cast<std::size_t>(i)]), 64);
      }
    }
    const bool stops = saving_ && !all_taped && splits_.empty();
    if (!splits_.empty()) {
      out_ += "    // The steps whose states are kept.\n    constexpr std::int64_t kept_at[] = {";
      std::int64_t step = 0;
      for (std::size_t k = 0; splits_[k] > 0; ++k) out_ += fmt::format("{}, ", step += splits_[k]);
      out_ += "-1};\n    std::int64_t kept = 0;\n";
    }
    if (stops) {
      work = declare_sized(s_.trips, snapshot, tape_, bytes_, t_.node.attrs.integer("levels", 0), 0, out_);
      out_ += fmt::format(
          "    // The segment at hand begins at `from`; `next` is where it is split.\n"
          "    constexpr std::int64_t end = n{};\n"
          "    std::int64_t from = 0, depth = 0, next = -1, tape_from = n;\n"
          "    const auto look = [&] {{\n"
          "      const bool leaf = end - from <= sized.leaf(depth);\n"
          "      if (leaf && sized.tape > 0) tape_from = from;\n"
          "      next = leaf || (sized.tape == 0 && depth == sized.depths) ? -1 : from + sized.split(end - "
          "from, depth);\n"
          "    }};\n    look();\n",
          tape_ > 0 ? " + 1" : "");
    }
    std::vector<Bytes> second(c);
    for (std::size_t i = 0; i < c; ++i) second[i] = work, work += round_up(size(body_.outputs[i]), 64);
    out_ += "    for (std::int64_t i = 0; i < n; ++i) {\n";
    out_ += s_.reverse ? "      const std::int64_t t = n - 1 - i;\n" : "      const std::int64_t t = i;\n";
    out_ += "      (void)t;\n";
    for (std::size_t i = 0; i < c; ++i)
      out_ +=
          fmt::format("      q[{}] = (n - 1 - i) % 2 == 0 ? {} : work + {};\n", in + i, t_.out[i], second[i]);
    if (stops) {
      out_ += fmt::format(
          "      if (i + 1 == next{}) {{  // the state that this step makes is kept: it is made in its "
          "place\n",
          tape_ > 0 ? " && end - next > sized.leaf(depth + 1)" : "");
      for (std::size_t i = 0; i < c; ++i) {
        if (offset_of[i] >= 0)
          out_ += fmt::format("        q[{}] = {} + depth * {} + {};\n", in + i, t_.out.back(), snapshot,
                              offset_of[i]);
      }
      out_ += "      }\n";
    }
    if (!splits_.empty()) {
      out_ += "      if (i + 1 == kept_at[kept]) {\n";
      for (std::size_t i = 0; i < c; ++i) {
        if (offset_of[i] >= 0)
          out_ += fmt::format("        q[{}] = {} + kept * {} + {};\n", in + i, t_.out.back(), snapshot,
                              offset_of[i]);
      }
      out_ += "        ++kept;\n      }\n";
    }
    for (std::size_t i = c; i < consts; ++i)
      out_ += fmt::format("      q[{}] = {} + t * {};\n", i, t_.in[i], size(body_.inputs[i]));
    for (std::size_t o = c; o < outputs; ++o)
      out_ += fmt::format("      q[{}] = {} + t * {};\n", in + o, t_.out[o], size(body_.outputs[o]));
    if (tape_ > 0) {
      if (stops) out_ += "      if (i >= tape_from) {\n";
      for (std::size_t k = 0; k + 1 < tapes.size(); ++k)
        out_ += fmt::format("      q[{}] = {} + {} - (i - {} + 1) * {} + {};\n", in + outputs + k,
                            t_.out.back(), bytes_, stops ? "tape_from" : "0", tape_, tapes[k]);
      out_ += fmt::format("      {}(q, work + {});\n", region_(1), work);
      if (stops) out_ += "      } else {\n";
    }
    if (!all_taped) out_ += fmt::format("      {}(q, work + {});\n", region_(0), work);
    if (tape_ > 0 && stops) out_ += "      }\n";
    for (std::size_t i = 0; i < c; ++i) out_ += fmt::format("      q[{}] = q[{}];\n", i, in + i);
    if (stops)
      out_ +=
          "      if (i + 1 == next) {\n        from = next;\n        ++depth;\n        look();\n      }\n";
    out_ += "    }\n";
    for (std::size_t i = 0; i < c; ++i)
      out_ += fmt::format("    copy({}, q[{}], {});\n", t_.out[i], i, size(body_.outputs[i]));
    if (s_.counted) {
      for (std::size_t o = c; o < outputs; ++o)
        out_ += fmt::format("    if (n < {1}) std::memset({0} + n * {2}, 0, ({1} - n) * {2});\n", t_.out[o],
                            s_.trips, size(body_.outputs[o]));
    }
  }

 private:
  Bytes size(ValueId v) const { return body_.type(v).bytes(); }

  const Task& t_;
  const RegionName& region_;
  std::string& out_;
  LoopShape s_;
  const Graph& body_;
  bool saving_;
  Bytes bytes_ = 0, tape_ = 0;
  std::vector<std::int64_t> splits_;
};

class AdjointWriter {
 public:
  AdjointWriter(const Task& t, const RegionName& region, std::string& out)
      : t_(t),
        region_(region),
        out_(out),
        s_(adjoint_shape(t.node.attrs, t.node.regions)),
        again_(s_.runs_again()),
        online_(s_.counted ? online_area_of(t.node.attrs, s_.state) : OnlineArea{}) {
    offsets_ = offsets_of(advance(), advance().outputs);
    if (s_.tape > 0)
      tapes_ = offsets_of(t.node.regions[2], std::span(t.node.regions[2].outputs).subspan(at(s_.states)));
  }

  void write() {
    const std::size_t a = at(s_.adjoints);
    out_ += fmt::format("    constexpr std::int64_t n = {};\n    Bytes work = {};\n    Bytes area = {};\n",
                        s_.trips, t_.workspace, again_ ? t_.out[0] : t_.in[0]);
    out_ += s_.counted ? fmt::format("    const std::int64_t ran = *(const std::int64_t*)({});\n", t_.in.back())
                       : "    constexpr std::int64_t ran = n;\n";
    if (again_) out_ += fmt::format("    copy(area, {}, {});\n", t_.in[0], s_.bytes);
    Bytes work = 0;
    if (again_) {
      const std::int64_t longest = s_.counted ? online_.longest : t_.node.attrs.integer("longest", s_.trips);
      work = round_up((depths_of(longest, s_.state, s_.tape, segments()) + 2) * 8, 64);
      work += declare_sized(longest, s_.state, s_.tape, segments(), s_.levels, work, out_);
      working_ = work;
      work += 2 * s_.state;
    }
    if (s_.split) {
      kept_ = work;
      work += round_up((s_.bytes / s_.state + 1) * 8, 64);
      out_ += fmt::format("    const Bytes segments = work + {};  // where they are reversed\n", work);
      work += round_up(s_.extra, 64) + s_.state;
    } else if (again_) {
      out_ += "    const Bytes segments = area;\n";
    }
    for (std::size_t i = 0; i < a; ++i)
      second_.push_back(work), work += round_up(adjoint().type(adjoint().outputs[i]).bytes(), 64);
    work_ = work;
    out_ += fmt::format("    Bytes q[{}] = {{}};\n",
                        adjoint().inputs.size() + 2 * adjoint().outputs.size() + tapes_.size());
    out_ += "    // A state: an address that its arrays are counted from, or null for the first one.\n";
    for (std::size_t i = 0; i < a; ++i)
      out_ += fmt::format("    q[{}] = {};\n", i, given(s_.first_adjoint() + static_cast<int>(i)));
    if (s_.tape == 0 || again_) write_reverse(1, "reverse");
    if (s_.tape > 0) write_reverse(3, "reverse_tape");
    if (!again_) {
      out_ += s_.tape > 0 ? fmt::format(
                                "    for (std::int64_t i = ran - 1; i >= 0; --i) reverse_tape(i, area + {} - "
                                "(i + 1) * {});\n",
                                s_.bytes, s_.tape)
                          : fmt::format(
                                "    for (std::int64_t i = ran - 1; i >= 0; --i) reverse(i, i == 0 ? nullptr : "
                                "area + (i - 1) * {});\n",
                                s_.state);
    } else {
      out_ +=
          fmt::format("    Bytes p[{}] = {{}};\n", advance().inputs.size() + offsets_.size() + tapes_.size());
      for (int i = 0; i < s_.advance_consts; ++i)
        out_ += fmt::format("    p[{}] = {};\n", s_.states + s_.advance_xs + i,
                            given(s_.first_advance_const() + i));
      write_step(0, "step");
      if (s_.tape > 0) write_step(2, "step_taping");
      write_sweep();
    }
    for (std::size_t i = 0; i < a; ++i)
      out_ += fmt::format("    copy({}, q[{}], {});\n", t_.out[1 + i], i,
                          adjoint().type(adjoint().outputs[i]).bytes());
    for (std::size_t o = a; s_.counted && o < adjoint().outputs.size(); ++o)
      out_ += fmt::format("    if (ran < n) std::memset({0} + ran * {1}, 0, (n - ran) * {1});\n", t_.out[1 + o],
                          adjoint().type(adjoint().outputs[o]).bytes());
  }

 private:
  Bytes segments() const {
    if (s_.counted) return online_.segments;
    return s_.split ? s_.extra : s_.bytes;
  }
  const Graph& advance() const { return t_.node.regions[0]; }
  const Graph& adjoint() const { return t_.node.regions[1]; }
  const std::string& given(int i) const { return t_.in[at(i)]; }
  std::string array(const std::string& state, std::size_t i) const {
    return fmt::format("{0} != nullptr ? {0} + {1} : {2}", state, offsets_[i],
                       given(s_.first_state() + static_cast<int>(i)));
  }
  const char* slice() const {
    return s_.reverse ? "      const std::int64_t t = i;\n      (void)t;\n"
                      : "      const std::int64_t t = n - 1 - i;\n      (void)t;\n";
  }

  // The adjoint of step i, from its state (region 1) or its tape (3).
  void write_reverse(std::size_t which, const char* name) {
    const std::size_t a = at(s_.adjoints);
    out_ += fmt::format("    const auto {} = [&](std::int64_t i, Bytes state) {{\n", name);
    out_ += slice();
    std::size_t next = a;
    if (which == 1) {
      for (const std::int64_t k : s_.states_read)
        out_ += fmt::format("      q[{}] = {};\n", next++, array("state", static_cast<std::size_t>(k)));
    } else {
      for (std::size_t k = 0; k + 1 < tapes_.size(); ++k)
        out_ += fmt::format("      q[{}] = state + {};\n", next++, tapes_[k]);
    }
    const std::size_t xs = a + s_.states_read.size();
    for (int k = 0; k < s_.adjoint_xs; ++k)
      out_ += fmt::format("      q[{}] = {} + t * {};\n", next++, given(s_.first_adjoint_x() + k),
                          adjoint().type(adjoint().inputs[xs + at(k)]).bytes());
    for (int k = 0; k < s_.adjoint_consts; ++k)
      out_ += fmt::format("      q[{}] = {};\n", next++, given(s_.first_adjoint_const() + k));
    for (std::size_t i = 0; i < a; ++i)
      out_ +=
          fmt::format("      q[{}] = i % 2 == 0 ? {} : work + {};\n", next + i, t_.out[1 + i], second_[i]);
    for (std::size_t o = a; o < adjoint().outputs.size(); ++o)
      out_ += fmt::format("      q[{}] = {} + t * {};\n", next + o, t_.out[1 + o],
                          adjoint().type(adjoint().outputs[o]).bytes());
    out_ += fmt::format("      {}(q, work + {});\n", region_(which), work_);
    for (std::size_t i = 0; i < a; ++i) out_ += fmt::format("      q[{}] = q[{}];\n", i, next + i);
    out_ += "    };\n";
  }

  // Step i run again, and its tape made.
  void write_step(std::size_t which, const char* name) {
    const std::size_t in = advance().inputs.size(), states = at(s_.states);
    out_ += fmt::format("    const auto {} = [&](std::int64_t i, Bytes state, Bytes next{}) {{\n", name,
                        which == 2 ? ", Bytes tape" : "");
    out_ += slice();
    for (std::size_t i = 0; i < states; ++i)
      out_ += fmt::format("      p[{}] = {};\n      p[{}] = next + {};\n", i, array("state", i), in + i,
                          offsets_[i]);
    if (which == 2) {
      for (std::size_t k = 0; k + 1 < tapes_.size(); ++k)
        out_ += fmt::format("      p[{}] = tape + {};\n", in + states + k, tapes_[k]);
    }
    for (int x = 0; x < s_.advance_xs; ++x)
      out_ += fmt::format("      p[{}] = {} + t * {};\n", s_.states + x, given(s_.first_advance_x() + x),
                          advance().type(advance().inputs[states + at(x)]).bytes());
    out_ += fmt::format("      {}(p, work + {});\n      return next;\n    }};\n", region_(which), work_);
  }

  void write_sweep() {
    const bool taped = s_.tape > 0;
    const std::int64_t first = taped && online_.places > 0 ? 1 : 0;
    if (s_.counted)
      out_ += fmt::format(
          "    // What while_saving left behind its states: by place a state's step, and the places in the order of steps.\n"
          "    const auto* step_in = (const std::int64_t*)(area + {0});\n"
          "    {2}auto* place_of = ({2}std::int32_t*)(step_in + {1}) + {1};\n",
          segments(), online_.places - first, taped ? "" : "const ");
    out_ += fmt::format(
        "    const auto working = [&](std::int64_t i) {{ return work + {0} + (i & 1) * {1}; }};\n"
        "    const auto advance = [&](std::int64_t from, std::int64_t to, Bytes state, Bytes into) {{\n"
        "      for (std::int64_t i = from; i < to; ++i) state = step(i, state, i + 1 == to && into != "
        "nullptr ? into : working(i));\n"
        "      return state;\n    }};\n"
        "    std::int64_t from = 0;\n    Bytes root = nullptr;  // the segment at hand, and its state\n"
        "    const auto place = [&](std::int64_t depth) -> Bytes {{ return depth == 0 ? root : segments + "
        "{2} * {1}; }};\n",
        working_, s_.state, s_.counted && !taped ? "place_of[depth - 1]" : "(depth - 1)");
    if (taped) {
      out_ += fmt::format(
          "    const auto tape = [&](std::int64_t k) {{ return segments + {0} - (k + 1) * {1}; }};\n"
          "    // The tapes of [from, to) but the last, from a state that lies in the area at `depth`, or "
          "not (0).\n"
          "    const auto leaf = [&](std::int64_t from, std::int64_t to, Bytes state, std::int64_t depth) "
          "{{\n"
          "      if (to - from > 1 && depth > 0 && tape(0) < state + {2}) {{\n"
          "        copy(working(from + 1), state, {2});\n"
          "        state = working(from + 1);\n"
          "      }}\n"
          "      for (std::int64_t i = from; i + 1 < to; ++i) state = step_taping(i, state, working(i), "
          "tape(i - from));\n"
          "      reverse(to - 1, state);\n"
          "      for (std::int64_t i = to - 1; i-- > from;) reverse_tape(i, tape(i - from));\n"
          "    }};\n",
          segments(), s_.tape, s_.state);
    } else {
      out_ +=
          "    const auto leaf = [&](std::int64_t from, std::int64_t, Bytes state, std::int64_t) { "
          "reverse(from, state); };\n";
    }
    if (s_.split) {
      write_segments();
      return;
    }
    out_ += fmt::format(
        "    auto* kept = (std::int64_t*)work;  // the steps whose states are kept, as a stack\n"
        "    std::int64_t depth = 0, to = ran{};\n"
        "    kept[0] = 0;\n",
        taped && !s_.counted ? " + 1" : "");
    if (s_.counted) {
      write_record(first);
      out_ += kSegment;
      return;
    }
    out_ += fmt::format(
        "    for (; to - kept[depth] > sized.leaf(depth){}; ++depth) kept[depth + 1] = kept[depth] + "
        "sized.split(to - kept[depth], depth);\n",
        taped ? "" : " && depth < sized.depths");
    if (taped)
      out_ += "    for (to = n; to > kept[depth]; --to) reverse_tape(to - 1, tape(to - 1 - kept[depth]));\n";
    out_ += kSegment;
  }

  // The stack that the first sweep of a loop of unknown length has left, or the tapes of all its steps.
  void write_record(std::int64_t first) {
    const std::int64_t places = online_.places - first;
    if (s_.tape == 0) {
      out_ += fmt::format(
          "    for (; depth < {0} && ran > 0 && step_in[place_of[depth]] < to; ++depth) kept[depth + 1] = "
          "step_in[place_of[depth]];\n",
          places);
      return;
    }
    out_ += fmt::format("    for (; to <= {} && to > 0; --to) reverse_tape(to - 1, tape(to - 1));\n", online_.taped);
    if (first == 0) return;
    out_ += fmt::format(
        "    if (to > 0) {{\n"
        "      kept[++depth] = {0};\n"
        "      for (std::int64_t k = 0; k < {1} && step_in[place_of[k]] < to - {0}; ++k) kept[++depth] = {0} + "
        "step_in[place_of[k]];\n"
        "      // Tapes lie behind the states, which therefore are put in the order of their steps.\n"
        "      const auto in_place = [&](std::int64_t k) {{ return segments + (1 + k) * {2}; }};\n"
        "      for (std::int64_t k = 0; k < {1}; ++k) {{\n"
        "        if (place_of[k] == k) continue;\n"
        "        copy(working(0), in_place(k), {2});\n"
        "        std::int64_t hole = k;\n"
        "        for (std::int64_t next = place_of[hole]; next != k; next = place_of[hole]) {{\n"
        "          copy(in_place(hole), in_place(next), {2});\n"
        "          place_of[hole] = (std::int32_t)hole;\n"
        "          hole = next;\n"
        "        }}\n"
        "        copy(in_place(hole), working(0), {2});\n"
        "        place_of[hole] = (std::int32_t)hole;\n"
        "      }}\n"
        "    }}\n",
        online_.taped, places, s_.state);
  }

  // Segment by segment, between states that the first sweep kept.
  void write_segments() {
    out_ += "    constexpr std::int64_t splits[] = {";
    for (const std::int64_t x : t_.node.attrs.integers("splits")) out_ += fmt::format("{}, ", x);
    out_ += fmt::format(
        "}};\n"
        "    const auto reverse_segment = [&](std::int64_t to) {{\n"
        "    auto* kept = (std::int64_t*)work;  // the steps whose states are kept, as a stack\n"
        "    std::int64_t depth = 0;\n"
        "    kept[0] = from;\n"
        "{0}    }};\n"
        "    auto* kept = (std::int64_t*)(work + {1});\n"
        "    std::int64_t depth = 0, end = n, next = 0;\n"
        "    kept[0] = 0;\n"
        "    for (; splits[next] > 0; ++next, ++depth) kept[depth + 1] = kept[depth] + splits[next];\n"
        "    for (; end > 0; ++next) {{\n"
        "      const std::int64_t top = kept[depth], x = splits[next];\n"
        "      from = top + (x < 0 ? -x : x);\n"
        "      root = depth == 0 ? nullptr : area + (depth - 1) * {2};\n"
        "      if (x > 0) {{\n"
        "        advance(top, from, root, area + depth * {2});\n"
        "        kept[++depth] = from;\n"
        "        continue;\n"
        "      }}\n"
        "      if (x < 0) root = advance(top, from, root, segments + {3});\n"
        "      reverse_segment(end);\n"
        "      end = from;\n"
        "      if (x == 0 && depth > 0) --depth;\n"
        "    }}\n",
        kSegment, kept_, s_.state, round_up(s_.extra, 64));
  }

  static constexpr const char* kSegment =
      "    while (to > from) {\n"
      "      const std::int64_t top = kept[depth];\n"
      "      if (top == to) {\n"
      "        --depth;\n"
      "      } else if (to - top <= sized.leaf(depth)) {\n"
      "        leaf(top, to, place(depth), depth);\n"
      "        to = top;\n"
      "      } else {\n"
      "        const std::int64_t split = top + sized.split(to - top, depth);\n"
      "        if (to - split <= sized.leaf(depth + 1)) {\n"
      "          leaf(split, to, advance(top, split, place(depth), nullptr), 0);\n"
      "          to = split;\n"
      "        } else {\n"
      "          advance(top, split, place(depth), place(depth + 1));\n"
      "          kept[++depth] = split;\n"
      "        }\n"
      "      }\n"
      "    }\n";

  const Task& t_;
  const RegionName& region_;
  std::string& out_;
  AdjointShape s_;
  bool again_;
  OnlineArea online_;
  std::vector<Bytes> offsets_, tapes_, second_;
  Bytes working_ = 0, kept_ = 0, work_ = 0;
};

void write_cond(const Task& t, const RegionName& region, std::string& out) {
  const std::size_t in = t.in.size() - 1;
  out += fmt::format("    Bytes q[{}] = {{}};\n", in + t.out.size() + 1);
  for (std::size_t i = 0; i < in; ++i) out += fmt::format("    q[{}] = {};\n", i, t.in[i + 1]);
  for (std::size_t o = 0; o < t.out.size(); ++o) out += fmt::format("    q[{}] = {};\n", in + o, t.out[o]);
  const std::string yes = region(0), no = region(1);
  out += fmt::format("    if (*({}) != 0) {}(q, {});\n    else {}(q, {});\n", t.in[0], yes, t.workspace, no,
                     t.workspace);
}

}  // namespace

bool write_loop(const Task& t, const RegionName& region, std::string& out) {
  if (t.node.attrs.find("tier") != nullptr) refuse(t.node, "it keeps states in a tier; plan it without");
  if (t.node.op == &scan_op || t.node.op == &scan_saving_op) {
    ScanWriter(t, region, out).write();
  } else if (t.node.op == &scan_adjoint_op) {
    AdjointWriter(t, region, out).write();
  } else if (t.node.op == &cond_op) {
    write_cond(t, region, out);
  } else {
    return false;
  }
  return true;
}

}  // namespace tidemark::emitting
