// States of a loop in a folder, and its progress: what loop_disk.cpp and loop_online.cpp share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "tidemark/tape/loop_files.h"
#include "tidemark/tape/loop_sweep.h"

namespace tidemark::tape {

class FileStates final : public StateStore {
 public:
  explicit FileStates(const LoopFiles& files) : files_(files) {}
  std::set<std::int64_t> steps() const override { return files_.states(); }
  bool has(std::int64_t step) const override { return files_.has_state(step); }
  void read(std::int64_t step, Loop& to) override;
  void write(std::int64_t step, const Loop& from) override;
  void remove(std::int64_t step) override { files_.remove_state(step); }

 private:
  const LoopFiles& files_;
};

// What tells this loop from others. The working state is that behind the first step, which shows much of what the step captures.
LoopIdentity identity_of(Loop& loop, std::int64_t steps, const CheckpointOptions& options);

// A snapshot's write and read, in units of one step, and its seconds.
struct DiskCosts {
  double write = 0, read = 0, step = 0;
  // Planning may take about a tenth of what one run of the loop takes.
  double sums(std::int64_t steps) const {
    return std::clamp(2e8 * step * static_cast<double>(steps), 3e8, 1e10);
  }
};
DiskCosts disk_costs(Loop& loop, const LoopFiles& files, const CheckpointOptions& options);

// Writes progress now and then while a sweep runs, and takes up what an earlier run wrote.
class LoopProgress {
 public:
  LoopProgress(const LoopFiles& files, Sweep& sweep, double seconds);
  // Whether there was any: `sweep.left` and the running adjoint are what it says.
  bool take_up();
  void write(std::int64_t left);

 private:
  const LoopFiles& files_;
  Sweep& sweep_;
  double seconds_, last_;
  std::map<std::int64_t, std::uint64_t> sums_;  // of states before steps that are taped and not yet reversed
};

}  // namespace tidemark::tape
