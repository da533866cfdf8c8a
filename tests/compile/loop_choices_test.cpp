// What was chosen for loops, read from files that others may have changed: it is refused, or the loop runs so with the same bits.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <random>
#include <set>

#include "tidemark/base/error.h"
#include "tidemark/base/text.h"
#include "tidemark/compile/compile.h"
#include "tidemark/compile/plan_cache.h"
#include "tidemark/front/grad.h"
#include "tidemark/front/scan.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/matmul.h"
#include "tidemark/ops/reduce.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kTrips = 12;
constexpr Bytes kState = 16 * 8 * 4;

Tensor of_scan(const Tensor& w, const Tensor& x) {
  const auto last = [&](const Tensor& p) {
    return sum(square(scan(kTrips, x, [&](const Tensor& s) { return tanh(matmul(s, p)) + 0.1 * s; })));
  };
  return grad(last)(w);
}

struct Moving {
  Tensor u, n;
};
Tensor of_while(const Tensor& w, const Tensor& x) {
  const auto last = [&](const Tensor& p) {
    const auto end = while_loop([&](const Moving& s) { return s.n < full({}, 10.0, DType::f64); },
                                [&](const Moving& s) {
                                  return Moving{tanh(matmul(s.u, p)) + 0.1 * s.u, s.n + 1.0};
                                },
                                Moving{x, full({}, 0.0, DType::f64)}, {.max_trips = kTrips});
    return sum(square(end.state.u));
  };
  return grad(last)(w);
}

using Program = Tensor (*)(const Tensor&, const Tensor&);

class LoopChoices : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(folder_), fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }

  static CompileOptions options() {
    TierSpec tier = host(1_MiB);
    tier.write_bytes_per_second = tier.read_bytes_per_second = 1e9;
    tier.latency_seconds = 1e-6;
    CompileOptions options{.memory = 64_MiB,
                           .device = cpu({.threads = 1}),
                           .time_limit = 1e-3,
                           .makers = false,
                           .correct = false};
    options.tiers = {tier};
    return options;
  }
  // The text with something else for the list of pairs that it has first, which are the program's.
  static std::string with_pairs(const std::string& text, const std::string& pairs) {
    const std::size_t begin = text.find("\"pairs\""), end = text.find("\"steps\": [", begin);
    EXPECT_NE(end, std::string::npos);
    return text.substr(0, begin) + "\"pairs\": " + pairs + "}, " + text.substr(end);
  }
  bool same(const Tensor& a, const Tensor& b) {
    return std::equal(a.data<float>().begin(), a.data<float>().end(), b.data<float>().begin());
  }

  const Tensor w_ = full({8, 8}, 0.05), x_ = full({16, 8}, 0.3);
  // Tests run side by side: a folder of its own for each.
  const std::string folder_ = testing::TempDir() + "tidemark_loop_choices_" +
                              testing::UnitTest::GetInstance()->current_test_info()->name();
};

// Plan files: what does not fit is searched for as if it were not there, and the file is refused where that gives other loops.
TEST_F(LoopChoices, ChangedPlanFilesAreRefusedOrRun) {
  for (const Program program : {of_scan, of_while}) {
    CompileOptions options = LoopChoices::options();
    auto f = compile(program, options);
    const std::string saved = f.plan_for(w_, x_).saved_plan();
    const Tensor right = f(w_, x_);
    options.plan_file = folder_ + "/plan.json";
    int refused = 0, ran = 0;
    const auto load = [&](const std::string& text) {
      SCOPED_TRACE(text.substr(0, 2000));
      write_file(options.plan_file, text);
      try {
        EXPECT_TRUE(same(compile(program, options)(w_, x_), right));
        ++ran;
      } catch (const Error& e) {
        EXPECT_NE(e.kind(), Error::Kind::internal) << e.what();
        ++refused;
      }
    };
    load(saved);
    EXPECT_EQ(ran, 1);
    const std::size_t at = saved.find("\"x_loops\": ") + 11;
    ASSERT_NE(at, std::string::npos + 11);
    for (const char* other :
         {"null", "7", "\"\"", "[]", "{}", "{\"loops\": 3}", "{\"loops\": {\"pairs\": [{}]}}",
          "{\"loops\": {\"inner\": -1, \"pairs\": [{}]}, \"steps\": 5}",
          "{\"loops\": {\"inner\": -1, \"pairs\": [{}]}, \"steps\": [4, {}, {\"key\": 3}]}"})
      load(saved.substr(0, at) + other + "}");
    for (const char* pairs : {"3", "[]", "[{}, {}]", "[[]]", "[\"\"]", "[{\"area\": \"all\"}]",
                              "[{\"area\": 1.5}]", "[{\"area\": null}]", "[{\"splits\": 4}]",
                              "[{\"splits\": [1.5, 0, 0]}]", "[{\"area\": 18446744073709551615}]"})
      load(with_pairs(saved, pairs));
    for (const char* inner : {"-2", "9223372036854775807", "\"\"", "1e300", "1", "0"}) {
      std::string text = saved;
      const std::size_t begin = text.find("\"inner\": ", at) + 9;
      load(text.replace(begin, text.find(',', begin) - begin, inner));
    }
    // Steps without plans, or with ones that are not theirs.
    std::string keys = saved, plans = saved;
    for (std::size_t k = at; (k = keys.find("\"key\": \"", k)) != std::string::npos; ++k) keys[k + 8] = 'x';
    load(keys);
    for (std::size_t k = at; (k = plans.find("\"task\"", k)) != std::string::npos; ++k) plans[k + 1] = 'x';
    load(plans);
    EXPECT_GE(refused, 1);
  }
}

