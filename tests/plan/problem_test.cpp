// What read_problem refuses, and how it says so: hostile and malformed files get an Error(data) that names
// the place.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tidemark/base/error.h"
#include "tidemark/plan/json_syntax.h"
#include "tidemark/plan/plan.h"

namespace tidemark::plan {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& text) {
  try {
    read_problem(text);
    return "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::data) << e.what();
    return e.what();
  }
}

std::string with(const std::string& buffers, const std::string& tasks,
                 const std::string& rest = R"(, "outputs": [])") {
  return R"({"format": "tidemark-problem", "version": 1, "buffers": [)" + buffers + R"(], "tasks": [)" +
         tasks + "]" + rest + "}";
}
const std::string kBuffer = R"({"name": "a", "bytes": 8})";
const std::string kTask = R"({"reads": [], "writes": [0], "seconds": 1})";

TEST(ReadProblem, AcceptsTheLeast) {
  EXPECT_EQ(refusal(with("", "")), "accepted");
  EXPECT_EQ(refusal(with(kBuffer, kTask)), "accepted");
  EXPECT_EQ(refusal(with(kBuffer, kTask, R"(, "outputs": [0], "x_anything": {"at": ["all"]})")), "accepted");
  EXPECT_EQ(read_problem(with(R"({"bytes": 64e9})", "")).buffers[0].bytes, 64000000000);
}

TEST(ReadProblem, NamesThePlace) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "not JSON"},
      {"[", "not JSON: line 1, column 2"},
      {"nonsense", "not JSON"},
      {"[]", "is not an object"},
      {with(kBuffer, kTask) + "x", "not JSON"},
      {R"({"format": "tidemark-plan", "version": 1})", "format: is \"tidemark-plan\", not"},
      {R"({"format": 7, "version": 1})", "format: is not \"tidemark-problem\""},
      {R"({"format": "tidemark-problem", "version": 2, "buffers": [], "tasks": [], "outputs": []})",
       "version: is not 1"},
      {R"({"format": "tidemark-problem", "version": 1, "tasks": [], "outputs": []})", "has no buffers"},
      {with(kBuffer, kTask, R"(, "outputs": [], "outputs": [])"), "field 'outputs' twice"},
      {with(kBuffer, kTask, R"(, "outputs": [], "colour": 1)"), "unknown field 'colour'"},
      {with(R"({"name": "a"})", ""), "buffers[0]: has no bytes"},
      {with(R"({"bytes": -1})", ""), "buffers[0].bytes: -1 is negative"},
      {with(R"({"bytes": 1.5})", ""), "buffers[0].bytes: is not an integer"},
      {with(R"({"bytes": 1e300})", ""), "buffers[0].bytes: is not an integer"},
      {with(R"({"bytes": 18446744073709551615})", ""), "buffers[0].bytes"},
      {with(R"({"bytes": 99999999999999999999999})", ""), "a number is out of range"},
      {with(R"({"bytes": 8, "bytes": 8})", ""), "buffers[0]: field 'bytes' twice"},
      {with(R"({"bytes": 8, "resident": 1})", ""), "buffers[0].resident: is not true or false"},
      {with(R"({"bytes": 8, "start": "host"})", ""), "tier 'host' is not among"},
      {with(R"({"bytes": 1152921504606846976}, {"bytes": 1})", ""),
       "buffers[1].bytes: the buffers up to here exceed"},
      {with(kBuffer, R"({"reads": [], "writes": [0]})"), "tasks[0]: has no seconds"},
      {with(kBuffer, R"({"reads": [], "writes": [0], "seconds": NaN})"), "not JSON"},
      {with(kBuffer, R"({"reads": [], "writes": [0], "seconds": 1e999})"), "a number is out of range"},
      {with(kBuffer, R"({"reads": [], "writes": [0], "seconds": -1})"), "tasks[0].seconds: -1"},
      {with(kBuffer, R"({"reads": [], "writes": [0], "seconds": 1e-290})"), "tasks[0].seconds: 1e-290"},
      {with(kBuffer, R"({"reads": [], "writes": [0], "seconds": "1"})"),
       "tasks[0].seconds: is not a finite number"},
      {with(kBuffer, R"({"reads": [], "writes": [1], "seconds": 1})"), "tasks[0].writes: id 1"},
      {with(kBuffer, R"({"reads": [-1], "writes": [0], "seconds": 1})"), "tasks[0].reads: id -1"},
      {with(kBuffer, R"({"reads": [4294967296], "writes": [0], "seconds": 1})"),
       "tasks[0].reads: id 4294967296"},
      {with(kBuffer, R"({"reads": [], "writes": [0, 0], "seconds": 1})"), "tasks[0].writes: buffer 0 twice"},
      {with(kBuffer, R"({"reads": [0], "writes": [], "seconds": 1})"),
       "tasks[0].reads: buffer 0 is not made"},
      {with(
           kBuffer,
           R"({"reads": [], "writes": [0], "seconds": 1, "optional": true}, {"reads": [0], "writes": [], "seconds": 1})"),
       "tasks[1].reads: buffer 0 is not made"},
      {with(R"({"bytes": 8, "resident": true})", R"({"reads": [0], "writes": [0], "seconds": 1})"),
       "must be once"},
      {with(kBuffer, R"({"reads": [], "writes": [0], "seconds": 1, "workspace": 9223372036854775807})"),
       "tasks[0].workspace: exceeds"},
      {with(kBuffer, R"({"reads": [], "writes": [0], "seconds": 1, "in_place": [[0]]})"),
       "not a list of pairs"},
      {with(kBuffer, R"({"reads": [], "writes": [0], "seconds": 1, "in_place": [[0, 7]]})"),
       "tasks[0].in_place: id 7"},
      {with(kBuffer, kTask + "," + R"({"reads": [], "writes": [0], "seconds": 1, "instead_of": 0})"),
       "only an optional task has it"},
      {with(kBuffer,
            kTask + "," + R"({"reads": [], "writes": [0], "seconds": 1, "optional": true, "instead_of": 1})"),
       "is optional itself"},
      {with(kBuffer, kTask, R"(, "outputs": [1])"), "outputs: id 1"},
      {with(kBuffer, "", R"(, "outputs": [0])"), "outputs[0]: buffer 0 is made by no task"},
      {with(kBuffer, kTask, R"(, "outputs": [], "align": 0)"), "align: 0"},
      {with(kBuffer, kTask, R"(, "outputs": [], "align": -4)"), "align: -4"},
      {with(kBuffer, kTask, R"(, "outputs": [], "align": 9223372036854775807)"), "align"},
      {with(kBuffer, kTask, R"(, "outputs": [], "tiers": {"host": {"bytes": 1}})"),
       "tiers.host: has no write_bytes_per_second"},
      {with(
           kBuffer, kTask,
           R"(, "outputs": [], "tiers": {"h": {"write_bytes_per_second": 0, "read_bytes_per_second": 1, "bytes": 1}})"),
       "tiers.h: a rate of 0"},
  };
  for (const auto& [text, message] : cases) EXPECT_THAT(refusal(text), HasSubstr(message)) << text;
}

