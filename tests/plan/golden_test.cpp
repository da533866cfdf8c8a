// Every golden beside the format's description: the valid plans with their figures, the invalid ones with
// their rule.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <simdjson.h>

#include <filesystem>

#include "tidemark/base/error.h"
#include "tidemark/base/text.h"
#include "tidemark/plan/plan.h"

namespace tidemark::plan {
namespace {

// The rule that a plan breaks, or "".
std::string verdict(const Problem& problem, const std::string& text, Plan* read = nullptr) {
  try {
    const Plan plan = read_plan(problem, text);
    if (read != nullptr) *read = plan;
    return check(problem, plan);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::data);
    return e.what();
  }
}

int run_goldens(const std::filesystem::path& folder) {
  int plans = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    simdjson::dom::parser parser;
    const simdjson::dom::element golden = parser.load(entry.path().string());
    const Problem problem = read_problem(simdjson::minify(golden["problem"]));
    EXPECT_EQ(hash(read_problem(write_problem(problem))), hash(problem));
    for (const auto item : golden["plans"].get_array()) {
      const std::string text = simdjson::minify(item["plan"]);
      const std::string_view what = item["what"].get_string().value();
      SCOPED_TRACE(entry.path().filename().string() + ": " + std::string(what));
      ++plans;
      Plan plan;
      const std::string broken = verdict(problem, text, &plan);
      if (!item["valid"].get_bool().value()) {
        EXPECT_NE(broken, "") << std::string_view(item["breaks"].get_string().value());
        // Ours also say which words of the message to expect.
        std::string_view expected;
        if (item["says"].get(expected) == simdjson::SUCCESS) {
          EXPECT_NE(broken.find(expected), std::string::npos) << broken;
        }
        continue;
      }
      EXPECT_EQ(broken, "");
      const Replay truth = replay(problem, plan);
      EXPECT_EQ(truth.live_peak, item["live_peak"].get_int64().value());
      EXPECT_DOUBLE_EQ(truth.seconds, item["seconds"].get_double().value());
      // What is stated is true; what is not, may be added.
      plan.peak = item["peak"].get_int64().value();
      plan.live_peak = truth.live_peak;
      plan.seconds = truth.seconds;
      EXPECT_EQ(check(problem, plan), "");
      EXPECT_EQ(verdict(problem, write_plan(problem, plan)), "");
      plan.seconds += 1e-3;
      EXPECT_NE(check(problem, plan), "");
    }
  }
  return plans;
}

TEST(Goldens, Shared) {
  const std::filesystem::path folder = TIDEMARK_SOURCE_DIR "/../shared/problems/goldens";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  EXPECT_GE(run_goldens(folder), 40);
}

TEST(Goldens, Ours) { EXPECT_GE(run_goldens(TIDEMARK_SOURCE_DIR "/tests/plan/goldens"), 40); }

}  // namespace
}  // namespace tidemark::plan
