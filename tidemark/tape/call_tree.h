// Programs of functions that call functions, differentiated inside a budget: each call keeps its tape, or a snapshot from which it is run
// again, as its measured tape, snapshot and time say. The gradient has the same bits either way.
//   CallTree<State> tree;
//   tree.add("advect", [](auto& call, auto& state) { ... call("limit", state); ... });
//   auto g = tree.gradient("main", loss, state, {.memory = 8_MiB});
//   g.value, g.state, g.report.explain()
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <time.h>

#include <functional>
#include <utility>

#include "tidemark/tape/call_plan.h"
#include "tidemark/tape/compiled_step.h"

namespace tidemark {

template <template <typename> class State>
class CallTree;

// What a function gets to call others with, and to say what it does besides computing.
template <template <typename> class State, typename T>
class Calls {
 public:
  explicit Calls(std::function<void(const std::string&, State<T>&)> call,
                 std::vector<tape::CallEffect>* effects)
      : call_(std::move(call)), effects_(effects) {}
  void operator()(const std::string& function, State<T>& state) { call_(function, state); }
  // calls.begins("allocate", "buffer 3") … calls.ends("free", "buffer 3"): what is run again must hold both or neither.
  void begins(const std::string& what, const std::string& key,
              std::source_location where = std::source_location::current()) {
    if (effects_ != nullptr) effects_->push_back({what, key, false, where});
  }
  void ends(const std::string& what, const std::string& key,
            std::source_location where = std::source_location::current()) {
    if (effects_ != nullptr) effects_->push_back({what, key, true, where});
  }

 private:
  std::function<void(const std::string&, State<T>&)> call_;
  std::vector<tape::CallEffect>* effects_;  // null: nobody asks
};

template <template <typename> class State>
struct CallGradient {
  double value = 0;
  State<double> state;  // adjoints of the first state's numbers
  CallReport report;
};

// Functions take (auto& call, auto& state) and change the state, which keeps its sizes. They do the same whenever they are called with the same
// state.
template <template <typename> class State>
class CallTree {
 public:
  template <typename F>
  void add(const std::string& name, F f) {
    functions_[name] = {f, f, f};
  }

  template <typename Loss>
  CallGradient<State> gradient(const std::string& root, const Loss& loss, const State<double>& state,
                               const CallOptions& options = {}) const {
    Run run{*this, state};
    tape::CallNode top;
    top.function = root;
    run.measure(top, state);
    CallGradient<State> g{0, state, {}};
    tape::choose_modes(top, options, g.report);
    auto live = run.tape(top, state);
    // The loss on a tape of its own, beside the budget: as large as the state.
    Tape tape({.chunk = 16_KiB});
    State<Var> last;
    State<double> values = state;
    tape::lower(live->state, values);
    tape::lift(tape, values, last);
    std::vector<Var> inputs;
    tape::each_var(last, [&](const Var& x) { inputs.push_back(x); });
    {
      const Tape::Recording recording(tape);
      const Var y = loss(std::as_const(last));
      g.value = y.value();
      tape.begin_sweep();
      if (y.active()) tape.seed(y, 1.0);
      tape.sweep();
    }
    std::vector<double> adjoints;
    for (const Var& x : inputs) adjoints.push_back(tape.adjoint(x));
    run.seed(*live, adjoints);
    live->tape.sweep();
    std::size_t i = 0;
    tape::fields::each_pair(std::as_const(live->state), g.state, [&](const auto& a, auto& b) {
      if constexpr (tape::IsActive<std::remove_cvref_t<decltype(a)>>::value) b = live->adjoints[++i];
    });
    run.drop(top, std::move(live));
    g.report.measured_peak = run.peak;
    return g;
  }

 private:
  template <typename T>
  using Function = std::function<void(Calls<State, T>&, State<T>&)>;
  struct Forms {
    Function<double> plain;
    Function<Var> taped;
    Function<SymVar> traced;
  };
  // A call whose tape exists.
  struct Live {
    explicit Live(const tape::TapeOptions& options) : tape(options) {}
    Tape tape;
    State<Var> state;            // behind the call
    std::span<double> adjoints;  // of the tape; its inputs, the state's numbers, are the first, from 1 on
    std::vector<std::unique_ptr<Live>> kept;  // split calls in it
  };

