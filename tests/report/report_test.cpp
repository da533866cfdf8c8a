// SPDX-License-Identifier: Apache-2.0
#include "tidemark/report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tidemark/base/error.h"
#include "tidemark/plan/planners.h"
#include "tidemark/plan/solve.h"
#include "tidemark/report/columns.h"
#include "tidemark/report/explain.h"

namespace tidemark {
namespace {

using testing::HasSubstr;

// Four steps forward, each kept for its step back; the last parameter updated at the end.
plan::Problem chain() {
  plan::Problem p{.name = "chain", .align = 4};
  p.buffers.push_back({.name = "x", .bytes = 10, .resident = true, .kind = "parameter"});
  for (int i = 0; i < 8; ++i) p.buffers.push_back({.name = "b" + std::to_string(i), .bytes = 100});
  for (int i = 0; i < 4; ++i)
    p.tasks.push_back(
        {.name = "f" + std::to_string(i), .kind = "forward", .reads = {i}, .writes = {i + 1}, .seconds = 1});
  p.tasks.push_back({.name = "g3", .kind = "back", .reads = {3, 4}, .writes = {5}, .seconds = 2});
  p.tasks.push_back({.name = "g2", .kind = "back", .reads = {2, 5}, .writes = {6}, .seconds = 2});
  p.tasks.push_back({.name = "g1", .kind = "back", .reads = {1, 6}, .writes = {7}, .seconds = 2});
  p.tasks.push_back({.name = "g0", .kind = "back", .reads = {0, 7}, .writes = {8}, .seconds = 2});
  p.tasks.push_back(
      {.name = "update", .kind = "sgd", .reads = {0, 8}, .writes = {0}, .seconds = 1, .once = true});
  p.outputs = {0};
  return p;
}

struct Case {
  explicit Case(Bytes budget, const plan::Problem& p = chain()) : problem(p) {
    plan = plan::solve(problem, {.budget = budget, .time_limit = 20, .effort = 50});
    EXPECT_EQ(plan::check(problem, plan), "");
    story = tell(problem, plan);
    fate = fates(problem, story);
  }
  Told told() const { return {problem, plan, story, fate, labels}; }
  plan::Problem problem;
  plan::Plan plan;
  Story story;
  std::vector<Fate> fate;
  Labels labels;
};

TEST(Fate, KeptWhereThereIsRoom) {
  const Case c(-1);
  EXPECT_EQ(c.fate[0].kind, Fate::Kind::resident);
  EXPECT_EQ(c.fate[1].kind, Fate::Kind::kept);
  EXPECT_EQ(c.fate[4].kind, Fate::Kind::brief);
  // b0 is needed again by g1, when only x is left of what made it.
  EXPECT_DOUBLE_EQ(c.fate[1].remake_seconds, 1);
  EXPECT_EQ(c.fate[1].live_if_kept, -1);
  EXPECT_EQ(c.fate[1].uses, 2);
}

TEST(Fate, WhatWasFreedWouldNotHaveFitted) {
  const Case c(412);
  int again = 0;
  for (std::size_t b = 1; b < c.fate.size(); ++b) {
    if (c.fate[b].kind != Fate::Kind::made_again) continue;
    ++again;
    EXPECT_GT(c.fate[b].live_if_kept, 412);
    EXPECT_DOUBLE_EQ(c.fate[b].spent, c.fate[b].makes - 1);
    EXPECT_THAT(in_short(c.told(), static_cast<plan::BufferId>(b)), HasSubstr("made again"));
  }
  EXPECT_GT(again, 0);
}

TEST(Fate, RowsOfThePeakAddUp) {
  for (const Bytes budget : {Bytes{-1}, Bytes{412}}) {
    const Case c(budget);
    Bytes sum = 0;
    for (const PeakRow& row : peak_rows(c.problem, c.plan, c.story, c.fate)) {
      EXPECT_GT(row.bytes, 0) << row.what;
      sum += row.bytes;
    }
    EXPECT_EQ(sum, c.plan.peak);
  }
}

TEST(Fate, WhatReadsAnUpdatedParameterCannotBeMadeAgain) {
  plan::Problem p = chain();
  // Nobody reads b0 on the way back, but somebody does after the update of x, from which it was made.
  p.tasks[6].reads = {6};
  p.buffers.push_back({.name = "late", .bytes = 4});
  p.tasks.push_back({.name = "late", .reads = {0, 1}, .writes = {9}, .seconds = 1});
  p.outputs.push_back(9);
  const Case c(-1, p);
  EXPECT_EQ(plan::check(c.problem, c.plan), "");
  EXPECT_LT(c.fate[1].remake_seconds, 0);
  std::string text;
  for (const auto& [what, row] : explain(c.told(), 1)) text += row + "\n";
  EXPECT_THAT(text, HasSubstr("cannot be made again"));
}

TEST(Explain, ProgramHasALineForEachStep) {
  const Case c(412);
  const std::string text = program_text(c.told());
  EXPECT_EQ(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')), c.plan.steps.size() + 2);
  EXPECT_THAT(text, HasSubstr(" again"));
  EXPECT_THAT(text, HasSubstr("drop b"));
  EXPECT_THAT(text, HasSubstr("= sgd("));
}

TEST(Story, CopiesTakeTheirTime) {
  plan::Problem p = chain();
  p.tiers.push_back({.name = "host",
                     .write_bytes_per_second = 100,
                     .read_bytes_per_second = 50,
                     .latency_seconds = 0.5,
                     .bytes = 1000});
  plan::Plan plan = plan::run_planner(*plan::find_planner("store_all"), p, {.offsets = false});
  using Kind = plan::Step::Kind;
  // b0 (100 bytes) leaves after f1 and is back before g1.
  const auto run_of = [&](plan::TaskId t) {
    return std::find_if(plan.steps.begin(), plan.steps.end(),
                        [&](const plan::Step& s) { return s.kind == Kind::run && s.id == t; });
  };
  plan.steps.insert(run_of(2), {{.kind = Kind::evict, .id = 1, .tier = 0}, {.kind = Kind::wait, .id = 1}});
  plan.steps.insert(run_of(6), {{.kind = Kind::fetch, .id = 1, .tier = 0}, {.kind = Kind::wait, .id = 1}});
  const plan::Replay truth = plan::replay(p, plan);
  ASSERT_EQ(truth.broken, "");
  const Story story = tell(p, plan);
  ASSERT_EQ(story.copies.size(), 2u);
  EXPECT_DOUBLE_EQ(story.copies[0].end - story.copies[0].begin, 1.5);
  EXPECT_DOUBLE_EQ(story.copies[1].end - story.copies[1].begin, 2.5);
  EXPECT_DOUBLE_EQ(story.runs.back().end, truth.seconds);
  EXPECT_EQ(fates(p, story)[1].kind, Fate::Kind::moved);
  Bytes most = 0;
  for (const auto& r : story.runs) most = std::max(most, r.live);
  EXPECT_LE(most, truth.live_peak);
}

TEST(Columns, IntegersAreDifferences) {
  EXPECT_EQ(pack_integers({}), "");
  EXPECT_EQ(pack_integers({0, 1, 0, 16}), "ACBgB");  // +1 is 2, -1 is 1, +16 is 32: two digits
  EXPECT_EQ(pack_integers({1, 2, 3, 4, 5, 5}), "C!EA");         // +1 and four times more
  EXPECT_EQ(pack_integers({1, 2, 3}), "CCC");                   // the shorter of the two
}

TEST(Columns, FloatsAreBase64) {
  EXPECT_EQ(pack_floats({1.0}), "AACAPw==");
  EXPECT_EQ(pack_floats({1.0, -2.0, 0.5}), "AACAPwAAAMAAAAA/");
  EXPECT_EQ(pack_floats({1.0, 1.0, 1.0, -2.0, -2.0}), "AACAPwAAAMA=;AAACA");  // two numbers, and which of them
}

TEST(Columns, NamesShareTheirBeginnings) {
  EXPECT_EQ(pack_names({"block.1", "block.2", "", "a\nb"}), "!block.1\n'2\n!\n!a b\n");
  // ä and ö share their first byte; it is not split off.
  EXPECT_EQ(pack_names({"\xc3\xa4", "\xc3\xb6"}), "!\xc3\xa4\n!\xc3\xb6\n");
}

TEST(HtmlReport, NamesCannotEndTheScript) {
  plan::Problem p = chain();
  p.buffers[1].name = "</script><b>";
  p.name = "<i>&";
  const Case c(412, p);
  const std::string html = html_report(c.problem, c.plan, {});
  EXPECT_THAT(html, HasSubstr("&lt;i&gt;&amp;"));
  std::size_t ends = 0;
  for (std::size_t at = 0; (at = html.find("</script", at)) != std::string::npos; ++at) ++ends;
  EXPECT_EQ(ends, 2u);
  EXPECT_EQ(html.find("http"), std::string::npos);
}

TEST(HtmlReport, APlanThatBreaksARuleIsRefused) {
  const Case c(412);
  plan::Plan broken = c.plan;
  broken.steps.pop_back();
  broken.steps.erase(broken.steps.begin());
  EXPECT_THROW(html_report(c.problem, broken, {}), Error);
  EXPECT_THROW(html_report(c.problem, c.plan, {.other = &broken}), Error);
}

}  // namespace
}  // namespace tidemark
