// The figures of the schedules: counts against closed forms, streaming, the time of the dynamic programs, and
// unequal steps against Revolve at equal bytes. bench_schedule [--all]: every stream up to 2000 steps and 50
// slots.
// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "tidemark/base/random.h"
#include "tidemark/schedule/chain.h"
#include "tidemark/schedule/mixed.h"
#include "tidemark/schedule/registry.h"
#include "tidemark/schedule/revolve.h"
#include "tidemark/schedule/schedules.h"

namespace {

using namespace tidemark;
using namespace tidemark::schedule;

double cpu_seconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}
double peak_mib() {
  rusage r;
  getrusage(RUSAGE_SELF, &r);
  return static_cast<double>(r.ru_maxrss) / 1024;
}
double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}
template <typename F>
double median_seconds(int times, F&& f) {
  std::vector<double> seconds;
  for (int i = 0; i < times; ++i) {
    const double start = cpu_seconds();
    f();
    seconds.push_back(cpu_seconds() - start);
  }
  return median(seconds);
}

void closed_forms(bool all) {
  std::int64_t streams = 0, wrong = 0;
  for (int c = 1; c <= 50; ++c)
    for (int l = 1; l <= 2000; l += all ? 1 : 61) {
      ++streams;
      wrong += count("revolve", {.steps = l, .slots = c}).forward_steps != revolve_advances(l, c) + l;
      wrong += count("mixed", {.steps = l, .slots = c}).forward_steps != mixed_steps(l, c);
    }
  std::printf("revolve and mixed, l <= 2000, c <= 50: %lld streams each, %lld off the closed form\n",
              (long long)streams, (long long)wrong);
  for (const char* name : {"revolve", "mixed"}) {
    const Counts n = count(name, {.steps = 1000, .slots = 10});
    std::printf("%-12s 1000 steps, 10 slots: %lld forward steps, %lld writes\n", name,
                (long long)n.forward_steps, (long long)n.writes);
  }
}

void streaming() {
  for (const char* name : {"revolve", "mixed", "online"}) {
    const double before = peak_mib(), start = cpu_seconds();
    const Counts n = count(name, {.steps = 1'000'000, .slots = 100});
    std::printf("%-12s 1,000,000 steps, 100 slots: %lld forward steps, %.2f s, %.1f MiB more\n", name,
                (long long)n.forward_steps, cpu_seconds() - start, peak_mib() - before);
  }
}

void equal_steps() {
  const Spec s{.steps = 1000,
               .slots = 100,
               .disk_slots = 100,
               .write = 0.2,
               .read = 0.1,
               .disk_write = 5,
               .disk_read = 3};
  for (const char* name : {"revolve", "multistage", "disk_revolve", "h_revolve"}) {
    const double seconds = median_seconds(7, [&] { schedule_named(name).make(s); });
    std::printf("%-12s 1000 steps, 100 slots (+ 100 on disk), costs: planned in %.1f ms (target 50)\n", name,
                1e3 * seconds);
  }
}

double log_uniform(Rng& rng, double low, double high) { return low * std::pow(high / low, rng.uniform()); }

double forward_seconds(const std::vector<ChainStep>& steps, Schedule& s, Bytes* bytes) {
  double sum = 0;
  const Replay r = replay(s,
                          {.steps = static_cast<std::int64_t>(steps.size()),
                           .state_bytes = [&](std::int64_t i) { return steps[i].state; },
                           .tape_bytes = [&](std::int64_t i) { return steps[i].tape; }},
                          [&](const Action& a) {
                            if (a.kind == Action::Kind::advance)
                              for (std::int64_t i = a.from; i < a.to; ++i) sum += steps[i].forward;
                          });
  *bytes = r.counts.bytes;
  return sum;
}

void unequal_steps() {
  std::printf(
      "\nchain: 1000 steps, time, state and tape log-uniform over two orders of magnitude; bytes of "
      "Revolve's slots\n");
  std::printf("%6s %5s %10s %10s %10s %12s %12s %8s %10s\n", "slots", "seed", "Revolve s", "most fit s",
              "chain s", "fewer", "vs most fit", "CPU s", "unit B");
  std::vector<double> fewer, fewer_fit, seconds;
  for (const int slots : {5, 10, 20, 50})
    for (const int seed : {1, 2, 3}) {
      Rng rng(static_cast<std::uint64_t>(seed));
      std::vector<ChainStep> steps;
      Bytes state = 0, tape = 0;
      for (int i = 0; i < 1000; ++i) {
        steps.push_back({log_uniform(rng, 0.01, 1), 1, static_cast<Bytes>(log_uniform(rng, 1e4, 1e6)),
                         static_cast<Bytes>(log_uniform(rng, 1e4, 1e6))});
        state = std::max(state, steps.back().state);
        tape = std::max(tape, steps.back().tape);
      }
      const Bytes budget = slots * state + tape;
      Bytes used = 0;
      const double revolved = forward_seconds(steps, *revolve(1000, slots), &used);
      // Revolve with as many slots as happen to fit, which its user could only find by trying.
      double fit = revolved;
      for (int more = slots + 1; more < 1000; ++more) {
        const double t = forward_seconds(steps, *revolve(1000, more), &used);
        if (used > budget) break;
        fit = std::min(fit, t);
      }
      const double start = cpu_seconds();
      const Chain c = chain(steps, {.budget = budget});
      seconds.push_back(cpu_seconds() - start);
      fewer.push_back(1 - c.forward_seconds / revolved);
      fewer_fit.push_back(1 - c.forward_seconds / fit);
      std::printf("%6d %5d %10.1f %10.1f %10.1f %11.1f%% %11.1f%% %8.2f %10lld\n", slots, seed, revolved, fit,
                  c.forward_seconds, 100 * fewer.back(), 100 * fewer_fit.back(), seconds.back(),
                  (long long)c.granularity);
    }
  std::printf(
      "median: %.1f %% fewer forward seconds than Revolve (target 20), %.1f %% than the most slots that fit, "
      "%.2f s CPU (target 5)\n",
      100 * median(fewer), 100 * median(fewer_fit), median(seconds));
}

}  // namespace

int main(int argc, char** argv) {
  closed_forms(argc > 1 && std::strcmp(argv[1], "--all") == 0);
  streaming();
  equal_steps();
  unequal_steps();
}
