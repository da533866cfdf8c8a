// The move everything is built from: a buffer is dropped over a gap between two uses and made again before the second,
// with those of its ancestors that are not there then. Finds the one that costs least per byte at a given moment.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include "tidemark/base/random.h"
#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/timeline.h"

namespace tidemark::plan {

struct Drop {
  BufferId buffer = -1;
  std::int32_t before = -1;  // slot of the use that it is made again for
  double seconds = 0;
  Bytes relief = 0;           // bytes fewer at the moment asked about
  std::vector<TaskId> tasks;  // to run again, in order
};

class Drops {
 public:
  // A write so many times smaller than another of its task is minor: it frees next to nothing, and to keep it costs as little.
  static constexpr Bytes kMinor = 64;

  Drops(Timeline& line, Bytes budget);

  // The gap of `b` over the moment `at`, bridged by making it again; false when there is no such gap or it cannot be. Gives up when
  // it costs `most_seconds` or more.
  bool evaluate(BufferId b, std::int32_t at, double most_seconds, Drop& drop);
  // The least seconds per byte, each candidate's ratio multiplied by a random number from [1, 1 + noise]; bytes beyond `need` do not count.
  // None of `most_seconds` or more.
  bool find(std::int32_t at, Bytes need, double most_seconds, double noise, Rng& rng, Drop& best);
  // Inserts the runs; false (and nothing changed) when there is no room: spread the timeline out and find again.
  bool apply(const Drop& drop);

  // Brings the peak within the budget, cheapest first. Else, stuck or beyond `most_seconds` in all, undoes all it did or leaves it half done.
  enum class Outcome { fits, stuck, no_room };
  enum class Failing { undo, leave };
  Outcome repair(double most_seconds, double noise, Rng& rng, int most_drops,
                 Failing failing = Failing::undo);

  // Something that is kept over the moment, the larger the likelier; -1: there is nothing.
  BufferId any_over(std::int32_t at, Rng& rng);
  // Drops it over the moment. False, and nothing changed: it cannot be, or takes more than so many seconds.
  bool drop(BufferId b, std::int32_t at, Rng& rng,
            double most_seconds = std::numeric_limits<double>::infinity());

  // What can be made again and is more than a minor write, least seconds per byte first.
  std::span<const BufferId> candidates() const { return std::span(by_ratio_).first(majors_); }
  // From here on, evaluate makes again whatever it can, as a repair without noise does at a price of 0.
  void begin_exact() { price_now_ = 0; }

  // A gap, by the use that ends it, that `find` leaves alone until all bans are lifted.
  void ban(BufferId b, std::int32_t use);
  void lift_bans();

  // Seconds that a byte over the moment is worth: above it an ancestor is kept rather than made again. 0: made again whenever it can be.
  void set_price(double price) { price_ = price; }
  double price() const { return price_; }

  // Where repair looks whether to give up; null: never.
  void set_limit(const Limit* limit) { limit_ = limit; }

  // Whether a run that nothing has used yet may be made later instead of once more. Not where first runs keep their order.
  void set_moves_first(bool moves) { moves_first_ = moves; }

  void set_budget(Bytes budget) { budget_ = budget; }
  Bytes budget() const { return budget_; }

 private:
  void begin(double noise, Rng& rng);
  bool find_next(std::int32_t at, Bytes need, double most_seconds, double noise, Rng& rng, Drop& best);
  void forget_near(const Drop& drop);
  TaskId choose_maker(BufferId b, std::int32_t before);
  bool may_run(TaskId t, std::int32_t before) const;
  bool collect(BufferId b, std::int32_t at, double most_seconds, Drop& drop);

  Timeline* line_;
  Bytes budget_;
  const Limit* limit_ = nullptr;
  // What can be made again, least seconds per byte first; the minor ones, no candidates while there are others, behind the first `majors_`.
  std::vector<BufferId> by_ratio_;
  std::size_t majors_ = 0;
  std::vector<double> ratio_, least_seconds_;  // of by_ratio_
  // What is known of a candidate in the repair under way.
  struct Known {
    std::int64_t repair = -1;  // in which it was evaluated
    double seconds = 0, relief = 0;
  };
  std::int64_t repair_ = 0;
  std::vector<Known> known_;        // of by_ratio_
  std::vector<std::int32_t> rank_;  // by buffer: its place in by_ratio_, or -1
  Csr readers_;                     // by buffer: tasks that may run again and read it
  struct Candidate {
    double score, factor;
    std::int32_t which;  // in by_ratio_
  };
  std::vector<Candidate> candidates_;
  struct Drawn {
    std::uint64_t random;
    std::int32_t which;  // in by_ratio_
  };
  std::vector<Drawn> drawn_;
  std::vector<std::int32_t> spanning_;  // of by_ratio_
  // By buffer: its maker where there is one and no version or copy has a say; -1: it cannot run again.
  static constexpr TaskId kSeveral = -2;
  std::vector<TaskId> only_maker_;
  std::vector<std::int32_t> mark_;  // by task: in the closure being built (round number)
  std::int32_t round_ = 0;
  double price_ = 0, price_now_ = 0;
  bool moves_first_ = true;
  std::vector<std::int32_t> banned_use_;  // by buffer; -1: none
  std::vector<BufferId> banned_;
  struct Frame {
    TaskId task;
    std::size_t next;  // of its reads
  };
  std::vector<Frame> stack_;
  Drop trial_;
};

}  // namespace tidemark::plan
