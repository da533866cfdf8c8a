// Live bytes fewer where places are missing, and nowhere else: the tasks that run while what found no place lives count with some bytes more than they need, and a
// search that fits these leaves as many free. At a budget next to the least peak there are moments at which no fewer are live in any plan; others can do with less.
// Part of solve's search for offsets. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/plan/model.h"
#include "tidemark/plan/pack_items.h"
#include "tidemark/plan/plan.h"

namespace tidemark::plan {

class Limit;

class Ballast {
 public:
  Ballast(const Problem& problem, const Model& model, Bytes arena);

  // The problem's, with the ballast as workspace: for searching, not for plans.
  const Model& model() const { return heavy_; }
  // Offsets inside the arena for a plan without, by at most so many sweeps. No: it remembers what found no place when that was least.
  bool place(Plan& plan, int most_sweeps, const Limit& limit);
  // So many bytes more for the tasks that run while that lives; or what they had before the last time.
  void add(Bytes bytes);
  void take_back();
  // Whether a sweep came to its end, so that there is something to go by.
  bool knows() const { return !where_.empty(); }

 private:
  struct Runs {
    std::int64_t begin, end;  // steps of the plan
  };
  const Problem* problem_;
  Bytes arena_;
  Model heavy_;
  std::vector<Bytes> before_;   // workspace of each task
  std::vector<TaskId> at_;      // by step of the plan looked at last: what runs, or -1
  std::vector<Runs> where_;     // what found no place there is live
};

}  // namespace tidemark::plan