  // What a joint call is run again from.
  struct Snapshot {
    std::vector<double> numbers;
    tape::Rest rest;
    Bytes bytes() const { return static_cast<Bytes>(numbers.size() * sizeof(double) + rest.bytes().size()); }
  };

  struct Run {
    const CallTree& tree;
    const State<double>& first;  // every state has its sizes
    Bytes live = 0, peak = 0;

    void account(Bytes bytes) { peak = std::max(peak, live += bytes); }
    static double now() {
      timespec t{};
      ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
      return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
    }
    const Forms& forms(const std::string& name) const {
      const auto found = tree.functions_.find(name);
      if (found == tree.functions_.end())
        fail(Error::Kind::usage, "[call_tree] a call of '{}' vs the functions that were added", name);
      return found->second;
    }
    template <typename T>
    void inlined(const std::string& name, State<T>& state) const {
      Calls<State, T> calls([this](const std::string& f, State<T>& s) { inlined<T>(f, s); }, nullptr);
      if constexpr (std::same_as<T, double>)
        forms(name).plain(calls, state);
      else
        forms(name).traced(calls, state);
    }

    // Runs the call taped, and all calls in it on their own, to learn what it takes.
    State<double> measure(tape::CallNode& n, const State<double>& before) {
      State<double> after = before;
      double start = now();
      inlined<double>(n.function, after);
      n.plain = now() - start;
      n.uses = used(n.function, before);
      Live live({.chunk = 16_KiB});
      tape::lift(live.tape, before, live.state);
      const std::vector<Var> inputs = vars(live.state);
      std::vector<std::vector<Var>> at_calls;
      double inside = 0;
      start = now();
      {
        const Tape::Recording recording(live.tape);
        Calls<State, Var> calls(
            [&](const std::string& f, State<Var>& s) {
              const double begin = now();
              n.children.push_back(std::make_unique<tape::CallNode>());
              tape::CallNode& child = *n.children.back();
              child.function = f;
              child.parent = &n;
              at_calls.push_back(vars(s));
              State<double> values = first;
              tape::lower(s, values);
              const State<double> behind = measure(child, values);
              n.effects.insert(n.effects.end(), child.effects.begin(), child.effects.end());
              replace(live.tape, child, s, behind, [](auto&&...) {});
              inside += now() - begin;
            },
            &n.effects);
        forms(n.function).taped(calls, live.state);
      }
      live.tape.begin_sweep();
      n.own = now() - start - inside;
      const std::vector<Var> outputs = vars(live.state);
      if (outputs.size() != inputs.size())
        fail(Error::Kind::unsupported,
             "[call_tree] '{}' changes a state of {} numbers to {}; states keep their sizes", n.function,
             inputs.size(), outputs.size());
      for (std::size_t i = 0; i < inputs.size(); ++i)
        n.changes.push_back(outputs[i].key() != inputs[i].key());
      Bytes links = 0;
      // Hascoet & Dauvergne (2008): what the adjoint of the call uses, and the call or what follows it overwrites.
      for (std::size_t c = 0; c < n.children.size(); ++c) {
        tape::CallNode& child = *n.children[c];
        for (std::size_t i = 0; i < outputs.size(); ++i) {
          // Constants have no key of their own: whether they were overwritten cannot be seen.
          const bool may_differ = !at_calls[c][i].active() || outputs[i].key() != at_calls[c][i].key();
          child.saved.push_back(child.uses[i] && may_differ);
          if (child.saved.back()) child.snapshot += sizeof(double);
          if (child.uses[i] || child.changes[i]) links += sizeof(tape::Key);
        }
        child.snapshot += static_cast<Bytes>(passive(before).bytes().size());
      }
      const tape::TapeCounts counts = live.tape.counts();
      n.chunk = round_up(std::max<Bytes>(counts.tape, 8_KiB), 4_KiB);
      n.adjoints = counts.adjoints;
      n.links = links + static_cast<Bytes>(outputs.size() * sizeof(Var));
      n.bytes = Live(options_of(n)).tape.counts().held + n.links;
      return after;
    }
    static tape::TapeOptions options_of(const tape::CallNode& n) {
      return {.chunk = n.chunk, .adjoints = n.adjoints};
    }

