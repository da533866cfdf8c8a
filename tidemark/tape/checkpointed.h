// Gradients through long loops of plain C++ in a given memory: one step is taped at a time, states are kept or made again as the
// schedule for the budget says, and the gradient has the same bits whatever the budget.
//   template <typename T> struct State { std::vector<T> u; };
//   auto step = [](auto& state, const auto& parameters, std::int64_t i) { ... };
//   auto loss = [](const auto& state, const auto& parameters) { return ...; };
//   auto r = checkpointed<State, Parameters>(step, loss, state, parameters, 100'000, {.memory = 64_MiB});
//   r.value, r.state (with respect to the first state), r.parameters, r.report.explain()
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "tidemark/tape/compiled_loop.h"

namespace tidemark {

// For loops that have none.
template <typename T>
struct NoParameters {};

template <typename State, typename Parameters>
struct CheckpointGradient {
  double value = 0;       // of the loss
  State state;            // adjoints of the first state's numbers
  Parameters parameters;  // and of the parameters'
  CheckpointReport report;
};

// A loop that ends by itself: as long as `go_on(state, step)` says so, with the state on doubles.
template <typename F>
struct While {
  F go_on;
};
template <typename F>
While(F) -> While<F>;

namespace tape {

// A step that comes with its own adjoint, hand-written or made by another tool:
//   keep(state, i) -> Kept      runs step i and returns what its adjoint needs
//   adjoint(adjoints, kept, i)  takes the adjoints, of the state and of whatever else adds up, from behind the step to before it
template <typename State, typename Adjoints, typename Step, typename Keep, typename Adjoint, typename Finish,
          typename GoOn>
class HandLoop final : public Loop {
 public:
  HandLoop(const Step& step, const Keep& keep, const Adjoint& adjoint, const Finish& finish,
           const GoOn& go_on, const State& state)
      : step_(step),
        keep_(keep),
        adjoint_(adjoint),
        finish_(finish),
        go_on_(go_on),
        first_(state),
        state_(state),
        adjoints_(finish(state)),  // for their sizes
        planned_(fields::bytes(adjoints_)) {}

  Bytes state_bytes() const override { return fields::bytes(state_); }
  void save(std::vector<std::byte>& to) const override { fields::save(state_, to); }
  void restore(const std::byte* from) override { fields::read(state_, from); }
  void restart() override { state_ = first_; }
  bool stands_at(const std::vector<std::byte>& saved) const override { return fields::is(state_, saved); }
  void advance(std::int64_t step) override { step_(state_, step); }
  bool ended(std::int64_t step) override { return !go_on_(std::as_const(state_), step); }
  std::unique_ptr<StepTape> tape(std::int64_t step) override {
    auto held = std::make_unique<Held>(keep_(state_, step));
    last_ = held->bytes();
    return held;
  }
  Bytes finish() override {
    adjoints_ = finish_(std::as_const(state_));
    return adjoint_grown();
  }
  void reverse(std::int64_t step, StepTape& tape) override {
    adjoint_(adjoints_, std::as_const(static_cast<Held&>(tape).kept), step);
  }
  Bytes adjoint_grown() const override { return fields::bytes(adjoints_) - planned_; }
  std::vector<std::byte> save_adjoint() const override {
    std::vector<std::byte> bytes;
    fields::save(adjoints_, bytes);
    return bytes;
  }
  void restore_adjoint(std::span<const std::byte> from) override { fields::read(adjoints_, from.data()); }
  // The adjoints that the first state would begin with show what `finish` depends on.
  std::vector<std::byte> save_parameters() const override { return save_adjoint(); }
  Bytes settle() override { return last_; }
  bool unsettle() override {
    adjoints_ = finish_(first_);
    planned_ = fields::bytes(adjoints_);
    return true;
  }
  Bytes beside() const override { return 2 * fields::bytes(state_) + fields::bytes(adjoints_); }
  Adjoints& adjoints() { return adjoints_; }

