// bench_simulation_taped [steps] [longer]: Burgers' equation (1000 cells) through `checkpointed` in 1 MB, beside one tape of all
// steps: cost a step when warm, in turns, and of the first run in a fresh process. CPU seconds, medians. `longer`: that many steps too, in the same memory.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <functional>

#include "bench/tape/problems.h"
#include "tidemark/tape/checkpointed.h"

namespace {

using namespace tidemark;

double cpu_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

template <typename T>
struct Flow {
  std::vector<T> u;
};

struct Result {
  double seconds = 0, value = 0;
  std::vector<double> gradient;
  CheckpointReport report;
};

Result by_tape(const bench::Burgers& p, Tape& tape) {
  Result r;
  const double start = cpu_seconds();
  tape.reset();
  const Tape::Recording recording(tape);
  std::vector<Var> u;
  for (const double v : p.start()) u.push_back(tape.input(v));
  const std::vector<Var> inputs = u;
  const Var energy = bench::burgers_energy(p, u);
  tape.reverse(energy);
  for (const Var& v : inputs) r.gradient.push_back(tape.adjoint(v));
  r.seconds = cpu_seconds() - start;
  r.value = energy.value();
  return r;
}

Result by_checkpoints(const bench::Burgers& p, Bytes memory) {
  const auto step = [&](auto& s, const auto&, std::int64_t) {
    using T = std::remove_cvref_t<decltype(s.u[0])>;
    static thread_local std::vector<T> flux;
    flux.resize(s.u.size());
    bench::burgers_step(s.u, flux, p.ratio);
  };
  const auto loss = [](const auto& s, const auto&) {
    std::remove_cvref_t<decltype(s.u[0])> energy = 0.0;
    for (const auto& v : s.u) energy += v * v;
    return energy;
  };
  Result r;
  const double start = cpu_seconds();
  auto g = checkpointed<Flow, NoParameters>(step, loss, {p.start()}, {}, p.steps, {.memory = memory});
  r.seconds = cpu_seconds() - start;
  r.value = g.value;
  r.gradient = std::move(g.state.u);
  r.report = std::move(g.report);
  return r;
}

// In a process of its own, which has touched nothing yet.
double fresh(const std::function<double()>& f) {
  int ends[2];
  if (::pipe(ends) != 0) return 0;
  const pid_t child = ::fork();
  if (child == 0) {
    const double seconds = f();
    ::_exit(::write(ends[1], &seconds, sizeof seconds) == sizeof seconds ? 0 : 1);
  }
  double seconds = 0;
  if (::read(ends[0], &seconds, sizeof seconds) != sizeof seconds) seconds = 0;
  ::close(ends[0]);
  ::close(ends[1]);
  ::waitpid(child, nullptr, 0);
  return seconds;
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 50'000;
  const Bytes memory = 1'000'000;
  const bench::Burgers p{.cells = 1000, .steps = steps};
  const auto us = [&](double seconds, int n) { return 1e6 * seconds / n; };

  const double fresh_checkpoints = fresh([&] { return by_checkpoints(p, memory).seconds; });
  const double fresh_tape = fresh([&] {
    Tape tape;
    return by_tape(p, tape).seconds;
  });
  const Result ours = by_checkpoints(p, memory);
  // In turns, so that a busy machine slows both.
  std::vector<double> in_memory, on_tape, ratios;
  double difference = 0;
  {
    Tape tape;
    const Result all = by_tape(p, tape);
    for (std::size_t i = 0; i < all.gradient.size(); ++i)
      difference = std::max(difference, std::abs(all.gradient[i] - ours.gradient[i]));
    for (int round = 0; round < 5; ++round) {
      in_memory.push_back(by_checkpoints(p, memory).seconds);
      on_tape.push_back(by_tape(p, tape).seconds);
      ratios.push_back(in_memory.back() / on_tape.back());
    }
  }
  const double checkpoints = median(in_memory), full = median(on_tape);
  fmt::print("{}\n", ours.report.explain());
  fmt::print("peak predicted {} B, measured {} B; forward steps predicted {}, measured {}\n",
             ours.report.peak, ours.report.measured_peak, ours.report.forward_steps,
             ours.report.measured_forward_steps);
  fmt::print("in 1 MB, warm                {:8.2f} us a step\n", us(checkpoints, steps));
  fmt::print("one tape of all, warm        {:8.2f} us a step: {:.2f} x\n", us(full, steps),
             checkpoints / full);
  fmt::print("first run in a fresh process {:8.2f} us a step in 1 MB, {:.2f} on one tape\n",
             us(fresh_checkpoints, steps), us(fresh_tape, steps));
  fmt::print("largest difference of the gradients {:.1e}\n", difference);
  if (argc > 2) {
    const int n = std::atoi(argv[2]);
    const Result longer = by_checkpoints({.cells = 1000, .steps = n}, memory);
    fmt::print("{}; {:.2f} us a step, peak {} B\n", longer.report.explain(), us(longer.seconds, n),
               longer.report.measured_peak);
  }
}
