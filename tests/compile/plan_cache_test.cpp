// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/plan_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/compile/small_nets.h"
#include "tidemark/base/text.h"
#include "tidemark/compile/compile.h"
#include "tidemark/front/grad.h"
#include "tidemark/front/scan.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/matmul.h"
#include "tidemark/ops/reduce.h"
#include "tidemark/ops/views.h"
#include "tidemark/plan/diff.h"

namespace tidemark {
namespace {

namespace fs = std::filesystem;

Tensor loss(const std::vector<Tensor>& w, const Tensor& x) {
  Tensor h = x;
  for (const Tensor& m : w) h = tanh(matmul(h, m));
  return mean(square(h));
}
std::vector<Tensor> weights() { return std::vector<Tensor>(5, full({16, 16}, 0.02)); }

class PlanCacheTest : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  std::vector<std::string> files() const {
    std::vector<std::string> all;
    if (fs::exists(folder_)) {
      for (const auto& f : fs::directory_iterator(folder_)) all.push_back(f.path().string());
    }
    return all;
  }
  plan::Plan planned(const Budget& budget, std::int64_t batch = 128) {
    auto f = compile(value_and_grad(loss),
                     {.memory = budget, .time_limit = 0.1, .correct = false, .plan_cache = folder_});
    return f.plan_for(weights(), full({batch, 16}, 0.5)).plan();
  }
  // Tests run side by side: a folder of its own for each.
  std::string folder_ =
      testing::TempDir() + "tidemark_plans_" + testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(PlanCacheTest, APlanIsFoundAgainAndOneForAnotherBudgetIsNot) {
  const plan::Plan first = planned(0.9);
  ASSERT_EQ(files().size(), 1u);
  const auto written = fs::last_write_time(files()[0]);
  const plan::Plan second = planned(0.9);
  EXPECT_EQ(files().size(), 1u);
  EXPECT_EQ(fs::last_write_time(files()[0]), written) << "found, not planned";
  EXPECT_EQ(second.seconds, first.seconds);
  EXPECT_EQ(second.peak, first.peak);
  planned(0.95);
  EXPECT_EQ(files().size(), 2u);
  planned(0.9, 64);
  EXPECT_EQ(files().size(), 3u);
}

TEST_F(PlanCacheTest, DamagedFilesArePlannedAnew) {
  planned(0.9);
  const std::string path = files()[0], whole = read_file(path);
  std::string moved = whole;
  const std::size_t at = moved.find("\"peak\"");
  ASSERT_NE(at, std::string::npos);
  for (const std::string& text : {std::string(), whole.substr(0, whole.size() / 2), std::string("garbage"),
                                  moved.replace(at, 6, "\"pork\"")}) {
    write_file(path, text);
    const plan::Plan plan = planned(0.9);
    EXPECT_FALSE(plan.steps.empty());
    EXPECT_NE(read_file(path), text) << "and written again whole";
  }
}

TEST_F(PlanCacheTest, APlanOfAnotherProblemIsNotTaken) {
  planned(0.9);
  const std::string mine = files()[0];
  planned(0.9, 64);
  for (const std::string& f : files()) {
    if (f != mine) fs::copy_file(f, mine, fs::copy_options::overwrite_existing);
  }
  const plan::Plan plan = planned(0.9);
  auto f = compile(value_and_grad(loss), {.memory = 0.9, .time_limit = 0.1});
  EXPECT_EQ(plan::check(f.plan_for(weights(), full({128, 16}, 0.5)).problem(), plan), "");
}

TEST_F(PlanCacheTest, AFolderThatCannotBeMadeCostsNothing) {
  write_file(folder_, "a file");
  EXPECT_FALSE(planned(0.9).steps.empty());
}

TEST_F(PlanCacheTest, APlanIsSavedAndRunAsItIs) {
  fs::create_directories(folder_);
  const std::string path = folder_ + "/mine.json";
  const Tensor x = full({128, 16}, 0.5);
  CompileOptions options{
      .memory = 0.9, .device = cpu({.threads = 1}), .time_limit = 0.1, .makers = false, .correct = false};
  auto f = compile(value_and_grad(loss), options);
  const Compiled& c = f.plan_for(weights(), x);
  write_file(path, plan::write_plan(c.problem(), c.plan()));
  // Times of another profile change no rule.
  DeviceProfile slow = cpu_profile(1);
  slow.roofline.seconds_per_task = 1;
  slow.ops.clear();
  options.profile = std::make_shared<const DeviceProfile>(slow);
  options.plan_file = path;
  auto g = compile(value_and_grad(loss), options);
  const Compiled& loaded = g.plan_for(weights(), x);
  EXPECT_TRUE(plan::diff(loaded.problem(), c.plan(), loaded.plan()).same_steps);
  EXPECT_GT(loaded.plan().seconds, 10 * c.plan().seconds);
  EXPECT_EQ(plan::check(loaded.problem(), loaded.plan()), "");
  const auto bits = [](const auto& r) {
    std::vector<float> all;
    for (const Tensor& t : r.grad)
      all.insert(all.end(), t.template data<float>().begin(), t.template data<float>().end());
    return all;
  };
  EXPECT_EQ(bits(g(weights(), x)), bits(f(weights(), x)));
  EXPECT_EQ(g.plan_for(weights(), x).peak_measured(), c.plan().peak);
  const auto refused = [&](const CompileOptions& o, std::int64_t batch) -> std::string {
    try {
      compile(value_and_grad(loss), o).plan_for(weights(), full({batch, 16}, 0.5));
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  const auto hash_at = [&](std::int64_t batch) {
    CompileOptions plain = options;
    plain.plan_file.clear();
    return plan::hash(
        compile(value_and_grad(loss), plain).plan_for(weights(), full({batch, 16}, 0.5)).problem());
  };
  EXPECT_THAT(
      refused(options, 256),
      testing::AllOf(
          testing::HasSubstr("mine.json' is no plan of program: "),
          testing::HasSubstr("it was made for the problem of hash " + plan::hash(c.problem())),
          testing::HasSubstr("this program with these options, shapes and profile is " + hash_at(256))));
  options.profile = nullptr;
  plan::Plan damaged = c.plan();
  std::swap(damaged.steps.front(), damaged.steps.back());
  write_file(folder_ + "/damaged.json", plan::write_plan(c.problem(), damaged));
  options.plan_file = folder_ + "/damaged.json";
  EXPECT_THAT(refused(options, 128),
              testing::HasSubstr("it was made for this very problem (hash " + plan::hash(c.problem())));
  options.plan_file = path;
  options.memory = c.plan().peak - 64;
  EXPECT_THAT(refused(options, 128), testing::HasSubstr("its peak is"));
  options.plan_file = folder_ + "/none.json";
  EXPECT_THAT(refused(options, 128), testing::HasSubstr("none.json"));
}

// Kernels sum in an order of their own for each number of threads: what is kept for one serves no other.
TEST_F(PlanCacheTest, TheDeviceAndItsThreadsArePartOfTheKey) {
  auto f = compile(value_and_grad(loss), {.device = cpu({.threads = 1})});
  const plan::Problem problem = f.plan_for(weights(), full({128, 16}, 0.5)).problem();
  const std::string one = plan_key(problem, 1000, "cpu", 1, "");
  EXPECT_EQ(one, plan_key(problem, 1000, "cpu", 1, ""));
  EXPECT_NE(one, plan_key(problem, 1000, "cpu", 2, ""));
  EXPECT_NE(one, plan_key(problem, 1000, "another", 1, ""));
  // All else equal, times included.
  const auto profile = [](int threads) {
    auto p = std::make_shared<DeviceProfile>(cpu_profile(1));
    p->threads = threads;
    return p;
  };
  for (const int threads : {1, 2, 2}) {
    auto g = compile(value_and_grad(loss), {.memory = 0.9,
                                            .device = cpu({.threads = threads}),
                                            .time_limit = 0.1,
                                            .profile = profile(threads),
                                            .correct = false,
                                            .plan_cache = folder_});
    g.plan_for(weights(), full({128, 16}, 0.5));
  }
  EXPECT_EQ(files().size(), 2u);
}

TEST(Shapes, AllPlansShareOneArenaAndBucketsArePlannedAhead) {
  const auto device = cpu({.threads = 1});
  auto f = compile(
      value_and_grad(loss),
      {.device = device, .correct = false, .shapes = {{{{256, 16}, DType::f32}}, {{{64, 16}, DType::f32}}}});
  const auto first = f(weights(), full({128, 16}, 0.5));
  const Bytes middle = device->allocated();
  EXPECT_GT(middle, 0);
  const auto large = f(weights(), full({256, 16}, 0.25));
  EXPECT_GT(device->allocated(), middle);
  const Bytes all = device->allocated();
  EXPECT_EQ(all, f.plan_for(weights(), full({256, 16}, 0.5)).program().arena_bytes)
      << "one arena, of the largest";
  const float held = first.value.item<float>();
  const auto again = f(weights(), full({128, 16}, 0.5));
  EXPECT_EQ(device->allocated(), all);
  EXPECT_EQ(again.value.item<float>(), held);
  EXPECT_EQ(first.value.item<float>(), held) << "results that are held survive other shapes";
  EXPECT_NE(large.value.item<float>(), held);
  EXPECT_EQ(f.plan_for(weights(), full({256, 16}, 0.5)).peak_measured(),
            f.plan_for(weights(), full({256, 16}, 0.5)).peak_predicted());
}

TEST(Shapes, ABucketTooManyIsAnError) {
  const std::vector<Type> three(3, Type{{4}, DType::f32});
  auto f = compile([](const Tensor& x) { return x * 2.0; }, {.shapes = {three}});
  EXPECT_THROW(f(ones({2})), Error);
}

TEST(Shapes, ABucketThatDoesNotFitIsNamedOnceAndNothingIsLost) {
  struct Next {
    std::vector<Tensor> w;
    Tensor value;
  };
  const auto step = [](const std::vector<Tensor>& w, const Tensor& x) {
    auto [value, grad] = value_and_grad(loss)(w, x);
    for (std::size_t i = 0; i < w.size(); ++i) grad[i] = w[i] - 0.1 * grad[i];
    return Next{grad, value};
  };
  const auto bits = [](const std::vector<Tensor>& w) {
    std::vector<float> all;
    for (const Tensor& t : w) all.insert(all.end(), t.data<float>().begin(), t.data<float>().end());
    return all;
  };
  const Type large{{4096, 16}, DType::f32}, other{{8192, 16}, DType::f32}, small{{64, 16}, DType::f32};
  auto f = compile(step, {.memory = 100_KiB,
                          .device = cpu({.threads = 1}),
                          .state = 1,
                          .time_limit = 0.1,
                          .correct = false,
                          .shapes = {{large}, {small}, {other}}});
  std::vector<Tensor> w = weights();
  const std::vector<float> before = bits(w);
  try {
    f(std::move(w), full({128, 16}, 0.5));
    FAIL() << "4096 rows do not fit 100 KiB";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::infeasible);
    EXPECT_THAT(e.what(), testing::HasSubstr("[shapes] number 0 (f32(4096,16)), and so number 2: "));
    EXPECT_THAT(e.what(), testing::HasSubstr("does not fit 100.00 KiB"));
  }
  EXPECT_EQ(bits(w), before) << "what was given up is still there";  // NOLINT(bugprone-use-after-move)
  auto plain = compile(step, {.device = cpu({.threads = 1}), .state = 1});
  // As the first call, as the bucket that fits, and one that is new.
  for (const std::int64_t rows : {128, 64, 96}) {
    const Tensor x = full({rows, 16}, 0.5);
    const Next wanted = plain(w, x);
    Next got = f(std::move(w), x);
    EXPECT_EQ(bits(got.w), bits(wanted.w)) << rows;
    w = std::move(got.w);
  }
  EXPECT_THAT(
      [&] {
        f(w, full({4096, 16}, 0.5));
      },
      testing::ThrowsMessage<Error>(testing::HasSubstr("does not fit 100.00 KiB")));
}

// A device with less memory than it says.
class Stingy final : public Device {
 public:
  explicit Stingy(Bytes most) : inner_(cpu({.threads = 1})), most_(most) {}
  std::string name() const override { return "cpu"; }
  int threads() const override { return 1; }
  std::shared_ptr<std::byte> allocate(Bytes bytes) override {
    if (bytes > most_) fail(Error::Kind::out_of_memory, "[stingy] {} refused", format_bytes(bytes));
    return inner_->allocate(bytes);
  }
  void launch(const Instr& i, std::span<const Place> p, const Operands& o) override {
    inner_->launch(i, p, o);
  }
  Bytes allocated() const override { return inner_->allocated(); }
  Bytes peak() const override { return inner_->peak(); }

 private:
  std::shared_ptr<Device> inner_;
  Bytes most_;
};

TEST(RefusedMemory, TheNextSmallerPlanIsTakenAndSaid) {
  const Tensor x = full({256, 16}, 0.5);
  auto plenty = compile(value_and_grad(loss), {.device = cpu({.threads = 1}), .correct = false});
  const float wanted = plenty(weights(), x).value.item<float>();
  const Bytes arena = plenty.plan_for(weights(), x).program().arena_bytes;
  auto f = compile(value_and_grad(loss),
                   {.device = std::make_shared<Stingy>(arena * 8 / 10), .time_limit = 0.2, .correct = false});
  EXPECT_EQ(f(weights(), x).value.item<float>(), wanted);
  const Compiled& c = f.plan_for(weights(), x);
  EXPECT_LE(c.program().arena_bytes, arena * 8 / 10);
  EXPECT_EQ(c.peak_measured(), c.peak_predicted());
  ASSERT_GE(c.notes().size(), 1u);
  EXPECT_THAT(c.notes()[0], testing::HasSubstr("refused"));
  auto none = compile(value_and_grad(loss),
                      {.device = std::make_shared<Stingy>(10), .time_limit = 0.1, .correct = false});
  EXPECT_THROW(none(weights(), x), Error);
}

// A plan file is run as it is: there is no smaller one to take, and what is wrong is not the file.
TEST_F(PlanCacheTest, MemoryThatIsRefusedUnderAPlanFileIsToldAsThat) {
  const Tensor x = full({256, 16}, 0.5);
  fs::create_directories(folder_);
  const std::string path = folder_ + "/mine.json";
  auto plenty = compile(value_and_grad(loss), {.device = cpu({.threads = 1}), .correct = false});
  write_file(path, plenty.plan_for(weights(), x).saved_plan());
  auto f = compile(value_and_grad(loss), {.device = std::make_shared<Stingy>(10), .plan_file = path});
  try {
    f(weights(), x);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::out_of_memory) << e.what();
    EXPECT_THAT(e.what(), testing::AllOf(testing::HasSubstr("refused"), testing::HasSubstr(".plan_file")));
  }
}

// Many loops, some inside others: the gradient of a gradient.
Tensor with_loops(const Tensor& w, const Tensor& x) {
  Tensor y = scan(8, x, [&](const Tensor& s) { return s + 0.1 * tanh(roll(s, 1, 1) * 0.5 - x); });
  y = scan(3, y, [&](const Tensor& s) {
    const Tensor q = scan(4, s, [&](const Tensor& t) { return tanh(matmul(t, w)) + 0.1 * t; });
    return 0.5 * s + relu(q);
  });
  return mean(square(tanh(matmul(y, w))));
}
Tensor of_loops_twice(const Tensor& w, const Tensor& x) {
  return grad([&](const Tensor& p) { return with_loops(p, x) + 0.1 * sum(square(grad(with_loops)(p, x))); })(
      w);
}

// Areas of loops and plans of their steps are part of the problem, and found by the clock: they are in the file.
TEST_F(PlanCacheTest, ASavedPlanHasItsLoops) {
  fs::create_directories(folder_);
  const Tensor w = full({32, 32}, 0.03), x = full({64, 32}, 0.3);
  for (const bool tier : {false, true}) {
    SCOPED_TRACE(tier);
    CompileOptions options{
        .memory = 0.75, .device = cpu({.threads = 1}), .time_limit = 0.05, .makers = false, .correct = false};
    TierSpec to = host(1_MiB);
    to.write_bytes_per_second = to.read_bytes_per_second = 1e10;
    to.latency_seconds = 1e-7;
    if (tier) options.tiers = {to};
    auto f = compile(of_loops_twice, options);
    const Compiled& c = f.plan_for(w, x);
    options.plan_file = folder_ + "/loops.json";
    write_file(options.plan_file, c.saved_plan());
    EXPECT_EQ(plan::check(c.problem(), plan::read_plan(c.problem(), c.saved_plan())), "");
    options.time_limit = 1e-4;
    auto g = compile(of_loops_twice, options);
    const Compiled& again = g.plan_for(w, x);
    EXPECT_EQ(plan::hash(again.problem()), plan::hash(c.problem()));
    EXPECT_EQ(again.plan().peak, c.plan().peak);
    const Tensor a = f(w, x), b = g(w, x);
    EXPECT_TRUE(std::equal(a.data<float>().begin(), a.data<float>().end(), b.data<float>().begin()));
  }
}

// Costs as another day, or another machine, would measure them.
std::vector<std::shared_ptr<const DeviceProfile>> other_profiles() {
  std::vector<std::shared_ptr<const DeviceProfile>> all;
  for (const char* slow : {"matmul f32", "fused f32", "tanh f32", "scan f32", ""}) {
    DeviceProfile p = cpu_profile(1);
    p.points.clear();
    Roofline& r = *slow == 0 ? p.roofline : p.ops[slow];
    if (*slow == 0) p.ops.clear();
    r = {.flops_per_second = 1e7, .bytes_per_second = 1e7, .seconds_per_task = 1e-3};
    all.push_back(std::make_shared<const DeviceProfile>(p));
  }
  return all;
}

// What a fraction is of, and which makers are on offer, depends on costs: both are in the file.
TEST_F(PlanCacheTest, ASavedPlanIsOneWhateverTasksCostBy) {
  fs::create_directories(folder_);
  const Tensor x = full({64, 32}, 0.3);
  const small_nets::Net net{std::vector<Tensor>(6, full({32, 32}, 0.03))};
  const auto loaded_alike = [&](const auto& program, const auto& first, CompileOptions options) {
    options.device = cpu({.threads = 1});
    options.correct = false;
    auto f = compile(program, options);
    const Compiled& c = f.plan_for(first, x);
    options.plan_file = folder_ + "/plan.json";
    write_file(options.plan_file, c.saved_plan());
    for (const auto& profile : other_profiles()) {
      options.profile = profile;
      auto g = compile(program, options);
      const Compiled& again = g.plan_for(first, x);
      EXPECT_TRUE(plan::diff(again.problem(), c.plan(), again.plan()).same_steps);
      EXPECT_EQ(again.plan().budget, c.plan().budget);
      const auto notes = [](const std::string& saved) { return saved.substr(saved.find("\"x_budget\"")); };
      EXPECT_EQ(notes(again.saved_plan()), notes(c.saved_plan()));
    }
  };
  for (const double part : {0.75, 0.9})
    loaded_alike(of_loops_twice, full({32, 32}, 0.03), {.memory = part, .time_limit = 0.05, .makers = false});
  for (const double part : {0.5, 0.7, 0.9})
    loaded_alike(value_and_grad(small_nets::gated), net, {.memory = part, .time_limit = 0.1});
}

TEST_F(PlanCacheTest, LoopsAreChosenOnce) {
  const Tensor w = full({32, 32}, 0.03), x = full({64, 32}, 0.3);
  CompileOptions options{.memory = 0.7,
                         .device = cpu({.threads = 1}),
                         .time_limit = 0.05,
                         .makers = false,
                         .correct = false,
                         .plan_cache = folder_};
  const auto compiled = [&] {
    auto f = compile(of_loops_twice, options);
    const Compiled& c = f.plan_for(w, x);
    return plan::write_plan(c.problem(), c.plan());
  };
  const auto files = [&] { return std::distance(fs::directory_iterator(folder_), fs::directory_iterator()); };
  const std::string first = compiled();
  const auto count = files();
  EXPECT_EQ(compiled(), first);
  EXPECT_EQ(files(), count);
  // What was damaged is chosen anew.
  for (const auto& entry : fs::directory_iterator(folder_)) {
    if (entry.path().string().ends_with(".loops.json")) write_file(entry.path(), "{\"loops\": ");
  }
  EXPECT_NO_THROW(compiled());
}

}  // namespace
}  // namespace tidemark
