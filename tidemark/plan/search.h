// The search behind solve: starts from several orders and cuts, then local search until a limit. Knows runs and bytes; solve turns its best
// sequence into a Plan.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

#include "tidemark/plan/blocks.h"
#include "tidemark/plan/improve.h"
#include "tidemark/plan/relink.h"
#include "tidemark/plan/reorder.h"
#include "tidemark/plan/start_cut.h"
#include "tidemark/plan/tier_search.h"

namespace tidemark::plan {

struct SearchOptions {
  Bytes budget = 0;
  std::uint64_t seed = 0;
  bool reorder = true, recompute = true, tiers = true, blocks = true;
  double enough = 0;  // seconds at which to stop
};

class Search {
 public:
  Search(const Model& model, const SearchOptions& options, Limit& limit);

  // A sequence known beforehand, made to fit if it does not, and started from. False if it is no plan under the options.
  bool offer(const std::vector<TaskId>& runs);
  // One that needs a little more than the budget: drops and other orders for what is over, while they help. Whether it fits then.
  bool press(const std::vector<TaskId>& runs);
  // `has_plan` is asked once, when there is a plan: false ends it there.
  void start(const std::function<bool()>& has_plan = {});
  // Instead: from a sequence alone, made to fit if it does not. False: it cannot be.
  bool start_from_offer(const std::vector<TaskId>& runs);
  void improve(const std::function<bool()>& go_on);

  // Takes over the starts and the best of a search that has started on the same model.
  void adopt(const Search& other);
  void adopt_best(const Search& other);
  // Its best is one of those that ends of stretches are compared with.
  void meet(const Search& other);

  void set_enough(double seconds) { options_.enough = seconds; }

  bool found() const { return !best_.empty(); }
  const std::vector<TaskId>& best() const { return best_; }
  double best_seconds() const { return best_seconds_; }
  // The least peak of any sequence seen, for those who found none that fits.
  Bytes least_peak() const { return least_peak_; }
  const std::vector<TaskId>& least_runs() const { return least_runs_; }
  // Whether `start` came to its end; else the time was up before.
  bool tried_all() const { return tried_all_; }
  // Seconds of the first sequence: what overheads are measured from.
  double floor() const { return floor_; }

 private:
  struct Start {
    double seconds;
    std::vector<TaskId> runs;
  };
  std::vector<TaskId> begin();  // the order given, which overheads are measured from
  void consider();
  void note_peak();
  bool keeps_order() const;
  bool in_listed_order(const std::vector<TaskId>& runs) const;  // of first runs
  // With the time that copies add.
  double seconds_now() const { return model_->has_copies() ? tiers_.seconds() : line_.seconds(); }
  void start_with_copies(const std::vector<TaskId>& order);
  // By the rules of a cut from the first to before the last.
  void start_from(const std::vector<TaskId>& order, std::size_t first_rule, std::size_t last_rule);
  struct StartedBy {
    double first_cut, seconds;  // of the first cut, and of the plan that came of it
  };
  StartedBy start_by(const std::vector<TaskId>& order, CutRule rule, double most_seconds);
  std::vector<TaskId> anneal_order(const std::vector<TaskId>& order, double hot, std::int64_t moves);
  struct Stretch {
    double until = 1;         // part of the limit
    double heat = 0;          // of the mean seconds of an extra run, falling to none
    std::int64_t length = 0;  // rounds; 0: until nothing more is found
  };
  void rounds_from(const Start& start, const Stretch& stretch, const std::function<bool()>& go_on);
  void race(const std::function<bool()>& go_on);
  void shuffle(const std::vector<TaskId>& from);
  void relink();
  void blend(Start base, const Start& other);
  void settle();
  bool stitch_blocks(std::int32_t most_sources);
  bool reorder_and_repair();
  bool remove_and_reorder();
  double typical_extra() const;
  std::int64_t between_shifts() const;

  const Model* model_;
  SearchOptions options_;
  Limit* limit_;
  Timeline line_;
  Drops drops_;
  Improve improve_;
  Reorder reorder_;
  TierSearch tiers_;
  std::optional<Blocks> blocks_;
  double mean_size_ = 1, floor_ = 0;
  std::vector<Start> starts_;
  std::vector<Start> elite_;  // ends of stretches, the best first
  Start local_{};             // the best since the last stretch began
  std::vector<TaskId> best_;
  double best_seconds_;
  Bytes least_peak_;
  std::vector<TaskId> least_runs_;  // of least_peak_
  bool tried_all_ = false;
  // Rounds from one attempt to reorder to the next: fewer where it helps.
  double between_reorders_ = 64;
  std::int64_t until_reorder_ = 64;
  // The same for runs that are moved.
  double between_relocated_ = 0;
  std::int64_t until_relocated_ = 0;
};

}  // namespace tidemark::plan
