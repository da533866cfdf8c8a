// Programs of functions that call functions, differentiated inside a budget: each call keeps its tape, or a snapshot from which it is run
// again, as its measured tape, snapshot and time say. The gradient has the same bits either way.
//   CallTree<State> tree;   // CallTree<State, float> for floats
//   tree.add("advect", [](auto& call, auto& state) { ... call("limit", state); ... });
//   auto g = tree.gradient("main", loss, state, {.memory = 8_MiB});
//   g.value, g.state, g.report.explain()
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <time.h>

#include <functional>
#include <utility>

#include "tidemark/tape/call_plan.h"
#include "tidemark/tape/state.h"

namespace tidemark {

// What a function gets to call others with, and to do what is more than computing.
template <template <typename> class State, typename T>
class Calls {
 public:
  // `effects`: where measuring writes them down, which does none of them.
  Calls(std::function<void(const std::string&, State<T>&)> call, bool measuring,
        std::vector<tape::CallEffect>* effects)
      : call_(std::move(call)), measuring_(measuring), effects_(effects) {}
  void operator()(const std::string& function, State<T>& state) { call_(function, state); }
  // calls.begins("allocate", "buffer 3", [&] { ... }) … calls.ends("free", "buffer 3", [&] { ... }): what is run again must hold both or
  // neither. `act` does it, in every run but those that measure.
  template <std::invocable Act>
  void begins(const std::string& what, const std::string& key, const Act& act,
              std::source_location where = std::source_location::current()) {
    effect({what, key, false, where}, act);
  }
  template <std::invocable Act>
  void ends(const std::string& what, const std::string& key, const Act& act,
            std::source_location where = std::source_location::current()) {
    effect({what, key, true, where}, act);
  }
  // Nothing was begun, sent or received: what comes from outside has to be stood in for.
  bool measuring() const { return measuring_; }

 private:
  template <typename Act>
  void effect(tape::CallEffect e, const Act& act) {
    if (effects_ != nullptr) effects_->push_back(std::move(e));
    if (!measuring_) act();
  }
  std::function<void(const std::string&, State<T>&)> call_;
  bool measuring_;
  std::vector<tape::CallEffect>* effects_;
};

template <template <typename> class State, typename Real = double>
struct CallGradient {
  Real value = 0;
  State<Real> state;  // adjoints of the first state's numbers
  CallReport report;
};

// Functions take (auto& call, auto& state) and change the state, which keeps its sizes. They do the same whenever they are called with the same
// state.
template <template <typename> class State, typename Real = double>
class CallTree {
  using Plain = tape::PlainOf<Real>;
  using Scalar = tape::Active<Real>;
  using TapeOf = tape::BasicTape<Real>;
  using Watched = tape::Watched<Real>;

 public:
  template <typename F>
  void add(const std::string& name, F f) {
    functions_[name] = {f, f, f};
  }

  template <typename Loss>
  CallGradient<State, Real> gradient(const std::string& root, const Loss& loss, const State<Real>& given,
                                     const CallOptions& options = {}) const {
    State<Plain> state;
    tape::convert(given, state);
    Run run{*this, state};
    tape::CallNode top;
    top.function = root;
    run.watch(top);
    run.measure(top, state);
    CallGradient<State, Real> g{0, given, {}};
    g.report.measuring = std::exchange(run.peak, 0);
    tape::choose_modes(top, options, g.report);
    auto live = run.tape(top, state);
    // The loss on a tape of its own, beside the budget: as large as the state.
    TapeOf tape({.chunk = 16_KiB});
    State<Scalar> last;
    State<Plain> values = state;
    tape::lower(live->state, values);
    tape::lift(tape, values, last);
    std::vector<Scalar> inputs;
    tape::each_var(last, [&](const Scalar& x) { inputs.push_back(x); });
    {
      const typename TapeOf::Recording recording(tape);
      const Scalar y = loss(std::as_const(last));
      g.value = y.value();
      tape.begin_sweep();
      if (y.active()) tape.seed(y, Real(1));
      tape.sweep();
    }
    std::vector<Real> adjoints;
    for (const Scalar& x : inputs) adjoints.push_back(tape.adjoint(x));
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
    Function<Plain> plain;
    Function<Scalar> taped;
    Function<Watched> watched;
  };
  // A call whose tape exists.
  struct Live {
    explicit Live(const tape::TapeOptions& options) : tape(options) {}
    TapeOf tape;
    State<Scalar> state;       // behind the call
    std::span<Real> adjoints;  // of the tape; its inputs, the state's numbers, are the first, from 1 on
    std::vector<std::unique_ptr<Live>> kept;  // split calls in it
  };

