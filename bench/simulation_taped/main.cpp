// bench_simulation_taped [steps] [longer...]: Burgers' equation (1000 cells) through `checkpointed` in 1 MB, taped and compiled, beside
// one tape of all steps and an adjoint by hand with the same schedule: cost a step when warm, in turns, and of the first run in a fresh
// process. CPU seconds, medians. `longer`: so many steps too, in the same memory.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <functional>

#include "bench/simulation/hand.h"
#include "bench/tape/problems.h"
#include "tidemark/compile/native_steps.h"
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

Result by_tape(const problems::Burgers& p, Tape& tape) {
  Result r;
  const double start = cpu_seconds();
  tape.reset();
  const Tape::Recording recording(tape);
  std::vector<Var> u;
  for (const double v : p.start()) u.push_back(tape.input(v));
  const std::vector<Var> inputs = u;
  const Var energy = problems::burgers_energy(p, u);
  tape.reverse(energy);
  for (const Var& v : inputs) r.gradient.push_back(tape.adjoint(v));
  r.seconds = cpu_seconds() - start;
  r.value = energy.value();
  return r;
}

const auto burgers_step = [](auto& s, const auto&) {
  using T = std::remove_cvref_t<decltype(s.u[0])>;
  static thread_local std::vector<T> flux;
  flux.resize(s.u.size());
  problems::burgers_step(s.u, flux, problems::Burgers{}.ratio);
};

template <typename Step>
Result by_checkpoints(const Step& step, const problems::Burgers& p, Bytes memory) {
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

double hand_seconds(std::int64_t steps, std::int64_t slots) {
  bench::HandAdjoint hand({.steps = steps}, slots > 0 ? slots : steps);
  std::vector<double> gradient;
  const std::vector<double> start = problems::Burgers{}.start();
  const double begin = cpu_seconds();
  hand.run(start, gradient);
  return cpu_seconds() - begin;
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
  const problems::Burgers p{.cells = 1000, .steps = steps};
  const auto us = [&](double seconds, int n) { return 1e6 * seconds / n; };

  const double fresh_checkpoints = fresh([&] { return by_checkpoints(burgers_step, p, memory).seconds; });
  const double fresh_tape = fresh([&] {
    Tape tape;
    return by_tape(p, tape).seconds;
  });
  const Result ours = by_checkpoints(burgers_step, p, memory);
  const auto compiled_step = compiled(burgers_step, {.compiler = native_steps()});
  const Result ours_compiled = by_checkpoints(compiled_step, p, memory);
  // In turns, so that a busy machine slows all.
  std::vector<double> in_memory, on_tape, ratios, in_code, by_hand, hand_ratios;
  double difference = 0, code_difference = 0;
  {
    Tape tape;
    const Result all = by_tape(p, tape);
    for (std::size_t i = 0; i < all.gradient.size(); ++i) {
      difference = std::max(difference, std::abs(all.gradient[i] - ours.gradient[i]));
      code_difference = std::max(code_difference, std::abs(all.gradient[i] - ours_compiled.gradient[i]));
    }
    for (int round = 0; round < 5; ++round) {
      in_memory.push_back(by_checkpoints(burgers_step, p, memory).seconds);
      on_tape.push_back(by_tape(p, tape).seconds);
      ratios.push_back(in_memory.back() / on_tape.back());
      in_code.push_back(by_checkpoints(compiled_step, p, memory).seconds);
      by_hand.push_back(hand_seconds(steps, ours_compiled.report.slots));
      hand_ratios.push_back(in_code.back() / by_hand.back());
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
  fmt::print("compiled, in 1 MB: {}\n", ours_compiled.report.explain());
  fmt::print("peak predicted {} B, measured {} B\n", ours_compiled.report.peak,
             ours_compiled.report.measured_peak);
  fmt::print(
      "compiled, warm               {:8.2f} us a step: {:.2f} x one tape, {:.2f} x by hand ({:.2f} us) with "
      "as many states kept\n",
      us(median(in_code), steps), median(in_code) / full, median(hand_ratios), us(median(by_hand), steps));
  fmt::print("largest difference from the tape's gradient {:.1e}\n", code_difference);
  for (int i = 2; i < argc; ++i) {
    const int n = std::atoi(argv[i]);
    const auto print = [&](const char* what, const Result& r) {
      fmt::print("{}: {}; {:.2f} us a step, peak predicted {} B, measured {} B\n", what, r.report.explain(),
                 us(r.seconds, n), r.report.peak, r.report.measured_peak);
    };
    print("taped", by_checkpoints(burgers_step, {.cells = 1000, .steps = n}, memory));
    print("compiled", by_checkpoints(compiled_step, {.cells = 1000, .steps = n}, memory));
  }
}
