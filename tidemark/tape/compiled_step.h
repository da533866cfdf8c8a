// Steps that repeat, compiled: the adjoint of a step is recorded once as operations (trace.h), compiled, and from then on run instead of taping
// the step. What the step's code decides by comparisons is guarded; where a guard fails, the other path is recorded too. Bits are the
// tape's, so a step that has no path, or whose code cannot be traced, is taped.
//   auto g = checkpointed(compiled(step, native_steps()), loss, state, parameters, 100'000, {.memory = 1_MiB});
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/tape/state.h"
#include "tidemark/tape/trace_code.h"

namespace tidemark {

struct CompileSteps {
  tape::TraceCompiler compiler;  // native_steps() of compile/native_steps.h
  // What a step does may depend on its number only through number % period.
  std::int64_t period = 1;
  // Paths for each remainder; steps that take further ones are taped.
  int paths = 8;
};

namespace tape {

// The paths through a step, for each shape of states that it was called with. Not for use by two threads at a time.
class StepPaths {
 public:
  // `key`: what recorded code takes for granted: sizes, and the values of fields that are no T.
  std::shared_ptr<TracePaths> at(std::vector<double> key, const CompileSteps& how) {
    for (const auto& [known, paths] : all_)
      if (known == key) return paths;
    all_.emplace_back(std::move(key), std::make_shared<TracePaths>(how.compiler, how.paths,
                                                                   static_cast<std::size_t>(how.period)));
    return all_.back().second;
  }

 private:
  std::vector<std::pair<std::vector<double>, std::shared_ptr<TracePaths>>> all_;
};

}  // namespace tape

// Copies share what was compiled, so that a second gradient has it already. What the step captures must stay what it was.
template <typename Step>
struct CompiledStep {
  Step step;
  CompileSteps how;
  std::shared_ptr<tape::StepPaths> paths = std::make_shared<tape::StepPaths>();
  template <typename State, typename Parameters>
  void operator()(State& state, const Parameters& parameters, std::int64_t i) const {
    step(state, parameters, i);
  }
};
// The scalar of states and parameters is SymVar while a step is recorded. Fields that are no T must not change.
template <typename Step>
CompiledStep<Step> compiled(Step step, CompileSteps how) {
  if (how.period < 1) fail(Error::Kind::usage, "[compiled] a period of {} steps vs at least 1", how.period);
  if (how.paths < 0) fail(Error::Kind::usage, "[compiled] {} paths vs at least 0", how.paths);
  if (!how.compiler)
    fail(Error::Kind::usage, "[compiled] no compiler; give one, e.g. {{.compiler = native_steps()}}");
  return {std::move(step), std::move(how)};
}
template <typename Step>
CompiledStep<Step> compiled(Step step, tape::TraceCompiler compiler) {
  return compiled(std::move(step), CompileSteps{.compiler = std::move(compiler)});
}

namespace tape {

// Numbers of a state that are Vars in its taped form, by top-level fields: the arrays of traces.
template <template <typename> class State>
class Numbers {
 public:
  explicit Numbers(const State<double>& like) {
    lower(like, shape_);
    std::apply([&](const auto&... field) { (count(field), ...); }, fields::tie(std::as_const(shape_)));
  }
  const std::vector<std::size_t>& sizes() const { return sizes_; }  // of the fields
  std::size_t size() const { return size_; }
  // False where the state has another number of numbers by now.
  bool read(const State<double>& from, std::vector<double>& to) {
    to.resize(size_);
    std::size_t n = 0;
    fields::each_pair(from, shape_, [&](const auto& a, auto& b) {
      if constexpr (IsActive<std::remove_cvref_t<decltype(b)>>::value) {
        if (n < size_) to[n] = static_cast<double>(a);
        ++n;
      }
    });
    return n == size_;
  }
  // What is no Var, with a zero for every number that is one.
  static std::vector<double> rest(const auto& state) {
    std::vector<double> all;
    fields::each(state, [&](const auto& x) {
      if constexpr (IsActive<std::remove_cvref_t<decltype(x)>>::value)
        all.push_back(0);
      else
        all.push_back(static_cast<double>(x));
    });
    return all;
  }
  // One pointer for each field.
  template <typename T>
  void pointers(T* numbers, std::vector<T*>& to) const {
    for (const std::size_t n : sizes_) {
      to.push_back(numbers);
      numbers += n;
    }
  }

