// Steps on Vars as a Loop: each one that is reversed is taped.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>
#include <utility>

#include "tidemark/tape/loop.h"
#include "tidemark/tape/state.h"
#include "tidemark/tape/step_number.h"

namespace tidemark::tape {

// Step and loss are called with states on plain numbers and on Vars.
template <template <typename> class State, template <typename> class Parameters, typename Real, typename Step,
          typename Loss, typename GoOn>
class TapedLoop : public Loop {
 public:
  using Plain = PlainOf<Real>;
  using Scalar = Active<Real>;

  TapedLoop(const Step& step, const Loss& loss, const GoOn& go_on, const State<Real>& state,
            const Parameters<Real>& parameters)
      : step_(step), loss_(loss), go_on_(go_on), first_(state), parameters_(plain(parameters)) {
    convert(first_, state_);
    State<Scalar> s;
    Parameters<Scalar> p;
    lower(state_, s);
    lower(parameters_, p);
    each_var(s, [&](const Scalar&) { adjoint_.push_back(Real(0)); });
    each_var(p, [&](const Scalar&) { parameter_adjoint_.push_back(Real(0)); });
    first_numbers_ = adjoint_.size();
    loss_bytes_ = tape_loss(false);
  }

  Bytes state_bytes() const override { return fields::bytes(state_); }
  void save(std::vector<std::byte>& to) const override { fields::save(state_, to); }
  void restore(const std::byte* from) override { fields::read(state_, from); }
  void restart() override { convert(first_, state_); }
  bool stands_at(const std::vector<std::byte>& saved) const override { return fields::is(state_, saved); }
  void advance(std::int64_t step) override { take_step(step_, state_, parameters_, step); }
  bool ended(std::int64_t step) override {
    if constexpr (std::same_as<Plain, Real>) {
      return !go_on_(std::as_const(state_), step);
    } else {
      State<Real> state;
      convert(state_, state);
      return !go_on_(std::as_const(state), step);
    }
  }

  std::unique_ptr<StepTape> tape(std::int64_t step) override {
    std::unique_ptr<Taped> t;
    if (!free_.empty()) {
      t = std::move(free_.back());
      free_.pop_back();
    } else {
      t = std::make_unique<Taped>(options_);
    }
    t->home = settled_ ? &free_ : nullptr;
    record(*t, step);
    lower(t->state, state_);
    if (!settled_) last_ = t->tape.counts();
    return std::make_unique<Handle>(std::move(t));
  }

  Bytes finish() override { return tape_loss(true) - loss_bytes_; }

  // From the running adjoints of the parameters, so that the order of their sums does not depend on the schedule.
  void reverse(std::int64_t, StepTape& handle) override { sweep(*static_cast<Handle&>(handle).taped); }

  std::vector<std::byte> save_adjoint() const override {
    const Bytes bytes = fields::bytes(value_) + fields::bytes(adjoint_) + fields::bytes(parameter_adjoint_);
    std::vector<std::byte> saved(static_cast<std::size_t>(bytes));
    fields::write(parameter_adjoint_, fields::write(adjoint_, fields::write(value_, saved.data())));
    return saved;
  }
  void restore_adjoint(std::span<const std::byte> from) override {
    fields::read(parameter_adjoint_, fields::read(adjoint_, fields::read(value_, from.data())));
  }

  std::vector<std::byte> save_parameters() const override {
    std::vector<std::byte> saved;
    fields::save(parameters_, saved);
    return saved;
  }

  Bytes settle() override {
    settled_ = true;
    const Bytes used = last_.tape + last_.tape / 8 + 8_KiB, adjoints = last_.adjoints + last_.adjoints / 8;
    options_ = {.chunk = round_up(used, 4_KiB), .adjoints = adjoints};
    free_.push_back(std::make_unique<Taped>(options_));
    free_.back()->inputs = last_.inputs;
    return free_.back()->bytes();
  }
  bool unsettle() override {
    settled_ = false;
    options_ = unsettled();
    free_.clear();
    adjoint_.resize(first_numbers_);
    return true;
  }
  // The working state and its copy on Vars, the parameters twice too, and the adjoints.
  Bytes beside() const override {
    const auto numbers = static_cast<Bytes>(adjoint_.size() + parameter_adjoint_.size());
    return loss_bytes_ + fields::bytes(state_) + fields::bytes(parameters_) +
           numbers * static_cast<Bytes>(sizeof(Real) + sizeof(Scalar));
  }

  Bytes beside_with(Bytes state) const override {
    const Bytes more = state - fields::bytes(state_);
    return beside() + more +
           more / static_cast<Bytes>(sizeof(Plain)) * static_cast<Bytes>(sizeof(Real) + sizeof(Scalar));
  }

