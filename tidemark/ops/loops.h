// Loops, branches and calls as ops with regions, and how their operands are laid out. Users write scan(), cond(),
// while_loop() and call() of front/; grad/regions.cpp differentiates them; compile/loops.h plans them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/ir/op.h"

namespace tidemark {

// scan: inputs are the state, the stacked xs (a slice of the first axis a step), the invariants, and, where `counted`, the
// number of steps to run (i64, at most `trips`). Its region takes (state, slices of xs, invariants) and returns (next state,
// slices of ys). Outputs: the last state, the stacked ys; slices of steps that did not run are zero. `reverse`: the last
// slice comes first.
TIDEMARK_API extern const Op scan_op;
// while_loop: regions (body, condition), both of (state, invariants); `trips` is the most it may run. Outputs: the last
// state, stacked ys, and how many steps ran (i64).
TIDEMARK_API extern const Op while_op;
// cond: a boolean scalar, then what both regions take; runs one of them.
TIDEMARK_API extern const Op cond_op;
// call: its region, by name; compiled code has it inlined.
TIDEMARK_API extern const Op call_op;

// A scan whose states the adjoint needs, and that adjoint, as compiled code has them (compile/loops.h):
// scan_saving is a scan that also gives an area of `bytes` with snapshots of the carries named in `snapshot` and, where `tape` (the bytes
// of one) is not 0, with tapes of steps: values that the adjoint of a step reads. Regions: (body, and with tapes the body
// that also gives a step's tape). `period` or `splits`: where states lie that segments
// between them, of at most `longest` steps, are reversed from (schedule/tier_splits.h). `tier`, `store`: those states lie in a tier (compile/loop_store.h), and the area is for segments;
// else they are all that the area holds, and segments have `extra` bytes that only the adjoint takes.
TIDEMARK_API extern const Op scan_saving_op;
// scan_adjoint: inputs are the area, the first state of the carries in the snapshot, the running adjoints, xs and invariants
// of the advancing region, xs and invariants of the adjoint's. Regions: (advance, adjoint from a state, and with tapes: advance that also
// gives the tape, adjoint from a tape). Outputs: the area's storage, which it goes on using (nothing where it is only
// read), the adjoints, the stacked ys of the adjoint. `counted`, for a while_saving: one more input, how many steps ran.
TIDEMARK_API extern const Op scan_adjoint_op;

// A while_loop whose states its adjoint needs: like scan_saving, without xs; the number of steps stands before the area. Regions:
// (body, condition, and with tapes the body that also gives a step's tape). Which states lie in the area is decided while it runs
// (schedule/online_states.h), in `places` of it; a record of them lies behind them. `tier`, `store`, `tier_places`, `start`: states lie in a tier too,
// every `start` steps, and where that has no room left every other one of them is given up (OnlineTier); a record of those comes last.
TIDEMARK_API extern const Op while_saving_op;

inline bool is_loop(const Op& op) {
  return &op == &scan_op || &op == &while_op || &op == &cond_op || &op == &call_op ||
         &op == &scan_saving_op || &op == &scan_adjoint_op || &op == &while_saving_op;
}

struct LoopShape {
  std::int64_t trips = 0;
  int carries = 0, xs = 0, consts = 0, ys = 0;
  bool reverse = false, counted = false;

  int first_const() const { return carries + xs; }
};
// Of a scan, while_loop, scan_saving or while_saving, from its attributes and the number of its inputs.
TIDEMARK_API LoopShape loop_shape(const Attrs& attrs, std::size_t inputs, const std::vector<Graph>& regions);
inline LoopShape loop_shape(const Node& n) { return loop_shape(n.attrs, n.in.size(), n.regions); }
// The attributes of such a node.
TIDEMARK_API Attrs loop_attrs(const LoopShape& shape);

struct AdjointShape {
  std::int64_t trips = 0;
  Bytes bytes = 0, state = 0, tape = 0;  // of the area, of a snapshot, of a tape (0: none is kept)
  std::int64_t levels = 0;               // of the table by which segments are split (schedule/sized.h)
  bool split = false;  // segments between states in a tier, or in the area, are reversed one by one
  Bytes extra = 0;     // for segments, beside an area of states
  int states = 0, adjoints = 0, advance_xs = 0, advance_consts = 0, adjoint_xs = 0, adjoint_consts = 0,
      ys = 0;
  bool reverse = false;  // the direction of the adjoint's own steps: the primal's, turned round
  bool counted = false;  // `trips` is the most that can have run
  std::vector<std::int64_t>
      states_read;  // which of the states the adjoint's region takes, behind the adjoints

