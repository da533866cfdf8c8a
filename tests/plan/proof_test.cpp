// Proofs verify as they are made, and no longer when they are tampered with or are not proofs at all.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/proof.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "random_problem.h"
#include "tidemark/plan/bound.h"
#include "tidemark/plan/budget.h"
#include "tidemark/plan/peak.h"
#include "tidemark/plan/solve.h"
#include "tidemark/plan/stages.h"

namespace tidemark::plan {
namespace {

// Forward a chain of n tasks, backward its mirror image: the i-th backward task reads what the i-th forward
// one wrote.
Problem mirror(int n) {
  Problem p;
  p.buffers.push_back({.name = "x", .bytes = 10, .resident = true});
  for (int i = 0; i < n; ++i) p.buffers.push_back({.name = "a" + std::to_string(i), .bytes = 100});
  for (int i = 0; i < n; ++i) p.buffers.push_back({.name = "g" + std::to_string(i), .bytes = 40});
  for (int i = 0; i < n; ++i)
    p.tasks.push_back(
        {.name = "f" + std::to_string(i), .reads = {i}, .writes = {i + 1}, .seconds = 1.0 + i % 3});
  for (int i = 0; i < n; ++i) {
    Task t{.name = "b" + std::to_string(i), .reads = {n - i}, .writes = {n + 1 + i}, .seconds = 2};
    if (i > 0) t.reads.push_back(n + i);
    p.tasks.push_back(t);
  }
  p.outputs = {2 * n};
  return p;
}

Plan claim(const BoundResult& r, Bytes budget) {
  Plan plan;
  plan.budget = budget;
  plan.seconds_bound = r.seconds;
  plan.peak_bound = r.peak.bytes;
  plan.proof = r.proof;
  return plan;
}

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

// Every row of a proof left out in turn, and every name misspelt.
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
  for (const char* list : {"need", "keep", "prices"}) {
    const std::size_t begin = json.find(list);
    if (begin == std::string::npos) continue;
    Plan plan = claim(r, 450);
    const std::size_t open = json.find('[', begin);
    const std::size_t close = json.find(std::string(list) == "prices" ? "]" : "]]", open);
    plan.proof.json.replace(open, close - open + (std::string(list) == "prices" ? 1 : 2), "[]");
    EXPECT_NE(verify_proof(p, plan), "") << list;
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

TEST(Proof, a_missing_leaf_is_noticed) {
  Problem p = mirror(9);
  p.buffers[3].bytes = 230;
  p.buffers[5].bytes = 170;
  const Bytes budget = 560;
  const BoundResult r = bound(p, {.budget = budget, .time_limit = 1e9, .effort = 2000, .stages = false});
  ASSERT_GT(r.leaves, 2);
  const std::string& json = r.proof.json;
  ASSERT_EQ(verify_proof(p, claim(r, budget)), "");
  std::vector<std::size_t> lines;
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (json[i] == '\n') lines.push_back(i);
  }
  ASSERT_EQ(static_cast<int>(lines.size()), r.leaves);
  for (std::size_t l = 0; l + 1 < lines.size(); ++l) {
    Plan plan = claim(r, budget);
    plan.proof.json.erase(lines[l], lines[l + 1] - lines[l]);
    EXPECT_NE(verify_proof(p, plan), "") << "without leaf " << l;
  }
}

TEST(Proof, hostile_text_is_refused_without_a_crash) {
  const Problem p = mirror(4);
  Plan plan;
  plan.budget = 300;
  plan.seconds_bound = 100;
  for (const char* text :
       {"", "{", "[]", "null", "{\"seconds\": 3}", "{\"seconds\": {\"leaves\": []}}", "{\"x\": {}}",
        R"({"version": 2, "seconds": 3})", R"({"version": 2, "seconds": {"leaves": []}})",
        R"({"version": 2, "x": {}})", R"({"version": 2})", R"({"version": 2, "seconds": {"end": true}})"}) {
    plan.proof.json = text;
    EXPECT_NE(verify_proof(p, plan), "") << text;
  }
}

// Each row that is not what it says, and the words that refuse it.
TEST(Proof, rows_are_refused_by_name) {
  const Problem p = mirror(4);  // task 5 reads values 3 and 5 and makes 6; 6 reads 2 and 6; 7 is behind them
  const auto verdict = [&](const std::string& moments, const std::string& leaves,
                           const std::string& more = "\"unit_exponent\": -50") {
    Plan plan;
    plan.budget = 300;
    plan.seconds_bound = 1;
    plan.proof.json = R"({"version": 2, "seconds": {)" + more + R"(, "moments": [)" + moments +
                      R"(], "leaves": [)" + leaves + "]}}";
    return verify_proof(p, plan);
  };
  const auto expect = [](const std::string& verdict, const char* words) {
    EXPECT_NE(verdict.find(words), std::string::npos) << verdict << " lacks " << words;
  };
  const std::string five = R"({"task": 5, "after": [[6, 7]]})";
  const auto leaf = [](const std::string& rows) { return R"({"prices": [[0, 0]])" + rows + "}"; };
  EXPECT_EQ(verdict(five, leaf("")), "") << "else what follows says nothing";
  EXPECT_EQ(verdict(R"({"task": 5})", leaf(R"(, "need": [[1, 1, 6, 2, 5]])")), "");

  expect(verdict(R"({"task": -1})", leaf("")), "-1");
  expect(verdict(R"({"after": []})", leaf("")), "without a task");
  expect(verdict(five + "," + five, leaf("")), "does not surely come after");
  expect(verdict(R"({"task": 7}, {"task": 5})", leaf("")), "does not surely come after");
  for (const char* after : {"[6, 99]", "[7, 6]", "[6, 6], [6, 7]", "[7, 7], [6, 6]"})
    expect(verdict(R"({"task": 5, "after": [)" + std::string(after) + "]}", leaf("")), "not ranges of tasks");
  for (const char* after : {"[0, 2]", "[4, 7]", "[7, 7]", "[0, 7]"})
    expect(verdict(R"({"task": 5, "after": [)" + std::string(after) + "]}", leaf("")), "can run before");

  expect(verdict(five, R"({"prices": []})"), "not one price");
  expect(verdict(five, R"({"prices": [[0, 0], [0, 0]]})"), "not one price");
  expect(verdict(five, R"({"prices": [[-1, 0]]})"), "below 0");
  expect(verdict(five, R"({"prices": [[1, -1]]})"), "below 0");
  expect(verdict(five, R"({"prices": [3.1e-13]})"), "not a list");
  expect(verdict(five, R"({"prices": [[1152921504606846976, 0]]})"), "but the proof gives");
  expect(verdict(five, leaf(""), "\"unit_exponent\": 1000000000000"), "out of range");
  expect(verdict(five, leaf(""), "\"unit_exponent\": -1000"), "out of range");

  for (const char* row : {"[2, 9, 6, 1, 5]", "[1, 1, 99, 1, 5]", "[1, 1, 6, 1, 5]", "[1, 0, 6, 2, 5]",
                          "[1, 1, 6, 99, 5]", "[0, 2, 6, 2, 5]"})
    expect(verdict(five, leaf(R"(, "need": [)" + std::string(row) + "]")), "need: not");
  expect(verdict(five, leaf(R"(, "need": [[1, 1, 6, 2, 9223372036854775807]])")), "above 2^60");
  expect(verdict(five, leaf(R"(, "need": [[1, 1, 6, 2, -5]])")), "below 0");
  expect(verdict(five, leaf(R"(, "need": [[1, 1, 6]])")), "a row of 3 numbers");
  expect(verdict(five, leaf(R"(, "keep": [[1, 1, 2, 1, 5]])")), "not an output");
  for (const char* row : {"[1, 1, 1, 8, 5]", "[1, 1, 3, 8, 5]", "[0, 0, 2, 8, 5]", "[1, 1, 2, 99, 5]"})
    expect(verdict(five, leaf(R"(, "keep": [)" + std::string(row) + "]")), "keep: not");
  for (const char* row : {"[1, 0, 1, 5]", "[0, 2, 1, 5]", "[0, 1, 99, 5]"})
    expect(verdict(five, leaf(R"(, "sum": [)" + std::string(row) + "]")), "sum: not");
  expect(verdict(five, leaf(R"(, "floors": [[99, 5]])")), "floors: not");
  expect(verdict(five, leaf(R"(, "links": [[0, 0]])")), "links: not");

  const std::string not_shown = "not shown to be";
  expect(verdict(five, R"({"impossible": true, "prices": [[1, 0]]})"), not_shown.c_str());
  expect(verdict("", R"({"impossible": true})"), not_shown.c_str());
  expect(verdict(five, leaf(R"(, "decisions": [[1, 1]])")), "a leaf is missing");
  expect(verdict(five, ""), "a leaf is missing");
  expect(verdict(five, leaf("") + "," + leaf("")), "after the last");
  for (const char* decision : {"[0, 1]", "[2, 1]", "[1, 99]"})
    expect(verdict(five, leaf(R"(, "decisions": [)" + std::string(decision) + "]")), "decisions: not");
  EXPECT_EQ(verdict(five, leaf(R"(, "decisions": [[1, 1]])") + "," + leaf("")), "");
}

// Cases by which of two tasks first runs before the other.
TEST(Proof, cases_by_order_are_all_there_and_what_they_say) {
  // "wide" needs the room of three values and may run before or behind any of the backward tasks that do not need it.
  Problem p = mirror(5);
  p.buffers.push_back({.name = "sum", .bytes = 200});
  p.tasks.push_back({.name = "wide", .reads = {5}, .writes = {11}, .seconds = 1});
  p.outputs.push_back(11);
  ASSERT_EQ(verify(p), "");
  const auto verdict = [&](const std::string& cases, double seconds = 1) {
    Plan plan;
    plan.budget = 300;
    plan.seconds_bound = seconds;
    plan.proof.json = R"({"version": 2, "seconds": {"unit_exponent": -50, "cases": [)" + cases + "]}}";
    return verify_proof(p, plan);
  };
  const auto expect = [](const std::string& verdict, const char* words) {
    EXPECT_NE(verdict.find(words), std::string::npos) << verdict << " lacks " << words;
  };
  const auto one = [](const std::string& order, const std::string& moments, const std::string& leaves) {
    return R"({"order": [)" + order + R"(], "moments": [)" + moments + R"(], "leaves": [)" + leaves + "]}";
  };
  const std::string plain = R"({"moments": [], "leaves": [{}]})";
  EXPECT_EQ(verdict(one("[10, 7]", "", "{}") + ", " + plain), "");
  EXPECT_EQ(verdict(plain), "") << "one case of no order is all plans";
  expect(verdict(one("[10, 7]", "", "{}")), "a leaf is missing");
  expect(verdict(one("[10, 7]", "", "{}") + ", " + plain + ", " + plain), "after the last");
  expect(verdict(""), "a leaf is missing");
  expect(verdict(one("[7, 7]", "", "{}") + ", " + plain), "order: not two tasks");
  expect(verdict(one("[7, 99]", "", "{}") + ", " + plain), "order: not two tasks");
  expect(verdict(one("[7]", "", "{}") + ", " + plain), "a row of 1 numbers");
  std::string many;
  for (int i = 0; i < 17; ++i) many += std::string(i > 0 ? ", " : "") + "[10, 7]";
  expect(verdict(one(many, "", "{}")), "order: too many");
  // Task 8 is behind 7 in the list, and so behind 10 where 10 comes before 7; where it does not, nothing says so.
  const auto at_ten = [&](const std::string& after) { return R"({"task": 10, "after": [)" + after + "]}"; };
  const std::string leaf = R"({"prices": [[0, 0]]})";
  EXPECT_EQ(verdict(one("[10, 7]", at_ten("[7, 9]"), leaf) + ", " + plain), "");
  expect(verdict(one("[7, 10]", at_ten("[7, 9]"), leaf) + ", " + plain), "can run before");
  expect(verdict(one("[10, 7]", "", "{}") + R"(, {"moments": [)" + at_ten("[7, 9]") + R"(], "leaves": [)" +
                 leaf + "]}"),
         "can run before");
  // 7 has run before 10 where the order says so, against the list's: 8 and then 10 are moments in line.
  EXPECT_EQ(verdict(one("[8, 10]", R"({"task": 7}, {"task": 10})", R"({"prices": [[0, 0], [0, 0]]})") + ", " +
                    plain),
            "");
  expect(verdict(one("[10, 8]", R"({"task": 7}, {"task": 10})", R"({"prices": [[0, 0], [0, 0]]})") + ", " +
                 plain),
         "does not surely come after");
  // What is to be instead of another task need not run at all.
  Problem other = p;
  other.tasks.push_back(
      {.name = "narrow", .reads = {5}, .writes = {11}, .seconds = 2, .optional = true, .instead_of = 10});
  ASSERT_EQ(verify(other), "");
  Plan plan;
  plan.budget = 300;
  plan.seconds_bound = 1;
  plan.proof.json = R"({"version": 2, "seconds": {"unit_exponent": -50, "cases": [)" +
                    one("[10, 7]", "", "{}") + ", " + plain + "]}}";
  expect(verify_proof(other, plan), "order: not two tasks");
  plan.proof.json =
      R"({"version": 2, "seconds": {"unit_exponent": -50, "moments": [], "leaves": [{}], "cases": [)" +
      plain + "]}}";
  expect(verify_proof(p, plan), "beside cases");
}

TEST(Proof, a_proof_of_an_older_version_says_so) {
  Plan plan;
  plan.seconds_bound = 1;
  plan.proof.json = R"({"seconds": {"unit_exponent": -50, "moments": [5], "leaves": [{"prices": [1e-12]}]}})";
  EXPECT_NE(verify_proof(mirror(4), plan).find("version 1"), std::string::npos);
}

// 0 makes x from what is given, 1 makes y from x, 2 reads y; the optional 3 makes x again from y.
TEST(Proof, a_maker_is_never_first_only_where_what_it_reads_comes_from_the_value) {
  Problem p;
  p.buffers = {{.name = "in", .bytes = 10, .resident = true},
               {.name = "x", .bytes = 100},
               {.name = "y", .bytes = 100},
               {.name = "z", .bytes = 10}};
  p.tasks = {{.name = "make_x", .reads = {0}, .writes = {1}, .seconds = 1},
             {.name = "make_y", .reads = {1}, .writes = {2}, .seconds = 1},
             {.name = "use", .reads = {1, 2}, .writes = {3}, .seconds = 1},
             {.name = "invert", .reads = {2}, .writes = {1}, .seconds = 1, .optional = true}};
  p.outputs = {3};
  ASSERT_EQ(verify(p), "");
  const auto verdict = [&](const char* rows) {
    Plan plan;
    plan.seconds_bound = 3;
    plan.proof.json = std::string(R"({"version": 2, "never_first": )") + rows +
                      R"(, "seconds": {"unit_exponent": -40, "moments": [], "leaves": [{}]}})";
    return verify_proof(p, plan);
  };
  EXPECT_EQ(verdict("[]"), "");
  EXPECT_EQ(verdict("[[1, 3, 2]]"), "");
  const BoundResult r = bound(p, {.budget = 220, .time_limit = 1e9, .effort = 100});
  EXPECT_NE(r.proof.json.find("\"never_first\": [[1, 3, 2]]"), std::string::npos) << r.proof.json;
  for (const char* rows : {"[[1, 0, 0]]", "[[2, 1, 1]]", "[[2, 3, 2]]", "[[1, 3, 1]]", "[[1, 9, 2]]",
                           "[[9, 3, 2]]", "[[1, 3, 2], [2, 1, 1]]"})
    EXPECT_NE(verdict(rows).find("never_first"), std::string::npos) << rows << ": " << verdict(rows);
}

// A sum of bytes at another price, or of a leaf that is said not to be there, is no number of bytes.
TEST(Proof, a_peak_is_proven_at_price_one_without_impossible_leaves) {
  const Problem p = mirror(4);
  const auto verdict = [&](const char* leaf, Bytes bytes) {
    Plan plan;
    plan.peak_bound = bytes;
    plan.proof.json =
        std::string(R"({"version": 2, "peak": {"moments": [{"task": 5}], "leaves": [)") + leaf + "]}}";
    return verify_proof(p, plan);
  };
  EXPECT_EQ(verdict(R"({"prices": [[1, 0]]})", 190), "");  // x, what it reads (100, 40) and makes (40)
  EXPECT_NE(verdict(R"({"prices": [[1, 0]]})", 191), "");
  EXPECT_NE(verdict(R"({"prices": [[2, 0]]})", 191), "");
  EXPECT_NE(verdict(R"({"prices": [[1, 0]], "impossible": true})", 191), "");
  EXPECT_NE(verdict(R"({})", 191), "");
  // Sixteen rows that cost 2^60 each: less than nothing is proven, not what is left of it in 64 bits.
  std::string rows;
  for (int i = 0; i < 16; ++i)
    rows += (i > 0 ? ", " : "") +
            fmt::format("[0, 0, 6, 2, {}]", (std::int64_t{1} << 60) - (i == 0 ? 10'000 : 0));
  EXPECT_NE(verdict((R"({"prices": [[1, 0]], "need": [)" + rows + "]}").c_str(), 191), "");
}

// In the last run all outputs are live, but a plan may have none.
TEST(Proof, where_no_task_is_required_nothing_need_be_live) {
  const Problem p = read_problem(R"({"format": "tidemark-problem", "version": 1, "name": "optional",
    "buffers": [{"name": "x", "bytes": 1000}],
    "tasks": [{"name": "t", "reads": [], "writes": [0], "seconds": 1, "optional": true}], "outputs": []})");
  EXPECT_EQ(peak_bound(Values(p)).bytes, 0);
  Plan plan;
  plan.peak_bound = 1000;
  plan.proof.json = R"({"version": 2, "peak": {"end": true}})";
  EXPECT_NE(verify_proof(p, plan), "");
}

// Several moments: the chain's memory for recomputation itself is what a single moment does not see.
TEST(Proof, several_moments_prove_more_than_one_where_recomputation_needs_memory) {
  int more = 0;
  for (int n = 6; n < 14; ++n) {
    Problem p = mirror(n);
    for (int i = 0; i < n; ++i) p.buffers[static_cast<std::size_t>(n + 1 + i)].bytes = 30 + 40 * (i % 4);
    for (const Bytes budget : {360, 420, 500}) {
      const BoundResult one =
          bound(p, {.budget = budget, .time_limit = 1e9, .effort = 3000, .branch = false, .stages = false});
      const BoundResult many =
          bound(p, {.budget = budget, .time_limit = 1e9, .effort = 3000, .branch = false});
      EXPECT_GE(many.seconds, one.seconds * (1 - 1e-12));
      more += many.moments.size() > 1 ? 1 : 0;
      EXPECT_EQ(verify_proof(p, claim(many, budget)), "") << n << " at " << budget << "\n" << many.proof.json;
    }
  }
  EXPECT_EQ(more > 0, stages_available());  // without HiGHS one moment is all there is, as sound
}

// Where the solution of a program would need more than the budget is where another moment proves more, at one of the first three places as a rule.
TEST(Proof, a_moment_where_the_solution_is_over_the_budget_proves_more) {
  if (!stages_available()) GTEST_SKIP() << "built without HiGHS";
  int programs = 0, better = 0;
  for (int n = 8; n < 14; ++n) {
    Problem p = mirror(n);
    for (int i = 0; i < n; ++i) p.buffers[static_cast<std::size_t>(n + 1 + i)].bytes = 30 + 40 * (i % 4);
    const Values values(p);
    for (const Bytes budget : {360, 420, 500}) {
      const TaskId first = bound(p, {.budget = budget, .branch = false, .stages = false}).moment;
      if (first < 0) continue;
      const StageBound one = bound_stages(values, {first}, budget, 10'000);
      if (one.over.empty()) continue;
      ++programs;
      double most = 0;
      for (std::size_t i = 0; i < std::min<std::size_t>(one.over.size(), 3); ++i) {
        const auto [bytes, t] = one.over[i];
        EXPECT_GT(bytes, 0);
        EXPECT_NE(t, first);
        most = std::max(
            most, bound_stages(values, {std::min(t, first), std::max(t, first)}, budget, 10'000).seconds);
      }
      better += most > one.seconds * (1 + 1e-6) ? 1 : 0;
    }
  }
  EXPECT_GT(programs, 3);
  EXPECT_GT(2 * better, programs);
}

TEST(Proof, verifies_on_the_traced_problems) {
  const std::filesystem::path folder = std::filesystem::path(TIDEMARK_SOURCE_DIR) / "../shared/problems/h200";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  for (const char* name : {"unet", "vgg16", "mobilenet_v2"}) {
    std::ifstream in(folder / (std::string(name) + ".json"));
    std::stringstream text;
    text << in.rdbuf();
    const Problem p = read_problem(text.str());
    for (const double f : {0.8, 0.5, 0.3}) {
      const Bytes resident = resident_bytes(p);
      const Bytes budget =
          resident + static_cast<Bytes>(f * static_cast<double>(store_all_live_peak(p) - resident));
      const BoundResult r = bound(p, {.budget = budget, .time_limit = 1e9, .effort = 1500});
      EXPECT_EQ(verify_proof(p, claim(r, budget)), "") << name << " at " << f;
      EXPECT_TRUE(r.infeasible ? r.peak.bytes > budget : r.seconds > r.floor_seconds) << name << " at " << f;
    }
  }
}

TEST(Proof, branches_over_several_moments_are_proven_and_never_above_a_plan) {
  int branched = 0, better = 0;
  for (const std::uint64_t seed : {1, 2, 8, 9, 10}) {
    RandomProblem shape;
    shape.tasks = 24;
    shape.tiers = false;
    const Problem p = random_problem(seed, shape);
    const Bytes budget = budget_at(p, 0.6);
    Options o{.budget = budget, .time_limit = 1e9, .effort = 100, .offsets = false, .bounds = false};
    const Plan found = solve(p, o);
    if (found.steps.empty()) continue;
    BoundOptions options{.budget = budget, .time_limit = 1e9, .effort = 800, .known_seconds = found.seconds};
    const BoundResult whole = bound(p, options);
    if (whole.moments.size() < 2 || whole.leaves < 2) continue;
    ++branched;
    options.branch = false;
    better += whole.seconds > bound(p, options).seconds * (1 + 1e-9) ? 1 : 0;
    EXPECT_LE(whole.seconds, found.seconds * (1 + 1e-9)) << seed;
    Plan stated;
    stated.budget = budget;
    stated.seconds_bound = whole.seconds;
    stated.proof = whole.proof;
    EXPECT_EQ(verify_proof(p, stated), "") << seed;
    stated.seconds_bound = 1.01 * whole.seconds;
    EXPECT_NE(verify_proof(p, stated), "") << seed;
  }
  EXPECT_EQ(branched > 2, stages_available());
  EXPECT_EQ(better > 1, stages_available());
}

}  // namespace
}  // namespace tidemark::plan