  // What a joint call is run again from.
  struct Snapshot {
    std::vector<Real> numbers;
    tape::Rest rest;
    Bytes bytes() const { return static_cast<Bytes>(numbers.size() * sizeof(Real) + rest.bytes().size()); }
  };

  struct Run {
    const CallTree& tree;
    const State<Plain>& first;  // every state has its sizes
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
    void inlined(const std::string& name, State<Plain>& state, bool measuring = false) const {
      Calls<State, Plain> calls([&](const std::string& f, State<Plain>& s) { inlined(f, s, measuring); },
                                measuring, nullptr);
      forms(name).plain(calls, state);
    }

    // Measuring comes first, and runs every call twice: on numbers that tell what it reads and assigns, and taped, for its tape's size. Of the
    // tapes only those of a call and of the calls around it exist at a time.
    static void each_watched(State<Watched>& state, const auto& f) {
      tape::fields::each(state, [&](auto& x) {
        if constexpr (std::same_as<std::remove_cvref_t<decltype(x)>, Watched>) f(x);
      });
    }
    static std::vector<std::uint64_t> numbers(State<Watched>& state) {
      std::vector<std::uint64_t> all;
      each_watched(state, [&](const Watched& x) { all.push_back(x.number); });
      return all;
    }
    void watch(tape::CallNode& root) const {
      struct Before {
        tape::Watch saved = tape::watch;
        ~Before() { tape::watch = saved; }
      } before;
      tape::watch = {};
      State<Watched> state;
      tape::convert(first, state);
      watch(root, state, numbers(state));
    }
    // `outside`: what the caller knows the numbers as.
    void watch(tape::CallNode& n, State<Watched>& s, const std::vector<std::uint64_t>& outside) const {
      n.uses.assign(outside.size(), false);
      const tape::Watch callers = tape::watch;
      const tape::Watch mine{tape::watch.last + outside.size(), tape::watch.last + 1, outside.size(),
                             &n.uses};
      tape::watch = mine;
      std::uint64_t next = mine.first;
      each_watched(s, [&](Watched& x) { x.number = next++; });
      // At the last call.
      std::vector<std::uint64_t> at_call;
      const auto since_call = [&](State<Watched>& now) {
        const std::vector<std::uint64_t> then = std::exchange(at_call, numbers(now));
        if (at_call.size() != outside.size())
          fail(Error::Kind::unsupported,
               "[call_tree] '{}' changes a state of {} numbers to {}; states keep their sizes", n.function,
               outside.size(), at_call.size());
        if (n.children.empty()) return;
        // Constants have no number of their own: whether they were overwritten cannot be seen.
        for (std::size_t i = 0; i < then.size(); ++i)
          n.children.back()->saved.push_back(then[i] == 0 || then[i] != at_call[i]);
      };
      const double start = now();
      Calls<State, Watched> calls(
          [&](const std::string& f, State<Watched>& state) {
            since_call(state);
            n.children.push_back(std::make_unique<tape::CallNode>());
            tape::CallNode& child = *n.children.back();
            child.function = f;
            child.parent = &n;
            watch(child, state, at_call);
            n.effects.insert(n.effects.end(), child.effects.begin(), child.effects.end());
          },
          true, &n.effects);
      forms(n.function).watched(calls, s);
      n.plain = now() - start;
      since_call(s);
      const std::uint64_t last = tape::watch.last;
      tape::watch = callers;
      tape::watch.last = last;
      n.changes.assign(outside.size(), false);
      for (std::size_t i = 0; i < outside.size(); ++i) {
        n.changes[i] = at_call[i] != mine.first + i;
        // A number that went elsewhere in the state unchanged is read too.
        if (const std::uint64_t from = at_call[i] - mine.first; n.changes[i] && from < outside.size())
          n.uses[from] = true;
      }
      std::size_t i = 0;
      each_watched(s, [&](Watched& x) {
        if (!n.changes[i])
          x.number = outside[i];
        else
          x.renew();
        // What the call reads its caller reads.
        if (n.uses[i]) Watched::look_at(outside[i]);
        ++i;
      });
      choose_snapshots(n);
    }
    // Hascoet & Dauvergne (2008): what the adjoint of a call uses, and the call or what follows it overwrites.
    void choose_snapshots(tape::CallNode& n) const {
      const auto rest = static_cast<Bytes>(passive(first).bytes().size());
      for (std::size_t c = n.children.size(); c-- > 0;) {
        tape::CallNode& child = *n.children[c];
        for (std::size_t i = 0; i < child.saved.size(); ++i) {
          // Until here: whether it is overwritten by the call or before the next; later, or at all.
          if (c + 1 < n.children.size() && n.children[c + 1]->overwritten[i]) child.saved[i] = true;
        }
        child.overwritten = child.saved;
        for (std::size_t i = 0; i < child.saved.size(); ++i) {
          child.saved[i] = child.saved[i] && child.uses[i];
          if (child.saved[i]) child.snapshot += sizeof(Real);
          if (child.uses[i] || child.changes[i]) n.links += sizeof(tape::Key);
        }
        child.snapshot += rest;
        if (c + 1 < n.children.size()) n.children[c + 1]->overwritten = {};
      }
      if (!n.children.empty()) n.children.front()->overwritten = {};
      n.links += static_cast<Bytes>(n.changes.size() * sizeof(Scalar));
    }

