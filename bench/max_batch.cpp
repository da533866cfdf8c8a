// The largest batch at no more than one extra forward pass, against keeping everything in a framework that fuses nothing, by running it:
// plans both by bisection, then takes steps at the larger batch and compares the measured peak with the budget.
//   bench_max_batch MODEL SIZE BUDGET [THREADS]
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tidemark/nn/train.h"
#include "tidemark/nn/zoo.h"
#include "tidemark/plan/budget.h"
#include "tidemark/tidemark.h"

using namespace tidemark;

namespace {

struct Setting {
  std::string name;
  std::int64_t size;
  TrainOptions training{.optimizer = {.kind = Optimizer::Kind::sgd}};
  Model model(std::int64_t batch) const {
    return make_model(name, {.batch = batch, .size = size, .seq = size});
  }
  auto arguments(std::int64_t batch) const {
    Init shapes({.abstract = true});
    const Model m = model(batch);
    return std::tuple(make_train_state(m, training.optimizer, shapes), synthetic_batch(m, shapes));
  }
};

// What a forward pass is of a step: tasks that make what the loss is made from.
double forward_part(const Posed& posed) {
  const std::vector<Role> role = roles(posed);
  double forward = 0, all = 0;
  for (const plan::Task& t : posed.problem.tasks) {
    if (t.optional) continue;
    all += t.seconds;
    bool on_the_way = !t.writes.empty();
    for (const plan::BufferId b : t.writes)
      on_the_way = on_the_way && role[static_cast<std::size_t>(b)] == Role::activation;
    if (on_the_way) forward += t.seconds;
  }
  return forward / all;
}

Posed posed_at(const Setting& s, std::int64_t batch, const CompileOptions& options) {
  const auto [state, data] = s.arguments(batch);
  Graph graph = trace(train_step(s.model(batch), s.training), state, data);
  const int updated = static_cast<int>(flatten(state).size());
  for (int i = 0; i < updated; ++i) graph.updates.emplace_back(i, i);
  return posed_of(std::move(graph), options);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: bench_max_batch MODEL SIZE BUDGET [THREADS]\n");
    return 1;
  }
  const Setting s{argv[1], std::atoll(argv[2])};
  const Bytes budget = parse_bytes(argv[3]);
  const auto device = cpu({.threads = argc > 4 ? std::atoi(argv[4]) : 0});
  CompileOptions plain{.device = device, .state = 1, .passes = OptimiseOptions::none()},
      ours{.device = device, .state = 1};

  std::int64_t fits = 0, not_fits = 1;
  const auto keeps_all = [&](std::int64_t n) {
    return plan::store_all_live_peak(posed_at(s, n, plain).problem) <= budget;
  };
  while (keeps_all(not_fits)) fits = not_fits, not_fits *= 2;
  while (fits + 1 < not_fits) (keeps_all((fits + not_fits) / 2) ? fits : not_fits) = (fits + not_fits) / 2;

  const double forward = forward_part(posed_at(s, std::max<std::int64_t>(fits, 1), ours));
  FitOptions options{.budget = budget, .least = std::max<std::int64_t>(fits, 1), .most_overhead = forward};
  options.solve.time_limit = ours.time_limit = 5;  // near the least peak there is, plans are rare
  options.progress = [](const FitTry& t) {
    std::fprintf(stderr, "batch %ld: %s, peak %s, %+.1f %%\n", static_cast<long>(t.n),
                 t.fits ? "fits" : "does not", format_bytes(t.peak).c_str(),
                 t.seconds > 0 ? 100 * (t.seconds / t.seconds_floor - 1) : 0.0);
    return true;
  };
  const Fit fit = largest_fit([&](std::int64_t n) { return posed_at(s, n, ours).problem; }, options);
  std::printf(
      "%s %ld, %s: store_all without fusion fits %ld; ours %ld at %+.1f %% (a forward pass is %.1f %%): %.2f "
      "x\n",
      s.name.c_str(), static_cast<long>(s.size), format_bytes(budget).c_str(), static_cast<long>(fits),
      static_cast<long>(fit.n), 100 * fit.overhead(), 100 * forward,
      static_cast<double>(fit.n) / static_cast<double>(std::max<std::int64_t>(fits, 1)));
  std::fflush(stdout);
  if (fit.n == 0) return 2;

  Init init({.seed = 1});
  const Model model = s.model(fit.n);
  TrainState state = make_train_state(model, s.training.optimizer, init);
  const Tensors batch = synthetic_batch(model, init);
  ours.memory = budget;
  auto step = compile(train_step(model, s.training), ours);
  for (int i = 0; i < 2; ++i) state = step(std::move(state), batch).next;
  const Compiled& c = step.plan_for(state, batch);
  std::printf("ran 2 steps: peak measured %s, predicted %s, budget %s\n",
              format_bytes(c.peak_measured()).c_str(), format_bytes(c.peak_predicted()).c_str(),
              format_bytes(budget).c_str());
  return c.peak_measured() <= budget ? 0 : 2;
}
