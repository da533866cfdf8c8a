// SPDX-License-Identifier: Apache-2.0
#include "tidemark/runtime/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "tidemark/base/text.h"
#include "tidemark/ops/table.h"
#include "tidemark/runtime/profiler.h"

namespace tidemark {
namespace {

KernelSpec product(std::int64_t m, std::int64_t k, std::int64_t n) {
  KernelSpec spec{.threads = 1};
  const auto add = [](std::vector<Value>& to, Shape s) {
    to.push_back(Value{.type = {std::move(s), DType::f32}});
  };
  add(spec.in, {m, k});
  add(spec.in, {k, n});
  add(spec.out, {m, n});
  return spec;
}

const Op& matmul_op() { return *find_op("matmul"); }

DeviceProfile small_profile() {
  DeviceProfile p;
  p.threads = 1;
  p.library = "test";
  p.roofline = {1e9, 1e8, 1e-6};
  p.ops["matmul f32"] = {1e10, 1e9, 2e-6};
  const KernelSpec spec = product(8, 8, 8);
  p.points[point_key(matmul_op(), spec)] = {"matmul f32", cost_of(matmul_op(), spec), 7e-6, 5};
  return p;
}

TEST(Profile, APointBeatsTheOpsRooflineAndThatBeatsTheDevices) {
  const DeviceProfile p = small_profile();
  const Estimate known = estimate(p, matmul_op(), product(8, 8, 8));
  EXPECT_EQ(known.from, Estimate::From::measured);
  EXPECT_EQ(known.seconds, 7e-6);
  const KernelSpec other = product(16, 8, 8);
  const Estimate fitted = estimate(p, matmul_op(), other);
  EXPECT_EQ(fitted.from, Estimate::From::op);
  EXPECT_EQ(fitted.seconds, p.ops.at("matmul f32").seconds(cost_of(matmul_op(), other)));
  KernelSpec relu{.threads = 1};
  relu.in.push_back(Value{.type = {{1000}, DType::f32}});
  relu.out = relu.in;
  EXPECT_EQ(estimate(p, *find_op("relu"), relu).from, Estimate::From::device);
}

TEST(Profile, NarrowStorageTakesTheRatesOfF32AndItsOwnBytes) {
  DeviceProfile p = small_profile();
  KernelSpec narrow = product(16, 8, 8);
  for (auto* list : {&narrow.in, &narrow.out}) {
    for (Value& v : *list) v.type.dtype = DType::bf16;
  }
  const Estimate borrowed = estimate(p, matmul_op(), narrow);
  EXPECT_EQ(borrowed.from, Estimate::From::op);
  EXPECT_EQ(borrowed.seconds, p.ops.at("matmul f32").seconds(cost_of(matmul_op(), narrow)));
  p.ops["matmul bf16"] = {1e11, 1e9, 1e-6};
  EXPECT_EQ(estimate(p, matmul_op(), narrow).seconds, p.ops.at("matmul bf16").seconds(cost_of(matmul_op(), narrow)));
}

TEST(Profile, KeysTellShapesLayoutsAndAttributesApart) {
  KernelSpec a = product(8, 4, 8);
  const std::string key = point_key(matmul_op(), a);
  EXPECT_EQ(key, point_key(matmul_op(), a));
  EXPECT_THAT(key, testing::StartsWith("matmul f32(8,4) f32(4,8) "));
  EXPECT_EQ(op_key(matmul_op(), a), "matmul f32");
  KernelSpec layout = a;
  layout.in[0].layout = permuted_layout({8, 4}, {1, 0});
  EXPECT_NE(point_key(matmul_op(), layout), key);
  KernelSpec attrs = a;
  attrs.attrs.set("x", std::int64_t{1});
  EXPECT_NE(point_key(matmul_op(), attrs), key);
  KernelSpec names = a;
  names.in[0].name = "w";
  EXPECT_EQ(point_key(matmul_op(), names), key) << "names are for people";
}

TEST(Profile, TheFileReadsBackTheSame) {
  const DeviceProfile p = small_profile();
  const std::string text = write_profile(p);
  const DeviceProfile q = read_profile(text);
  EXPECT_EQ(write_profile(q), text);
  EXPECT_EQ(q.device, p.device);
  EXPECT_EQ(q.ops, p.ops);
  ASSERT_EQ(q.points.size(), 1u);
  EXPECT_EQ(q.points.begin()->second.seconds, 7e-6);
}

TEST(Profile, EveryTruncationAndGarbageIsAClearError) {
  const std::string text = write_profile(small_profile());
  for (std::size_t n = 0; n + 2 < text.size(); n += 7) {
    try {
      read_profile(text.substr(0, n));
      FAIL() << "accepted " << n << " bytes";
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::Kind::data);
      EXPECT_THAT(e.what(), testing::HasSubstr("[profile]"));
    }
  }
  const auto refused = [&](const std::string& from, const std::string& to, const std::string& says) {
    std::string other = text;
    const std::size_t at = other.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    other.replace(at, from.size(), to);
    try {
      read_profile(other);
      FAIL() << other;
    } catch (const Error& e) {
      EXPECT_THAT(e.what(), testing::HasSubstr(says));
    }
  };
  refused("tidemark-profile", "tidemark-plan", "format");
  refused("\"version\": 1", "\"version\": 2", "version");
  refused("\"seconds\": 7e-06", "\"seconds\": -1", "points[0].seconds: is not positive");
  refused("\"runs\"", "\"laps\"", "unknown field 'laps'");
  refused("\"seconds_per_task\": 1e-06", "\"seconds_per_task\": -1", "is negative");
  refused("\"threads\": ", "\"threads\": -", "is no number of threads");
  refused("\"threads\": ", "\"threads\": 429496729", "is no number of threads");
  const std::size_t at = text.find("\"ops\": {") + 8;
  const std::string op = text.substr(at, text.find('}', at) + 1 - at);
  refused(op, op + ", " + op, "is there twice");
}

TEST(Profile, DamagedFilesNameThemselvesAndTheCure) {
  const std::string path = testing::TempDir() + "damaged_profile.json";
  write_file(path, "{\"format\":\"tidemark-pro");
  try {
    load_profile(path);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::data);
    EXPECT_THAT(e.what(), testing::HasSubstr(path));
    EXPECT_THAT(e.what(), testing::HasSubstr("tidemark profile -o"));
  }
  EXPECT_THROW(load_profile("h100"), Error);
  EXPECT_THROW(load_profile(testing::TempDir() + "not_there.json"), Error);
  std::filesystem::remove(path);
}