    // The tape of every call without those inside it, and its time. Returns the state behind it.
    State<Plain> measure(tape::CallNode& n, const State<Plain>& before) {
      if (!n.changes_any() && n.parent != nullptr) {  // it is never taped
        State<Plain> after = before;
        inlined(n.function, after, true);
        n.chunk = n.adjoints = n.bytes = 0;
        return after;
      }
      Live live({.chunk = 8_KiB});
      tape::lift(live.tape, before, live.state);
      account(n.links);
      std::size_t next = 0;
      double inside = 0;
      const double start = now();
      {
        const typename TapeOf::Recording recording(live.tape);
        Calls<State, Scalar> calls(
            [&](const std::string& f, State<Scalar>& s) {
              const double begin = now();
              tape::CallNode& child = same_call(n, next++, f);
              State<Plain> values = first;
              tape::lower(s, values);
              const Bytes held = live.tape.counts().held;
              account(held);
              const State<Plain> behind = measure(child, values);
              account(-held);
              replace(live.tape, child, s, behind, [](auto&&...) {});
              inside += now() - begin;
            },
            true, nullptr);
        forms(n.function).taped(calls, live.state);
      }
      n.own = now() - start - inside;
      const tape::TapeCounts counts = live.tape.counts();
      account(counts.held);
      n.chunk = round_up(std::max<Bytes>(counts.tape, 8_KiB), 4_KiB);
      n.adjoints = counts.adjoints;
      State<Plain> after = before;
      tape::lower(live.state, after);
      account(-counts.held - n.links);
      n.bytes = tape::Pages::rounded(n.chunk) + tape::Pages::rounded(n.adjoints) + n.links;
      return after;
    }
    static tape::TapeOptions options_of(const tape::CallNode& n) {
      return {.chunk = n.chunk, .adjoints = n.adjoints};
    }
    static tape::CallNode& same_call(const tape::CallNode& n, std::size_t number, const std::string& f) {
      if (number >= n.children.size() || n.children[number]->function != f)
        fail(Error::Kind::usage,
             "[call_tree] '{}' calls '{}' vs another run of it with the same state; it must do the same",
             n.function, f);
      return *n.children[number];
    }

    // What the call changes becomes outputs of an external function on the caller's tape.
    template <typename Reverse>
    static bool replace(TapeOf& tape, const tape::CallNode& child, State<Scalar>& state,
                        const State<Plain>& behind, Reverse reverse) {
      std::vector<Real> values;
      std::size_t i = 0;
      tape::fields::each_pair(behind, state, [&](const auto& a, auto& b) {
        if constexpr (tape::IsActive<std::remove_cvref_t<decltype(b)>>::value) {
          if (child.changes[i++]) {
            if constexpr (tape::IsNumber<std::remove_cvref_t<decltype(a)>>::value)
              values.push_back(a.value);
            else
              values.push_back(a);
          }
        } else {
          b = a;
        }
      });
      if (values.empty()) return false;
      const std::vector<Scalar> outputs = tape.external(values, std::move(reverse));
      auto next = outputs.begin();
      i = 0;
      tape::each_var(state, [&](Scalar& x) {
        if (child.changes[i++]) x = *next++;
      });
      return true;
    }