TEST(JsonError, SaysWhere) {
  for (const char* text :
       {"{}", " [ ] ", "[1, -0.5e+3, \"a\\u00e9\\\"\", true, null, {\"a\": [{}], \"b\": 0}]", "3", "\"\""})
    EXPECT_EQ(json_error(text), "") << text;
  const std::pair<const char*, const char*> cases[] = {
      {"", "line 1, column 1: ends where"},
      {"{\"a\": 1,\n \"b\" 2}", "line 2, column 6: expected ':'"},
      {"[1, 2", "line 1, column 6: expected ',' or ']'"},
      {"[1, 2,]", "line 1, column 7: expected a value"},
      {"{\"a\": 1,}", "line 1, column 9: expected a field's name"},
      {"{\"a\": 1]", "line 1, column 8: expected ',' or '}'"},
      {"[01]", "begins with 0"},
      {"[1.]", "expected a digit"},
      {"[NaN]", "expected a value"},
      {"[\"a]", "without its end"},
      {"[\"\\x\"]", "unknown escape"},
      {"{} {}", "line 1, column 4: more after"},
  };
  for (const auto& [text, message] : cases) EXPECT_THAT(json_error(text), HasSubstr(message)) << text;
}

TEST(ReadProblem, RefusesDeepNesting) {
  const std::string deep(1 << 20, '[');
  EXPECT_THAT(refusal(deep), HasSubstr("[problem]"));
  EXPECT_THAT(
      refusal(with("", "", R"(, "outputs": [], "x_deep": )" + std::string(1100, '[') + std::string(1100, ']'))),
      HasSubstr("nested deeper"));
}

TEST(NotOfFormat, SaysWhyNot) {
  const auto of = [](const std::string& rest) {
    return not_of_format(R"({"format": "tidemark-plan", "version": 1, "x": )" + rest + "}", "tidemark-plan");
  };
  EXPECT_EQ(of("0"), "");
  EXPECT_THAT(of(std::string(2000, '[') + std::string(2000, ']')),
              HasSubstr("nested deeper than 1024 levels"));
  EXPECT_THAT(of("1e400"), HasSubstr("a number is out of range"));
  EXPECT_THAT(of("123456789012345678901234567890"), HasSubstr("a number is out of range"));
  EXPECT_THAT(of("[1"), HasSubstr("expected ',' or ']'"));
  EXPECT_THAT(not_of_format("{}", "tidemark-plan"), HasSubstr("no \"format\": \"tidemark-plan\""));
}

TEST(ReadProblem, RefusesTiersThatContradict) {
  const std::string tiers =
      R"(, "outputs": [], "tiers": {"host": {"write_bytes_per_second": 1, "read_bytes_per_second": 1, "bytes": 10}})";
  EXPECT_EQ(refusal(with(R"({"bytes": 8, "start": "host"})", "", tiers)), "accepted");
  EXPECT_THAT(refusal(with(R"({"bytes": 8, "start": "host", "resident": true})", "", tiers)),
              HasSubstr("neither a start nor an end"));
  EXPECT_THAT(refusal(with(R"({"bytes": 8, "start": "host"}, {"bytes": 8, "start": "host"})", "", tiers)),
              HasSubstr("exceeds its capacity"));
  EXPECT_THAT(refusal(with(R"({"bytes": 8, "end": "host"})", "", tiers)), HasSubstr("made by no task"));
}

