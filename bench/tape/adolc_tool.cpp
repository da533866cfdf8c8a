// ADOL-C, where CMake found it.
// SPDX-License-Identifier: Apache-2.0
#include "bench/tape/problems.h"

#ifdef TIDEMARK_WITH_ADOLC
#include <adolc/adolc.h>

namespace problems {
namespace {

template <typename F>
Sample gradient_of(const std::vector<double>& at, F&& f) {
  Sample s;
  const double start = cpu_seconds();
  trace_on(1);
  {
    std::vector<adouble> x(at.size());
    for (std::size_t i = 0; i < at.size(); ++i) x[i] <<= at[i];
    adouble y = f(x);
    y >>= s.value;
  }
  trace_off();
  const double middle = cpu_seconds();
  s.gradient.resize(at.size());
  ::gradient(1, static_cast<int>(at.size()), const_cast<double*>(at.data()), s.gradient.data());
  const double end = cpu_seconds();
  s.seconds = end - start;
  s.sweep = end - middle;
  return s;
}

}  // namespace

Tool adolc_tool() {
  return {
      "ADOL-C",
      [](const Burgers& p) { return gradient_of(p.start(), [&](auto& u) { return burgers_energy(p, u); }); },
      [](const Gmm& g) { return gradient_of(g.parameters, [&](auto& x) { return gmm_objective(g, x); }); }};
}

}  // namespace problems
#else
namespace problems {
Tool adolc_tool() { return {"ADOL-C", nullptr, nullptr}; }
}  // namespace problems
#endif