    // Numbers that the function, with all it calls, reads: seen by symbols, comparisons included. All, where symbols cannot follow it.
    std::vector<bool> used(const std::string& name, const State<double>& before) const {
      tape::Numbers<State> numbers(before);
      std::vector<double> values;
      numbers.read(before, values);
      try {
        tape::Tracer tracer;
        const std::vector<tape::Sym> symbols = tracer.inputs("state", values, false);
        State<SymVar> state;
        auto next = symbols.begin();
        tape::fields::each_pair(before, state, [&](const auto& a, auto& b) {
          if constexpr (tape::IsActive<std::remove_cvref_t<decltype(b)>>::value)
            b = SymVar(*next++);
          else
            b = a;
        });
        inlined<SymVar>(name, state);
        const tape::Trace trace = tracer.finish();
        std::vector<bool> uses(values.size(), false);
        for (const tape::Trace::Node& node : trace.nodes)
          for (std::size_t k = 0; k < node.count; ++k)
            if (!node.in[k].is_constant() && node.in[k].index() < uses.size())
              uses[node.in[k].index()] = true;
        // A number that went elsewhere in the state unchanged is read too.
        std::size_t at = 0;
        tape::each_var(state, [&](const SymVar& x) {
          const std::uint64_t id = x.value().id;
          if (id != 0 && id <= uses.size() && id != at + 1) uses[id - 1] = true;
          ++at;
        });
        return uses;
      } catch (const Error& e) {
        if (e.kind() != Error::Kind::unsupported) throw;
        return std::vector<bool>(values.size(), true);
      }
    }

    static std::vector<Var> vars(State<Var>& state) {
      std::vector<Var> all;
      tape::each_var(state, [&](const Var& x) { all.push_back(x); });
      return all;
    }
    // What the call changes becomes outputs of an external function on the caller's tape.
    template <typename Reverse>
    static bool replace(Tape& tape, const tape::CallNode& child, State<Var>& state,
                        const State<double>& behind, Reverse reverse) {
      std::vector<double> values;
      std::size_t i = 0;
      tape::fields::each_pair(behind, state, [&](const auto& a, auto& b) {
        if constexpr (tape::IsActive<std::remove_cvref_t<decltype(b)>>::value) {
          if (child.changes[i++]) values.push_back(a);
        } else {
          b = a;
        }
      });
      if (values.empty()) return false;
      const std::vector<Var> outputs = tape.external(values, std::move(reverse));
      auto next = outputs.begin();
      i = 0;
      tape::each_var(state, [&](Var& x) {
        if (child.changes[i++]) x = *next++;
      });
      return true;
    }

    std::unique_ptr<Live> tape(const tape::CallNode& n, const State<double>& before) {
      auto made = std::make_unique<Live>(options_of(n));
      Live& l = *made;
      tape::lift(l.tape, before, l.state);
      account(held(n, l));
      std::size_t next = 0;
      l.kept.resize(n.children.size());
      {
        const Tape::Recording recording(l.tape);
        Calls<State, Var> calls(
            [&](const std::string& f, State<Var>& s) {
              if (next >= n.children.size() || n.children[next]->function != f)
                fail(Error::Kind::usage,
                     "[call_tree] '{}' calls '{}' vs another run of it with the same state; it must do the "
                     "same",
                     n.function, f);
              if (n.children[next]->changes_any())
                call(*n.children[next], next, l, s);
              else
                run_beside(f, s);
              ++next;
            },
            nullptr);
        forms(n.function).taped(calls, l.state);
      }
      l.adjoints = l.tape.begin_sweep();
      TIDEMARK_CHECK(held(n, l) == n.bytes, "[call_tree] '{}' takes {} vs {} measured", n.function,
                     held(n, l), n.bytes);
      return made;
    }
    static Bytes held(const tape::CallNode& n, const Live& l) { return l.tape.counts().held + n.links; }

