// Proofs verify as they are made, and no longer when they are tampered with or are not proofs at all.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/proof.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>

#include "mirror.h"
#include "random_problem.h"
#include "tidemark/plan/bound.h"
#include "tidemark/plan/peak.h"
#include "tidemark/plan/proof_facts.h"
#include "tidemark/plan/solve.h"

namespace tidemark::plan {
namespace {

constexpr Bytes kAnyBudget = Bytes{1} << 60;

TEST(Proof, a_claim_beyond_the_proof_is_refused) {
  const Problem p = mirror(10);
  const BoundResult r = bound(p, {.budget = 610, .time_limit = 1e9, .effort = 2000});
  ASSERT_GT(r.seconds, r.floor_seconds);
  Plan plan = claim(r, 610);
  EXPECT_EQ(verify_proof(p, plan), "");
  plan.seconds_bound = r.seconds * (1 + 1e-6);
  EXPECT_NE(verify_proof(p, plan), "");
  plan = claim(r, 610);
  plan.budget = 650;  // more room, less to prove
  EXPECT_NE(verify_proof(p, plan), "");
  plan = claim(r, 610);
  plan.peak_bound = r.peak.bytes + 1;
  EXPECT_NE(verify_proof(p, plan), "");
  plan = claim(r, 610);
  plan.proof.json.clear();
  EXPECT_NE(verify_proof(p, plan), "");
  plan = claim(r, 610);
  plan.bound_order_given = true;
  EXPECT_NE(verify_proof(p, plan), "");
  Problem other = p;
  for (Task& t : other.tasks) t.seconds *= 0.9;
  EXPECT_NE(verify_proof(other, claim(r, 610)), "");
  EXPECT_EQ(verify_proof(p, Plan{}), "") << "nothing claimed, nothing to prove";
}

TEST(Proof, a_bound_that_is_stopped_is_proven_all_the_same) {
  const Problem p = mirror(10);
  const std::atomic<bool> stop = true;
  const BoundResult r = bound(p, {.budget = 610, .time_limit = 1e9, .stop = &stop});
  EXPECT_GE(r.seconds, r.floor_seconds * (1 - 1e-12));
  EXPECT_EQ(verify_proof(p, claim(r, 610)), "");
}

TEST(Proof, without_a_budget_there_is_no_moment) {
  const Problem p = mirror(10);
  const BoundResult r = bound(p, {.budget = 610, .time_limit = 1e9, .effort = 2000});
  Plan plan = claim(r, -1);
  EXPECT_NE(verify_proof(p, plan), "") << "less than nothing would prove anything";
}

// Streams that are said to carry more than they do, or in parts that add up to more than the whole.
TEST(Proof, links_are_what_they_are) {
  Problem p = mirror(6);
  for (Task& t : p.tasks) t.once = t.name[0] == 'f';
  p.tiers.push_back({.name = "host",
                     .write_bytes_per_second = 5,
                     .read_bytes_per_second = 5,
                     .latency_seconds = 0,
                     .bytes = 100'000});
  ASSERT_EQ(verify(p), "");
  const Bytes budget = 400;
  const BoundResult r = bound(p, {.budget = budget, .time_limit = 1e9, .effort = 4000});
  ASSERT_GT(r.seconds, r.floor_seconds * 1.1) << "the link is slow, and nothing can be made again";
  EXPECT_EQ(verify_proof(p, claim(r, budget)), "");
  const std::size_t links = r.proof.json.find("\"links\"");
  ASSERT_NE(links, std::string::npos);
  const auto with = [&](const char* text) {
    Plan plan = claim(r, budget);
    const std::size_t end = plan.proof.json.find("]]", links);
    plan.proof.json.replace(links, end + 2 - links, text);
    return verify_proof(p, plan);
  };
  for (const char* text : {"\"links\": [[0, 0]]", "\"links\": [[1048577, 0]]", "\"links\": [[0, 1048577]]",
                           "\"links\": []", "\"links\": [[1, 1], [1, 1]]"})
    EXPECT_NE(with(text), "") << text;
  Problem faster = p;
  faster.tiers[0].read_bytes_per_second = faster.tiers[0].write_bytes_per_second = 1000;
  EXPECT_NE(verify_proof(faster, claim(r, budget)), "");
  Problem without = p;
  without.tiers.clear();
  EXPECT_NE(verify_proof(without, claim(r, budget)), "") << "links without tiers";
}

// Every list of a proof left out in turn, and every name misspelt.
TEST(Proof, nothing_can_be_left_out_or_misspelt) {
  const Problem p = mirror(7);
  const BoundResult r = bound(p, {.budget = 450, .time_limit = 1e9, .effort = 2000, .stages = false});
  ASSERT_EQ(verify_proof(p, claim(r, 450)), "");
  const std::string& json = r.proof.json;
  int names = 0;
  for (std::size_t i = json.find('"'); i != std::string::npos;
       i = json.find('"', json.find('"', i + 1) + 1)) {
    Plan plan = claim(r, 450);
    plan.proof.json.insert(i + 1, "no_");
    EXPECT_NE(verify_proof(p, plan), "") << json.substr(i, 20);
    ++names;
  }
  EXPECT_GT(names, 6);
  for (const std::string list : {"\"need\"", "\"keep\"", "\"moments\": [[", "\"cases\""}) {
    const std::size_t begin = json.find(list);
    if (begin == std::string::npos) continue;
    Plan plan = claim(r, 450);
    const std::size_t open = json.find('[', begin);
    std::size_t close = open;
    for (int depth = 0; close == open || depth > 0; ++close)
      depth += json[close] == '[' ? 1 : json[close] == ']' ? -1 : 0;
    plan.proof.json.replace(open, close - open, "[]");
    EXPECT_NE(verify_proof(p, plan), "") << list << "\n" << plan.proof.json;
  }
}

// Every number of a proof, changed in turn: what still verifies must not prove more than before.
TEST(Proof, no_changed_number_proves_more) {
  const Problem p = mirror(7);
  const BoundResult r = bound(p, {.budget = 450, .time_limit = 1e9, .effort = 2000});
  ASSERT_GT(r.seconds, r.floor_seconds);
  const std::string& json = r.proof.json;
  int refused = 0, tried = 0;
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (std::isdigit(static_cast<unsigned char>(json[i])) == 0) continue;
    for (const char digit : {'0', '1', '5', '9'}) {
      if (digit == json[i]) continue;
      Plan plan = claim(r, 450);
      plan.proof.json[i] = digit;
      ++tried;
      // A bound that is a little higher than the true one would be a proof of something false.
      plan.seconds_bound = r.seconds * (1 + 1e-8);
      EXPECT_NE(verify_proof(p, plan), "")
          << "at " << i << ": " << plan.proof.json.substr(i > 30 ? i - 30 : 0, 60);
      plan.seconds_bound = r.seconds;
      refused += verify_proof(p, plan).empty() ? 0 : 1;
    }
  }
  EXPECT_GT(tried, 200);
  EXPECT_GT(4 * refused, tried);  // the others are digits that matter less than the tolerance
}

TEST(Proof, a_missing_case_is_noticed) {
  Problem p = mirror(9);
  p.buffers[3].bytes = 230;
  p.buffers[5].bytes = 170;
  const Bytes budget = 560;
  const BoundResult r = bound(p, {.budget = budget, .time_limit = 1e9, .effort = 2000, .stages = false});
  ASSERT_GT(r.leaves, 2);
  const std::string& json = r.proof.json;
  ASSERT_EQ(verify_proof(p, claim(r, budget)), "");
  int tried = 0;
  for (std::size_t i = json.find("\n{"); i != std::string::npos; i = json.find("\n{", i + 1)) {
    if (i > json.find("\"peak\"")) continue;  // no case
    Plan plan = claim(r, budget);
    std::size_t close = json.find('}', i) + 1;
    if (json[close] == ',') ++close;
    plan.proof.json.erase(i, close - i);
    if (const std::size_t comma = plan.proof.json.find(",]"); comma != std::string::npos)
      plan.proof.json.erase(comma, 1);
    EXPECT_NE(verify_proof(p, plan), "") << "without case " << tried;
    ++tried;
  }
  EXPECT_EQ(tried, r.leaves);
}

TEST(Proof, hostile_text_is_refused_without_a_crash) {
  const Problem p = mirror(4);
  Plan plan;
  plan.budget = 300;
  plan.seconds_bound = 100;
  for (const char* text :
       {"", "{", "[]", "null", "{\"seconds\": 3}", "{\"seconds\": {\"leaves\": []}}", "{\"x\": {}}",
        R"({"version": 4, "seconds": 3})", R"({"version": 4, "seconds": {"cases": []}})",
        R"({"version": 4, "x": {}})", R"({"version": 4})", R"({"version": 4, "seconds": {"end": true}})"}) {
    plan.proof.json = text;
    EXPECT_NE(verify_proof(p, plan), "") << text;
  }
}

// Each row that is not what it says, and the words that refuse it.
TEST(Proof, rows_are_refused_by_name) {
  const Problem p = mirror(4);  // task 5 reads buffers 3 and 5 and makes 6; 6 reads 2 and 6; 7 is behind them
  const auto verdict = [&](const std::string& seconds, const std::string& unit = "-50") {
    Plan plan;
    plan.budget = 300;
    plan.seconds_bound = 1;
    plan.proof.json = R"({"version": 4, "unit_exponent": )" + unit + R"(, "seconds": )" + seconds + "}";
    return verify_proof(p, plan);
  };
  const auto expect = [](const std::string& verdict, const char* words) {
    EXPECT_NE(verdict.find(words), std::string::npos) << verdict << " lacks " << words;
  };
  const auto leaf = [](const std::string& rows) { return R"({"moments": [[5, 0, 0]])" + rows + "}"; };
  EXPECT_EQ(verdict(leaf("")), "") << "else what follows says nothing";
  EXPECT_EQ(verdict(leaf(R"(, "need": [[1, 1, 6, 2, 5]])")), "");

  const auto at = [](const std::string& moments) { return R"({"moments": [)" + moments + "]}"; };
  expect(verdict(at("[-1, 0, 0]")), "-1 is not from 0 to 7");
  expect(verdict(at("[8, 0, 0]")), "moments: 8 is not from 0 to 7");
  expect(verdict(at("[5, 0, 0], [5, 0, 0]")), "does not surely come after");
  expect(verdict(at("[7, 0, 0], [5, 0, 0]")), "does not surely come after");
  EXPECT_EQ(verdict(at("[5, 0, 0], [7, 0, 0]")), "");
  expect(verdict(at("[5, -1, 0]")), "-1 is not from 0");
  expect(verdict(at("[5, 1, -1]")), "-1 is not from 0");
  expect(verdict(at("3.1e-13")), "not a list");
  expect(verdict(at("[5, 1152921504606846976, 0]")), "but the proof gives");
  std::string many = "[5, 0, 0]";
  for (int i = 0; i < 16; ++i) many += ", [5, 0, 0]";
  expect(verdict(at(many)), "too many moments");
  expect(verdict(leaf(""), "1000000000000"), "out of range");
  expect(verdict(leaf(""), "-1000"), "out of range");

  for (const char* row : {"[2, 9, 6, 2, 5]", "[1, 1, 6, 1, 5]", "[1, 0, 6, 2, 5]", "[0, 2, 6, 2, 5]"})
    expect(verdict(leaf(R"(, "need": [)" + std::string(row) + "]")), "need: not");
  expect(verdict(leaf(R"(, "need": [[1, 1, 99, 1, 5]])")), "need: 99 is not from 0 to 7");
  expect(verdict(leaf(R"(, "need": [[1, 1, 6, 99, 5]])")), "need: 99 is not from 0 to 8");
  expect(verdict(leaf(R"(, "need": [[1, 1, 6, 2, 9223372036854775807]])")), "is not from 0 to");
  expect(verdict(leaf(R"(, "need": [[1, 1, 6, 2, -5]])")), "-5 is not from 0");
  expect(verdict(leaf(R"(, "need": [[1, 1, 6]])")), "a row of 3 numbers");
  expect(verdict(leaf(R"(, "keep": [[1, 1, 2, 1, 5]])")), "an output at the end");
  for (const char* row : {"[1, 1, 1, 8, 5]", "[1, 1, 3, 8, 5]", "[0, 0, 2, 8, 5]", "[1, 2, 2, 8, 5]"})
    expect(verdict(leaf(R"(, "keep": [)" + std::string(row) + "]")), "keep: not");
  for (const char* row :
       {"[1, 5, 1, 0]", "[1, 5, 0, 0]", "[1, 5, 0, 3]", "[1, 5, 0, 2, 1]", "[1, 5, 0, 1, 3]"})
    expect(verdict(leaf(R"(, "parts": [)" + std::string(row) + "]")), "parts: not stages in order");
  expect(verdict(leaf(R"(, "parts": [[99, 5, 0, 2]])")), "parts: 99 is not");
  expect(verdict(leaf(R"(, "parts": [[1, 5, 0]])")), "a row of 3 numbers");
  expect(verdict(leaf(R"(, "links": [[0, 0]])")), "links: not");

  const std::string not_shown = "not shown to be";
  expect(verdict(R"({"impossible": true, "moments": [[5, 1, 0]]})"), not_shown.c_str());
  expect(verdict(R"({"impossible": true})"), not_shown.c_str());
  const auto cases = [](const std::string& by, const std::string& list) {
    return "{" + by + R"(, "cases": [)" + list + "]}";
  };
  const std::string stored = R"("stored": [5, 1])";
  EXPECT_EQ(verdict(cases(stored, leaf("") + "," + leaf(""))), "");
  for (const std::string& list : {std::string(), leaf(""), leaf("") + "," + leaf("") + "," + leaf("")})
    expect(verdict(cases(stored, list)), "not two cases");
  expect(verdict(cases("\"x_no\": 1", leaf("") + "," + leaf(""))), "not two cases");
  expect(verdict("{" + stored + "}"), "not two cases");
  expect(verdict(cases(R"("stored": [5, 1], "order": [5, 6])", leaf("") + "," + leaf(""))),
         "beside what is stored");
  for (const char* decision : {"[99, 1]", "[5, 99]"})
    expect(verdict(cases(R"("stored": )" + std::string(decision), leaf("") + "," + leaf(""))),
           "stored: 99 is not");
}

// That a task runs in some stages or in one of the others stands for its floor, and for no more than that.
TEST(Proof, what_first_runs_somewhere_counts_once) {
  const Problem p = mirror(4);  // 7 + 8 s; task 7 takes 2
  Plan plan;
  plan.budget = 300;
  const auto proves = [&](double seconds, const std::string& rows) {
    plan.seconds_bound = seconds;
    plan.proof.json =
        R"({"version": 4, "unit_exponent": 0, "seconds": {"moments": [[5, 0, 0], [6, 0, 0]], )" + rows + "}}";
    return verify_proof(p, plan).empty();
  };
  EXPECT_TRUE(proves(15, R"("parts": [])"));
  EXPECT_FALSE(proves(15.5, R"("parts": [])"));
  // Task 7 does not run before 6: in stages 0 to 1, or else in 2, where it does.
  EXPECT_TRUE(proves(15, R"("parts": [[7, 2, 0, 2, 3]])"));
  EXPECT_FALSE(proves(15.5, R"("parts": [[7, 3, 0, 2, 3]])"));
  EXPECT_FALSE(proves(15.5, R"("parts": [[7, 2, 0, 2, 3]])"));
}

// Cases by which of two tasks first runs before the other.
TEST(Proof, cases_by_order_are_all_there_and_what_they_say) {
  // "wide" needs the room of three values and may run before or behind any of the backward tasks that do not need it.
  Problem p = mirror(5);
  p.buffers.push_back({.name = "sum", .bytes = 200});
  p.tasks.push_back({.name = "wide", .reads = {5}, .writes = {11}, .seconds = 1});
  p.outputs.push_back(11);
  ASSERT_EQ(verify(p), "");
  const auto verdict = [&](const std::string& seconds) {
    Plan plan;
    plan.budget = 300;
    plan.seconds_bound = 1;
    plan.proof.json = R"({"version": 4, "unit_exponent": -50, "seconds": )" + seconds + "}";
    return verify_proof(p, plan);
  };
  const auto expect = [](const std::string& verdict, const char* words) {
    EXPECT_NE(verdict.find(words), std::string::npos) << verdict << " lacks " << words;
  };
  const auto by = [](const std::string& order, const std::string& so, const std::string& not_so) {
    return R"({"order": )" + order + R"(, "cases": [)" + so + ", " + not_so + "]}";
  };
  EXPECT_EQ(verdict(by("[10, 7]", "{}", "{}")), "");
  EXPECT_EQ(verdict("{}"), "") << "no case is all plans";
  expect(verdict(by("[7, 7]", "{}", "{}")), "order: not two tasks");
  expect(verdict(by("[7, 99]", "{}", "{}")), "order: 99 is not");
  expect(verdict(by("[7]", "{}", "{}")), "a row of 1 numbers");
  // Task 8 is behind 7 in the list, and so behind 10 where 10 comes before 7; where it does not, nothing says so: 10 and 8 are moments in line there alone.
  const std::string two = R"({"moments": [[10, 0, 0], [8, 0, 0]]})";
  const char* const out_of_line = "does not surely come after";
  EXPECT_EQ(verdict(by("[10, 7]", two, "{}")), "");
  expect(verdict(by("[7, 10]", two, "{}")), out_of_line);
  expect(verdict(by("[10, 7]", "{}", two)), out_of_line);
  expect(verdict(two), out_of_line);
  EXPECT_EQ(verdict(by("[7, 10]", "{}", two)), "");
  // 7 has run before 10 where the order says so, against the list's: 8 and then 10 are moments in line.
  const std::string turned = R"({"moments": [[7, 0, 0], [10, 0, 0]]})";
  EXPECT_EQ(verdict(by("[8, 10]", turned, "{}")), "");
  expect(verdict(by("[10, 8]", turned, "{}")), out_of_line);
  expect(verdict(by("[8, 10]", "{}", turned)), out_of_line);
  // What is to be instead of another task need not run at all.
  Problem other = p;
  other.tasks.push_back(
      {.name = "narrow", .reads = {5}, .writes = {11}, .seconds = 2, .optional = true, .instead_of = 10});
  ASSERT_EQ(verify(other), "");
  Plan plan;
  plan.budget = 300;
  plan.seconds_bound = 1;
  plan.proof.json = R"({"version": 4, "unit_exponent": -50, "seconds": )" + by("[10, 7]", "{}", "{}") + "}";
  expect(verify_proof(other, plan), "order: not two tasks");
}

// Updates as an order of runs: 0 makes x, 1 reads it, 2 updates it, 3 reads what that left, 4 does not care.
TEST(Proof, what_an_update_is_between_runs_before_it_or_behind) {
  Problem p;
  p.buffers = {{.name = "x", .bytes = 100},
               {.name = "a", .bytes = 10},
               {.name = "b", .bytes = 10},
               {.name = "c", .bytes = 10}};
  p.tasks = {{.name = "make", .writes = {0}, .seconds = 1},
             {.name = "early", .reads = {0}, .writes = {1}, .seconds = 1},
             {.name = "update", .reads = {0}, .writes = {0}, .seconds = 1, .once = true},
             {.name = "late", .reads = {0}, .writes = {2}, .seconds = 1},
             {.name = "any", .writes = {3}, .seconds = 1},
             {.name = "again", .reads = {3}, .writes = {0}, .seconds = 1, .optional = true}};
  p.outputs = {1, 2, 3};
  ASSERT_EQ(verify(p), "");
  using Which = std::vector<bool>;
  const proof::Facts facts(p);
  const proof::Moment at_update = proof::first_run(facts, 2, {}, kAnyBudget);
  EXPECT_EQ(at_update.before, (Which{1, 1, 0, 0, 0, 0})) << "what reads the old version has run";
  EXPECT_EQ(at_update.after, (Which{0, 0, 1, 1, 0, 1})) << "what reads or makes the new one has not";
  EXPECT_EQ(at_update.over, (Which{0, 0, 0, 0, 0, 0}));
  const proof::Moment at_late = proof::first_run(facts, 3, {}, kAnyBudget);
  EXPECT_EQ(at_late.before, (Which{1, 1, 1, 0, 0, 0}));
  EXPECT_EQ(at_late.after, (Which{0, 0, 0, 1, 0, 0})) << "\"again\" makes the new version too, and may have";
  EXPECT_EQ(at_late.over, (Which{1, 1, 1, 0, 0, 0})) << "nothing of the old version any more";
  // Behind the update nobody makes x but "again": without it, early and late need it all the while, and it has to be kept.
  p.tasks.pop_back();
  const BoundResult r = bound(p, {.budget = 115, .time_limit = 1e9, .effort = 100});
  EXPECT_TRUE(r.infeasible);
  EXPECT_EQ(r.peak.bytes, 120) << "in late: x, a and b";
  Plan plan;
  plan.peak_bound = r.peak.bytes;
  plan.proof = r.proof;
  EXPECT_EQ(verify_proof(p, plan), "") << r.proof.json;
  plan.peak_bound = r.peak.bytes + 1;
  EXPECT_NE(verify_proof(p, plan), "");
}

// As deep as any that is made, through a plan file and back; one that is deeper is refused, not a crash.
TEST(Proof, cases_nest_hundreds_deep) {
  const Problem p = mirror(4);
  for (const int depth : {260, 5000}) {
    std::string seconds = "{}";
    for (int i = 0; i < depth; ++i) seconds = R"({"stored": [5, 1], "cases": [{}, )" + seconds + "]}";
    Plan plan;
    plan.budget = 300;
    plan.seconds_bound = 1;
    plan.proof.json = R"({"version": 4, "unit_exponent": -50, "seconds": )" + seconds + "}";
    if (depth > 1000) {
      EXPECT_NE(verify_proof(p, plan).find("nested deeper"), std::string::npos);
      continue;
    }
    EXPECT_EQ(verify_proof(p, plan), "");
    plan = solve(p, {.budget = 300, .effort = 1});
    plan.proof.json = R"({"version": 4, "unit_exponent": -50, "seconds": )" + seconds + "}";
    plan.seconds_bound = 1;
    plan.peak_bound.reset();
    EXPECT_EQ(verify_proof(p, read_plan(p, write_plan(p, plan))), "");
  }
}

TEST(Proof, a_proof_of_an_older_version_says_so) {
  Plan plan;
  plan.seconds_bound = 1;
  plan.proof.json = R"({"seconds": {"unit_exponent": -50, "moments": [5], "leaves": [{"prices": [1e-12]}]}})";
  EXPECT_NE(verify_proof(mirror(4), plan).find("no version"), std::string::npos);
}

// 0 makes x from what is given, 1 makes y from x and 2 z from y; the optional 3 and 4 make x again from y, and y from z.
TEST(Proof, an_inverse_is_never_the_first_to_make_a_value) {
  Problem p;
  p.buffers = {{.name = "in", .bytes = 10, .resident = true},
               {.name = "x", .bytes = 100},
               {.name = "y", .bytes = 100},
               {.name = "z", .bytes = 10}};
  p.tasks = {{.name = "make_x", .reads = {0}, .writes = {1}, .seconds = 1},
             {.name = "make_y", .reads = {1}, .writes = {2}, .seconds = 1},
             {.name = "make_z", .reads = {2}, .writes = {3}, .seconds = 1},
             {.name = "invert_y", .reads = {2}, .writes = {1}, .seconds = 1, .optional = true},
             {.name = "invert_z", .reads = {3}, .writes = {2}, .seconds = 1, .optional = true}};
  p.outputs = {1, 3};
  ASSERT_EQ(verify(p), "");
  using Which = std::vector<bool>;
  const proof::Facts facts(p);
  EXPECT_EQ(facts.firsts, (std::vector<proof::Ids>{{}, {0}, {1}, {2}}));
  EXPECT_EQ(proof::first_run(facts, 1, {}, kAnyBudget).after, (Which{0, 1, 1, 1, 1}));
  EXPECT_EQ(proof::first_run(facts, 2, {}, kAnyBudget).before, (Which{1, 1, 0, 0, 0}));
  // What can be had without it may be the first.
  p.tasks[4].reads = {0};
  EXPECT_EQ(proof::Facts(p).firsts, (std::vector<proof::Ids>{{}, {0, 3}, {1, 4}, {2}}));
}

// What the verifier finds in a problem is what the bounds, which share no code with it, begin with.
TEST(Proof, facts_are_those_of_the_bounds) {
  int tied = 0, over = 0, without_room = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Problem p = random_problem_of_any_kind(seed, 14);
    const proof::Facts facts(p);
    std::vector<TaskId> sole;
    for (TaskId t = 0; t < std::ssize(p.tasks); ++t)
      if (facts.sole[proof::at(t)]) sole.push_back(t);
    for (const TaskId task : sole) {
      for (const std::size_t orders : {0, 1, 2}) {
        std::vector<Order> held;
        std::vector<proof::Decision> decisions;
        for (std::size_t o = 0; o < orders; ++o) {
          const TaskId first = sole[(seed + 3 * o) % sole.size()], then = sole[(5 * seed + o) % sole.size()];
          if (first == then) continue;
          held.push_back({first, then});
          decisions.push_back({true, o == 0 ? first : then, o == 0 ? then : first, o == 0});
        }
        const Values values(p, held);
        const Moment moment(values, task);
        const Bytes budget = moment.held + static_cast<Bytes>(seed % 7) * 20;
        const proof::Moment found = proof::first_run(facts, task, decisions, budget);
        EXPECT_EQ(found.before, moment.before) << seed;
        EXPECT_EQ(found.after, moment.after) << seed;
        EXPECT_EQ(found.over, moment.over) << seed;
        EXPECT_EQ(found.held, moment.held) << seed;
        const Evaluation ranges(values, std::vector{task}, 0, budget);
        for (BufferId b = 0; b < std::ssize(p.buffers); ++b) {
          const std::pair<int, int> range{found.least[proof::at(b)], found.most[proof::at(b)]};
          EXPECT_EQ(range, ranges.stored_range(1, b)) << seed;
          without_room +=
              range.second == 0 && !moment.absent[proof::at(b)] && std::ranges::count(moment.fresh, b) == 0
                  ? 1
                  : 0;
        }
        // Beside one that is decided to be stored.
        const auto decided = static_cast<BufferId>(seed % p.buffers.size());
        decisions.push_back({false, task, decided, true});
        const proof::Moment beside = proof::first_run(facts, task, decisions, budget);
        const bool read = found.least[proof::at(decided)];
        for (BufferId b = 0; b < std::ssize(p.buffers); ++b) {
          const auto range =
              ranges.stored_range(1, b, ranges.room(1) - (read ? 0 : facts.bytes[proof::at(decided)]));
          EXPECT_EQ(beside.most[proof::at(b)], b == decided || range.second == 1) << seed;
        }
        tied += held.empty() ? 0 : 1;
        over += std::ranges::count(found.over, true) > 0 ? 1 : 0;
      }
    }
  }
  EXPECT_GT(tied, 1000);
  EXPECT_GT(over, 100);
  EXPECT_GT(without_room, 1000);
}

// What is left of a sum in 64 bits, or at a price, is no number of bytes; with fewer bytes there has to be no plan.
TEST(Proof, a_peak_is_proven_by_that_there_is_no_plan_with_less) {
  const Problem p = mirror(4);
  const auto verdict = [&](const std::string& node, Bytes bytes) {
    Plan plan;
    plan.peak_bound = bytes;
    plan.proof.json = R"({"version": 4, "peak": )" + node + "}";
    return verify_proof(p, plan);
  };
  const auto impossible = [](const std::string& price, const std::string& rows = "") {
    return R"({"impossible": true, "moments": [[5, )" + price + "]]" + rows + "}";
  };
  EXPECT_EQ(verdict(impossible("1, 0"), 190), "");  // x, what it reads (100, 40) and makes (40)
  EXPECT_NE(verdict(impossible("1, 0"), 191), "");
  EXPECT_EQ(verdict(impossible("2, 0"), 190), "");
  EXPECT_NE(verdict(impossible("2, 0"), 191), "");
  EXPECT_NE(verdict(impossible("0, 0"), 190), "");
  EXPECT_NE(verdict(R"({"moments": [[5, 1, 0]]})", 190), "") << "what takes time is not impossible";
  EXPECT_NE(verdict("{}", 190), "");
  const Bytes at_the_end = 10 + 40;  // x and the output need no proof
  EXPECT_EQ(verdict("{}", at_the_end), "");
  EXPECT_NE(verdict("{}", at_the_end + 1), "");
  // Sixteen rows that cost 2^60 each: less than nothing is proven, not what is left of it in 64 bits.
  std::string rows;
  for (int i = 0; i < 16; ++i)
    rows += (i > 0 ? ", " : "") +
            fmt::format("[0, 0, 6, 2, {}]", (std::int64_t{1} << 60) - (i == 0 ? 10'000 : 0));
  EXPECT_NE(verdict(impossible("1, 0", R"(, "need": [)" + rows + "]"), 191), "");
}

// At the end all outputs are live, and nothing else need be.
TEST(Proof, where_no_task_is_required_nothing_need_be_live) {
  const Problem p = read_problem(R"({"format": "tidemark-problem", "version": 1, "name": "optional",
    "buffers": [{"name": "x", "bytes": 1000}],
    "tasks": [{"name": "t", "reads": [], "writes": [0], "seconds": 1, "optional": true}], "outputs": []})");
  EXPECT_EQ(peak_bound(Values(p)).bytes, 0);
  Plan plan;
  plan.peak_bound = 1000;
  plan.proof.json = R"({"version": 4})";
  EXPECT_NE(verify_proof(p, plan), "");
}

}  // namespace
}  // namespace tidemark::plan