 private:
  using Kept = std::invoke_result_t<const Keep&, State&, std::int64_t>;
  struct Held final : StepTape {
    explicit Held(Kept k) : kept(std::move(k)) {}
    Bytes bytes() const override { return fields::bytes(kept); }
    Kept kept;
  };
  const Step& step_;
  const Keep& keep_;
  const Adjoint& adjoint_;
  const Finish& finish_;
  const GoOn& go_on_;
  const State& first_;
  State state_;
  Adjoints adjoints_;
  Bytes planned_;  // for them
  Bytes last_ = 0;
};

struct Never {
  template <typename State>
  bool operator()(const State&, std::int64_t) const {
    return true;
  }
};

template <typename T>
struct IsCompiledStep : std::false_type {};
template <typename Step>
struct IsCompiledStep<CompiledStep<Step>> : std::true_type {
  template <template <typename> class State, template <typename> class Parameters, typename Real,
            typename Loss, typename GoOn>
  using Loop = CompiledLoop<State, Parameters, Real, Step, Loss, GoOn>;
};

template <template <typename> class State, template <typename> class Parameters, typename Real, typename Step,
          typename Loss, typename GoOn>
CheckpointGradient<State<Real>, Parameters<Real>> run_taped(const Step& step, const Loss& loss,
                                                            const GoOn& go_on, const State<Real>& state,
                                                            const Parameters<Real>& parameters,
                                                            std::int64_t n,
                                                            const CheckpointOptions& options) {
  CheckpointGradient<State<Real>, Parameters<Real>> result{0, state, parameters, {}};
  const auto carry_out = [&](auto& loop) {
    result.report = reverse_loop(loop, n, options);
    result.value = loop.value();
    loop.read(result.state, result.parameters);
  };
  if constexpr (IsCompiledStep<Step>::value) {
    if (!options.steps.empty())
      fail(Error::Kind::usage,
           "[checkpointed] compiled steps vs sizes of unequal ones; compiled, each keeps its state alone");
    typename IsCompiledStep<Step>::template Loop<State, Parameters, Real, Loss, GoOn> loop(step, loss, go_on,
                                                                                           state, parameters);
    carry_out(loop);
    loop.report(result.report);
  } else {
    TapedLoop<State, Parameters, Real, Step, Loss, GoOn> loop(step, loss, go_on, state, parameters);
    carry_out(loop);
  }
  return result;
}

}  // namespace tape

// n steps, on doubles or on floats.
template <template <typename> class State, template <typename> class Parameters, typename Step, typename Loss,
          typename Real = double>
auto checkpointed(const Step& step, const Loss& loss, const State<Real>& state,
                  const Parameters<Real>& parameters, std::int64_t n, const CheckpointOptions& options = {}) {
  if (n < 0) fail(Error::Kind::usage, "[checkpointed] {} steps vs at least 0", n);
  return tape::run_taped<State, Parameters, Real>(step, loss, tape::Never{}, state, parameters, n, options);
}
// As many as it takes: While{[](const auto& state, std::int64_t step) { return ...; }}.
template <template <typename> class State, template <typename> class Parameters, typename Step, typename Loss,
          typename Real = double, typename F>
auto checkpointed(const Step& step, const Loss& loss, const State<Real>& state,
                  const Parameters<Real>& parameters, const While<F>& until,
                  const CheckpointOptions& options = {}) {
  return tape::run_taped<State, Parameters, Real>(step, loss, until.go_on, state, parameters, -1, options);
}
// Time and sizes of every step, for CheckpointOptions::steps.
template <template <typename> class State, template <typename> class Parameters, typename Step,
          typename Real = double>
std::vector<schedule::ChainStep> measure_steps(const Step& step, const State<Real>& state,
                                               const Parameters<Real>& parameters, std::int64_t n) {
  const auto loss = [](const auto&, const auto&) { return tape::Active<Real>(Real(0)); };
  const tape::Never never;
  tape::TapedLoop<State, Parameters, Real, Step, decltype(loss), tape::Never> loop(step, loss, never, state,
                                                                                   parameters);
  return tape::measure_steps(loop, n);
}

namespace tape {

template <typename State, typename Step, typename Keep, typename Adjoint, typename Finish, typename GoOn>
auto run_by_hand(const Step& step, const Keep& keep, const Adjoint& adjoint, const Finish& finish,
                 const GoOn& go_on, const State& state, std::int64_t n, const CheckpointOptions& options) {
  using Adjoints = std::invoke_result_t<const Finish&, const State&>;
  HandLoop<State, Adjoints, Step, Keep, Adjoint, Finish, GoOn> loop(step, keep, adjoint, finish, go_on,
                                                                    state);
  CheckpointReport report = reverse_loop(loop, n, options);
  return std::pair<Adjoints, CheckpointReport>(std::move(loop.adjoints()), std::move(report));
}

}  // namespace tape

// Steps with their own adjoint: step(state, i) goes on by a step; keep(state, i) does the same and returns what the adjoint needs of it;
// adjoint(adjoints, kept, i) takes the adjoints back before it; `finish(state)` gives the adjoints to begin with, and is asked for their sizes at the first state. Returns what they
// are before the first step.
template <typename State, typename Step, typename Keep, typename Adjoint, typename Finish>
auto checkpointed_by_hand(const Step& step, const Keep& keep, const Adjoint& adjoint, const Finish& finish,
                          const State& state, std::int64_t n, const CheckpointOptions& options = {}) {
  if (n < 0) fail(Error::Kind::usage, "[checkpointed] {} steps vs at least 0", n);
  return tape::run_by_hand(step, keep, adjoint, finish, tape::Never{}, state, n, options);
}
template <typename State, typename Step, typename Keep, typename Adjoint, typename Finish, typename F>
auto checkpointed_by_hand(const Step& step, const Keep& keep, const Adjoint& adjoint, const Finish& finish,
                          const State& state, const While<F>& until, const CheckpointOptions& options = {}) {
  return tape::run_by_hand(step, keep, adjoint, finish, until.go_on, state, -1, options);
}

}  // namespace tidemark