  Bytes spare() const override {
    return free_.empty() ? 0 : static_cast<Bytes>(free_.size()) * free_.back()->bytes();
  }
  void trim() override { free_.clear(); }

  void read(State<Real>& state, Parameters<Real>& parameters) const {
    fill(state, adjoint_);
    fill(parameters, parameter_adjoint_);
  }
  Real value() const { return value_; }

 protected:
  struct Taped {
    explicit Taped(const TapeOptions& options) : tape(options) {}
    // Parameters are the first inputs, numbers 1 to their count, and the state's follow.
    void begin(const Parameters<Plain>& p, const State<Plain>& s) {
      tape.reset();
      lift(tape, p, parameters);
      lift(tape, s, state);
      inputs = tape.counts().inputs;
    }
    // With the state and the parameters on Vars, which it keeps as long as its tape.
    Bytes bytes() const { return tape.counts().held + inputs * static_cast<Bytes>(sizeof(Scalar)); }
    BasicTape<Real> tape;
    Parameters<Scalar> parameters;
    State<Scalar> state;
    std::int64_t inputs = 0;
    std::span<Real> adjoints;
    std::vector<std::unique_ptr<Taped>>* home = nullptr;
  };
  struct Handle final : StepTape {
    explicit Handle(std::unique_ptr<Taped> t) : taped(std::move(t)) {}
    ~Handle() override {
      if (taped->home != nullptr) taped->home->push_back(std::move(taped));
    }
    Bytes bytes() const override { return taped->bytes(); }
    std::unique_ptr<Taped> taped;
  };

  void record(Taped& t, std::int64_t step) {
    t.begin(parameters_, state_);
    const typename BasicTape<Real>::Recording recording(t.tape);
    take_step(step_, t.state, t.parameters, step);
    t.adjoints = t.tape.begin_sweep();  // their memory is part of the step's
  }
  void sweep(Taped& t) {
    std::copy(parameter_adjoint_.begin(), parameter_adjoint_.end(), t.adjoints.begin() + 1);
    const Real* adjoint = adjoint_.data();
    each_var(t.state, [&](const Scalar& x) {
      if (x.active()) t.adjoints[index_of(x.key())] += *adjoint;
      ++adjoint;
    });
    t.tape.sweep();
    read_adjoints(t);
  }

  // The loss at the working state; its tape's bytes. `begin`: the running adjoints begin with its gradient.
  Bytes tape_loss(bool begin) {
    Taped t({.chunk = 16_KiB});
    t.begin(parameters_, state_);
    const typename BasicTape<Real>::Recording recording(t.tape);
    const Scalar y = loss_(std::as_const(t.state), std::as_const(t.parameters));
    t.adjoints = t.tape.begin_sweep();
    if (begin) {
      value_ = y.value();
      if (y.active()) t.tape.seed(y, Real(1));
      t.tape.sweep();
      read_adjoints(t);
    }
    return t.tape.counts().held;
  }
  void read_adjoints(const Taped& t) {
    const auto parameters = t.adjoints.begin() + 1;
    const auto states = parameters + static_cast<std::ptrdiff_t>(parameter_adjoint_.size());
    std::copy(parameters, states, parameter_adjoint_.begin());
    adjoint_.assign(states, parameters + t.inputs);
  }
  // Numbers that are Vars in the taped type get their adjoint, others stay as they are.
  template <template <typename> class S>
  static void fill(S<Real>& to, const std::vector<Real>& from) {
    S<Scalar> shape;
    lower(to, shape);
    std::size_t i = 0;
    fields::each_pair(std::as_const(shape), to, [&](const auto& a, auto& b) {
      if constexpr (IsActive<std::remove_cvref_t<decltype(a)>>::value) b = from[i++];
    });
  }

  const Step& step_;
  const Loss& loss_;
  const GoOn& go_on_;
  const Parameters<Plain>& plain(const Parameters<Real>& given) {
    if constexpr (std::same_as<Plain, Real>) {
      return given;
    } else {
      convert(given, own_parameters_.emplace());
      return *own_parameters_;
    }
  }

  const State<Real>& first_;
  State<Plain> state_;
  std::optional<Parameters<Plain>> own_parameters_;  // where they are others than those given
  const Parameters<Plain>& parameters_;
  std::vector<Real> adjoint_, parameter_adjoint_;
  std::size_t first_numbers_ = 0;  // of the first state
  Real value_ = 0;
  Bytes loss_bytes_ = 0;
  static TapeOptions unsettled() { return {.chunk = 16_KiB}; }
  TapeOptions options_ = unsettled();
  TapeCounts last_;
  bool settled_ = false;
  std::vector<std::unique_ptr<Taped>> free_;
};

}  // namespace tidemark::tape
