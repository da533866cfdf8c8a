// CoDiPack, where CMake found its headers: with linear and with reused indices.
// SPDX-License-Identifier: Apache-2.0
#include "bench/tape/problems.h"

#ifdef TIDEMARK_WITH_CODIPACK
#include <codi.hpp>

namespace problems {
namespace {

template <typename Real, typename F>
Sample gradient(const std::vector<double>& at, F&& f) {
  Sample s;
  auto& tape = Real::getTape();
  const double start = cpu_seconds();
  tape.reset();
  tape.setActive();
  std::vector<Real> x(at.begin(), at.end());
  for (Real& v : x) tape.registerInput(v);
  std::vector<typename Real::Identifier> inputs;
  for (const Real& v : x) inputs.push_back(v.getIdentifier());
  {
    // Reused indices: the inputs' must not be taken over while the tape needs them.
    std::vector<Real> kept = x;
    Real y = f(x);
    tape.registerOutput(y);
    tape.setPassive();
    const double middle = cpu_seconds();
    y.setGradient(1.0);
    tape.evaluate();
    for (std::size_t i = 0; i < inputs.size(); ++i) s.gradient.push_back(tape.getGradient(inputs[i]));
    const double end = cpu_seconds();
    s.seconds = end - start;
    s.sweep = end - middle;
    s.value = y.getValue();
  }
  auto values = tape.getTapeValues();
  s.tape_bytes = values.getUsedMemorySize();
  s.statements = static_cast<double>(tape.getParameter(codi::TapeParameters::StatementSize));
  return s;
}

template <typename Real>
Tool tool(const char* name) {
  return {name,
          [](const Burgers& p) {
            return gradient<Real>(p.start(), [&](auto& u) { return burgers_energy(p, u); });
          },
          [](const Gmm& g) {
            return gradient<Real>(g.parameters, [&](auto& x) { return gmm_objective(g, x); });
          }};
}

}  // namespace

Tool codipack_tool() { return tool<codi::RealReverse>("CoDiPack, linear indices"); }
Tool codipack_reuse_tool() { return tool<codi::RealReverseIndex>("CoDiPack, reused indices"); }

}  // namespace problems
#else
namespace problems {
Tool codipack_tool() { return {"CoDiPack", nullptr, nullptr}; }
Tool codipack_reuse_tool() { return {"CoDiPack", nullptr, nullptr}; }
}  // namespace problems
#endif
