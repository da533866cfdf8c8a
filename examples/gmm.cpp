// A Gaussian mixture fitted to points by the objective of ADBench (Srajer, Kukelova & Fitzgibbon, 2018), its gradient from one tape that is
// used again in every round. `gmm FILE.svg` draws points and clusters. Returns 1 if the fit does not find the three clusters.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <cstdio>

#include "picture.h"
#include "tidemark/base/random.h"
#include "tidemark/tape/tape.h"

using namespace tidemark;

constexpr std::size_t kClusters = 3,
                      kEach = 6;  // a weight, a mean, and a triangle of an inverse covariance's root
using Points = std::vector<std::array<double, 2>>;

// The negative logarithm of the likelihood, with a Wishart prior; written once for double and Var.
template <typename T>
T objective(const Points& points, const std::vector<T>& p) {
  using std::exp;
  using std::log;
  T total = 0.0, weights = 0.0;
  for (std::size_t k = 0; k < kClusters; ++k) weights += exp(p[k * kEach]);
  for (const auto& x : points) {
    T sum = 0.0;
    for (std::size_t k = 0; k < kClusters; ++k) {
      const T* c = &p[k * kEach];
      const T dx = x[0] - c[1], dy = x[1] - c[2];
      const T a = exp(c[3]) * dx, b = c[5] * dx + exp(c[4]) * dy;
      sum += exp(c[0] + c[3] + c[4] - 0.5 * (a * a + b * b));
    }
    total -= log(sum + 1e-300);
  }
  T prior = 0.0;
  for (std::size_t k = 0; k < kClusters; ++k) {
    const T* c = &p[k * kEach];
    prior += 0.5 * (exp(2.0 * c[3]) + exp(2.0 * c[4]) + c[5] * c[5]) * 0.01;
  }
  return total + static_cast<double>(points.size()) * log(weights) + prior;
}

int main(int argc, char** argv) {
  const std::array<std::array<double, 2>, kClusters> centres{{{-1.5, -0.5}, {0.5, 1.2}, {1.6, -1.0}}};
  Rng rng(3);
  const auto normal = [&] {
    double sum = 0;
    for (int i = 0; i < 12; ++i) sum += rng.uniform();
    return sum - 6;
  };
  Points points;
  for (int i = 0; i < 240; ++i) {
    const auto& c = centres[static_cast<std::size_t>(i) % kClusters];
    const double a = normal(), b = normal();
    points.push_back({c[0] + 0.35 * a, c[1] + 0.25 * b + 0.2 * a});
  }
  std::vector<double> p(kClusters * kEach, 0.0), speed(p.size(), 0.0);
  for (std::size_t k = 0; k < kClusters; ++k) {
    p[k * kEach + 1] = -1.0 + static_cast<double>(k);
    p[k * kEach + 2] = 0.3 * static_cast<double>(k % 2);
  }
  const double first = objective(points, p);
  Tape tape;
  for (int round = 0; round < 400; ++round) {
    tape.reset();
    const Tape::Recording recording(tape);
    std::vector<Var> x;
    for (const double v : p) x.push_back(tape.input(v));
    tape.reverse(objective(points, x));
    for (std::size_t i = 0; i < p.size(); ++i) {
      speed[i] = 0.9 * speed[i] - 0.0008 * tape.adjoint(x[i]);
      p[i] += speed[i];
    }
  }
  const tape::TapeCounts counts = tape.counts();
  std::printf("objective %.2f at first, %.2f after 400 rounds; a tape of %lld statements in %lld bytes\n",
              first, objective(points, p), static_cast<long long>(counts.statements),
              static_cast<long long>(counts.tape));
  double worst = 0;
  for (const auto& c : centres) {
    double nearest = 1e9;
    for (std::size_t k = 0; k < kClusters; ++k)
      nearest = std::min(nearest, std::hypot(p[k * kEach + 1] - c[0], p[k * kEach + 2] - c[1]));
    worst = std::max(worst, nearest);
  }
  std::printf("farthest mean from its centre: %.3f\n", worst);
  if (argc > 1) {
    Picture picture(420, 360, "points, and two standard deviations of the clusters found");
    const auto at = [](double x, double y) { return std::pair(200 + 75 * x, 190 - 75 * y); };
    for (const auto& x : points) picture.dot(at(x[0], x[1]).first, at(x[0], x[1]).second, 2, "#789");
    for (std::size_t k = 0; k < kClusters; ++k) {
      const double* c = &p[k * kEach];
      std::vector<std::pair<double, double>> ring;
      for (int i = 0; i <= 60; ++i) {
        // Where the distance in the cluster's own measure is two.
        const double t = 6.283185307 * i / 60, u = 2 * std::cos(t), v = 2 * std::sin(t);
        const double dx = u / std::exp(c[3]), dy = (v - c[5] * dx) / std::exp(c[4]);
        ring.push_back(at(c[1] + dx, c[2] + dy));
      }
      picture.curve(ring, "#c22", 2);
    }
    picture.write(argv[1]);
  }
  return worst < 0.2 ? 0 : 1;
}
