// Gradients through long loops of plain C++ in a given memory: one step is taped at a time, states are kept or made again as the
// schedule for the budget says, and the gradient has the same bits whatever the budget.
//   template <typename T> struct State { std::vector<T> u; };
//   auto step = [](auto& state, const auto& parameters, std::int64_t i) { ... };
//   auto loss = [](const auto& state, const auto& parameters) { return ...; };
//   auto r = checkpointed<State, Parameters>(step, loss, state, parameters, 100'000, {.memory = 64_MiB});
//   r.value, r.state (with respect to the first state), r.parameters, r.report.explain()
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <utility>

#include "tidemark/tape/loop.h"
#include "tidemark/tape/state.h"

namespace tidemark {

// For loops that have none.
template <typename T>
struct NoParameters {};

template <typename State, typename Parameters>
struct CheckpointGradient {
  double value = 0;
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

// Step and loss are called with states on double and on Var.
template <template <typename> class State, template <typename> class Parameters, typename Step, typename Loss,
          typename GoOn>
class TapedLoop final : public Loop {
 public:
  TapedLoop(const Step& step, const Loss& loss, const GoOn& go_on, const State<double>& state,
            const Parameters<double>& parameters)
      : step_(step), loss_(loss), go_on_(go_on), state_(state), parameters_(parameters) {
    State<Var> s;
    Parameters<Var> p;
    lower(state_, s);
    lower(parameters_, p);
    each_var(s, [&](const Var&) { adjoint_.push_back(0.0); });
    each_var(p, [&](const Var&) { parameter_adjoint_.push_back(0.0); });
    loss_bytes_ = tape_loss(false);
  }

  Bytes state_bytes() const override { return fields::bytes(state_); }
  void save(std::byte* to) const override { fields::write(state_, to); }
  void restore(const std::byte* from) override { fields::read(state_, from); }
  void advance(std::int64_t step) override { step_(state_, std::as_const(parameters_), step); }
  bool ended(std::int64_t step) override { return !go_on_(std::as_const(state_), step); }

  std::unique_ptr<StepTape> tape(std::int64_t step) override {
    std::unique_ptr<Taped> t;
    if (!free_.empty()) {
      t = std::move(free_.back());
      free_.pop_back();
    } else {
      t = std::make_unique<Taped>(options_);
    }
    t->home = settled_ ? &free_ : nullptr;
    t->begin(parameters_, state_);
    {
      const Tape::Recording recording(t->tape);
      step_(t->state, std::as_const(t->parameters), step);
    }
    lower(t->state, state_);
    t->adjoints = t->tape.begin_sweep();  // their memory is part of the step's
    if (!settled_) last_ = t->tape.counts();
    return std::make_unique<Handle>(std::move(t));
  }

  void finish() override { tape_loss(true); }

  // From the running adjoints of the parameters, so that the order of their sums does not depend on the schedule.
  void reverse(std::int64_t, StepTape& handle) override {
    Taped& t = *static_cast<Handle&>(handle).taped;
    std::copy(parameter_adjoint_.begin(), parameter_adjoint_.end(), t.adjoints.begin() + 1);
    const double* adjoint = adjoint_.data();
    each_var(t.state, [&](const Var& x) {
      if (x.active()) t.adjoints[index_of(x.key())] += *adjoint;
      ++adjoint;
    });
    t.tape.sweep();
    read_adjoints(t);
  }

  std::vector<std::byte> save_adjoint() const override {
    const Bytes bytes = fields::bytes(value_) + fields::bytes(adjoint_) + fields::bytes(parameter_adjoint_);
    std::vector<std::byte> saved(static_cast<std::size_t>(bytes));
    fields::write(parameter_adjoint_, fields::write(adjoint_, fields::write(value_, saved.data())));
    return saved;
  }
  void restore_adjoint(std::span<const std::byte> from) override {
    fields::read(parameter_adjoint_, fields::read(adjoint_, fields::read(value_, from.data())));
  }

