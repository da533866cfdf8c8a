// The number of a step while it is recorded. What the code asks of it becomes a fact that must hold wherever the recording is used,
// T(i) makes it a number that the recording reads; whoever needs it as an integer may do anything with it, and is left to the tape.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <type_traits>

#include "tidemark/tape/tape.h"

namespace tidemark::tape {

class TIDEMARK_API StepNumber {
 public:
  // `symbol`: the input that has it.
  StepNumber(std::int64_t value, const Sym& symbol) : value_(value), symbol_(symbol) {}

  operator std::int64_t() const;  // NOLINT: implicit by design; throws Error(unsupported)
  operator Sym() const;           // NOLINT: implicit by design
  operator Sym32() const;         // NOLINT: implicit by design
  operator SymVar() const { return SymVar(Sym(*this)); }        // NOLINT: implicit by design
  operator SymVar32() const { return SymVar32(Sym32(*this)); }  // NOLINT: implicit by design

  template <std::integral I>
  friend StepNumber operator+(const StepNumber& a, I b) {
    return a.shifted(static_cast<std::int64_t>(b));
  }
  template <std::integral I>
  friend StepNumber operator+(I a, const StepNumber& b) {
    return b.shifted(static_cast<std::int64_t>(a));
  }
  template <std::integral I>
  friend StepNumber operator-(const StepNumber& a, I b) {
    return a.shifted(-static_cast<std::int64_t>(b));
  }
  template <std::integral I>
  friend std::int64_t operator%(const StepNumber& a, I b) {
    return a.ask(StepFact::Kind::remainder, static_cast<std::int64_t>(b));
  }
  template <std::integral I>
  friend std::int64_t operator/(const StepNumber& a, I b) {
    return a.ask(StepFact::Kind::quotient, static_cast<std::int64_t>(b));
  }
  // `b op i` is turned round by the language.
  template <std::integral I>
  friend bool operator==(const StepNumber& a, I b) {
    return a.ask(StepFact::Kind::equal, static_cast<std::int64_t>(b)) != 0;
  }
  template <std::integral I>
  friend std::strong_ordering operator<=>(const StepNumber& a, I b) {
    const auto to = static_cast<std::int64_t>(b);
    if (a.ask(StepFact::Kind::less, to) != 0) return std::strong_ordering::less;
    return a.ask(StepFact::Kind::equal, to) != 0 ? std::strong_ordering::equal
                                                 : std::strong_ordering::greater;
  }

 private:
  StepNumber shifted(std::int64_t by) const {
    StepNumber result = *this;
    result.shift_ += by;
    return result;
  }
  std::int64_t ask(StepFact::Kind kind, std::int64_t operand) const;

  std::int64_t value_, shift_ = 0;
  Sym symbol_;
};

// Steps take their number, or do without.
template <typename Step, typename State, typename Parameters, typename Number>
TIDEMARK_INLINE void take_step(const Step& step, State& state, const Parameters& parameters,
                               const Number& number) {
  if constexpr (std::is_invocable_v<const Step&, State&, const Parameters&, const Number&>)
    step(state, parameters, number);
  else
    step(state, parameters);
}

}  // namespace tidemark::tape
