// read_problem on any bytes: an Error(data), or a problem that verifies and survives being written and read.
// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "tidemark/base/error.h"
#include "tidemark/plan/budget.h"
#include "tidemark/plan/finish.h"

using namespace tidemark;

namespace {

void expect(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  plan::Problem problem;
  try {
    problem = plan::read_problem({reinterpret_cast<const char*>(data), size});
  } catch (const Error& e) {
    expect(e.kind() == Error::Kind::data);
    return 0;
  }
  expect(plan::verify(problem).empty());
  const std::string text = plan::write_problem(problem);
  const plan::Problem again = plan::read_problem(text);
  expect(plan::hash(again) == plan::hash(problem));
  expect(plan::write_problem(again) == text);
  // The plan that keeps everything exists, unless a tier is too small for what must end there; finish checks it.
  if (problem.tasks.size() > 64 || problem.buffers.size() > 64) return 0;
  std::vector<plan::Step> runs;
  for (std::size_t t = 0; t < problem.tasks.size(); ++t) {
    if (!problem.tasks[t].optional)
      runs.push_back({plan::Step::Kind::run, static_cast<plan::TaskId>(t), -1, {}});
  }
  const plan::Plan plan = plan::finish(problem, runs, {.time_limit = 0.001});
  if (plan.status == plan::Plan::Status::timed_out) return 0;
  expect(plan.live_peak <= plan::store_all_live_peak(problem));
  return 0;
}
