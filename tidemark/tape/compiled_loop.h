// Steps on Vars as a Loop whose adjoints are compiled (compiled_step.h): what is kept of a step is the state before it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/tape/compiled_step.h"
#include "tidemark/tape/taped_loop.h"

namespace tidemark::tape {

template <template <typename> class State, template <typename> class Parameters, typename Real, typename Step,
          typename Loss, typename GoOn>
class CompiledLoop final : public TapedLoop<State, Parameters, Real, CompiledStep<Step>, Loss, GoOn> {
  using Base = TapedLoop<State, Parameters, Real, CompiledStep<Step>, Loss, GoOn>;
  using Plain = State<PlainOf<Real>>;

 public:
  CompiledLoop(const CompiledStep<Step>& step, const Loss& loss, const GoOn& go_on, const State<Real>& state,
               const Parameters<Real>& parameters)
      : Base(step, loss, go_on, state, parameters),
        state_numbers_(this->state_),
        parameter_numbers_(this->parameters_),
        next_adjoint_(this->adjoint_.size()),
        next_parameter_adjoint_(this->parameter_adjoint_.size()) {
    parameter_numbers_.read(this->parameters_, parameter_values_);
    paths_ = step.paths->at({state_numbers_.rest(), parameter_numbers_.rest(), std::same_as<Real, float>},
                            step.how);
    paths_->begin();
  }

  std::unique_ptr<StepTape> tape(std::int64_t step) override {
    if (!this->settled_) {  // the first step: how large a tape is where one is needed, and the first path
      if (paths_->size() == 0) add_path(step);
      return Base::tape(step);
    }
    std::unique_ptr<Plain> kept;
    if (!pool_.empty()) {
      kept = std::move(pool_.back());
      pool_.pop_back();
      *kept = this->state_;
    } else {
      kept = std::make_unique<Plain>(this->state_);
    }
    this->advance(step);
    return std::make_unique<Kept>(std::move(kept), pool_);
  }

  void reverse(std::int64_t step, StepTape& handle) override {
    Plain& before = *static_cast<Kept&>(handle).state;
    if (run(step, before)) {
      ++compiled_steps_;
      return;
    }
    std::swap(this->state_, before);
    if (add_path(step) && run(step, this->state_)) {
      ++compiled_steps_;
    } else {
      ++taped_steps_;
      auto& taped = *this->free_.back();
      this->record(taped, step);
      const Bytes held = taped.tape.counts().held;
      if (held > taped_bytes_)
        fail(Error::Kind::infeasible, "[checkpointed] step {} tapes {} vs {} planned for; do not compile it",
             step, format_bytes(held), format_bytes(taped_bytes_));
      this->sweep(taped);
    }
    std::swap(this->state_, before);
  }

  Bytes settle() override {
    taped_bytes_ = Base::settle();
    paths_->freeze();
    return this->state_bytes();
  }
  bool unsettle() override { return false; }
  Bytes beside() const override {
    const std::size_t numbers = 2 * (state_numbers_.size() + parameter_numbers_.size());
    return Base::beside() + taped_bytes_ + paths_->bytes() + static_cast<Bytes>(numbers * sizeof(Real));
  }
  // The tape for steps that have no path is counted beside.
  Bytes spare() const override { return static_cast<Bytes>(pool_.size()) * this->state_bytes(); }
  void trim() override { pool_.clear(); }
  void report(CheckpointReport& r) const {
    r.compiled_steps = compiled_steps_;
    r.taped_steps = taped_steps_;
    r.paths = paths_->size();
    r.not_compiled =
        changed_ ? "a field that is no T, or a size, changes from step to step" : paths_->refused();
  }

 private:
  struct Kept final : StepTape {
    Kept(std::unique_ptr<Plain> s, std::vector<std::unique_ptr<Plain>>& p) : state(std::move(s)), pool(p) {}
    ~Kept() override { pool.push_back(std::move(state)); }
    Bytes bytes() const override { return fields::bytes(*state); }
    std::unique_ptr<Plain> state;
    std::vector<std::unique_ptr<Plain>>& pool;
  };

  bool run(std::int64_t step, const Plain& before) {
    if (!state_numbers_.read(before, state_values_)) return false;
    const Real number = static_cast<Real>(step);
    inputs_.assign(1, &number);
    outputs_.clear();
    parameter_numbers_.pointers(std::as_const(parameter_values_).data(), inputs_);
    state_numbers_.pointers(std::as_const(state_values_).data(), inputs_);
    parameter_numbers_.pointers(std::as_const(this->parameter_adjoint_).data(), inputs_);
    state_numbers_.pointers(std::as_const(this->adjoint_).data(), inputs_);
    parameter_numbers_.pointers(next_parameter_adjoint_.data(), outputs_);
    state_numbers_.pointers(next_adjoint_.data(), outputs_);
    TracePaths::Path* path = paths_->run(step, inputs_, outputs_);
    while (path != nullptr && !is_still(*path, step, before)) {
      paths_->drop(*path);
      path = paths_->run(step, inputs_, outputs_);
    }
    if (path == nullptr) return false;
    std::swap(this->parameter_adjoint_, next_parameter_adjoint_);
    std::swap(this->adjoint_, next_adjoint_);
    return true;
  }
  // Variables that the step captures, and globals, may be others than when the path was recorded for an earlier gradient.
  bool is_still(TracePaths::Path& path, std::int64_t step, const Plain& before) {
    if (path.checked) return true;
    try {
      path.checked = path.fingerprint == print(step, before);
    } catch (const Error& e) {
      if (e.kind() != Error::Kind::unsupported) throw;
    }
    return path.checked;
  }
  std::uint64_t print(std::int64_t step, const Plain& before) const {
    return fingerprint<State, Parameters, Real>(this->step_.step, before, this->parameters_, step);
  }
  // Of the working state.
  bool add_path(std::int64_t step) {
    if (!state_numbers_.read(this->state_, state_values_)) {
      changed_ = true;
      return false;
    }
    return paths_->add([&] {
      return TracedStep{
          trace_adjoint<State, Parameters, Real>(this->step_.step, this->state_, this->parameters_, step),
          print(step, this->state_)};
    });
  }

  Numbers<State, Real> state_numbers_;
  Numbers<Parameters, Real> parameter_numbers_;
  std::vector<Real> state_values_, parameter_values_, next_adjoint_, next_parameter_adjoint_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
  std::shared_ptr<TracePaths> paths_;
  std::vector<std::unique_ptr<Plain>> pool_;
  Bytes taped_bytes_ = 0;
  bool changed_ = false;
  std::int64_t compiled_steps_ = 0, taped_steps_ = 0;
};

}  // namespace tidemark::tape
