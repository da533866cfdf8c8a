// The options of the solver that plan, frontier and smallest share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/cli/terminal.h"
#include "tidemark/cli/verb.h"
#include "tidemark/plan/planners.h"

namespace tidemark::cli {

class SolveOptions {
 public:
  void declare(Args& args);
  plan::Options get() const;  // throws Error(usage)
  // An option that changes nothing is a mistake about the planner: Error(usage).
  static void expect_heeded_by(const plan::Planner& planner, const plan::Options& options);

 private:
  std::string time_ = "1s";
  std::int64_t threads_ = 1, seed_ = 0, effort_ = -1;
  std::string target_gap_ = "0%";
  std::vector<std::string> without_;
  bool no_offsets_ = false;
};

// Shows the best so far on a terminal; stops the search at Ctrl-C.
std::function<bool(const plan::Progress&)> progress_on(ProgressLine& line);

}  // namespace tidemark::cli
