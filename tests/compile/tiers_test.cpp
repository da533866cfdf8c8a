// Copies to the host's memory and to disk while a step runs, and what is left when one fails.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>

#include "tidemark/compile/compile.h"
#include "tidemark/compile/tiers.h"
#include "tidemark/front/grad.h"
#include "tidemark/front/scan.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/matmul.h"
#include "tidemark/ops/reduce.h"
#include "tidemark/plan/budget.h"
#include "tidemark/store/mapped_file.h"

namespace tidemark {
namespace {

struct Net {
  std::vector<Tensor> w;
};
struct State {
  Net net, momentum;
  Tensor steps;
};

Net net_of(int layers, std::int64_t width, int salt) {
  Net p;
  for (int i = 0; i < layers; ++i) {
    std::vector<float> data(static_cast<std::size_t>(width * width));
    for (std::size_t j = 0; j < data.size(); ++j)
      data[j] = static_cast<float>(
                    static_cast<int>((j * 37 + static_cast<std::size_t>(i * 11 + salt)) % 101) - 50) /
                300.0f;
    p.w.push_back(tensor(data, {width, width}));
  }
  return p;
}
State fresh(int layers = 10, std::int64_t width = 24) {
  return {net_of(layers, width, 0), net_of(layers, width, 5), scalar(0.0f)};
}

Tensor loss(const Net& p, const Tensor& x) {
  Tensor h = x;
  for (std::size_t i = 0; i < p.w.size(); ++i) {
    const Scope scope("layer", static_cast<std::int64_t>(i));
    h = name(tanh(matmul(h, p.w[i])), "h");
  }
  return mean(square(h));
}

std::pair<State, Tensor> step(const State& s, const Tensor& x) {
  const auto [value, g] = value_and_grad(loss)(s.net, x);
  State next = s;
  for (std::size_t i = 0; i < g.w.size(); ++i) {
    next.momentum.w[i] = 0.9 * s.momentum.w[i] + g.w[i];
    next.net.w[i] = s.net.w[i] - 0.1 * next.momentum.w[i];
  }
  next.steps = s.steps + 1.0;
  return {next, value};
}

std::vector<float> bits(const Tensor& t) { return {t.data<float>().begin(), t.data<float>().end()}; }
std::vector<std::vector<float>> bits(const State& s) {
  std::vector<std::vector<float>> all;
  for (const Tensor& t : s.net.w) all.push_back(bits(t));
  for (const Tensor& t : s.momentum.w) all.push_back(bits(t));
  all.push_back(bits(s.steps));
  return all;
}

const Tensor& images() {
  static const Tensor x = full({512, 24}, 0.3);
  return x;
}

std::vector<std::vector<float>> expected(int steps) {
  State s = fresh();
  auto all = compile(step, {.state = 1});
  for (int i = 0; i < steps; ++i) s = all(std::move(s), images()).first;
  return bits(s);
}

// Rates at which copying beats computing again.
TierSpec fast(TierSpec spec) {
  spec.write_bytes_per_second = spec.read_bytes_per_second = 1e12;
  spec.latency_seconds = 1e-9;
  return spec;
}

int copies(const Compiled& c) {
  return static_cast<int>(
      std::count_if(c.plan().steps.begin(), c.plan().steps.end(),
                    [](const plan::Step& s) { return s.kind == plan::Step::Kind::evict; }));
}

// Whoever was copied out is not there any more.
void expect_rows_add_up(const Compiled& c) {
  Bytes sum = 0;
  for (const MemoryRow& row : c.memory()) {
    sum += row.bytes;
    if (row.what == "unexplained") {
      EXPECT_EQ(row.bytes, 0);
    }
  }
  EXPECT_EQ(sum, c.peak_measured());
}

TEST(Tiers, CopiesGiveTheSameBitsWithinTheBudget) {
  const auto wanted = expected(3);
  for (const TierSpec& tier : {fast(host(8_MiB)), fast(disk(TIDEMARK_BINARY_DIR, 8_MiB))}) {
    auto f = compile(step, {.memory = 0.5, .state = 1, .time_limit = 0.2, .tiers = {tier}});
    State s = fresh();
    for (int i = 0; i < 3; ++i) s = f(std::move(s), images()).first;
    const Compiled& c = f.plan_for(s, images());
    EXPECT_GT(copies(c), 0) << tier.name;
    EXPECT_EQ(c.peak_measured(), c.peak_predicted());
    EXPECT_LE(c.peak_measured(), c.plan().budget);
    EXPECT_GT(c.tiers_measured()[0], 0);
    EXPECT_LE(c.tiers_measured()[0], 8_MiB);
    EXPECT_EQ(bits(s), wanted) << tier.name;
    EXPECT_EQ(c.account().most_live, c.plan().live_peak);
    expect_rows_add_up(c);
  }
}

TEST(Tiers, OptimizerStateLivesThereAndIsNotInTheBudget) {
  const auto wanted = expected(3);
  for (TierSpec tier : {fast(host(8_MiB)), fast(disk(TIDEMARK_BINARY_DIR, 8_MiB))}) {
    tier.holds = {"momentum.*"};
    auto f = compile(step, {.memory = 0.9, .state = 1, .time_limit = 0.2, .tiers = {tier}});
    auto plain = compile(step, {.memory = 0.9, .state = 1, .time_limit = 0.2});
    State s = fresh();
    for (int i = 0; i < 3; ++i) s = f(std::move(s), images()).first;
    EXPECT_EQ(bits(s), wanted) << tier.name;
    const Compiled& c = f.plan_for(s, images());
    EXPECT_EQ(c.peak_measured(), c.peak_predicted());
    EXPECT_LE(plan::resident_bytes(c.problem()) + 10 * 24 * 24 * 4,
              plan::resident_bytes(plain.plan_for(s, images()).problem()));
    EXPECT_GE(c.tiers_measured()[0], 10 * 24 * 24 * 4);
    expect_rows_add_up(c);
  }
}

TEST(Tiers, StateOnDiskLiesInAFileAndIsUpdatedThere) {
  TierSpec tier = fast(disk(TIDEMARK_BINARY_DIR, 8_MiB));
  tier.holds = {"momentum.*"};
  auto f = compile(step, {.memory = 0.9, .state = 1, .time_limit = 0.2, .tiers = {tier}});
  State s = f(fresh(), images()).first;
  const std::byte* lies = s.momentum.w[0].storage()->data();
  std::ifstream maps("/proc/self/maps");
  bool in_file = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t from = 0, to = 0;
    if (std::sscanf(line.c_str(), "%zx-%zx", &from, &to) != 2) continue;
    const auto at = reinterpret_cast<std::uintptr_t>(lies);
    if (at >= from && at < to) in_file = line.find("tidemark-state-") != std::string::npos;
  }
  EXPECT_TRUE(in_file);
  s = f(std::move(s), images()).first;
  EXPECT_EQ(s.momentum.w[0].storage()->data(), lies) << "in place";
  // Kept by the caller: the next version is another file.
  const auto before = bits(s);
  const State next = f(s, images()).first;
  EXPECT_EQ(bits(s), before);
  EXPECT_EQ(bits(next), expected(3));
}

Tensors scaled_step(const Tensors& s, const Tensor& x) {
  const auto loss = [&](const Tensors& p) {
    Tensor h = x;
    for (const Tensor& t : p) h = tanh(h * t) + 0.5 * h;
    return mean(square(h));
  };
  const Tensors g = grad(loss)(s);
  Tensors next;
  for (std::size_t i = 0; i < s.size(); ++i) next.push_back(s[i] - 0.1 * g[i]);
  return next;
}

// Alignment is part of what lies there: sizes that are no multiple of it were called more than there is room for.
TEST(Tiers, StateOfAnySizeLivesOnDiskAtEveryBudget) {
  TierSpec tier = fast(disk(TIDEMARK_BINARY_DIR, 1_MiB));
  tier.holds = {"0"};
  const Tensor x = full({64, 23}, 0.5);
  const auto state = [] { return Tensors(4, full({23}, 0.3)); };
  const Tensors wanted = compile(scaled_step, {.state = 1})(state(), x);
  for (const Budget& budget : {Budget(0.8), Budget::minimum()}) {
    auto f = compile(scaled_step, {.memory = budget, .state = 1, .time_limit = 0.1, .tiers = {tier}});
    const Tensors got = f(state(), x);
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(bits(got[i]), bits(wanted[i])) << i;
  }
}

// One after the other they take no more of it than one may: there are as many as the caller has shapes.
template <typename F>
void expect_shared_room(F f, Bytes budget, const TierSpec& tier) {
  const Tensors p(8, full({32, 32}, 0.03));
  const std::vector<std::int64_t> shapes{480, 464, 448};
  auto all = compile(f, {.device = cpu({.threads = 1})});
  auto few = compile(f, {.memory = budget,
                         .device = cpu({.threads = 1}),
                         .time_limit = 0.05,
                         .tiers = {tier},
                         .makers = false,
                         .correct = false});
  Bytes most = 0;
  for (std::size_t k = 0; k < 2 * shapes.size(); ++k) {
    const Tensor x = full({shapes[k % shapes.size()], 32}, 0.5);
    EXPECT_EQ(bits(few(p, x).grad[0]), bits(all(p, x).grad[0]));
    Bytes taken = 0;
    for (const std::int64_t rows : shapes)
      taken += few.plan_for(p, abstract({{rows, 32}, DType::f32})).tiers_measured()[0];
    EXPECT_LE(taken, tier.bytes) << tier.name << ", run " << k;
    most = std::max(most, taken);
  }
  EXPECT_GT(most, tier.bytes / 2) << "there is room for two";
}

TEST(Tiers, AllShapesShareTheirRoom) {
  const auto layers = [](const Tensors& p, const Tensor& x) {
    Tensor h = x;
    for (const Tensor& w : p) h = tanh(matmul(h, w));
    return mean(square(h));
  };
  const auto loop = [](const Tensors& p, const Tensor& x) {
    return mean(square(scan(12, x, [&](const Tensor& s) { return tanh(matmul(s, p[0])) + 0.1 * s; })));
  };
  for (const bool on_disk : {false, true}) {
    const auto tier = [&](Bytes bytes) {
      return fast(on_disk ? disk(TIDEMARK_BINARY_DIR, bytes) : host(bytes));
    };
    expect_shared_room(value_and_grad(layers), 420_KiB, tier(256_KiB));
    expect_shared_room(value_and_grad(loop), 760_KiB, tier(640_KiB));
  }
}

// No copy of nothing fails, so nothing has to wait for it.
TEST(Tiers, OfNothingNothingIsCopied) {
  auto f = compile(scaled_step, {.memory = Budget::minimum(),
                                 .state = 1,
                                 .time_limit = 0.1,
                                 .tiers = {fast(disk(TIDEMARK_BINARY_DIR, 1_MiB))}});
  EXPECT_EQ(f(Tensors(2, zeros({0})), zeros({4, 0}))[0].numel(), 0);
}

struct Frozen {
  Tensor table;
};

TEST(Tiers, WhatIsOnlyReadIsCopiedToDiskOnce) {
  // The files of this process by their numbers: a copy made anew is another one.
  const auto files = [] {
    std::ifstream maps("/proc/self/maps");
    std::set<std::string> numbers;
    for (std::string line; std::getline(maps, line);) {
      if (line.find("tidemark-state-") == std::string::npos) continue;
      std::istringstream words(line);
      std::string range, rights, offset, device, number;
      words >> range >> rights >> offset >> device >> number;
      numbers.insert(number);
    }
    return numbers;
  };
  TierSpec tier = fast(disk(TIDEMARK_BINARY_DIR, 8_MiB));
  tier.holds = {"table"};
  auto f = compile([](const Frozen& p, const Tensor& x) { return sum(matmul(x, p.table)); }, {.tiers = {tier}});
  const Frozen p{full({16, 16}, 2.0)};
  const Tensor x = full({4, 16}, 0.5);
  EXPECT_FLOAT_EQ(f(p, x).item<float>(), 4 * 16 * 16);
  const std::set<std::string> once = files();
  EXPECT_EQ(once.size(), 1u);
  EXPECT_FLOAT_EQ(f(p, x).item<float>(), 4 * 16 * 16);
  EXPECT_EQ(files(), once);
  // Another shape is given the same.
  EXPECT_FLOAT_EQ(f(p, full({8, 16}, 0.5)).item<float>(), 8 * 16 * 16);
  EXPECT_EQ(files(), once);
  EXPECT_FLOAT_EQ(f(p, x).item<float>(), 4 * 16 * 16);
  EXPECT_EQ(files(), once);
  // The same storage with other contents is copied again.
  reinterpret_cast<float*>(p.table.storage()->data())[0] = 10;
  EXPECT_FLOAT_EQ(f(p, x).item<float>(), 4 * 16 * 16 + 4 * 0.5f * 8);
  EXPECT_EQ(files().size(), 2u) << "the other shape has what it was given";
  // Where two copies are more than there is room for, one goes when the other is made.
  tier.bytes = 1_KiB;
  auto narrow =
      compile([](const Frozen& p, const Tensor& x) { return sum(matmul(x, p.table)); }, {.tiers = {tier}});
  const std::size_t others = files().size();
  for (int k = 0; k < 3; ++k) {
    const Frozen q{full({16, 16}, 3.0 + k)};
    EXPECT_FLOAT_EQ(narrow(q, full({k % 2 + 1, 16}, 0.5)).item<float>(),
                    static_cast<float>((k % 2 + 1) * 128 * (3 + k)));
    EXPECT_EQ(files().size(), others + 1) << k;
  }
}

TEST(Tiers, RatesThatAreNoneAreRefused) {
  const auto kind_of = [](double rate, double latency) -> std::optional<Error::Kind> {
    TierSpec tier = fast(host(1_MiB));
    tier.read_bytes_per_second = rate;
    tier.latency_seconds = latency;
    try {
      compile(step, {.memory = 0.8, .state = 1, .time_limit = 0.1, .tiers = {tier}})
          .plan_for(fresh(), images());
    } catch (const Error& e) {
      return e.kind();
    }
    return std::nullopt;
  };
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(kind_of(std::nan(""), 0), Error::Kind::usage);
  EXPECT_EQ(kind_of(kInfinite, 0), Error::Kind::usage);
  EXPECT_EQ(kind_of(1e-300, 0), Error::Kind::usage);
  EXPECT_EQ(kind_of(1e9, std::nan("")), Error::Kind::usage);
  EXPECT_EQ(kind_of(1e9, kInfinite), Error::Kind::usage);
  EXPECT_EQ(kind_of(1e9, -1), std::nullopt) << "as a rate that is not given";
  EXPECT_EQ(kind_of(1e9, 0), std::nullopt);
}

TEST(Tiers, AFailureLeavesTheStateAsItWas) {
  for (const char* what : {"full", "short", "sum"}) {
    int left = 1 << 30;
    TierSpec tier = fast(disk(TIDEMARK_BINARY_DIR, 8_MiB));
    const std::string kind = what;
    tier.fault = [&](FileOp op, std::byte* data, Bytes) {
      if (op != (kind == "full" ? FileOp::write : FileOp::read) || --left > 0) return 0;
      if (kind == "full") return ENOSPC;
      if (kind == "short") return kShortCopy;
      data[0] ^= std::byte{1};
      return 0;
    };
    auto f = compile(step, {.memory = 0.6, .state = 1, .time_limit = 0.2, .tiers = {tier}});
    State s = fresh();
    s = f(std::move(s), images()).first;
    const int used = (1 << 30) - left;
    ASSERT_GT(used, 0);
    const auto before = bits(s);
    // Whichever copy of the step it is.
    for (const int at : {1, std::max(1, used / 2), used}) {
      left = at;
      try {
        s = f(std::move(s), images()).first;
        FAIL() << what << " at " << at;
      } catch (const Error& e) {
        EXPECT_EQ(e.kind(), Error::Kind::io) << e.what();
      }
      ASSERT_TRUE(s.steps.defined());
      EXPECT_EQ(bits(s), before) << what << " at " << at;
    }
    left = 1 << 30;
    s = f(std::move(s), images()).first;
    EXPECT_EQ(bits(s), expected(2));
  }
}

TEST(Tiers, AtomicStepsUpdateBehindTheLastCopyThatCanFail) {
  const TierSpec tier = fast(disk(TIDEMARK_BINARY_DIR, 8_MiB));
  for (const bool atomic : {true, false}) {
    auto f = compile(step, {.memory = 0.6, .state = 1, .time_limit = 0.2, .tiers = {tier}, .atomic = atomic});
    State s = fresh();
    const Compiled& c = f.plan_for(s, images());
    const std::string broken = broken_atomicity({c.problem(), c.binding()}, c.plan(), std::vector{tier});
    EXPECT_TRUE(!atomic || broken.empty()) << broken;
    s = f(std::move(s), images()).first;
    EXPECT_EQ(bits(s), expected(1));
  }
}

TEST(Tiers, SayWhatCannotBe) {
  const Tensor x = images();
  TierSpec tier = host(1_MiB);
  tier.holds = {"nobody"};
  auto f = compile(step, {.state = 1, .tiers = {tier}});
  EXPECT_THROW(f(fresh(), x), Error);
  auto g = compile(step, {.state = 1, .tiers = {host(1_MiB), host(2_MiB)}});
  EXPECT_THROW(g(fresh(), x), Error);
  TierSpec nowhere = disk("/no/such/folder", 1_MiB);
  auto h = compile(step, {.state = 1, .tiers = {nowhere}});
  EXPECT_THROW(h(fresh(), x), Error);
  EXPECT_THROW(MappedFile("/no/such/folder", 4096), Error);
  for (const Bytes none : {0, -1}) {
    auto k = compile(step, {.memory = 0.9, .state = 1, .tiers = {host(none)}});
    EXPECT_THROW(k(fresh(), x), Error);
  }
  TierSpec small = host(10);
  small.holds = {"momentum.*"};
  auto l = compile(step, {.memory = 0.9, .state = 1, .tiers = {small}});
  try {
    l(fresh(), x);
    FAIL() << "a tier of ten bytes holds it";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::infeasible);
    EXPECT_NE(std::string(e.what()).find("vs a capacity of 10 B"), std::string::npos) << e.what();
  }
}