 private:
  template <typename Field>
  void count(const Field& field) {
    std::size_t n = 0;
    fields::each(field, [&](const auto& x) {
      if constexpr (IsActive<std::remove_cvref_t<decltype(x)>>::value) ++n;
    });
    if (n > 0) sizes_.push_back(n);
    size_ += n;
  }
  State<Var> shape_;
  std::vector<std::size_t> sizes_;
  std::size_t size_ = 0;
};

// A state on symbols, made from one on doubles, and how it was then. `Symbols` is a parameter for users whose State lies in an unnamed namespace: a member
// of such a type, named here, is what GCC warns of.
template <template <typename> class State, typename Symbols = State<SymVar>>
class SymState {
 public:
  SymState(Tracer& tracer, SymTape& tape, const std::string& name, const State<double>& from) {
    Numbers<State> numbers(from);
    std::vector<double> values;
    numbers.read(from, values);
    std::vector<Sym> symbols;
    auto at = values.begin();
    for (const std::size_t n : numbers.sizes()) {
      const auto field = static_cast<std::ptrdiff_t>(n);
      const std::vector<Sym> more = tracer.inputs(fmt::format("{}[{}]", name, sizes.size()),
                                                  std::vector<double>(at, at + field), false);
      symbols.insert(symbols.end(), more.begin(), more.end());
      sizes.push_back(n);
      at += field;
    }
    auto next = symbols.begin();
    fields::each_pair(from, state, [&](const auto& a, auto& b) {
      if constexpr (IsActive<std::remove_cvref_t<decltype(b)>>::value)
        b = tape.input(*next++);
      else
        b = a;
    });
    before_ = Numbers<State>::rest(state);
  }
  // What is no Var must be as it was: code that was recorded once cannot change it.
  void need_same() const {
    if (Numbers<State>::rest(state) != before_)
      fail(Error::Kind::unsupported,
           "[compiled] a step that changes a field that is no T, or a size, vs code recorded once; make the "
           "field a T, or tape the step");
  }

  Symbols state;
  std::vector<std::size_t> sizes;  // of the fields

 private:
  std::vector<double> before_;
};

// The adjoint of step i. Inputs: the fields of the parameters and of the state before the step, running adjoints of the parameters,
// adjoints of the state behind the step; outputs: the same adjoints, before it.
template <template <typename> class State, template <typename> class Parameters, typename Step>
Trace trace_adjoint(const Step& step, const State<double>& state, const Parameters<double>& parameters,
                    std::int64_t i) {
  Tracer tracer;
  SymTape tape;
  const SymTape::Recording recording(tape);
  SymState<Parameters> p(tracer, tape, "parameters", parameters);
  SymState<State> s(tracer, tape, "state", state);
  step(s.state, std::as_const(p.state), i);
  s.need_same();
  const auto inputs_of = [&](const char* name, const std::vector<std::size_t>& sizes) {
    std::vector<Sym> all;
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      const std::vector<Sym> more =
          tracer.inputs(fmt::format("{}[{}]", name, k), std::vector<double>(sizes[k], 1.0), true);
      all.insert(all.end(), more.begin(), more.end());
    }
    return all;
  };
  const std::vector<Sym> running = inputs_of("parameter_adjoints", p.sizes),
                         behind = inputs_of("state_adjoints", s.sizes);
  const std::span<Sym> adjoints = tape.begin_sweep();
  std::copy(running.begin(), running.end(), adjoints.begin() + 1);
  auto next = behind.begin();
  each_var(s.state, [&](const SymVar& x) {
    if (x.active()) adjoints[index_of(x.key())] += *next;
    ++next;
  });
  tape.sweep();
  auto at = adjoints.begin() + 1;
  const auto outputs_of = [&](const char* name, const std::vector<std::size_t>& sizes) {
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      const auto n = static_cast<std::ptrdiff_t>(sizes[k]);
      tracer.output(fmt::format("{}[{}]", name, k), std::vector<Sym>(at, at + n));
      at += n;
    }
  };
  outputs_of("parameter_adjoints", p.sizes);
  outputs_of("state_adjoints", s.sizes);
  return tracer.finish();
}

}  // namespace tape
}  // namespace tidemark
