// Every op keeps its promises, on every sample it names. One list of cases, derived from the op table.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/front/op_case.h"
#include "tidemark/ops/loops.h"
#include "tidemark/ops/table.h"

namespace tidemark::testing {
namespace {

class OpTable : public ::testing::TestWithParam<const Op*> {
 protected:
  // Asks every sample the same question.
  void each(std::string (OpCase::*question)() const, bool only_differentiable = false) {
    if (GetParam()->samples == nullptr) return;
    std::uint64_t seed = 1;
    for (const Sample& sample : GetParam()->samples()) {
      const OpCase c(*GetParam(), sample, ++seed);
      if (only_differentiable && !c.differentiable()) continue;
      std::string wrong;
      try {
        wrong = (c.*question)();
      } catch (const std::exception& e) {
        wrong = e.what();
      }
      EXPECT_EQ(wrong, "") << "sample " << seed - 1;
    }
  }
};

TEST_P(OpTable, HasADocAndSamples) {
  EXPECT_NE(std::string(GetParam()->doc), "");
  // Ops with regions are tested by the passes that make them.
  if (std::string(GetParam()->name).rfind("fused", 0) != 0 && !is_loop(*GetParam())) {
    EXPECT_NE(GetParam()->samples, nullptr);
  }
}
TEST_P(OpTable, ShapesAgree) { each(&OpCase::shapes_agree); }
TEST_P(OpTable, VjpMatchesJvp) { each(&OpCase::vjp_matches_jvp, true); }
TEST_P(OpTable, JvpMatchesDifferences) { each(&OpCase::jvp_matches_differences, true); }
TEST_P(OpTable, SecondDerivatives) { each(&OpCase::second_derivatives_match, true); }
TEST_P(OpTable, InPlace) { each(&OpCase::in_place_is_bitwise_equal); }
TEST_P(OpTable, Repeats) { each(&OpCase::repeats_bitwise); }
TEST_P(OpTable, FastAgreesWithReference) { each(&OpCase::fast_agrees_with_reference); }
TEST_P(OpTable, NarrowDTypes) { each(&OpCase::narrow_dtypes_agree); }
TEST_P(OpTable, Views) { each(&OpCase::view_agrees_with_copy); }
TEST_P(OpTable, Accepts) { each(&OpCase::accepts_what_it_says); }
TEST_P(OpTable, Parts) { each(&OpCase::parts_make_the_whole); }
TEST_P(OpTable, RefusesWhatItSays) { each(&OpCase::refuses_what_it_says); }
TEST_P(OpTable, MakesIndicesInRange) { each(&OpCase::makes_indices_in_range); }
TEST_P(OpTable, ARuleForPartsIsOfUse) {
  if (GetParam()->cut == nullptr) return;
  int ways = 0;
  for (const Sample& sample : GetParam()->samples()) ways += OpCase(*GetParam(), sample, 1).ways_to_cut();
  EXPECT_GT(ways, 0);
}

INSTANTIATE_TEST_SUITE_P(All, OpTable, ::testing::ValuesIn(all_ops()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace tidemark::testing