TEST(Verify, ComparesWhatIsMadeAgain) {
  auto f = compile(value_and_grad(loss), {.memory = 0.5, .time_limit = 0.2, .verify = true});
  const Net p = net_of(10, 24, 0);
  EXPECT_NO_THROW(f(p, images()));
  const Compiled& c = f.plan_for(p, images());
  EXPECT_GT(c.plan().steps.size(), 0u);
  // A kernel that gives something else each time it runs.
  auto calls = std::make_shared<int>(0);
  Program program = c.program();
  std::vector<int> runs(c.problem().tasks.size(), 0);
  for (const Instr& i : program.instrs) {
    if (i.kind == Instr::Kind::run) ++runs[static_cast<std::size_t>(i.task)];
  }
  const auto again = std::find_if(runs.begin(), runs.end(), [](int n) { return n > 1; });
  ASSERT_NE(again, runs.end()) << "nothing is made again at half the memory";
  const auto task = static_cast<std::int32_t>(again - runs.begin());
  std::shared_ptr<const Kernel> restless;
  std::string name;
  for (std::size_t k = 0; k < program.instrs.size(); ++k) {
    Instr& i = program.instrs[k];
    if (i.task != task) continue;
    if (!restless) {
      const Kernel* was = i.kernel;
      restless = make_kernel(was->workspace(), [was, calls](const Operands& o) {
        was->run(o);
        static_cast<float*>(o.out[0])[0] += static_cast<float>((*calls)++);
      });
      name = program.task_names[k];
    }
    i.kernel = restless.get();
  }
  program.kernels.push_back(restless);
  Executor executor(std::make_shared<const Program>(program), cpu());
  executor.verify_repeats();
  std::vector<void*> residents;
  for (const Tensor& t : p.w) residents.push_back(t.storage()->data());
  residents.push_back(images().storage()->data());
  try {
    executor.run(residents);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find(name), std::string::npos) << e.what();
  }
}

