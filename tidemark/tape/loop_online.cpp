// Loops that end by themselves. While nobody knows the length, tapes are kept as long as all of them fit, states in memory where the online
// schedule says, and states on disk at multiples of a gap that doubles when the places are used up; once the loop has ended,
// segments between states are reversed like loops of known length.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <map>

#include "tidemark/base/error.h"
#include "tidemark/schedule/online_states.h"
#include "tidemark/tape/loop_disk.h"

namespace tidemark::tape {
namespace {

// Each has a few bytes of its own, whatever a state takes.
constexpr std::int64_t kMostSlots = 1'000'000;

// What is decided before the loop begins.
struct Decisions {
  Bytes bytes = 0;                   // for snapshots and tapes
  std::int64_t slots = 0;            // states in memory while the loop runs
  std::int64_t places = 0, gap = 1;  // states on disk, and the steps between two of them at first
  DiskCosts costs;
};

class OnlineSweep {
 public:
  OnlineSweep(Sweep& sweep, const Decisions& decisions)
      : s_(sweep),
        d_(decisions),
        memory_(static_cast<std::size_t>(schedule::OnlineStates::bytes(decisions.slots)) /
                sizeof(std::int64_t)),
        online_(decisions.slots, memory_.data()),
        gap_(decisions.gap) {
    on_disk_ = s_.store.steps();
    while (static_cast<std::int64_t>(on_disk_.size()) > d_.places) widen();
  }

  // Runs the loop to its end, from the last state on disk. Returns the length.
  std::int64_t forward() {
    base_ = on_disk_.empty() ? 0 : *on_disk_.rbegin();
    s_.restore(base_);
    if (!s_.folder.empty()) base_sum_ = checksum_of_state(s_.loop);
    for (std::int64_t at = base_;; ++at) {
      if (s_.loop.ended(at)) return at;
      if (at > base_) keep(at);
      if (taping_ && !room_for(s_.report.tape)) stop_taping();
      if (taping_)
        tapes_.push_back(s_.carrier.tape(at));
      else
        s_.carrier.advance(at);
    }
  }

  // Reverses the steps that are left.
  void backward() {
    if (!s_.folder.empty() && !tapes_.empty()) s_.carrier.known = {base_, base_sum_, s_.folder};
    for (; !tapes_.empty(); --s_.left) {
      std::unique_ptr<StepTape> last = std::move(tapes_.back());
      tapes_.pop_back();
      s_.carrier.reverse(s_.left - 1, std::move(last));
    }
    while (s_.left > 0) {
      // States that nothing begins with any more.
      while (!in_memory_.empty() && in_memory_.rbegin()->first >= s_.left) forget(in_memory_.rbegin()->first);
      while (!on_disk_.empty() && *on_disk_.rbegin() >= s_.left) remove(*on_disk_.rbegin());
      const std::int64_t disk = on_disk_.empty() ? 0 : *on_disk_.rbegin();
      const std::int64_t memory = in_memory_.empty() ? 0 : in_memory_.rbegin()->first;
      segment(std::max(disk, memory), memory > disk);
    }
  }

 private:
  bool room_for(Bytes bytes) const { return s_.account.live - s_.report.beside + bytes <= d_.bytes; }
  void stop_taping() {
    s_.account.add(-static_cast<Bytes>(tapes_.size()) * s_.report.tape);
    tapes_.clear();
    taping_ = false;
  }

  void keep(std::int64_t at) {
    if (at - base_ == online_.next()) {
      online_.take();
      std::vector<std::byte> state;
      if (online_.given_up() >= 0) state = forget(base_ + online_.given_up());
      if (taping_ && !room_for(s_.report.state)) stop_taping();
      const Bytes bytes = s_.carrier.save(state, at);
      in_memory_[at] = {std::move(state), bytes};
    }
    if (d_.places == 0 || at % gap_ != 0) return;
    while (static_cast<std::int64_t>(on_disk_.size()) >= d_.places) {
      widen();
      if (at % gap_ != 0) return;
    }
    s_.store.write(at, s_.loop);
    on_disk_.insert(at);
    s_.report.disk_slots = std::max(s_.report.disk_slots, static_cast<std::int64_t>(on_disk_.size()));
  }
  void widen() {
    gap_ *= 2;
    for (const std::int64_t step : std::set<std::int64_t>(on_disk_))
      if (step % gap_ != 0) remove(step);
  }
  void remove(std::int64_t step) {
    s_.store.remove(step);
    on_disk_.erase(step);
  }
  // Returns its memory.
  std::vector<std::byte> forget(std::int64_t step) {
    const auto found = in_memory_.find(step);
    s_.account.add(-found->second.bytes);
    std::vector<std::byte> state = std::move(found->second.state);
    in_memory_.erase(found);
    return state;
  }