    // A call that changes no number has no adjoint, but it may have effects, and change fields that are no T.
    void run_beside(const std::string& function, State<Var>& s) const {
      State<double> values = first;
      tape::lower(s, values);
      inlined<double>(function, values);
      tape::fields::each_pair(std::as_const(values), s, [](const auto& a, auto& b) {
        if constexpr (!tape::IsActive<std::remove_cvref_t<decltype(b)>>::value) b = a;
      });
    }

    void call(const tape::CallNode& child, std::size_t number, Live& caller, State<Var>& s) {
      State<double> before = first;
      tape::lower(s, before);
      // Who gets adjoints: numbers that the call reads or assigns.
      std::vector<tape::Key> keys;
      Snapshot snapshot;
      std::size_t i = 0;
      tape::each_var(s, [&](const Var& x) {
        if (child.uses[i] || child.changes[i]) keys.push_back(x.key());
        if (child.mode == CallMode::joint && child.saved[i]) snapshot.numbers.push_back(x.value());
        ++i;
      });
      State<double> behind = before;
      if (child.mode == CallMode::split) {
        caller.kept[number] = tape(child, before);
        tape::lower(caller.kept[number]->state, behind);
      } else {
        inlined<double>(child.function, behind);
        snapshot.rest = passive(before);
        account(snapshot.bytes());
      }
      const bool changes =
          replace(caller.tape, child, s, behind,
                  [this, &child, number, &caller, keys = std::move(keys), snapshot = std::move(snapshot)](
                      std::span<const Var> outputs, tape::Adjoints<double>& adjoints) mutable {
                    std::unique_ptr<Live> live = std::move(caller.kept[number]);
                    if (live == nullptr) {
                      const State<double> again = restored(child, caller, snapshot);
                      account(-snapshot.bytes());
                      snapshot = {};
                      live = tape(child, again);
                    }
                    std::vector<double> behind_call;
                    std::size_t next = 0;
                    for (const bool changed : child.changes)
                      behind_call.push_back(changed ? adjoints.get(outputs[next++]) : 0.0);
                    seed(*live, behind_call);
                    live->tape.sweep();
                    next = 0;
                    for (std::size_t k = 0; k < child.changes.size(); ++k)
                      if (child.uses[k] || child.changes[k])
                        adjoints.add(Var(0.0, keys[next++]), live->adjoints[k + 1]);
                    drop(child, std::move(live));
                  });
      TIDEMARK_CHECK(changes, "[call_tree] '{}' changes nothing", child.function);
    }
    // The state before a call: what was saved, and, for the numbers that nobody overwrote, what the caller's state still has.
    State<double> restored(const tape::CallNode& child, const Live& caller, const Snapshot& snapshot) const {
      State<double> state = first;
      std::size_t i = 0, next = 0;
      tape::fields::each_pair(caller.state, state, [&](const auto& a, auto& b) {
        if constexpr (tape::IsActive<std::remove_cvref_t<decltype(a)>>::value)
          b = child.saved[i++] ? snapshot.numbers[next++] : a.value();
      });
      snapshot.rest.restore(caller.state, state);
      return state;
    }
    // Fields that are no T: always in a snapshot.
    static tape::Rest passive(const State<double>& state) {
      State<Var> shape;
      tape::lower(state, shape);
      return tape::Rest(shape);
    }
    static void seed(Live& l, const std::vector<double>& adjoints) {
      std::size_t i = 0;
      tape::each_var(l.state, [&](const Var& x) {
        if (x.active()) l.adjoints[tape::index_of(x.key())] += adjoints[i];
        ++i;
      });
    }
    void drop(const tape::CallNode& n, std::unique_ptr<Live> l) {
      const Bytes bytes = held(n, *l);
      l.reset();
      account(-bytes);
    }
  };

  std::map<std::string, Forms> functions_;
};

}  // namespace tidemark