TEST(Pins, HoldWhateverTheBudget) {
  const Net p = net_of(10, 24, 0);
  const auto wanted = compile(value_and_grad(loss))(p, images());
  const auto runs_of = [](const Compiled& c, const std::string& name) {
    int runs = 0;
    for (const plan::Step& s : c.plan().steps) {
      if (s.kind != plan::Step::Kind::run) continue;
      for (const plan::BufferId b : c.problem().tasks[static_cast<std::size_t>(s.id)].writes)
        runs += c.problem().buffers[static_cast<std::size_t>(b)].name == name;
    }
    return runs;
  };
  auto kept =
      compile(value_and_grad(loss), {.memory = 0.6, .time_limit = 0.2, .pins = {{"layer.4.h", keep}}});
  EXPECT_EQ(bits(kept(p, images()).grad.w[0]), bits(wanted.grad.w[0]));
  EXPECT_EQ(runs_of(kept.plan_for(p, images()), "layer.4.h"), 1);
  auto again = compile(value_and_grad(loss), {.pins = {{"layer.4.h", keep}, {"layer.*", recompute}}});
  const auto got = again(p, images());
  for (std::size_t i = 0; i < p.w.size(); ++i) EXPECT_EQ(bits(got.grad.w[i]), bits(wanted.grad.w[i]));
  EXPECT_EQ(runs_of(again.plan_for(p, images()), "layer.4.h"), 1);
  EXPECT_EQ(runs_of(again.plan_for(p, images()), "layer.3.h'"), 1) << "a second one";
}

