// A plan in words: what was done with a value, what that costs, what it saved, and what the other choice would have cost.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/report/fate.h"
#include "tidemark/report/labels.h"

namespace tidemark {

struct Told {
  const plan::Problem& problem;
  const plan::Plan& plan;
  const Story& story;
  const std::vector<Fate>& fates;
  const Labels& labels;
};

// Rows of what and a sentence on it.
TIDEMARK_API std::vector<std::pair<std::string, std::string>> explain(const Told& told,
                                                                      plan::BufferId buffer);
// "made again 2 ×", "kept over 120 runs".
TIDEMARK_API std::string in_short(const Told& told, plan::BufferId buffer);

// The plan as text, a line for each step: what runs again, in place, at which address, what is live.
TIDEMARK_API std::string program_text(const Told& told);

}  // namespace tidemark
