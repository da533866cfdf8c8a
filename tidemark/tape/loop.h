// Reversing a loop inside a budget: what a loop must offer (Loop), the choice of a schedule by bytes (plan_loop), and carrying it
// out with snapshots in memory and on disk (reverse_loop). checkpointed.h makes Loops of steps on Vars and of steps that come
// with their own adjoint.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tidemark/base/bytes.h"
#include "tidemark/schedule/chain.h"
#include "tidemark/schedule/schedule.h"

namespace tidemark {

struct CheckpointOptions {
  // Snapshots, the tape of a step with its adjoints, and what stands beside them (working state, running adjoints).
  Bytes memory = 64_MiB;
  // With a folder, snapshots also go to disk, and the sweep writes its progress there: killed and started again with the same
  // arguments it goes on where it was. `disk` is for snapshots.
  std::string folder;
  Bytes disk = 0;
  // To write or to read one snapshot there; negative: measured with the first.
  double disk_seconds = -1;
  // At most so often; every step where it is 0.
  double progress_seconds = 1;
  // What else the loop depends on and its arguments do not show, such as data that a step captures: progress in the folder that was made with other
  // bytes is refused.
  std::span<const std::byte> depends_on;
  // Steps that differ: time and sizes of each (see measure_steps). Empty: all are like the first; where one turns out not to be, and nothing is on disk,
  // they are measured then.
  std::span<const schedule::ChainStep> steps;
};

// What was planned, and what came of it.
struct CheckpointReport {
  std::string schedule;         // by its name in schedule/
  std::int64_t steps = 0;       // known at the end, where the loop ended by itself
  std::int64_t slots = 0;       // snapshots in memory
  std::int64_t disk_slots = 0;  // and on disk
  Bytes budget = 0;
  Bytes state = 0, tape = 0, beside = 0;  // of a snapshot, of a taped step, of what stands beside
  Bytes largest_state = 0, all_states = 0;  // of steps that differ: the largest snapshot, and all of them
  // Predicted before anything runs; for a loop that ends by itself, when it has ended and nothing was reversed yet. Every execution of a
  // step counts. Of a run that was taken up again: what is left.
  std::int64_t forward_steps = 0;
  Bytes peak = 0;
  std::int64_t measured_forward_steps = 0;
  Bytes measured_peak = 0;
  std::int64_t resumed_at =
      -1;  // steps that were left when an earlier run's progress was taken up; -1: none was

  // Of compiled steps: how many were reversed by compiled code, along how many paths; how many by the tape, and why.
  std::int64_t compiled_steps = 0, paths = 0, taped_steps = 0;
  std::string not_compiled;

  // "10,000 steps of 1.2 MB in 64 MiB: 51 snapshots and a 2.8 MB step; 3.8 forward runs a step; all states would take 12 GB".
  TIDEMARK_API std::string explain() const;
};

namespace tape {

// The adjoint data of one step, alive until it was reversed.
class TIDEMARK_API StepTape {
 public:
  virtual ~StepTape() = default;
  virtual Bytes bytes() const = 0;
};

class TIDEMARK_API Loop {
 public:
  virtual ~Loop() = default;
  // The working state.
  virtual Bytes state_bytes() const = 0;
  virtual void save(std::vector<std::byte>& to) const = 0;
  virtual void restore(const std::byte* from) = 0;
  virtual void restart() = 0;                                             // back to the first state
  virtual bool stands_at(const std::vector<std::byte>& saved) const = 0;  // any NaN equals any other
  // Runs a step on it, or does the same and keeps what the step's adjoint needs.
  virtual void advance(std::int64_t step) = 0;
  virtual std::unique_ptr<StepTape> tape(std::int64_t step) = 0;
  // The working state stands at the end for the first time: the running adjoint begins here. Returns what that took beyond what
  // beside() says.
  virtual Bytes finish() = 0;
  virtual void reverse(std::int64_t step, StepTape& tape) = 0;
  // What the running adjoint takes now beyond what beside() said when there was none; asked after each step reversed.
  virtual Bytes adjoint_grown() const { return 0; }
  // Whether the loop ends before `step`, judged by the working state; only asked where the length is not known.
  virtual bool ended(std::int64_t step) = 0;
  // The running adjoint and the value, for progress on disk.
  virtual std::vector<std::byte> save_adjoint() const = 0;
  virtual void restore_adjoint(std::span<const std::byte> from) = 0;
  // What the loop depends on besides its first state, as far as it knows: progress made with other parameters must not be taken up.
  virtual std::vector<std::byte> save_parameters() const { return {}; }
  // Called once, when one step was taped and all others are said to be like it: makes tapes of that size, with some room, and
  // returns their bytes.
  virtual Bytes settle() = 0;
  // Takes that back, and what the end of a sweep left: sizes are those of the first state, and tapes have the sizes of their steps. Returns whether it
  // can.
  virtual bool unsettle() { return false; }
  virtual Bytes beside() const = 0;
  // The same where the working state takes `state`.
  virtual Bytes beside_with(Bytes state) const { return beside() + state - state_bytes(); }
  // What is held for later use, as tapes whose steps were reversed; and given back.
  virtual Bytes spare() const { return 0; }
  virtual void trim() {}
};

// steps < 0: until the loop says that it ended. Throws Error(infeasible) with the smallest budget where it is too small, and
// Error(io) naming the file where the disk fails.
TIDEMARK_API CheckpointReport reverse_loop(Loop& loop, std::int64_t steps, const CheckpointOptions& options);

// Time and sizes of every step, by running and taping each once.
TIDEMARK_API std::vector<schedule::ChainStep> measure_steps(Loop& loop, std::int64_t steps);

}  // namespace tape
}  // namespace tidemark