  int first_state() const { return 1; }
  int first_adjoint() const { return 1 + states; }
  int first_advance_x() const { return first_adjoint() + adjoints; }
  int first_advance_const() const { return first_advance_x() + advance_xs; }
  int first_adjoint_x() const { return first_advance_const() + advance_consts; }
  int first_adjoint_const() const { return first_adjoint_x() + adjoint_xs; }
  int inputs() const { return first_adjoint_const() + adjoint_consts + (counted ? 1 : 0); }
  // Every state, or every tape, comes from the first sweep.
  bool runs_again() const { return split || (tape > 0 ? trips > bytes / tape : bytes < (trips - 1) * state); }
};
TIDEMARK_API AdjointShape adjoint_shape(const Attrs& attrs, const std::vector<Graph>& regions);
TIDEMARK_API Attrs adjoint_attrs(const AdjointShape& shape);

// The area of a loop of unknown length that keeps states alone: places for them, and behind them, unless every state has one, the record of which
// lie there.
inline constexpr Bytes kOnlineRecord = 16;  // for a place
TIDEMARK_API Bytes online_area(std::int64_t places, Bytes state, std::int64_t trips);
// The most places in so many bytes.
TIDEMARK_API std::int64_t online_places(Bytes bytes, Bytes state, std::int64_t trips);

// The states of a loop of unknown length that lie in a tier: those of steps period, 2 period, …; the period doubles when the places are
// full. `memory`: bytes(places), aligned to 8.
class OnlineTier {
 public:
  static constexpr Bytes bytes(std::int64_t places) { return 8 * (places + 2); }
  OnlineTier(std::int64_t places, void* memory)
      : places_(places), memory_(static_cast<std::int64_t*>(memory)) {}
  void begin(std::int64_t start) {
    memory_[0] = start;
    memory_[1] = 0;
    for (std::int64_t k = 0; k < places_; ++k) memory_[2 + k] = k;
  }
  std::int64_t period() const { return memory_[0]; }
  std::int64_t count() const { return memory_[1]; }
  std::int64_t next() const { return (count() + 1) * period(); }
  std::int64_t place(std::int64_t k) const { return memory_[1 + k]; }  // of state k * period, from 1
  // Whether state next() is kept; it is not where every other one is given up for it and it would be one of those.
  bool keeps_next() const { return count() < places_ || places_ % 2 == 1; }
  // The place of state next(), or -1: it is not kept.
  TIDEMARK_API std::int64_t take();
  // The period after so many steps.
  static TIDEMARK_API std::int64_t last_period(std::int64_t start, std::int64_t places, std::int64_t steps);

 private:
  std::int64_t places_;
  std::int64_t* memory_;
};

// How a loop of unknown length uses its area.
struct OnlineArea {
  std::int64_t places = 0;  // for states, in the first sweep
  std::int64_t taped =
      0;  // so many steps are taped by the first sweep; when more come, those tapes make way for states from there on
  std::int64_t longest = 0;  // steps that are reversed in it at once, at most
  Bytes segments = 0;        // for states and tapes; the records lie behind them
  bool all = false;          // every state, or every tape, has a place
};
// `places`: of those that keep tapes or have a tier; `tier_places`, `start`: 0 without one.
TIDEMARK_API OnlineArea online_area_of(Bytes bytes, Bytes state, Bytes tape, std::int64_t trips,
                                       std::int64_t places, std::int64_t tier_places, std::int64_t start);
TIDEMARK_API OnlineArea online_area_of(const Attrs& attrs, Bytes state);
// The most places for states, with their records, in so many bytes.
TIDEMARK_API std::int64_t most_online_places(Bytes bytes, Bytes state, std::int64_t tier_places);

// The bytes of one snapshot of these arrays, each aligned.
TIDEMARK_API Bytes snapshot_bytes(std::span<const Type> state);

// A type with one more axis in front, and what is left without it.
TIDEMARK_API Type stacked(const Type& type, std::int64_t n);
TIDEMARK_API Type slice_type(const Type& type);

}  // namespace tidemark
