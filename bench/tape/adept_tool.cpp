// Adept, where CMake found it.
// SPDX-License-Identifier: Apache-2.0
#include "bench/tape/problems.h"

#ifdef TIDEMARK_WITH_ADEPT
#include <adept.h>

namespace problems {
namespace {

// One in a thread.
adept::Stack& stack_of_thread() {
  static adept::Stack stack;
  return stack;
}

template <typename F>
Sample gradient(const std::vector<double>& at, F&& f) {
  adept::Stack& stack = stack_of_thread();
  Sample s;
  const double start = cpu_seconds();
  std::vector<adept::adouble> x(at.size());
  for (std::size_t i = 0; i < at.size(); ++i) x[i].set_value(at[i]);
  stack.new_recording();
  std::vector<adept::adouble> u = x;
  adept::adouble y = f(u);
  const double middle = cpu_seconds();
  y.set_gradient(1.0);
  stack.reverse();
  for (auto& v : x) s.gradient.push_back(v.get_gradient());
  const double end = cpu_seconds();
  s.seconds = end - start;
  s.sweep = end - middle;
  s.value = y.value();
  s.statements = static_cast<double>(stack.n_statements());
  s.tape_bytes =
      8.0 * static_cast<double>(stack.n_statements()) + 12.0 * static_cast<double>(stack.n_operations());
  return s;
}

}  // namespace

Tool adept_tool() {
  return {"Adept",
          [](const Burgers& p) { return gradient(p.start(), [&](auto& u) { return burgers_energy(p, u); }); },
          [](const Gmm& g) { return gradient(g.parameters, [&](auto& x) { return gmm_objective(g, x); }); }};
}

}  // namespace problems
#else
namespace problems {
Tool adept_tool() { return {"Adept", nullptr, nullptr}; }
}  // namespace problems
#endif