  Bytes settle() override {
    settled_ = true;
    const Bytes used = last_.tape + last_.tape / 8 + 8_KiB, adjoints = last_.adjoints + last_.adjoints / 8;
    options_ = {.chunk = round_up(used, 4_KiB), .adjoints = adjoints};
    free_.push_back(std::make_unique<Taped>(options_));
    return free_.back()->tape.counts().held;
  }
  // The working state and its copy on Vars, the parameters twice too, and the adjoints.
  Bytes beside() const override {
    const auto numbers = static_cast<Bytes>(adjoint_.size() + parameter_adjoint_.size());
    return loss_bytes_ + fields::bytes(state_) + fields::bytes(parameters_) +
           numbers * static_cast<Bytes>(sizeof(double) + sizeof(Var));
  }

  void read(State<double>& state, Parameters<double>& parameters) const {
    fill(state, adjoint_);
    fill(parameters, parameter_adjoint_);
  }
  double value() const { return value_; }

 private:
  struct Taped {
    explicit Taped(const TapeOptions& options) : tape(options) {}
    // Parameters are the first inputs, numbers 1 to their count, and the state's follow.
    void begin(const Parameters<double>& p, const State<double>& s) {
      tape.reset();
      lift(tape, p, parameters);
      lift(tape, s, state);
      inputs = tape.counts().inputs;
    }
    Tape tape;
    Parameters<Var> parameters;
    State<Var> state;
    std::int64_t inputs = 0;
    std::span<double> adjoints;
    std::vector<std::unique_ptr<Taped>>* home = nullptr;
  };
  struct Handle final : StepTape {
    explicit Handle(std::unique_ptr<Taped> t) : taped(std::move(t)) {}
    ~Handle() override {
      if (taped->home != nullptr) taped->home->push_back(std::move(taped));
    }
    Bytes bytes() const override { return taped->tape.counts().held; }
    std::unique_ptr<Taped> taped;
  };

