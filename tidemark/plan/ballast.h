// Live bytes fewer where places are missing, and nowhere else: the tasks that run while what found no place lives count with some bytes more than they need, and a
// search that fits these leaves as many free. At a budget next to the least peak there are moments at which no fewer are live in any plan; others can do with less.
// Part of solve's search for offsets. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/plan/model.h"
#include "tidemark/plan/pack_sweep.h"
#include "tidemark/plan/plan.h"

namespace tidemark::plan {

class Ballast {
 public:
  Ballast(const Problem& problem, const Model& model, Bytes arena);

  // The problem's, with the ballast as workspace: for searching, not for plans.
  const Model& model() const { return heavy_; }
  // Offsets inside the arena for a plan without, by at most so many sweeps. No: it remembers what found no place in those that left least out.
  bool place(Plan& plan, int most_sweeps, const Limit& limit);
  Bytes bytes_out() const { return bytes_out_; }  // of the least; 0: no sweep came to its end
  // So many bytes more than when `place` was asked, for the tasks that run while that lives, where no more than this part of the arena was live: where more is, it may be that no
  // plan has less.
  void set(Bytes more, double most_live);
  // So much of it all.
  void lighten(double part);
  // What sweeps learned.
  void forget() { leads_.clear(); }

 private:
  struct Range {
    std::int64_t begin, end;  // steps
  };
  template <typename Each>
  void for_each_making(const Plan& plan, const packing::Items& items, const Each& each);
  void recall(const Plan& plan, const packing::Items& items, packing::Sweeps& sweeps);
  void remember(const Plan& plan, const packing::Items& items, const packing::Sweeps& sweeps);

  const Problem* problem_;
  Bytes arena_;
  const Model* light_;
  Model heavy_;
  // Of the plan that was looked at last: the workspace of each task then, what runs at each step (or -1), how full the arena is there, and where what found no place lives.
  std::vector<Bytes> before_;
  std::vector<TaskId> at_;
  std::vector<double> live_;
  std::vector<Range> where_;
  Bytes bytes_out_ = 0;
  std::vector<packing::Sweeps::Leads>
      leads_;  // by buffer and making: what sweeps of the last plan had learned
};

}  // namespace tidemark::plan
