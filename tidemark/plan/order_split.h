// Chooses two tasks by whose order the plans are split into two cases of which each proves more than all together: a run that
// needs much memory and may come early or late, and a task behind the fullest moment. Part of bound.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

#include "tidemark/plan/values.h"

namespace tidemark::plan {

struct OrderOptions {
  Bytes budget = 0;
  TaskId moment = -1;  // of the best cut without the cases
  double price = 0, seconds = 0;
  double enough = 0;                    // seconds: no need to prove more
  std::function<bool(int cuts)> go_on;  // asked before each pair of tasks, with the cuts made since
};

// `first` needs much memory: where it comes before `then`, one cut proves far more than `seconds`. What follows from that it comes later is for
// programs of several moments to say. `orders`: those that `values` has.
std::optional<Order> choose_order(const Values& values, std::vector<Order> orders,
                                  const OrderOptions& options);

}  // namespace tidemark::plan
