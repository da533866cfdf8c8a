// What a step may do beside keeping and recomputing: copies to other memory, a batch in parts, other makers. Options of a model's step.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/cli/verb.h"
#include "tidemark/compile/compiled.h"

namespace tidemark::cli {

class Means {
 public:
  void declare(Args& args);
  // For verbs that run the step: what only compile decides.
  void declare_running(Args& args);
  // Throws Error(usage) for what is none. The rates of tiers are measured once.
  void apply(CompileOptions& options) const;
  // Where nothing compiles, nothing chooses it.
  void expect_number_of_parts() const;
  int parts() const;  // 1 where none are asked for; 0: as many as are best
  // The parts that a plan chose, for another one of the same.
  void settle(int parts) { parts_ = std::to_string(parts); }
  std::vector<std::string> given() const;

 private:
  std::string host_, disk_, parts_, makers_;
  mutable std::vector<TierSpec> tiers_;
};

}  // namespace tidemark::cli