TEST(Verify, AlternativesOfAnUpdateUpdateTheSame) {
  Problem p;
  p.buffers = {{.bytes = 1, .resident = true}, {.bytes = 1, .resident = true}};
  p.tasks = {{.reads = {0}, .writes = {0}, .once = true},
             {.reads = {0}, .writes = {0}, .once = true, .optional = true, .instead_of = 0}};
  EXPECT_EQ(verify(p), "");
  p.tasks[1].reads = p.tasks[1].writes = {1};
  EXPECT_THAT(verify(p), HasSubstr("does not update the buffers"));
  p.tasks[1].instead_of = -1;
  EXPECT_THAT(verify(p), HasSubstr("must be instead_of"));
  p.tasks[1] = {.reads = {0}, .optional = true, .instead_of = 0};
  EXPECT_THAT(verify(p), HasSubstr("task 0 is once"));
}

TEST(Verify, RefusesWhatNoFileCanSay) {
  Problem p;
  p.buffers = {{.bytes = 1}};
  p.tasks = {{.writes = {0}, .seconds = std::numeric_limits<double>::quiet_NaN()}};
  EXPECT_THAT(verify(p), HasSubstr("tasks[0].seconds"));
  p.tasks[0].seconds = std::numeric_limits<double>::infinity();
  EXPECT_THAT(verify(p), HasSubstr("tasks[0].seconds"));
  p.tasks[0] = {.writes = {7}};
  EXPECT_THAT(verify(p), HasSubstr("tasks[0].writes"));
  p.tasks[0] = {.writes = {0}, .instead_of = 9};
  EXPECT_THAT(verify(p), HasSubstr("tasks[0].instead_of"));
  p.tasks.clear();
  p.buffers[0].end = 3;
  EXPECT_THAT(verify(p), HasSubstr("buffers[0]: tier 3"));
  EXPECT_THAT(replay(p, {}).broken, HasSubstr("problem: "));
}

Problem everything() {
  Problem p;
  p.name = "all \"fields\"\n";
  p.device = "paper";
  p.align = 4;
  p.tiers = {{"host", 1e9, 2.5e9, 1e-5, 1000}, {"disk", 0.1, 0.3, 0, 5000}};
  p.buffers = {{"x", 3, true, -1, -1, "input"}, {"a", 10}, {"b", 9}, {"m", 7, false, 0, 1, "state"}};
  p.tasks = {{.name = "a",
              .kind = "op",
              .reads = {0},
              .writes = {1},
              .seconds = 0.1,
              .workspace = 5,
              .random = true},
             {.name = "b", .reads = {1}, .writes = {2}, .in_place = {{1, 2}}, .seconds = 1e-7},
             {.name = "u", .reads = {3, 2}, .writes = {3}, .seconds = 1, .once = true},
             {.name = "b2",
              .reads = {0},
              .writes = {2},
              .seconds = 0.5,
              .optional = true,
              .lossy = true,
              .instead_of = 1}};
  p.outputs = {2};
  return p;
}

TEST(WriteProblem, ReadsBack) {
  const Problem p = everything();
  ASSERT_EQ(verify(p), "");
  const std::string text = write_problem(p);
  const Problem q = read_problem(text);
  EXPECT_EQ(write_problem(q), text);
  EXPECT_EQ(hash(q), hash(p));
  EXPECT_EQ(q.tasks[1].in_place, p.tasks[1].in_place);
  EXPECT_EQ(q.tiers[1].name, "disk");
}

TEST(Hash, CountsWhatMattersOnly) {
  const Problem p = everything();
  EXPECT_EQ(hash(p).size(), 16u);
  EXPECT_EQ(hash(p), "49427b3911268921");
  Problem q = p;
  q.name = q.device = q.buffers[0].name = q.tasks[0].kind = "other";
  EXPECT_EQ(hash(q), hash(p));
  const auto differs = [&](auto&& change) {
    Problem r = p;
    change(r);
    EXPECT_NE(hash(r), hash(p));
  };
  differs([](Problem& r) { r.align = 8; });
  differs([](Problem& r) { r.buffers[1].bytes += 1; });
  differs([](Problem& r) { r.buffers[3].end = -1; });
  differs([](Problem& r) { r.tasks[0].seconds = 0.2; });
  differs([](Problem& r) { r.tasks[0].reads = {}; });
  differs([](Problem& r) { std::swap(r.tasks[0].reads, r.tasks[0].writes); });
  differs([](Problem& r) { r.tasks[1].in_place.clear(); });
  differs([](Problem& r) { r.tasks[3].lossy = false; });
  differs([](Problem& r) { r.outputs.push_back(1); });
  differs([](Problem& r) { r.tiers[0].bytes += 1; });
}

}  // namespace
}  // namespace tidemark::plan
