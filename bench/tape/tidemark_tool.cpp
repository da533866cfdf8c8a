// SPDX-License-Identifier: Apache-2.0
#include "bench/tape/problems.h"
#include "tidemark/tape/tape.h"

namespace problems {
namespace {

template <typename F>
Sample gradient(const std::vector<double>& at, F&& f) {
  static tidemark::Tape tape;
  Sample s;
  const double start = cpu_seconds();
  tape.reset();
  const tidemark::Tape::Recording recording(tape);
  std::vector<tidemark::Var> x;
  x.reserve(at.size());
  for (const double v : at) x.push_back(tape.input(v));
  std::vector<tidemark::Var> inputs = x;
  const tidemark::Var y = f(x);
  const double middle = cpu_seconds();
  tape.reverse(y);
  for (const auto& v : inputs) s.gradient.push_back(tape.adjoint(v));
  const double end = cpu_seconds();
  s.seconds = end - start;
  s.sweep = end - middle;
  s.value = y.value();
  const auto counts = tape.counts();
  s.tape_bytes = static_cast<double>(counts.tape);
  s.statements = static_cast<double>(counts.statements);
  return s;
}

}  // namespace

Tool tidemark_tool() {
  return {"tidemark",
          [](const Burgers& p) { return gradient(p.start(), [&](auto& u) { return burgers_energy(p, u); }); },
          [](const Gmm& g) { return gradient(g.parameters, [&](auto& x) { return gmm_objective(g, x); }); }};
}

}  // namespace problems