// Files of the cache with keys that are right: areas, tiers and splits of every kind, most of them no choice of a search. Where they pass, they run.
TEST_F(LoopChoices, WhatPassesRuns) {
  std::mt19937 random(5);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  const auto number = [&]() -> std::int64_t {
    constexpr std::int64_t kEnds[] = {
        std::numeric_limits<std::int64_t>::min(), -2, -1, 0, 64, std::int64_t{1} << 40,
        std::numeric_limits<std::int64_t>::max()};
    return below(6) == 0 ? kEnds[below(7)] : below(kTrips + 2);
  };
  const auto splits = [&] {
    // Often right ones: down a stack, with mistakes now and then.
    std::string list;
    std::vector<std::int64_t> kept{0};
    std::int64_t to = kTrips;
    for (int k = 0; k < 60 && to > 0; ++k) {
      const std::int64_t room = to - kept.back() - 1;
      std::int64_t x = room > 0 && below(2) == 0 ? 1 + below(room) : 0;
      if (x > 0 && list.find(" 0") != std::string::npos && below(2) == 0) x = -x;
      if (below(40) == 0) x = number();
      list += fmt::format("{} {}", list.empty() ? "" : ",", x);
      if (x > 0) {
        kept.push_back(kept.back() + x);
        continue;
      }
      if (x < -kTrips) break;  // one of the numbers above, which is refused here
      to = kept.back() - x;
      if (x == 0 && kept.size() > 1) kept.pop_back();
    }
    return list;
  };
  for (const Program program : {of_scan, of_while}) {
    const bool counted = program == static_cast<Program>(of_while);
    CompileOptions options = LoopChoices::options();
    options.plan_cache = folder_;
    fs::remove_all(folder_);
    auto f = compile(program, options);
    const Tensor right = f(w_, x_);
    std::string path;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      if (entry.path().string().ends_with(".loops.json")) path = entry.path();
    }
    ASSERT_FALSE(path.empty());
    const std::string first = read_file(path);
    const std::size_t tape_at = first.find("\"tape\": ");
    std::set<std::string> forms;
    for (int round = 0; round < 150; ++round) {
      std::string pair = fmt::format("\"area\": {}", below(8) == 0 ? number() : below(2 * kTrips) * kState);
      if (tape_at != std::string::npos && below(2) == 0)
        pair += ", " + first.substr(tape_at, first.find_first_of(",}", tape_at) - tape_at);
      const std::int64_t form = below(4);
      const auto add = [&](const char* name, std::int64_t value) {
        pair += fmt::format(", \"{}\": {}", name, value);
      };
      if (form == 1 || form == 3) add("tier", below(10) == 0 ? number() : 0);
      if (counted && form != 0) add("places", number());
      if (counted && (form == 1 || form == 3)) add("tier_places", number()), add("start", number());
      if (!counted && form == 1) add("period", number());
      if (!counted && form >= 2) pair += ", \"splits\": [" + splits() + "]";
      if (!counted && form == 2) add("extra", below(kTrips) * kState);
      const std::string changed = with_pairs(first, "[{" + pair + "}]");
      const std::size_t front = changed.find("\"loops\"");
      const std::string text =
          fmt::format("{{\"key\": \"{}\", {}", text_key(changed.substr(front)), changed.substr(front));
      write_file(path, text);
      SCOPED_TRACE(pair);
      auto g = compile(program, options);
      EXPECT_TRUE(same(g(w_, x_), right));
      // It was taken where it is not written anew.
      if (read_file(path) != text) continue;
      forms.insert(fmt::format("{} {}", form, pair.find("tape") != std::string::npos));
    }
    EXPECT_GE(forms.size(), counted ? 4 : 6) << testing::PrintToString(forms);
  }
}

}  // namespace
}  // namespace tidemark
