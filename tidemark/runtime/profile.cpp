// SPDX-License-Identifier: Apache-2.0
#include "tidemark/runtime/profile.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>

#include "tidemark/base/text.h"
#include "tidemark/base/version.h"
#include "tidemark/kernels/cpu/onednn_version.h"
#include "tidemark/plan/problem.h"

namespace tidemark {
namespace {

DType dtype_of_spec(const KernelSpec& spec) {
  if (!spec.out.empty()) return spec.out[0].type.dtype;
  return spec.in.empty() ? DType::f32 : spec.in[0].type.dtype;
}

double error_of(const Roofline& r, std::span<const Measured> points) {
  double error = 0;
  for (const Measured& p : points)
    error += std::sqrt(p.seconds) * std::abs(std::log(r.seconds(p.cost) / p.seconds));
  return error;
}

// Rates that single points suggest: a few quantiles are enough, the best pair is found by trying all.
std::vector<double> rates(std::span<const Measured> points, double constant, double Cost::*amount,
                          double prior) {
  std::vector<double> all;
  for (const Measured& p : points) {
    if (p.seconds > constant && p.cost.*amount > 0) all.push_back(p.cost.*amount / (p.seconds - constant));
  }
  if (all.empty()) return {prior};
  std::sort(all.begin(), all.end());
  constexpr std::size_t kQuantiles = 24;
  std::vector<double> some;
  for (std::size_t q = 0; q <= kQuantiles; ++q) some.push_back(all[q * (all.size() - 1) / kQuantiles]);
  some.erase(std::unique(some.begin(), some.end()), some.end());
  some.push_back(prior);
  return some;
}

}  // namespace

double Roofline::seconds(const Cost& cost) const {
  const double seconds =
      std::max(cost.flops / flops_per_second, cost.bytes / bytes_per_second) + seconds_per_task;
  return seconds > 0 && seconds < plan::kLeastSeconds ? 0 : seconds;
}

std::string op_key(const Op& op, const KernelSpec& spec) {
  return fmt::format("{} {}", op.name, name_of(dtype_of_spec(spec)));
}

std::string point_key(const Op& op, const KernelSpec& spec) {
  Graph one;
  Node node{.op = &op, .attrs = spec.attrs, .regions = spec.regions};
  std::string text = op.name;
  const auto add = [&](const Value& v, std::vector<ValueId>& to) {
    to.push_back(static_cast<ValueId>(one.values.size()));
    one.values.push_back(Value{.type = v.type, .layout = v.layout});
  };
  for (const Value& v : spec.in) {
    add(v, node.in);
    text += " " + to_string(v.type);
  }
  for (const Value& v : spec.out) add(v, node.out);
  one.inputs = node.in;
  one.outputs = node.out;
  one.nodes.push_back(std::move(node));
  return text + " " + hash(one);
}

std::string this_cpu() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t colon = line.find(':');
    if (line.starts_with("model name") && colon != std::string::npos)
      return fmt::format("cpu ({})", trim(std::string_view(line).substr(colon + 1)));
  }
  return "cpu";
}

std::string library_versions() {
  const std::string products = kernels::onednn_version();
  return fmt::format("tidemark {}{}{}", kVersion, products.empty() ? "" : ", oneDNN ", products);
}

Estimate estimate(const DeviceProfile& profile, const Op& op, const KernelSpec& spec) {
  if (!profile.points.empty()) {
    const auto point = profile.points.find(point_key(op, spec));
    if (point != profile.points.end()) return {Estimate::From::measured, point->second.seconds};
  }
  const Cost cost = cost_of(op, spec);
  const std::string key = op_key(op, spec);
  auto fitted = profile.ops.find(key);
  // Narrow storage is computed in f32: its arithmetic takes no longer, and its own bytes count.
  for (const char* narrow : {" bf16", " f16"}) {
    if (fitted == profile.ops.end() && key.ends_with(narrow))
      fitted = profile.ops.find(key.substr(0, key.size() - std::strlen(narrow)) + " f32");
  }
  if (fitted != profile.ops.end()) return {Estimate::From::op, fitted->second.seconds(cost)};
  return {Estimate::From::device, profile.roofline.seconds(cost)};
}

Roofline fit_roofline(std::span<const Measured> points, const Roofline& prior) {
  TIDEMARK_CHECK(!points.empty(), "no point to fit a roofline to");
  double least = std::numeric_limits<double>::infinity(), weight = 0;
  for (const Measured& p : points) {
    least = std::min(least, p.seconds);
    weight += std::sqrt(p.seconds);
  }
  // Points that say little about a rate (all of them small, say) leave it where it was: a factor of e away from it has to
  // make the points 2 % better on average.
  constexpr double kPull = 0.02;
  Roofline best;
  double best_error = std::numeric_limits<double>::infinity();
  for (const double part : {0.0, 0.3, 0.6, 0.9, 1.0}) {
    const double constant = part * least;
    const std::vector<double> bytes = rates(points, constant, &Cost::bytes, prior.bytes_per_second);
    for (const double f : rates(points, constant, &Cost::flops, prior.flops_per_second)) {
      for (const double b : bytes) {
        const Roofline r{f, b, constant};
        const double pull =
            std::abs(std::log(f / prior.flops_per_second)) + std::abs(std::log(b / prior.bytes_per_second));
        const double error = error_of(r, points) + kPull * weight * pull;
        if (error < best_error) best_error = error, best = r;
      }
    }
  }
  return best;
}

void fit_rooflines(DeviceProfile& profile) {
  std::map<std::string, std::vector<Measured>> by_op;
  std::vector<Measured> all;
  for (const auto& [key, point] : profile.points) {
    if (!(point.seconds > 0)) continue;
    by_op[point.op].push_back(point);
    // Codecs are far from what ops take, and only they have a roofline of their own for certain.
    if (!point.op.starts_with("encode ") && !point.op.starts_with("decode ")) all.push_back(point);
  }
  for (const auto& [op, points] : by_op) {
    const auto before = profile.ops.find(op);
    profile.ops[op] = fit_roofline(points, before != profile.ops.end() ? before->second : profile.roofline);
  }
  if (!all.empty()) profile.roofline = fit_roofline(all, profile.roofline);
}

DeviceProfile cpu_profile(int threads) {
  DeviceProfile profile = load_profile("cpu");
  const double scale =
      static_cast<double>(std::max(threads, 1)) / static_cast<double>(std::max(profile.threads, 1));
  // Arithmetic grows with the threads; the memory's rate less than that beyond a few.
  const double traffic = std::sqrt(scale);
  const auto scaled = [&](Roofline& r) {
    r.flops_per_second *= scale;
    r.bytes_per_second *= traffic;
  };
  scaled(profile.roofline);
  for (auto& [op, r] : profile.ops) scaled(r);
  profile.points.clear();
  profile.threads = threads;
  return profile;
}

}  // namespace tidemark
