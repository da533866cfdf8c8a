// Where a verb's problem comes from: a problem file, or a training step of a model of the zoo posed for this machine.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/cli/verb.h"
#include "tidemark/plan/problem.h"

namespace tidemark::cli {

class ProblemSource {
 public:
  void declare(Args& args);
  // A name ending in .json is a file; anything else a model. Throws Error(usage) naming the models there are.
  plan::Problem get() const;

 private:
  std::string source_, optimizer_ = "adamw";
  std::int64_t batch_ = 0, size_ = 0, seq_ = 0, threads_ = 0;
};

}  // namespace tidemark::cli
