// SPDX-License-Identifier: Apache-2.0
#include "tidemark/tape/loop_disk.h"

#include <time.h>

#include "tidemark/base/error.h"
#include "tidemark/store/checksum.h"

namespace tidemark::tape {
namespace {

double seconds_now() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Which states go to disk. What an earlier run decided stands, for its snapshots lie where it put them, unless there is less room on disk
// now.
schedule::TierSplits splits_for(Loop& loop, const LoopFiles& files, std::int64_t steps,
                                const CheckpointOptions& options,
                                const std::function<std::int64_t(std::int64_t)>& forward_steps, Bytes state) {
  const std::int64_t places = std::max<std::int64_t>(0, options.disk / std::max<Bytes>(state, 1));
  if (auto known = files.read_splits(); known && schedule::tier_shape(*known, steps).places <= places)
    return *known;
  files.remove_states();
  const DiskCosts costs = places > 0 ? disk_costs(loop, files, options) : DiskCosts{};
  schedule::TierPrices prices{.write = costs.write, .read = costs.read, .hidden = false};
  prices.leaf = [&](std::int64_t n) { return static_cast<double>(forward_steps(n)); };
  prices.last = [&](std::int64_t n) { return schedule::TierPrices::Last{0, prices.leaf(n)}; };
  schedule::TierSplits splits = schedule::tier_splits(steps, places, prices, 2000, costs.sums(steps));
  files.write_splits(splits);
  return splits;
}

}  // namespace

void FileStates::read(std::int64_t step, Loop& to) {
  const auto state = files_.read_state(step);
  if (!state)
    fail(Error::Kind::io,
         "[checkpointed] the snapshot of step {} vs none in the folder any more; start again", step);
  to.restore(state->data());
}
void FileStates::write(std::int64_t step, const Loop& from) {
  std::vector<std::byte> state;
  from.save(state);
  files_.write_state(step, state);
}

LoopIdentity identity_of(Loop& loop, std::int64_t steps, const CheckpointOptions& options) {
  std::vector<std::byte> state;
  std::vector<std::byte> sums;
  const auto add = [&](const void* data, std::size_t bytes) {
    const std::uint64_t sum = checksum(data, static_cast<Bytes>(bytes));
    const auto* from = reinterpret_cast<const std::byte*>(&sum);
    sums.insert(sums.end(), from, from + sizeof sum);
  };
  loop.save(state);
  add(state.data(), state.size());
  loop.restart();
  loop.save(state);
  add(state.data(), state.size());
  state = loop.save_parameters();
  add(state.data(), state.size());
  add(options.depends_on.data(), options.depends_on.size());
  return {steps, checksum(sums.data(), static_cast<Bytes>(sums.size()))};
}

DiskCosts disk_costs(Loop& loop, const LoopFiles& files, const CheckpointOptions& options) {
  const auto seconds = [](const auto& f) {
    const double start = seconds_now();
    f();
    return seconds_now() - start;
  };
  FileStates states(files);
  const double step = std::max(1e-9, seconds([&] { loop.advance(0); }));
  loop.restart();
  double write = options.disk_seconds, read = options.disk_seconds;
  if (options.disk_seconds < 0) {
    write = seconds([&] { states.write(0, loop); });
    read = seconds([&] { states.read(0, loop); });
    states.remove(0);
  }
  // Never quite nothing: of two ways with as many steps the one with fewer snapshots.
  return {std::max(1e-6, write / step), std::max(1e-6, read / step), step};
}

LoopProgress::LoopProgress(const LoopFiles& files, Sweep& sweep, double seconds)
    : files_(files), sweep_(sweep), seconds_(seconds), last_(seconds_now()) {
  sweep.folder = files.folder();
  sweep.carrier.copied = std::max(sweep.report.state, static_cast<Bytes>(sweep.loop.save_adjoint().size()));
  const auto due = [this] { return seconds_now() - last_ >= seconds_; };
  // A step for which progress will be due has its state's checksum, by which whoever goes on from there sees that it is in the
  // same loop.
  sweep.carrier.taping = [this, due](std::int64_t step) {
    if (due()) sums_[step] = checksum_of_state(sweep_.loop);
  };
  sweep.carrier.progressed = [this, due](std::int64_t left) {
    if (due()) write(left);
    sums_.erase(left);
  };
  sweep.leaf_reversed = [this](std::int64_t left) { write(left); };
}
bool LoopProgress::take_up() {
  const auto progress = files_.read_progress();
  if (!progress) return false;
  sweep_.left = sweep_.report.resumed_at = progress->left;
  sweep_.report.steps = progress->steps;
  sweep_.loop.restore_adjoint(progress->adjoint);
  sweep_.carrier.finished = true;
  if (progress->state) sweep_.carrier.known = {progress->left, *progress->state, files_.progress_path()};
  return true;
}
void LoopProgress::write(std::int64_t left) {
  last_ = seconds_now();
  LoopFiles::Progress progress{left, sweep_.report.steps, std::nullopt, sweep_.loop.save_adjoint()};
  if (const auto found = sums_.find(left); found != sums_.end()) progress.state = found->second;
  if (const auto& known = sweep_.carrier.known; known && known->step == left) progress.state = known->sum;
  files_.write_progress(progress);
}

// Two levels: states on disk at the ends of segments, and in each segment the schedule for memory. What is on disk is enough to go
// on from, whenever the process ends.
void reverse_with_files(Loop& loop, std::int64_t steps, const CheckpointOptions& options, Bytes bytes,
                        CheckpointReport& report) {
  const LoopFiles files(options.folder, identity_of(loop, steps, options));
  FileStates states(files);
  Sweep sweep(loop, states, report);
  sweep.carrier.end = steps;
  sweep.left = steps;
  LoopProgress progress(files, sweep, options.progress_seconds);
  progress.take_up();
  const schedule::TierSplits splits = splits_for(
      loop, files, steps, options,
      [&](std::int64_t n) {
        return choose(std::min(n, steps), bytes, report.state, report.tape).forward_steps;
      },
      report.state);
  report.disk_slots = schedule::tier_shape(splits, steps).places;
  const auto follow = [&](Sweep& s) { s.reverse_splits(splits, 0, steps, bytes, [&] { s.loop.restart(); }); };
  rehearse(report, steps, states.steps(), [&, left = sweep.left](Sweep& s) {
    s.left = left;
    follow(s);
  });
  follow(sweep);
  files.remove_all();
  report.measured_peak = sweep.account.peak;
}

}  // namespace tidemark::tape
