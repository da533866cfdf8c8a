// Simulations compiled from loops: bench_simulation [burgers | long [steps] | wave [cells steps [folder]] | wave_full | all]. Process CPU
// seconds, medians, one thread; more than 50,000 steps run once, native only. With a folder, waves also keep states on disk there.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>

#include "hand.h"
#include "tidemark/compile/loops.h"
#include "tidemark/tidemark.h"

namespace {

using namespace tidemark;

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}
// `times` 0: once, cold.
double median(int times, const std::function<void()>& f) {
  if (times > 0) f();
  std::vector<double> all;
  for (int i = 0; i < std::max(1, times); ++i) {
    const double begin = cpu_seconds();
    f();
    all.push_back(cpu_seconds() - begin);
  }
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

Tensor burgers_energy(const bench::Burgers& p, const Tensor& start) {
  const std::int64_t n = p.cells;
  const Tensor last = scan(p.steps, start, [&](const Tensor& u) {
    const Tensor l = slice(u, 0, 0, n - 1), r = slice(u, 0, 1, n);
    const Tensor flux = 0.25 * (l * l + r * r) - 0.5 * maximum(abs(l), abs(r)) * (r - l);
    const Tensor inside =
        slice(u, 0, 1, n - 1) - p.ratio * (slice(flux, 0, 1, n - 1) - slice(flux, 0, 0, n - 2));
    return update_slice(u, inside, 0, 1);
  });
  return sum(square(last));
}

double largest_difference(const std::vector<double>& a, std::span<const double> b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

void burgers(std::int64_t steps, std::int64_t slots, int times) {
  const bench::Burgers p{.steps = steps};
  const std::vector<double> start = p.start();
  std::vector<double> gradient;
  bench::HandAdjoint hand(p, slots);
  const double by_hand = median(times, [&] { hand.run(start, gradient); });
  std::printf("burgers: %lld cells x %lld steps, %lld states kept\n", static_cast<long long>(p.cells),
              static_cast<long long>(steps), static_cast<long long>(std::min(slots, steps)));
  std::printf("  by hand                  %9.2f ms\n", by_hand * 1e3);
  const Tensor u = tensor(start, {p.cells});
  const auto step = [&](const Tensor& x) {
    return value_and_grad([&](const Tensor& y) { return burgers_energy(p, y); })(x);
  };
  for (const bool native : {false, true}) {
    if (times == 0 && !native) continue;
    CompileOptions options{.device = cpu({.threads = 1}), .native = native};
    if (slots < steps) options.memory = Budget(static_cast<Bytes>((slots + 20) * p.cells * 8));
    auto f = compile(step, options);
    Compiled& c = f.plan_for(u);
    decltype(f(u)) result;
    const double seconds = median(times, [&] { result = f(u); });
    std::printf(
        "  %s %9.2f ms  %5.2f x by hand; peak %.2f MB predicted, %.2f MB measured; gradients differ by "
        "%.1e\n",
        native ? "compiled, native        " : "compiled, executor      ", seconds * 1e3, seconds / by_hand,
        static_cast<double>(c.peak_predicted()) / 1e6, static_cast<double>(c.peak_measured()) / 1e6,
        largest_difference(gradient, result.grad.data<double>()));
    if (native) {
      for (const std::string& line : explain_loops(c.graph(), {})) std::printf("  %s\n", line.c_str());
    }
  }
}

// Acoustic waves in two dimensions: the misfit at a row of receivers, by the velocity of every cell.
struct Waves {
  Tensor before, now;
};
Tensor misfit(const Tensor& velocity, const Tensor& wavelet, std::int64_t n, std::int64_t steps) {
  const Tensor none = full_like(velocity, 0);
  const auto r = scan(
      steps, Waves{none, none},
      [&](const Waves& w, const Tensor& pulse) {
        const auto part = [&](std::int64_t di, std::int64_t dj) {
          return slice(slice(w.now, 0, 1 + di, n - 1 + di), 1, 1 + dj, n - 1 + dj);
        };
        const Tensor laplace = part(-1, 0) + part(1, 0) + part(0, -1) + part(0, 1) - 4.0 * part(0, 0);
        const Tensor v = slice(slice(velocity, 0, 1, n - 1), 1, 1, n - 1);
        const Tensor before = slice(slice(w.before, 0, 1, n - 1), 1, 1, n - 1);
        Tensor inside = 2.0 * part(0, 0) - before + v * v * laplace;
        const Tensor source = slice(slice(inside, 0, n / 2, n / 2 + 1), 1, n / 2, n / 2 + 1) + pulse;
        inside = update_slice(inside, update_slice(slice(inside, 0, n / 2, n / 2 + 1), source, 1, n / 2), 0,
                              n / 2);
        const Tensor next = pad(inside, {{1, 1}, {1, 1}});
        return std::pair(Waves{w.now, next}, reshape(slice(next, 0, 3, 4), {n}));
      },
      wavelet);
  return sum(square(r.ys));
}

void wave(std::int64_t n, std::int64_t steps, const std::string& folder) {
  std::vector<float> pulse(static_cast<std::size_t>(steps));
  for (std::int64_t i = 0; i < steps; ++i) {
    const double a = 0.02 * (static_cast<double>(i) - 60);
    pulse[static_cast<std::size_t>(i)] = static_cast<float>((1 - 2 * a * a) * std::exp(-a * a));
  }
  const Tensor wavelet = tensor(pulse, {steps, 1, 1}), velocity = full({n, n}, 0.5);
  const auto step = [&](const Tensor& v) {
    return value_and_grad([&](const Tensor& w) { return misfit(w, wavelet, n, steps); })(v);
  };
  const auto states = static_cast<double>(steps * 2 * n * n * 4);
  std::printf("wave inversion: %lld x %lld, %lld steps, f32; all states %.0f MB\n", static_cast<long long>(n),
              static_cast<long long>(n), static_cast<long long>(steps), states / 1e6);
  std::vector<float> wanted;
  double full_time = 0;
  struct Row {
    double percent;
    bool native = true, on_disk = false;
  };
  std::vector<Row> rows;
  for (const double percent : {100.0, 50.0, 20.0, 10.0, 5.0, 2.0, 1.0}) rows.push_back({percent});
  if (!folder.empty()) rows.insert(rows.end(), {{100.0, false}, {1.0, false}, {1.0, false, true}});
  for (const auto& [percent, native, on_disk] : rows) {
    CompileOptions options{.device = cpu({.threads = 1}), .native = native};
    if (on_disk) options.tiers = {disk(folder, static_cast<Bytes>(states))};
    const Bytes rest = 24 * n * n * 4 + steps * (n + 1) * 8;
    if (percent < 100) options.memory = Budget(static_cast<Bytes>(states * percent / 100) + rest);
    auto f = compile(step, options);
    auto result = f(velocity);
    const double seconds = median(1, [&] { result = f(velocity); });
    const auto got = result.grad.data<float>();
    if (wanted.empty()) wanted.assign(got.begin(), got.end());
    if (percent == 100) full_time = seconds;
    Compiled& c = f.plan_for(velocity);
    std::printf(
        "  %5.1f %%%s: %7.2f s (%.2f x), peak %.1f MB predicted, %.1f MB measured, %s\n", percent,
        native ? "" : on_disk ? ", executor and disk" : ", executor", seconds,
        seconds / full_time, static_cast<double>(c.peak_predicted()) / 1e6,
        static_cast<double>(c.peak_measured()) / 1e6,
        std::memcmp(wanted.data(), got.data(), wanted.size() * 4) == 0 ? "the same bits" : "OTHER BITS");
    for (const std::string& line : explain_loops(c.graph(), {})) std::printf("           %s\n", line.c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const std::string what = argc > 1 ? argv[1] : "burgers";
  if (what == "burgers" || what == "all") burgers(1000, 1000, 9);
  const std::int64_t steps = what == "long" && argc > 2 ? std::atoll(argv[2]) : 50'000;
  if (what == "long" || what == "all") burgers(steps, 100, steps > 50'000 ? 0 : 3);
  if (what == "wave" || what == "all")
    wave(argc > 2 ? std::atoll(argv[2]) : 200, argc > 3 ? std::atoll(argv[3]) : 400, argc > 4 ? argv[4] : "");
  if (what == "wave_full") wave(500, 2000, "");
}
