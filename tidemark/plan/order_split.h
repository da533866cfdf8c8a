// Chooses two tasks by whose order the plans are split into two cases of which each proves more than all together: a run that
// needs much memory and may come early or late, and a task behind the fullest moment. Part of bound.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>

#include "tidemark/plan/stages.h"

namespace tidemark::plan {

struct OrderOptions {
  Bytes budget = 0;
  TaskId moment = -1;  // of the best cut without the cases
  double price = 0, seconds = 0;
  double enough = 0;                    // seconds: no need to prove more
  std::function<bool(int cuts)> go_on;  // asked before each pair of tasks, with the cuts made since
  const Limit* limit = nullptr;         // ends a program under way
};

struct OrderSplit {
  Order order;
  StageBound holds, turned;  // of the two cases, where programs have shown what they prove
};

// `first` needs much memory: where it comes before `then`, one cut proves far more than `seconds`. What follows from that it comes later is for
// programs of several moments to say. `orders`: those that `values` has.
std::optional<OrderSplit> choose_order(const Values& values, std::vector<Order> orders,
                                       const OrderOptions& options);

// Where no single cut says so: of either case, a program of the moment and the task that comes first proves `least` more at least. (What the run reads
// is all but gone at the moment, as that of the gradient of a head's weight while the loss has three tensors of all logits: made again for the run at once it
// goes once more until the other task, and the run put off keeps the largest of them.)
std::optional<OrderSplit> choose_order_by_programs(const Values& values, std::vector<Order> orders,
                                                   const OrderOptions& options, double least);

}  // namespace tidemark::plan