TEST(Profile, ShippedOnesAreWhole) {
  EXPECT_THAT(shipped_profiles(), testing::ElementsAre("cpu", "h200"));
  const DeviceProfile h200 = load_profile("h200");
  EXPECT_EQ(h200.device, "NVIDIA H200");
  for (const auto& [op, r] : h200.ops) {
    const std::vector<std::string> parts = split(op, ' ');
    ASSERT_EQ(parts.size(), 2u);
    EXPECT_NE(find_op(parts[0]), nullptr) << op << " is no op of ours";
  }
  const DeviceProfile one = cpu_profile(1), four = cpu_profile(4);
  EXPECT_EQ(one.threads, 1);
  EXPECT_DOUBLE_EQ(four.roofline.flops_per_second, 4 * one.roofline.flops_per_second);
}

TEST(Profile, AFitFindsTheRooflineThatPointsLieOn) {
  const Roofline truth{3e10, 5e9, 4e-6};
  std::vector<Measured> points;
  for (double flops = 1e3; flops < 1e10; flops *= 3) {
    for (const double intensity : {0.25, 1.0, 4.0, 64.0}) {
      const Cost cost{flops, flops / intensity};
      points.push_back({"x f32", cost, truth.seconds(cost), 1});
    }
  }
  const Roofline fitted = fit_roofline(points, {1e11, 1e10, 0});
  for (const Measured& p : points)
    EXPECT_NEAR(std::log(fitted.seconds(p.cost) / p.seconds), 0, 0.15) << p.cost.flops;
}

TEST(Profile, PointsThatSayLittleLeaveTheRates) {
  const std::vector<Measured> tiny{{"x f32", {100, 400}, 20e-6, 5}, {"x f32", {200, 800}, 21e-6, 5}};
  const Roofline prior{1e11, 1e10, 2e-6};
  const Roofline fitted = fit_roofline(tiny, prior);
  EXPECT_NEAR(fitted.seconds(tiny[0].cost), 20e-6, 2e-6);
  const Cost large{1e9, 1e9};
  EXPECT_NEAR(std::log(fitted.seconds(large) / prior.seconds(large)), 0, 0.1);
}

TEST(Profiler, MeasuresEveryOpOfTheTableWithoutTouchingItsContents) {
  Profiler profiler(cpu({.threads = 1}), {.repeats = 3, .seconds = 0, .scratch = 1_MiB});
  std::size_t timed = 0;
  for (const Op* op : all_ops()) {
    if (op->samples == nullptr || op->view != nullptr) continue;
    const std::vector<Sample> samples = op->samples();
    for (std::size_t s = 0; s < std::min<std::size_t>(samples.size(), 2); ++s) {
      KernelSpec spec{.attrs = samples[s].attrs, .threads = 1};
      for (const Type& t : samples[s].in) spec.in.push_back(Value{.type = t});
      if (op->infer == nullptr) continue;
      for (const Type& t : op->infer({op->name, samples[s].in, samples[s].attrs, {}}))
        spec.out.push_back(Value{.type = t});
      const std::unique_ptr<Kernel> kernel = prepare(*op, spec);
      Measured m;
      try {
        m = profiler.time(*op, spec, *kernel);
      } catch (const Error& e) {
        // A factorisation refuses numbers that are no such matrix: its estimate stays a roofline.
        EXPECT_THAT(e.what(), testing::HasSubstr("definite"));
        continue;
      }
      EXPECT_GT(m.seconds, 0) << op->name;
      EXPECT_GE(m.runs, 3) << op->name;
      EXPECT_EQ(m.op, op_key(*op, spec));
      ++timed;
    }
  }
  EXPECT_GT(timed, 100u);
}

TEST(Profiler, ALargerProductTakesLonger) {
  Profiler profiler(cpu({.threads = 1}), {.repeats = 5, .scratch = 4_MiB});
  const auto time = [&](std::int64_t n) {
    const KernelSpec spec = product(n, n, n);
    return profiler.time(matmul_op(), spec, *prepare(matmul_op(), spec)).seconds;
  };
  EXPECT_LT(time(8), time(512)) << "a factor of 262144 in arithmetic";
}

}  // namespace
}  // namespace tidemark
