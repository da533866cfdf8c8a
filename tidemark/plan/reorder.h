// Order under a budget: a sequence of runs, repeats included, is annealed by exchanging neighbours until nothing is over the limit. What a
// run makes and who uses it stays as it is, so an exchange changes the bytes at two moments only and costs a few nanoseconds.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include "tidemark/base/random.h"
#include "tidemark/plan/cpu_clock.h"
#include "tidemark/plan/model.h"

namespace tidemark::plan {

// Of two runs that follow each other: whether the second would read, make or find another version than it does now if it were the first.
bool must_precede(const Model& model, TaskId a, TaskId b);

class Reorder {
 public:
  explicit Reorder(const Model& model);

  void load(const std::vector<TaskId>& runs);
  // Of the live bytes without the resident ones: what is above the first counts, above the second so many times more.
  struct Limits {
    Bytes limit = 0;
    Bytes steep = std::numeric_limits<Bytes>::max();
    double steeper = 0;
    double cost(Bytes bytes) const {
      return (bytes > limit ? static_cast<double>(bytes - limit) : 0.0) +
             (bytes > steep ? steeper * static_cast<double>(bytes - steep) : 0.0);
    }
  };
  // What is over the limits, summed over all moments.
  double overflow(const Limits& limits) const;
  Bytes peak() const;
  // Anneals from `hot` to `cold` (bytes) in `moves` proposals; stops when nothing is over a limit, or the time is up. True in the first case.
  bool anneal(const Limits& limits, double hot, double cold, std::int64_t moves, Rng& rng);
  // What runs at the fullest moment waits, with what needs it at once, until least is live beside it; so for `most` times, or until that
  // does not help.
  void lower_peak(int most);
  std::vector<TaskId> runs() const;
  // Of the time. May be null.
  void set_limit(const Limit* limit) { limit_ = limit; }

 private:
  // One making of a buffer and its uses.
  struct Life {
    Bytes size = 0;
    std::int32_t last = -1;  // place of its last use; the maker's when unused
    bool kept = false;       // to the end
  };
  struct Run {
    TaskId task;
    std::int32_t first_read, reads, first_write, writes;  // in lives_of_
    Bytes whole;                                          // its workspace and what it makes
  };
  struct Pair {
    std::int32_t read, write;
  };
  // What a task touches, a bit for each buffer, shared by some: where nothing meets, nobody has to look closer.
  struct Touch {
    std::uint64_t reads = 0, writes = 0;
    bool has_before = false,
         has_after = false;  // updates that it precedes or follows; copies have an order too
  };
  bool conflict(const Run& a, const Run& b) const {
    const Touch &x = touch_[static_cast<std::size_t>(a.task)], &y = touch_[static_cast<std::size_t>(b.task)];
    const std::uint64_t meet = (x.writes & (y.reads | y.writes)) | (y.writes & x.reads);
    return (meet != 0 || x.has_before || y.has_after) && must_precede(*model_, a.task, b.task);
  }
  void place(std::int32_t at);         // bytes_ at `at` and before_ behind it, from before_ at `at`
  void place_during(std::int32_t at);  // bytes_ alone
  bool exchange(std::int32_t at);
  void exchange_anyway(std::int32_t at);  // known not to conflict
  bool pass_next(std::int32_t first, std::int32_t length);
  void put_off(std::int32_t at);

  const Model* model_;
  const Limit* limit_ = nullptr;
  std::vector<Touch> touch_;  // by task or copy
  std::vector<Run> runs_;     // by place
  std::vector<std::int32_t> lives_of_;
  std::vector<Life> lives_;
  std::vector<std::int32_t> buffer_of_;
  std::vector<std::int32_t> over_;     // places with more than the limit
  std::vector<Bytes> before_, bytes_;  // live before, and during, the run at a place
};

}  // namespace tidemark::plan