    std::unique_ptr<Live> tape(const tape::CallNode& n, const State<Plain>& before) {
      auto made = std::make_unique<Live>(options_of(n));
      Live& l = *made;
      tape::lift(l.tape, before, l.state);
      account(held(n, l));
      std::size_t next = 0;
      l.kept.resize(n.children.size());
      {
        const typename TapeOf::Recording recording(l.tape);
        Calls<State, Scalar> calls(
            [&](const std::string& f, State<Scalar>& s) {
              const tape::CallNode& child = same_call(n, next, f);
              if (child.changes_any())
                call(child, next, l, s);
              else
                run_beside(f, s);
              ++next;
            },
            false, nullptr);
        forms(n.function).taped(calls, l.state);
      }
      l.adjoints = l.tape.begin_sweep();
      TIDEMARK_CHECK(held(n, l) == n.bytes, "[call_tree] '{}' takes {} vs {} measured", n.function,
                     held(n, l), n.bytes);
      return made;
    }
    static Bytes held(const tape::CallNode& n, const Live& l) { return l.tape.counts().held + n.links; }

    // A call that changes no number has no adjoint, but it may have effects, and change fields that are no T.
    void run_beside(const std::string& function, State<Scalar>& s) const {
      State<Plain> values = first;
      tape::lower(s, values);
      inlined(function, values);
      tape::fields::each_pair(std::as_const(values), s, [](const auto& a, auto& b) {
        if constexpr (!tape::IsActive<std::remove_cvref_t<decltype(b)>>::value) b = a;
      });
    }

    void call(const tape::CallNode& child, std::size_t number, Live& caller, State<Scalar>& s) {
      State<Plain> before = first;
      tape::lower(s, before);
      // Who gets adjoints: numbers that the call reads or assigns.
      std::vector<tape::Key> keys;
      Snapshot snapshot;
      std::size_t i = 0;
      tape::each_var(s, [&](const Scalar& x) {
        if (child.uses[i] || child.changes[i]) keys.push_back(x.key());
        if (child.mode == CallMode::joint && child.saved[i]) snapshot.numbers.push_back(x.value());
        ++i;
      });
      State<Plain> behind = before;
      if (child.mode == CallMode::split) {
        caller.kept[number] = tape(child, before);
        tape::lower(caller.kept[number]->state, behind);
      } else {
        inlined(child.function, behind);
        snapshot.rest = passive(before);
        account(snapshot.bytes());
      }
      const bool changes =
          replace(caller.tape, child, s, behind,
                  [this, &child, number, &caller, keys = std::move(keys), snapshot = std::move(snapshot)](
                      std::span<const Scalar> outputs, tape::Adjoints<Real>& adjoints) mutable {
                    std::unique_ptr<Live> live = std::move(caller.kept[number]);
                    if (live == nullptr) {
                      const State<Plain> again = restored(child, caller, snapshot);
                      account(-snapshot.bytes());
                      snapshot = {};
                      live = tape(child, again);
                    }
                    std::vector<Real> behind_call;
                    std::size_t next = 0;
                    for (const bool changed : child.changes)
                      behind_call.push_back(changed ? adjoints.get(outputs[next++]) : Real(0));
                    seed(*live, behind_call);
                    live->tape.sweep();
                    next = 0;
                    for (std::size_t k = 0; k < child.changes.size(); ++k)
                      if (child.uses[k] || child.changes[k])
                        adjoints.add(Scalar(Real(0), keys[next++]), live->adjoints[k + 1]);
                    drop(child, std::move(live));
                  });
      TIDEMARK_CHECK(changes, "[call_tree] '{}' changes nothing", child.function);
    }
    // The state before a call: what was saved, and, for the numbers that nobody overwrote, what the caller's state still has.
    State<Plain> restored(const tape::CallNode& child, const Live& caller, const Snapshot& snapshot) const {
      State<Plain> state = first;
      std::size_t i = 0, next = 0;
      tape::fields::each_pair(caller.state, state, [&](const auto& a, auto& b) {
        if constexpr (tape::IsActive<std::remove_cvref_t<decltype(a)>>::value)
          b = child.saved[i++] ? snapshot.numbers[next++] : a.value();
      });
      snapshot.rest.restore(caller.state, state);
      return state;
    }
    // Fields that are no T: always in a snapshot.
    static tape::Rest passive(const State<Plain>& state) {
      State<Scalar> shape;
      tape::lower(state, shape);
      return tape::Rest(shape);
    }
    static void seed(Live& l, const std::vector<Real>& adjoints) {
      std::size_t i = 0;
      tape::each_var(l.state, [&](const Scalar& x) {
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