  // The loss at the working state; its tape's bytes. `begin`: the running adjoints begin with its gradient.
  Bytes tape_loss(bool begin) {
    Taped t({.chunk = 16_KiB});
    t.begin(parameters_, state_);
    const Tape::Recording recording(t.tape);
    const Var y = loss_(std::as_const(t.state), std::as_const(t.parameters));
    t.adjoints = t.tape.begin_sweep();
    if (begin) {
      value_ = y.value();
      if (y.active()) t.tape.seed(y, 1.0);
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
  static void fill(S<double>& to, const std::vector<double>& from) {
    S<Var> shape;
    lower(to, shape);
    std::size_t i = 0;
    fields::each_pair(std::as_const(shape), to, [&](const auto& a, auto& b) {
      if constexpr (IsActive<std::remove_cvref_t<decltype(a)>>::value) b = from[i++];
    });
  }

  const Step& step_;
  const Loss& loss_;
  const GoOn& go_on_;
  State<double> state_;
  const Parameters<double>& parameters_;
  std::vector<double> adjoint_, parameter_adjoint_;
  double value_ = 0;
  Bytes loss_bytes_ = 0;
  TapeOptions options_{.chunk = 16_KiB};
  TapeCounts last_;
  bool settled_ = false;
  std::vector<std::unique_ptr<Taped>> free_;
};

// A step that comes with its own adjoint, hand-written or made by another tool:
//   keep(state, i) -> Kept      runs step i and returns what its adjoint needs
//   adjoint(adjoints, kept, i)  takes the adjoints, of the state and of whatever else adds up, from behind the step to before it
template <typename State, typename Adjoints, typename Step, typename Keep, typename Adjoint, typename Finish,
          typename GoOn>
class HandLoop final : public Loop {
 public:
  HandLoop(const Step& step, const Keep& keep, const Adjoint& adjoint, const Finish& finish,
           const GoOn& go_on, const State& state)
      : step_(step), keep_(keep), adjoint_(adjoint), finish_(finish), go_on_(go_on), state_(state) {}

  Bytes state_bytes() const override { return fields::bytes(state_); }
  void save(std::byte* to) const override { fields::write(state_, to); }
  void restore(const std::byte* from) override { fields::read(state_, from); }
  void advance(std::int64_t step) override { step_(state_, step); }
  bool ended(std::int64_t step) override { return !go_on_(std::as_const(state_), step); }
  std::unique_ptr<StepTape> tape(std::int64_t step) override {
    auto held = std::make_unique<Held>(keep_(state_, step));
    last_ = held->bytes();
    return held;
  }
  void finish() override { adjoints_ = finish_(std::as_const(state_)); }
  void reverse(std::int64_t step, StepTape& tape) override {
    adjoint_(adjoints_, std::as_const(static_cast<Held&>(tape).kept), step);
  }
  std::vector<std::byte> save_adjoint() const override {
    std::vector<std::byte> bytes(static_cast<std::size_t>(fields::bytes(adjoints_)));
    fields::write(adjoints_, bytes.data());
    return bytes;
  }
  void restore_adjoint(std::span<const std::byte> from) override { fields::read(adjoints_, from.data()); }
  Bytes settle() override { return last_; }
  Bytes beside() const override { return 2 * fields::bytes(state_); }
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
  State state_;
  Adjoints adjoints_{};
  Bytes last_ = 0;
};

struct Never {
  template <typename State>
  bool operator()(const State&, std::int64_t) const {
    return true;
  }
};

template <template <typename> class State, template <typename> class Parameters, typename Step, typename Loss,
          typename GoOn>
CheckpointGradient<State<double>, Parameters<double>> run_taped(const Step& step, const Loss& loss,
                                                                const GoOn& go_on, const State<double>& state,
                                                                const Parameters<double>& parameters,
                                                                std::int64_t n,
                                                                const CheckpointOptions& options) {
  TapedLoop<State, Parameters, Step, Loss, GoOn> loop(step, loss, go_on, state, parameters);
  CheckpointGradient<State<double>, Parameters<double>> result{0, state, parameters, {}};
  result.report = reverse_loop(loop, n, options);
  result.value = loop.value();
  loop.read(result.state, result.parameters);
  return result;
}

}  // namespace tape

// n steps.
template <template <typename> class State, template <typename> class Parameters, typename Step, typename Loss>
auto checkpointed(const Step& step, const Loss& loss, const State<double>& state,
                  const Parameters<double>& parameters, std::int64_t n,
                  const CheckpointOptions& options = {}) {
  if (n < 0) fail(Error::Kind::usage, "[checkpointed] {} steps vs at least 0", n);
  return tape::run_taped<State, Parameters>(step, loss, tape::Never{}, state, parameters, n, options);
}
// As many as it takes: While{[](const auto& state, std::int64_t step) { return ...; }}.
template <template <typename> class State, template <typename> class Parameters, typename Step, typename Loss,
          typename F>
auto checkpointed(const Step& step, const Loss& loss, const State<double>& state,
                  const Parameters<double>& parameters, const While<F>& until,
                  const CheckpointOptions& options = {}) {
  return tape::run_taped<State, Parameters>(step, loss, until.go_on, state, parameters, -1, options);
}
// Time and sizes of every step, for CheckpointOptions::steps.
template <template <typename> class State, template <typename> class Parameters, typename Step>
std::vector<schedule::ChainStep> measure_steps(const Step& step, const State<double>& state,
                                               const Parameters<double>& parameters, std::int64_t n) {
  const auto loss = [](const auto&, const auto&) { return Var(0.0); };
  const tape::Never never;
  tape::TapedLoop<State, Parameters, Step, decltype(loss), tape::Never> loop(step, loss, never, state,
                                                                             parameters);
  return tape::measure_steps(loop, n);
}

// Steps with their own adjoint; `finish(state)` gives the adjoints to begin with. Returns what they are before the first step.
template <typename State, typename Step, typename Keep, typename Adjoint, typename Finish>
auto checkpointed_by_hand(const Step& step, const Keep& keep, const Adjoint& adjoint, const Finish& finish,
                          const State& state, std::int64_t n, const CheckpointOptions& options = {}) {
  using Adjoints = std::invoke_result_t<const Finish&, const State&>;
  const tape::Never never;
  tape::HandLoop<State, Adjoints, Step, Keep, Adjoint, Finish, tape::Never> loop(step, keep, adjoint, finish,
                                                                                 never, state);
  CheckpointReport report = tape::reverse_loop(loop, n, options);
  return std::pair<Adjoints, CheckpointReport>(std::move(loop.adjoints()), std::move(report));
}

}  // namespace tidemark
