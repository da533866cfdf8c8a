// Plans as files: what one says beside its steps, what one that was edited may leave out, and what it cannot.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "tests/compile/compare.h"
#include "tests/compile/small_nets.h"
#include "tidemark/base/text.h"
#include "tidemark/compile/compile.h"
#include "tidemark/compile/plan_notes.h"
#include "tidemark/front/grad.h"
#include "tidemark/plan/diff.h"

namespace tidemark {
namespace {

namespace fs = std::filesystem;
using small_nets::Net;
using testing::HasSubstr;

struct State {
  Net net, momentum;
};
struct Next {
  State state;
  Tensor loss;
};
// What relu gives is wanted again by its product.
Tensor loss(const Net& p, const Tensor& x) {
  Tensor h = x;
  for (const Tensor& w : p.w) h = relu(matmul(h, w));
  return mean(square(h));
}
Next step(const State& s, const Tensor& x) {
  auto [value, grad] = value_and_grad(loss)(s.net, x);
  Next next{s, value};
  for (std::size_t i = 0; i < grad.w.size(); ++i) {
    next.state.momentum.w[i] = 0.9 * s.momentum.w[i] + grad.w[i];
    next.state.net.w[i] = s.net.w[i] - 0.05 * next.state.momentum.w[i];
  }
  return next;
}
Tensor waves(const Shape& shape, double amplitude, int seed) {
  std::vector<float> data(static_cast<std::size_t>(shape.numel()));
  for (std::size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<float>(amplitude * std::sin(static_cast<double>(i + 1) * (1.3 + seed)));
  return tensor(data, shape);
}
// `dense`: nothing that relu gives is zero, so that no slot for zeros is large enough.
State state_of(bool dense) {
  State s;
  for (int i = 0; i < 8; ++i) {
    s.net.w.push_back(dense ? full({32, 32}, 0.03) : waves({32, 32}, 0.3, i));
    s.momentum.w.push_back(full({32, 32}, 0.0));
  }
  return s;
}
Tensor batch_of(bool dense) { return dense ? full({256, 32}, 1.0) : waves({256, 32}, 1, 9); }

// Products take long and codecs do not: such plans use them.
std::shared_ptr<const DeviceProfile> slow_products() {
  DeviceProfile p = cpu_profile(1);
  p.points.clear();
  p.ops["matmul f32"] = {.flops_per_second = 1e7, .bytes_per_second = 1e7, .seconds_per_task = 1e-3};
  for (const char* codec : {"encode zeros f32", "decode zeros f32"})
    p.ops[codec] = {.flops_per_second = 1e12, .bytes_per_second = 1e12, .seconds_per_task = 1e-7};
  return std::make_shared<const DeviceProfile>(p);
}
std::vector<float> bits(const Next& n) {
  std::vector<float> all;
  for (const Tensor& t : flatten(n)) all.insert(all.end(), t.data<float>().begin(), t.data<float>().end());
  return all;
}

std::string tokens(std::string json) {
  std::erase_if(json, [](char c) { return c == ' ' || c == '\n'; });
  return json;
}

class PlanFile : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  CompileOptions options_{.memory = 0.8,
                          .device = cpu({.threads = 1}),
                          .state = 1,
                          .time_limit = 0.3,
                          .profile = slow_products(),
                          .correct = false};
  // The slots are too small for what comes; the step has the bits of keeping everything all the same.
  void expect_starts_over(Function<decltype(&step)>& f) const {
    CompileOptions plain = options_;
    plain.memory = {};
    plain.micro_batches = f.plan_for(state_of(true), batch_of(true)).micro_batches();
    auto all = compile(&step, plain);
    State a = state_of(true), b = state_of(true);
    for (int i = 0; i < 3; ++i) {
      Next wanted = all(std::move(a), batch_of(true)), got = f(std::move(b), batch_of(true));
      EXPECT_EQ(bits(got), bits(wanted)) << "step " << i;
      a = std::move(wanted.state);
      b = std::move(got.state);
    }
    const Compiled& c = f.plan_for(b, batch_of(true));
    EXPECT_EQ(encodes(c), 0);
    ASSERT_FALSE(c.notes().empty());
    EXPECT_THAT(c.notes().back(), HasSubstr("did not fit its slot"));
    EXPECT_EQ(c.peak_measured(), c.peak_predicted());
  }
  CompileOptions with_file(const std::string& text, const char* name = "mine.json") const {
    CompileOptions options = options_;
    options.plan_file = folder_ + "/" + name;
    write_file(options.plan_file, text);
    return options;
  }
  std::string refused(const std::string& text) const {
    try {
      compile(&step, with_file(text, "edited.json")).plan_for(state_of(false), batch_of(false));
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::Kind::usage);
      return e.what();
    }
    return "";
  }
  std::string folder_ =
      testing::TempDir() + "tidemark_files_" + testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(PlanFile, HasThePlanToStartOverWith) {
  auto f = compile(&step, options_);
  Compiled& c = f.plan_for(state_of(false), batch_of(false));
  ASSERT_GT(encodes(c), 0);
  const std::string saved = c.saved_plan();
  const CompileOptions options = with_file(saved);
  {
    auto g = compile(&step, options);
    const Compiled& loaded = g.plan_for(state_of(false), batch_of(false));
    EXPECT_TRUE(plan::diff(c.problem(), c.plan(), loaded.plan()).same_steps);
    EXPECT_TRUE(tokens(loaded.saved_plan()) == tokens(saved));
    expect_starts_over(g);
  }
  // What runs then is a plan to save as well.
  expect_starts_over(f);
  write_file(options.plan_file, c.saved_plan());
  auto after = compile(&step, options);
  EXPECT_TRUE(
      plan::diff(c.problem(), c.plan(), after.plan_for(state_of(false), batch_of(false)).plan()).same_steps);
  // Without one, or with one that could overflow too, there would be nothing to go on with.
  const std::size_t at = saved.find("\"x_fallback\": ") + 14;
  const std::string lone = saved.substr(0, at - 16) + "}\n";
  EXPECT_THAT(refused(lone), HasSubstr("the file holds none"));
  EXPECT_THAT(refused(saved.substr(0, at) + lone + "}"), HasSubstr("its slots can overflow too"));
  EXPECT_THAT(refused(saved.substr(0, at) + "7}"), HasSubstr("(x_fallback): "));
}

// Recorded is what ran in the end, whatever plan the record was sized for.
TEST_F(PlanFile, TheTimelineIsOfThePlanThatRan) {
  auto f = compile(&step, options_);
  const Compiled& c = f.plan_for(state_of(false), batch_of(false));
  ASSERT_GT(encodes(c), 0);
  Timeline timeline = c.timeline();
  f.record_timeline(&timeline);
  f(state_of(true), batch_of(true));
  ASSERT_EQ(encodes(c), 0);
  ASSERT_EQ(timeline.entries.size(), c.program().instrs.size());
  for (std::size_t i = 0; i < timeline.entries.size(); ++i)
    EXPECT_EQ(timeline.entries[i].task, c.program().instrs[i].task) << i;
}

TEST_F(PlanFile, OfTheFolderHasItToo) {
  options_.plan_cache = folder_;
  const auto written = [&] {
    std::vector<std::pair<std::string, fs::file_time_type>> all;
    for (const auto& f : fs::directory_iterator(folder_)) all.emplace_back(f.path(), f.last_write_time());
    std::sort(all.begin(), all.end());
    return all;
  };
  auto f = compile(&step, options_);
  const Compiled& c = f.plan_for(state_of(false), batch_of(false));
  ASSERT_GT(encodes(c), 0);
  const auto before = written();
  auto g = compile(&step, options_);
  const Compiled& found = g.plan_for(state_of(false), batch_of(false));
  EXPECT_EQ(written(), before) << "found, not planned";
  EXPECT_TRUE(plan::diff(c.problem(), c.plan(), found.plan()).same_steps);
  expect_starts_over(g);
}

TEST_F(PlanFile, HasTheNumberOfParts) {
  options_.memory = 0.6;
  options_.makers = false;
  options_.micro_batches = may_split;
  auto f = compile(&step, options_);
  const Compiled& c = f.plan_for(state_of(false), batch_of(false));
  ASSERT_GT(c.micro_batches(), 1);
  const std::string saved = c.saved_plan();
  const CompileOptions options = with_file(saved);
  auto g = compile(&step, options);
  const Compiled& loaded = g.plan_for(state_of(false), batch_of(false));
  EXPECT_EQ(loaded.micro_batches(), c.micro_batches());
  EXPECT_TRUE(tokens(loaded.saved_plan()) == tokens(saved));
  EXPECT_EQ(bits(g(state_of(false), batch_of(false))), bits(f(state_of(false), batch_of(false))));
  const std::size_t at = saved.find("\"x_parts\": ") + 11;
  for (const char* parts : {"3", "0", "-1", "1e9", "99999999999", "\"2\"", "[2]"})
    EXPECT_THAT(refused(saved.substr(0, at) + parts + saved.substr(saved.find_first_of(",\n}", at))),
                HasSubstr("edited.json' is no plan of program"))
        << parts;
}

// Every figure may be left out of a plan file: those of the plan that runs are true all the same, and it keeps its budget.
TEST_F(PlanFile, MayLeaveOutFigures) {
  options_.makers = false;
  auto f = compile(&step, options_);
  const Compiled& c = f.plan_for(state_of(false), batch_of(false));
  std::string bare = c.saved_plan();
  for (const char* name : {"budget", "peak", "live_peak", "seconds", "seconds_bound", "peak_bound"}) {
    const std::size_t at = bare.find(fmt::format("\"{}\":", name));
    if (at != std::string::npos) bare.insert(at + 1, "x_");
  }
  const std::size_t status = bare.find("\"status\": ") + 10;
  bare.replace(status, bare.find(',', status) - status, "\"timed_out\"");
  const CompileOptions options = with_file(bare);
  auto g = compile(&step, options);
  const Compiled& loaded = g.plan_for(state_of(false), batch_of(false));
  EXPECT_EQ(loaded.plan().peak, c.plan().peak);
  EXPECT_EQ(loaded.plan().live_peak, c.plan().live_peak);
  EXPECT_EQ(loaded.plan().budget, c.plan().budget);
  EXPECT_DOUBLE_EQ(loaded.plan().seconds, c.plan().seconds);
  EXPECT_TRUE(plan::has_plan(loaded.plan()));
  g(state_of(false), batch_of(false));
  EXPECT_EQ(loaded.peak_measured(), loaded.peak_predicted());
  EXPECT_EQ(loaded.memory().back().bytes, 0);
}

// What a fraction is in bytes depends on nothing but the program where it has no loops: a file cannot make it more.
TEST_F(PlanFile, CannotRaiseItsBudget) {
  options_.makers = false;
  options_.memory = 0.95;
  auto f = compile(&step, options_);
  std::string large = f.plan_for(state_of(false), batch_of(false)).saved_plan();
  options_.memory = 0.6;
  EXPECT_THAT(refused(large), HasSubstr("its peak is"));
  const std::size_t at = large.find("\"fraction\": 0.95");
  ASSERT_NE(at, std::string::npos);
  large.replace(at, 16, "\"fraction\": 0.6");
  EXPECT_THAT(refused(large), HasSubstr("its peak is"));
}

TEST_F(PlanFile, OfAnotherProblemIsNotCompared) {
  auto f = compile(&step, options_);
  const Compiled& c = f.plan_for(state_of(false), batch_of(false));
  auto g = compile([](const Tensor& x) { return x * 2.0; });
  const Compiled& other = g.plan_for(full({4}, 1.0));
  EXPECT_THAT([&] { plan::diff(other.problem(), other.plan(), c.plan()); },
              testing::ThrowsMessage<Error>(HasSubstr("both have to be plans of it")));
}

// A plan of more memory in the place of one that is kept for a budget, which says nothing of its own.
TEST_F(PlanFile, OfTheFolderKeepsTheBudgetWhateverItSays) {
  options_.makers = false;
  options_.plan_cache = folder_;
  const auto planned = [&](double part) {
    options_.memory = part;
    return compile(&step, options_).plan_for(state_of(false), batch_of(false)).plan();
  };
  const plan::Plan small = planned(0.6);
  const std::string path = fs::directory_iterator(folder_)->path().string();
  fs::remove(path);
  planned(0.9);
  const std::string other = fs::directory_iterator(folder_)->path().string();
  std::string text = read_file(other);
  for (const char* name : {"budget", "peak", "live_peak"})
    text.insert(text.find(fmt::format("\"{}\":", name)) + 1, "x_");
  write_file(path, text);
  const plan::Plan again = planned(0.6);
  EXPECT_GT(again.peak, 0);
  EXPECT_LE(again.peak, small.budget);
  EXPECT_EQ(again.budget, small.budget);
}

// Rates that nothing has: what no time comes of is said, and what is next to none is planned with.
TEST(ProfileFile, RatesOfAnySizeGiveTimesOrAreRefused) {
  const auto planned = [](double rate, double per_task, const char* op, Budget memory) -> std::string {
    DeviceProfile p = cpu_profile(1);
    p.points.clear();
    if (*op == 0) p.ops.clear();
    (*op == 0 ? p.roofline : p.ops[op]) = {rate, rate, per_task};
    auto f = compile(value_and_grad(loss), {.memory = memory,
                                            .device = cpu({.threads = 1}),
                                            .time_limit = 0.1,
                                            .profile = std::make_shared<const DeviceProfile>(p)});
    try {
      f.plan_for(state_of(false).net, batch_of(false));
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::Kind::usage) << e.what();
      return e.what();
    }
    return "";
  };
  for (const Budget& memory : {Budget(), Budget(0.6), Budget::minimum()}) {
    for (const double rate : {1e250, 1e300, 1e308}) EXPECT_EQ(planned(rate, 0, "", memory), "");
    for (const double rate : {1e-300, 5e-324})
      EXPECT_THAT(planned(rate, 0, "", memory), HasSubstr("[profile] by the profile of"));
    for (const double seconds : {1e100, 1e308, double{INFINITY}, double{NAN}, -1.0})
      EXPECT_THAT(planned(1e9, seconds, "matmul f32", memory), HasSubstr("', matmul); measure it anew"));
  }
  EXPECT_THAT(planned(1e9, 1e40, "encode zeros f32", 0.6), HasSubstr("', encode zeros); measure it anew"));
}

}  // namespace
}  // namespace tidemark
