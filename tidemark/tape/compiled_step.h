// Steps that repeat, compiled: the adjoint of a step is recorded once as operations (trace.h), compiled, and from then on run instead of taping
// the step. What the step's code decides by comparisons is guarded; where a guard fails, the other path is recorded too. Bits are the
// tape's, so a step that has no path, or whose code cannot be traced, is taped.
//   auto g = checkpointed(compiled(step, native_steps()), loss, state, parameters, 100'000, {.memory = 1_MiB});
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/tape/state.h"
#include "tidemark/tape/step_number.h"
#include "tidemark/tape/trace_code.h"

namespace tidemark {

struct CompileSteps {
  tape::TraceCompiler compiler;  // native_steps() of compile/native_steps.h
  // Steps that take further ones are taped.
  int paths = 8;
};

namespace tape {

// The paths through a step, for each shape of states that it was called with. Not for use by two threads at a time.
class StepPaths {
 public:
  // What recorded code takes for granted: sizes, and the values of fields that are no T; and whether a T is a float.
  using Key = std::tuple<Rest, Rest, bool>;
  std::shared_ptr<TracePaths> at(const Key& key, const CompileSteps& how) {
    for (const auto& [known, paths] : all_)
      if (known == key) return paths;
    all_.emplace_back(key, std::make_shared<TracePaths>(how.compiler, how.paths));
    return all_.back().second;
  }

 private:
  std::vector<std::pair<Key, std::shared_ptr<TracePaths>>> all_;
};

}  // namespace tape

// Copies share what was compiled, so that a second gradient has it already.
template <typename Step>
struct CompiledStep {
  Step step;
  CompileSteps how;
  std::shared_ptr<tape::StepPaths> paths = std::make_shared<tape::StepPaths>();
  template <typename State, typename Parameters>
  void operator()(State& state, const Parameters& parameters, std::int64_t i) const {
    tape::take_step(step, state, parameters, i);
  }
};
// The scalar of states and parameters is SymVar, or SymVar32, while a step is recorded. Fields that are no T must not change.
template <typename Step>
CompiledStep<Step> compiled(Step step, CompileSteps how) {
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
template <template <typename> class State, typename Real>
class Numbers {
 public:
  using Plain = State<PlainOf<Real>>;
  explicit Numbers(const Plain& like) {
    lower(like, shape_);
    rest_ = Rest::with_sizes(shape_);
    std::apply([&](const auto&... field) { (count(field), ...); }, fields::tie(std::as_const(shape_)));
  }
  const std::vector<std::size_t>& sizes() const { return sizes_; }  // of the fields
  std::size_t size() const { return size_; }
  const Rest& rest() const { return rest_; }
  // False where the state is another by now, in sizes or in fields that are no T.
  bool read(const Plain& from, std::vector<Real>& to) {
    to.resize(size_);
    Reader reader{to.data(), to.data() + size_, rest_.bytes().data(),
                  rest_.bytes().data() + rest_.bytes().size()};
    fields::each_pair(from, shape_, reader);
    return reader.same && reader.to == reader.end && reader.rest == reader.rest_end;
  }
  // One pointer for each field.
  template <typename T, typename Pointer>
  void pointers(T* numbers, std::vector<Pointer>& to) const {
    for (const std::size_t n : sizes_) {
      to.push_back(numbers);
      numbers += n;
    }
  }

 private:
  struct Reader {
    using takes_sizes = void;
    Real *to, *end;
    const std::byte *rest, *rest_end;
    bool same = true;
    void operator()(fields::Size x) { compare(x); }
    template <typename A, typename B>
    void operator()(const A& a, B&) {
      if constexpr (!IsActive<B>::value)
        compare(a);
      else if (same && to < end)
        *to++ = number(a);
      else
        same = false;
    }
    template <typename A, typename B>
      requires std::same_as<typename A::value_type, Real> && IsActive<typename B::value_type>::value
    void whole(const A& a, B&) {
      same = same && a.size() <= static_cast<std::size_t>(end - to);
      if (same) to = std::copy(a.begin(), a.end(), to);
    }
    template <typename A>
    static Real number(const A& a) {
      if constexpr (IsNumber<A>::value)
        return a.value;
      else
        return static_cast<Real>(a);
    }
    template <typename A>
    void compare(const A& a) {
      same = same && rest + sizeof(A) <= rest_end && std::memcmp(&a, rest, sizeof(A)) == 0;
      rest += sizeof(A);
    }
  };
  template <typename Field>
  void count(const Field& field) {
    std::size_t n = 0;
    fields::each(field, [&](const auto& x) {
      if constexpr (IsActive<std::remove_cvref_t<decltype(x)>>::value) ++n;
    });
    if (n > 0) sizes_.push_back(n);
    size_ += n;
  }
  State<Active<Real>> shape_;
  Rest rest_;
  std::vector<std::size_t> sizes_;
  std::size_t size_ = 0;
};

// A state on symbols, made from one on plain numbers, and how it was then. `Symbols` is a parameter for users whose State lies in an unnamed namespace: a member
// of such a type, named here, is what GCC warns of.
template <template <typename> class State, typename Real, typename Symbols = State<Active<SymOf<Real>>>>
class SymState {
 public:
  // Without a tape its numbers are passive.
  SymState(Tracer& tracer, BasicTape<SymOf<Real>>* tape, const std::string& name,
           const State<PlainOf<Real>>& from) {
    Numbers<State, Real> numbers(from);
    std::vector<Real> values;
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
      if constexpr (IsActive<std::remove_cvref_t<decltype(b)>>::value) {
        const auto symbol = SymOf<Real>::from(*next++);
        b = tape != nullptr ? tape->input(symbol) : Active<SymOf<Real>>(symbol);
      } else {
        b = a;
      }
    });
    before_ = Rest::with_sizes(state);
  }
  // What is no Var must be as it was: code that was recorded once cannot change it.
  void need_same() const {
    if (Rest::with_sizes(state) != before_)
      fail(Error::Kind::unsupported,
           "[compiled] a step that changes a field that is no T, or a size, vs code recorded once; make the "
           "field a T, or tape the step");
  }

