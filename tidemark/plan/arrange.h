// Offsets and order at once, for a plan whose live bytes fit and whose packing does not: what the runs of a sequence make gets places in an
// arena of a given size, and runs move to where that leaves fewer holes. Behind the search and the packing; the same runs, the same time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <optional>

#include "tidemark/base/random.h"
#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/model.h"
#include "tidemark/plan/pack_core.h"
#include "tidemark/plan/solve.h"

namespace tidemark::plan {

// Both ways begin with an order that has as few full moments as one gets quickly. Models without copies only.
class Arrange {
 public:
  Arrange(const Model& model, Bytes arena, std::uint64_t seed);

  // Whether all of it has a place when the limit is reached or before. By ejection (after Nagata and Braysy 2009, who insert customers into
  // routes): what has no place takes one from others, those that are easiest to place again; who was hard to place is dear to move; and the
  // order changes with it.
  bool run(const std::vector<TaskId>& runs, const Limit& limit, std::int64_t most_rounds);
  // The same by dives, the later ones in orders after where the first ones failed; then another order of the runs is the better way to go on.
  bool dive(const std::vector<TaskId>& runs, const Limit& limit);
  // Whether what is live with them at the fullest moments is few enough to dive with, in no more than so many seconds each.
  bool dives_pay(const std::vector<TaskId>& runs,
                 double seconds_each = std::numeric_limits<double>::infinity());
  // How much larger the arena would have to be for a few dives: the last of these parts of it, which fall, up to which they succeed. Infinity:
  // with none; nothing: it was not measured, for dives do not pay or the limit came first.
  std::optional<double> part_over(const std::vector<TaskId>& runs, std::span<const double> parts,
                                  const Limit& limit);

  // In their order now.
  std::vector<TaskId> runs() const;
  // Of what the run at `place` makes; Placement::kWorkspace: its workspace. It has one, or run said so.
  Bytes offset_of(std::int32_t place, BufferId buffer) const;

 private:
  using Units = std::int64_t;  // of the alignment

  struct Run {
    TaskId task;
    std::int32_t first_life, reads, lives;  // in lives_of_: what it reads, what it makes, its workspace
  };
  // From here on by life: one making of a buffer and its uses, with what takes over its storage.
  struct Life {
    Units size = 0;
    std::int32_t maker = -1;
    bool kept = false;             // to the end
    std::vector<std::int32_t> by;  // runs that use it
  };
  // Moments between runs count, too: the run at a place has twice that number.
  struct Change {
    std::int32_t life, first, last;
  };

  std::vector<TaskId> eased(const std::vector<TaskId>& runs, const Limit& limit);
  packing::CoreDives dives_now() const;
  void load(const std::vector<TaskId>& runs);
  void find_ties();
  std::int32_t add_life(Units size, std::int32_t maker);
  void refresh(std::int32_t life);
  bool tied(TaskId a, TaskId b) const;
  std::int32_t reach(std::int32_t run, std::int32_t by) const;
  void shift(std::int32_t from, std::int32_t to);
  Change changed(std::int32_t life, std::int32_t run, std::int32_t time) const;
  bool move(std::int32_t run, std::int32_t by);
  bool pull_in(std::int32_t life);
  void put(std::int32_t life, Units offset);
  void take(std::int32_t life);
  void meet(std::int32_t life);
  Units free_place(std::int32_t life);
  bool is_free(const Change& change) const;
  void force(std::int32_t life);
  void settle_some();

  const Model* model_;
  Bytes align_;
  Units arena_;
  std::uint64_t seed_;
  Rng rng_;
  double mean_ = 1;    // size of a life
  Units largest_ = 0;  // likewise
  std::vector<Run> runs_;
  std::vector<std::int32_t> lives_of_;
  std::vector<std::int32_t> run_at_, place_of_;
  Csr earlier_, later_;  // by run: those on either side of it that it never passes
  std::vector<Life> lives_;
  std::vector<std::int32_t> first_, last_;  // places, both included
  std::vector<Units> offset_, end_;         // -1: it has none
  std::vector<double> dear_;
  std::vector<std::int32_t> by_offset_;     // of those that have a place
  std::vector<std::int32_t> out_;           // those that have none
  std::vector<std::int32_t> met_, around_;  // scratch
  std::vector<Change> changes_;
  std::vector<packing::Edge> begins_, ends_;
};

// Whether the order may change at all, and each round, which looks at all that have a place, is short enough.
inline constexpr std::int32_t kMostToArrange = 3000;  // tasks
bool can_arrange(const Model& model, const Options& options);
// The plan of these runs, in this order or another, with offsets inside the arena: by dives from several orders, and now and then by ejection,
// longer each time.
// None where none was found; with `effort`, after a fixed number of rounds.
std::optional<Plan> arranged(const Problem& problem, const Model& model, const std::vector<TaskId>& runs,
                             Bytes arena, const Options& options, const Limit& limit);

}  // namespace tidemark::plan
