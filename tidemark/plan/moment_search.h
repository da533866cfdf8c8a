// Looks for the moment at which one cut proves most: where bounds begin. Part of bound.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "tidemark/plan/bound.h"

namespace tidemark::plan {

class MomentSearch {
 public:
  // They must outlive it; `cuts` counts on.
  MomentSearch(const Values& values, const BoundOptions& options, const Limit& limit, std::int64_t& cuts);

  struct Best {
    double seconds;  // proven there
    TaskId moment = -1;
    double price = 0;        // of a byte
    Certificate::Leaf leaf;  // the proof
    TaskId impossible_at =
        -1;  // there more than the budget is live, whatever is stored; -1: there is no such moment
    bool hurried = false;  // there was no time to look at all the moments that might be better
  };
  // `anywhere`: of the moments at which most is sure, too.
  void run(bool anywhere);
  // A cut at a few moments may take all the time there is.
  bool is_large() const;
  const Best& best() const { return best_; }

  // Sole tasks at which more than the budget is live when the list runs once with everything kept.
  const std::vector<TaskId>& moments() const { return moments_; }
  const std::vector<Bytes>& live() const { return live_; }                // then, by task
  const std::vector<Certificate::Link>& links() const { return links_; }  // with tiers
  std::vector<BoundResult::Choice> choices() const;

  bool is_impossible() const { return best_.impossible_at >= 0; }
  bool more_time() const { return cuts_ < o_.effort && !limit_.time_is_up(); }
  bool may_screen(double share) const;
  std::int64_t work_limit() const;

 private:
  struct Try {
    double seconds = 0;
    BoundResult::Choice choice;
  };
  TaskId fullest() const;
  TaskId clearest() const;
  void look_at(TaskId t);
  double screen(TaskId t);
  void scan(bool anywhere);
  void set_weights(double read, double write);
  void weigh_links(bool anywhere);

  const Values& v_;
  const BoundOptions& o_;
  const Limit& limit_;
  std::int64_t& cuts_;
  Best best_;
  std::vector<Bytes> live_;  // by task
  std::vector<TaskId> moments_;
  std::vector<Certificate::Link> links_;
  std::map<TaskId, Try> tried_;
  std::map<TaskId, double> screened_;
};

}  // namespace tidemark::plan
