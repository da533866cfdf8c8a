// read_plan and check on any bytes, against small problems that have every feature: an Error(data) or a verdict, never a
// crash; what is valid stays valid when written and read. The first byte chooses the problem.
// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "tidemark/base/error.h"
#include "tidemark/plan/plan.h"

using namespace tidemark;

namespace {

void expect(bool holds) {
  if (!holds) std::abort();
}

plan::Problem rich() {
  plan::Problem p;
  p.name = "rich";
  p.align = 4;
  p.tiers = {{"host", 100, 50, 0.5, 60}, {"disk", 10, 10, 0, 500}};
  p.buffers = {{"x", 10, true}, {"a", 20}, {"b", 18}, {"m", 15, false, 0, 0}, {"y", 0}};
  p.tasks = {{.name = "a", .reads = {0}, .writes = {1}, .seconds = 1, .workspace = 7},
             {.name = "b", .reads = {1}, .writes = {2}, .in_place = {{1, 2}}, .seconds = 2},
             {.name = "u", .reads = {3, 2}, .writes = {3}, .seconds = 0.5, .once = true},
             {.name = "y", .reads = {3}, .writes = {4}, .in_place = {{3, 4}}, .seconds = 0.25},
             {.name = "u2",
              .reads = {3, 1},
              .writes = {3},
              .seconds = 0.1,
              .once = true,
              .optional = true,
              .instead_of = 2},
             {.name = "a2", .reads = {2}, .writes = {1}, .seconds = 0.1, .optional = true, .lossy = true}};
  p.outputs = {4, 2};
  return p;
}

plan::Problem chain() {
  plan::Problem p;
  p.name = "chain";
  p.buffers = {{"x", 10, true}, {"a", 100}, {"b", 60}, {"gb", 60}, {"ga", 100}, {"gx", 10}};
  p.tasks = {{.name = "a", .reads = {0}, .writes = {1}, .seconds = 2},
             {.name = "b", .reads = {1}, .writes = {2}, .seconds = 3},
             {.name = "gb", .reads = {2}, .writes = {3}, .seconds = 1},
             {.name = "ga", .reads = {1, 3}, .writes = {4}, .seconds = 2},
             {.name = "gx", .reads = {0, 4}, .writes = {5}, .seconds = 1}};
  p.outputs = {5};
  return p;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static const plan::Problem problems[] = {rich(), chain()};
  const plan::Problem& problem = problems[data[0] % 2];
  plan::Plan plan;
  try {
    plan = plan::read_plan(problem, {reinterpret_cast<const char*>(data) + 1, size - 1});
  } catch (const Error& e) {
    expect(e.kind() == Error::Kind::data);
    return 0;
  }
  const std::string verdict = plan::check(problem, plan);
  const std::string text = plan::write_plan(problem, plan);
  const plan::Plan again = plan::read_plan(problem, text);
  expect(plan::check(problem, again).empty() == verdict.empty());
  expect(plan::write_plan(problem, again) == text);
  return 0;
}
