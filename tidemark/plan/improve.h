// Local search on a plan that fits: runs that are not needed go, runs move to where they cost least memory, parts of the plan are
// taken out and put back another way (ruin and recreate: Schrimpf et al. 2000).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/trade.h"

namespace tidemark::plan {

class Improve {
 public:
  Improve(Timeline& line, Drops& drops, std::uint64_t seed)
      : line_(&line), drops_(&drops), trade_(line, drops), rng_(seed) {}

  // Removes runs that the budget does not need, the dearest first.
  void prune();
  // Every run as late as possible where that frees more than it holds: what it makes is not needed before, what it reads is.
  // `first_runs`: those too, and not second runs alone.
  void delay(bool first_runs);
  // The other way round: runs whose reads wait for them alone and outweigh what they make, as early as possible.
  void advance();
  // Runs that do the same work another way (instead_of), where that is faster and fits, or lowers a peak that does not.
  void substitute();
  // Takes some runs out, puts back what is needed, keeps the result if it is not worse by more than `slack` seconds.
  // True if the timeline changed.
  bool ruin_and_recreate(double slack);

  // Drops something more where the budget has made a run necessary, whatever that costs, and removes what is then not needed any more: a
  // dear run for several cheaper ones, which no repair of least cost first comes to.
  bool exchange(double slack);

  // The other way round: keeps what a run makes again and drops one of the values that it was made from, which nothing else may need for long.
  bool swap(double slack);

  // Trades over a full moment of a gap that a run bridges.
  bool trade();

  // Moves a run that touches many bytes, with the updates that end the life of what it makes, and makes again what that takes.
  bool relocate(double slack);

  // The same for such a run with all that depends on it up to some moment behind, or with all that it depends on since some moment before.
  bool shift(double slack);

  // Ruin and recreate of a large part, a `share` of the extra runs, whatever it costs: somewhere else to search from. False: could not.
  bool shake(double share);

  Rng& rng() { return rng_; }
  // Passes over all runs end when its time is up. May be null.
  void set_limit(const Limit* limit) { limit_ = limit; }

 private:
  bool touches_copied(TaskId task) const;
  bool may_fit_without(std::int32_t slot) const;
  bool try_remove(std::int32_t slot);
  void collect_extra();
  std::size_t any_extra();
  void remove_useless(std::vector<BufferId>& freed);
  BufferId any_of(std::span<const BufferId> list);
  void prune_dearest();  // of extra_
  std::int32_t gap_begin(std::int32_t slot) const;
  bool drop_and_prune(BufferId b, std::int32_t at);
  bool move_before(std::int32_t from, std::int32_t to);
  std::int32_t next_touch(std::int32_t slot) const;
  std::int32_t any_run_in_the_way();
  BufferId any_of_all();
  std::int32_t with_followers(std::vector<std::int32_t>& group) const;
  bool split_behind(std::int32_t from, std::int32_t to);
  bool split_before(std::int32_t from, std::int32_t to);
  bool mend(double before, double slack, std::size_t mark);
  bool put_before(const std::vector<std::int32_t>& group, std::int32_t to);

  // Asks the limit now and then: a move takes far longer than a run that stays.
  bool late(std::int64_t moves) const {
    return limit_ != nullptr && moves % kBetweenQuestions == 0 && limit_->time_is_up();
  }
  static constexpr std::int64_t kBetweenQuestions = 256;  // moves

  Timeline* line_;
  Drops* drops_;
  const Limit* limit_ = nullptr;
  Trade trade_;
  Rng rng_;
  std::vector<double> bytes_up_to_;  // by buffer, of it and those before
  std::vector<std::int32_t> extra_;  // slots of runs beyond the first of their task
  // Of a shift: slots of the runs that move and of those that they move past; by buffer, whether what is in it moves.
  std::vector<std::int32_t> group_, others_;
  std::vector<char> moves_;
};

}  // namespace tidemark::plan