  // Reverses [from, left): `from` is the last state that there is.
  void segment(std::int64_t from, bool in_memory) {
    const auto to_base = [&] {
      if (in_memory)
        s_.loop.restore(in_memory_.at(from).state.data());
      else
        s_.restore(from);
    };
    const Bytes free = d_.bytes - (s_.account.live - s_.report.beside);
    const std::int64_t places = d_.places - static_cast<std::int64_t>(on_disk_.size());
    schedule::TierSplits splits{0};
    const std::int64_t length = s_.left - from;
    if (places > 0 && free >= s_.report.state + s_.report.tape &&
        choose(length, free, s_.report.state, s_.report.tape).forward_steps > length) {
      schedule::TierPrices prices{.write = d_.costs.write, .read = d_.costs.read, .hidden = false};
      prices.leaf = [&](std::int64_t n) {
        return static_cast<double>(
            choose(std::min(n, length), free, s_.report.state, s_.report.tape).forward_steps);
      };
      prices.last = [&](std::int64_t n) { return schedule::TierPrices::Last{0, prices.leaf(n)}; };
      splits = schedule::tier_splits(length, places, prices, 2000, d_.costs.sums(length));
    }
    if (splits.size() > 1) {
      s_.report.disk_slots = std::max(s_.report.disk_slots, static_cast<std::int64_t>(on_disk_.size()) +
                                                                schedule::tier_shape(splits, length).places);
      s_.reverse_splits(splits, from, s_.left, free, to_base);
      if (in_memory) forget(from);
    } else {
      to_base();
      if (in_memory) forget(from);
      s_.leaf(from, d_.bytes - (s_.account.live - s_.report.beside));
    }
    if (!in_memory && from > 0) remove(from);
  }

  struct Kept {
    std::vector<std::byte> state;
    Bytes bytes = 0;
  };
  Sweep& s_;
  const Decisions& d_;
  std::vector<std::int64_t> memory_;
  schedule::OnlineStates online_;  // of steps counted from base_
  std::int64_t base_ = 0, gap_;
  std::uint64_t base_sum_ = 0;
  std::map<std::int64_t, Kept> in_memory_;
  std::set<std::int64_t> on_disk_;
  bool taping_ = true;
  std::vector<std::unique_ptr<StepTape>> tapes_;  // of [base_, end)
};

void follow(Sweep& sweep, const Decisions& decisions, bool ended,
            const std::function<void(std::int64_t)>& at_end) {
  OnlineSweep online(sweep, decisions);
  if (!ended) {
    sweep.left = online.forward();
    at_end(sweep.left);
    sweep.carrier.finish();
    if (sweep.leaf_reversed) sweep.leaf_reversed(sweep.left);
  }
  online.backward();
}

// No folder.
class NoStates final : public StateStore {
 public:
  std::set<std::int64_t> steps() const override { return {}; }
  bool has(std::int64_t) const override { return false; }
  void read(std::int64_t, Loop&) override {}
  void write(std::int64_t, const Loop&) override {}
  void remove(std::int64_t) override {}
};

}  // namespace

void reverse_online(Loop& loop, const CheckpointOptions& options, Bytes bytes, CheckpointReport& report) {
  Decisions d{.bytes = bytes};
  const Bytes state = std::max<Bytes>(report.state, 1);
  report.schedule = "online";
  const auto run = [&](Sweep& sweep, bool ended) {
    // A segment that does not begin in memory needs one for its schedule.
    d.slots = std::min<std::int64_t>((bytes - report.tape) / state - 1, kMostSlots);
    report.slots = d.slots;
    const std::set<std::int64_t> stored = sweep.store.steps();
    const auto predicted = [&, left = sweep.left](std::int64_t steps) {
      report.steps = steps;
      rehearse(report, steps, stored, [&](Sweep& s) {
        s.left = left;
        follow(s, d, ended, [](std::int64_t) {});
      });
    };
    if (ended) predicted(report.steps);
    follow(sweep, d, ended, predicted);
    report.measured_peak = sweep.account.peak;
  };
  if (options.folder.empty()) {
    loop.restart();
    NoStates none;
    Sweep sweep(loop, none, report);
    run(sweep, false);
    return;
  }
  const LoopFiles files(options.folder, identity_of(loop, -1, options));
  FileStates states(files);
  Sweep sweep(loop, states, report);
  LoopProgress progress(files, sweep, options.progress_seconds);
  const bool ended = progress.take_up();
  d.places = std::max<std::int64_t>(0, options.disk / state);
  if (d.places > 0) {
    d.costs = disk_costs(loop, files, options);
    // Writing takes about a quarter of the steps' time at most.
    d.gap =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(4 * std::min(d.costs.write, 1e12))));
  }
  run(sweep, ended);
  files.remove_all();
}

}  // namespace tidemark::tape
