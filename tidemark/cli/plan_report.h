// The table that plan and check print: time over the floor, peak, bound, gap, what was done.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/cli/terminal.h"
#include "tidemark/plan/plan.h"
#include "tidemark/report/labels.h"

namespace tidemark::cli {

// Whether there is a plan in the answer; one without steps is, where nothing has to be done.
bool is_answer(const plan::Plan& plan);
void add_rows(Table& table, const plan::Problem& problem, const plan::Plan& plan);
// What the peak consists of, what was done with how many values, and the largest ten of them.
void print_details(const plan::Problem& problem, const plan::Plan& plan, const Labels& labels);
// "why not", for people: the reason, the least found and what is proven.
std::string why_infeasible(const plan::Plan& plan);

}  // namespace tidemark::cli