  Symbols state;
  std::vector<std::size_t> sizes;  // of the fields

 private:
  Rest before_;
};

inline StepNumber number_of(Tracer& tracer, std::int64_t i) {
  return {i, tracer.inputs("number", {static_cast<double>(i)}, true).front()};
}

// The adjoint of step i. Inputs: the step's number, the fields of the parameters and of the state before the step, running adjoints of the
// parameters, adjoints of the state behind the step; outputs: the same adjoints, before it.
template <template <typename> class State, template <typename> class Parameters, typename Real = double,
          typename Step>
Trace trace_adjoint(const Step& step, const State<PlainOf<Real>>& state,
                    const Parameters<PlainOf<Real>>& parameters, std::int64_t i) {
  using Symbol = SymOf<Real>;
  Tracer tracer(Tracer::Writes::trace, std::same_as<Real, float>);
  BasicTape<Symbol> tape;
  const typename BasicTape<Symbol>::Recording recording(tape);
  const StepNumber number = number_of(tracer, i);
  SymState<Parameters, Real> p(tracer, &tape, "parameters", parameters);
  SymState<State, Real> s(tracer, &tape, "state", state);
  take_step(step, s.state, std::as_const(p.state), number);
  s.need_same();
  const auto inputs_of = [&](const char* name, const std::vector<std::size_t>& sizes) {
    std::vector<Symbol> all;
    for (std::size_t k = 0; k < sizes.size(); ++k)
      for (const Sym& one :
           tracer.inputs(fmt::format("{}[{}]", name, k), std::vector<double>(sizes[k], 1.0), true))
        all.push_back(Symbol::from(one));
    return all;
  };
  const std::vector<Symbol> running = inputs_of("parameter_adjoints", p.sizes),
                            behind = inputs_of("state_adjoints", s.sizes);
  const std::span<Symbol> adjoints = tape.begin_sweep();
  std::copy(running.begin(), running.end(), adjoints.begin() + 1);
  auto next = behind.begin();
  each_var(s.state, [&](const Active<Symbol>& x) {
    if (x.active()) adjoints[index_of(x.key())] += *next;
    ++next;
  });
  tape.sweep();
  auto at = adjoints.begin() + 1;
  const auto outputs_of = [&](const char* name, const std::vector<std::size_t>& sizes) {
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      std::vector<Sym> numbers;
      for (std::size_t j = 0; j < sizes[k]; ++j) numbers.push_back((at++)->wide());
      tracer.output(fmt::format("{}[{}]", name, k), numbers);
    }
  };
  outputs_of("parameter_adjoints", p.sizes);
  outputs_of("state_adjoints", s.sizes);
  return tracer.finish();
}

// What step i does in this state. Two steps with one fingerprint take the same decisions and do the same with their numbers, whatever else they
// read; then, and as long as what they read stays as it is, one's adjoint is the other's wherever guards and facts hold.
template <template <typename> class State, template <typename> class Parameters, typename Real = double,
          typename Step>
std::uint64_t fingerprint(const Step& step, const State<PlainOf<Real>>& state,
                          const Parameters<PlainOf<Real>>& parameters, std::int64_t i) {
  Tracer tracer(Tracer::Writes::fingerprint, std::same_as<Real, float>);
  const StepNumber number = number_of(tracer, i);
  SymState<Parameters, Real> p(tracer, nullptr, "parameters", parameters);
  SymState<State, Real> s(tracer, nullptr, "state", state);
  take_step(step, s.state, std::as_const(p.state), number);
  s.need_same();
  std::vector<Sym> after;
  each_var(s.state, [&](const Active<SymOf<Real>>& x) { after.push_back(x.value().wide()); });
  tracer.output("state", after);
  return tracer.fingerprint();
}

}  // namespace tape
}  // namespace tidemark