// The parameter that h is made from is updated before h is read for the last time.
TEST(Pins, WhatIsMadeAgainIsMadeFromTheOldParameters) {
  const auto train = [](const Tensor& w, const Tensor& x) {
    const auto first = [&](const Tensor& v) { return name(matmul(x, v), "h"); };
    const Tensor g = grad([&](const Tensor& v) { return sum(square(first(v))); })(w);
    Tensor late = x;
    for (int i = 0; i < 4; ++i) late = sin(matmul(late, x));
    return std::make_tuple(w - 0.1 * g, sum(first(w) * late));
  };
  const Tensor w = net_of(1, 24, 0).w[0], x = full({24, 24}, 0.3);
  const auto wanted = compile(train, {.state = 1})(w, x);
  for (const char* pattern : {"h", "*"}) {
    auto f = compile(train, {.state = 1, .pins = {{pattern, recompute}}});
    const auto got = f(w, x);
    EXPECT_EQ(bits(std::get<0>(got)), bits(std::get<0>(wanted)));
    EXPECT_EQ(bits(std::get<1>(got)), bits(std::get<1>(wanted))) << pattern;
    const plan::Problem& problem = f.plan_for(w, x).problem();
    int update = -1, last = -1;
    for (std::size_t t = 0; t < problem.tasks.size(); ++t) {
      const plan::Task& task = problem.tasks[t];
      for (const plan::BufferId b : task.reads) {
        const std::string& read = problem.buffers[static_cast<std::size_t>(b)].name;
        if (read == "h" || read == "h'") last = static_cast<int>(t);
        if (std::find(task.writes.begin(), task.writes.end(), b) != task.writes.end()) update = static_cast<int>(t);
      }
    }
    EXPECT_TRUE(update >= 0 && update < last) << "else nothing is tried here: " << update << " " << last;
  }
}

TEST(Pins, ThatCannotHoldAreRefused) {
  const Net p = net_of(4, 8, 0);
  const Tensor x = full({16, 8}, 0.3);
  for (const Pin& pin : {Pin{"nobody", keep}, Pin{"w.0", recompute}}) {
    auto f = compile(value_and_grad(loss), {.pins = {pin}});
    try {
      f(p, x);
      FAIL() << pin.pattern;
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::Kind::usage);
      EXPECT_NE(std::string(e.what()).find(pin.pattern), std::string::npos) << e.what();
    }
  }
}

}  // namespace
}  // namespace tidemark
