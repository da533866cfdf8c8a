// compile(f, options): a callable that traces f for the types it is called with, plans it inside the memory
// budget and runs the plan. Arguments and results are Tensors or aggregates of them (front/aggregate.h).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <any>
#include <functional>
#include <optional>
#include <tuple>
#include <typeinfo>
#include <utility>

#include "tidemark/compile/compiled.h"
#include "tidemark/front/aggregate.h"
#include "tidemark/front/eager.h"
#include "tidemark/front/trace.h"
#include "tidemark/ir/builder.h"

namespace tidemark {

// Makes the first arguments of a traced function its state and notes which tensors are the arguments that are cut. `counts`: of tensors in
// each argument. Throws Error(usage) where there are not so many arguments, or the results do not begin with the next version of the state.
TIDEMARK_API void settle_arguments(Graph& graph, CompileOptions& options, const std::vector<int>& counts);
// What compiling the graph would plan, with the kernel of each task; nothing is allocated or run.
TIDEMARK_API Posed posed_of(const Graph& graph, const CompileOptions& options);
TIDEMARK_API plan::Problem posed_problem_of(Graph graph, const CompileOptions& options);

// How many tensors the first `state` arguments have; `counts`: of tensors in each argument. Throws Error(usage) where there are not so
// many arguments.
TIDEMARK_API int state_tensors(int state, const std::vector<int>& counts);

// One Compiled for each signature: the types of the tensors, where they stand in the arguments, and every other value
// among the arguments. They share one arena, as large as the largest needs. Not for use by two threads at a time.
class TIDEMARK_API CompileCache {
 public:
  explicit CompileCache(CompileOptions options);
  using Trace = std::function<Tensors(Tensors)>;
  struct Entry {
    std::vector<Type> types;
    std::string key;                 // structure and values of the arguments, apart from the tensors
    std::any result;                 // of the trace: the structure that outputs are put into
    Tensors captures;  // what the function closed over: further inputs
    std::unique_ptr<Compiled> compiled;
  };
  // The one for these tensors and this key; null: none yet.
  Entry* find(const Tensors& inputs, const std::string& key) const;
  // Makes one. `counts`: of tensors in each argument.
  Entry& make(const Tensors& inputs, const std::vector<std::string>& names, const std::string& key,
              const std::vector<int>& counts, const Trace& f);
  const CompileOptions& options() const { return options_; }
  // Whether this signature was refused when a shape of the options was planned ahead: said once, and not tried ahead again.
  bool refused_ahead(const Tensors& inputs, const std::string& key) const;
  void note_refused(const Tensors& inputs, const std::string& key);
  // Says which of the options' shapes could not be planned: the first by what was wrong with it, others by number.
  [[noreturn]] void fail_at_shapes(const std::vector<std::size_t>& which, const Error& why) const;

 private:
  struct Refused {
    std::vector<Type> types;
    std::string key;
  };
  std::vector<Refused> refused_;
  CompileOptions options_;
  std::shared_ptr<Device> device_;
  std::shared_ptr<SharedArena> arena_;
  std::vector<std::unique_ptr<Entry>> entries_;
};

template <typename F>
class Function {
 public:
  Function(F f, CompileOptions options)
      : f_(std::move(f)), cache_(std::make_shared<CompileCache>(std::move(options))) {}

  template <typename... Args>
  auto operator()(Args&&... args) {
    using Result = std::decay_t<std::invoke_result_t<F&, std::decay_t<Args>...>>;
    auto [entry, result] = prepare<Result>(args...);
    Tensors inputs;
    std::vector<char> given_up;
    (take<Args>(args, inputs, given_up), ...);
    inputs.insert(inputs.end(), entry->captures.begin(), entry->captures.end());
    const Tensors outputs = entry->compiled->run(inputs, given_up, timeline_);
    int state = cache_->options().state;
    (leave<Args>(args, state-- > 0), ...);
    return unflatten(result, outputs);
  }

  // Plans for these arguments (contents are not needed: abstract() will do) without running.
  template <typename... Args>
  Compiled& plan_for(const Args&... args) {
    using Result = std::decay_t<std::invoke_result_t<F&, std::decay_t<Args>...>>;
    return *prepare<Result>(args...).first->compiled;
  }
  void record_timeline(Timeline* timeline) { timeline_ = timeline; }

 private:
  // Handles are copied, never moved from: an error in the run leaves the caller's arguments whole.
  template <typename Arg>
  static void take(const std::decay_t<Arg>& arg, Tensors& into, std::vector<char>& given_up) {
    constexpr bool moved = !std::is_lvalue_reference_v<Arg> && !std::is_const_v<Arg>;
    for_each_tensor(arg, [&](const Tensor& t) {
      into.push_back(t);
      given_up.push_back(moved);
    });
  }

  // State that was given up is undefined behind the step: a handle left on it would read its next version, and hold it when that is
  // given up in turn.
  template <typename Arg>
  static void leave(std::remove_reference_t<Arg>& arg, bool state) {
    if constexpr (!std::is_lvalue_reference_v<Arg> && !std::is_const_v<Arg>) {
      if (state) for_each_tensor(arg, [](Tensor& t) { t = Tensor(); });
    }
  }

  // What tells one set of arguments from another.
  struct Signature {
    Tensors inputs;
    std::string key;
  };
  template <typename... Args>
  static Signature signature(const Args&... args) {
    Signature s;
    (for_each_tensor(args, [&](const Tensor& t) { s.inputs.push_back(t); }), ...);
    s.key = typeid(std::tuple<std::decay_t<Args>...>).name();
    (describe_rest(args, s.key), ...);
    return s;
  }

  template <typename Result, typename... Args>
  std::pair<CompileCache::Entry*, Result> prepare(const Args&... args) {
    const Signature s = signature(args...);
    if (CompileCache::Entry* known = cache_->find(s.inputs, s.key))
      return {known, std::any_cast<const Result&>(known->result)};
    std::vector<std::string> names;
    std::vector<int> counts;  // of tensors in each argument
    const auto add = [&](const auto& arg) {
      const std::vector<std::string> own = tensor_names(arg);
      names.insert(names.end(), own.begin(), own.end());
      counts.push_back(static_cast<int>(own.size()));
    };
    (add(args), ...);
    std::any made;
    CompileCache::Entry& entry = cache_->make(s.inputs, names, s.key, counts, [&](Tensors traced) {
      std::tuple<std::decay_t<Args>...> copies(args...);
      std::size_t next = 0;
      std::apply([&](auto&... arg) { (replace(arg, traced, next), ...); }, copies);
      Result result = std::apply([&](auto&... arg) { return f_(arg...); }, copies);
      Tensors flat = flatten(result);
      made = std::move(result);
      return flat;
    });
    entry.result = std::move(made);
    if (!ahead_) plan_ahead<Result>(args...);
    return {&entry, std::any_cast<const Result&>(entry.result)};
  }

  // The shapes of the options, for the rest of the arguments as they are. One that cannot be planned keeps no other from being so, and is
  // an error once: calls with other shapes go on behind it.
  template <typename Result, typename... Args>
  void plan_ahead(const Args&... args) {
    struct Ahead {
      bool& flag;
      ~Ahead() { flag = false; }
    } const ahead{ahead_ = true};
    const std::vector<std::vector<Type>>& shapes = cache_->options().shapes;
    std::vector<std::size_t> refused;
    std::optional<Error> why;
    for (std::size_t k = 0; k < shapes.size(); ++k) {
      const std::vector<Type>& types = shapes[k];
      std::tuple<std::decay_t<Args>...> copies(args...);
      Tensors all = signature(args...).inputs;
      if (types.size() > all.size())
        fail(Error::Kind::usage, "[shapes] number {} has {} types vs {} tensors among the arguments", k, types.size(), all.size());
      for (std::size_t i = 0; i < types.size(); ++i) all[all.size() - types.size() + i] = abstract(types[i]);
      std::size_t next = 0;
      std::apply([&](auto&... arg) { (replace(arg, all, next), ...); }, copies);
      const Signature s = std::apply([](const auto&... arg) { return signature(arg...); }, copies);
      if (cache_->refused_ahead(s.inputs, s.key)) continue;
      try {
        std::apply([&](auto&... arg) { prepare<Result>(arg...); }, copies);
      } catch (const Error& e) {
        cache_->note_refused(s.inputs, s.key);
        refused.push_back(k);
        if (!why) why = e;
      }
    }
    if (why) cache_->fail_at_shapes(refused, *why);
  }

  template <typename Arg>
  static void replace(Arg& arg, const Tensors& tensors, std::size_t& next) {
    for_each_tensor(arg, [&](const std::string&, Tensor& t) { t = tensors[next++]; });
  }

  F f_;
  std::shared_ptr<CompileCache> cache_;
  Timeline* timeline_ = nullptr;
  bool ahead_ = false;  // planning the shapes of the options
};

// The problem that compiling f for these arguments would plan. Contents are not needed: abstract() will do.
template <typename F, typename... Args>
plan::Problem posed_problem(F f, const CompileOptions& options, const Args&... args) {
  Graph graph = trace(std::move(f), args...);
  CompileOptions settled = options;
  settle_arguments(graph, settled, {static_cast<int>(flatten(args).size())...});
  return posed_problem_of(std::move(graph), settled);
}

template <typename F>
Function<F> compile(F f, CompileOptions options = {}) {
  return Function<F>(std::move(f), std::move(options));
}

}  // namespace tidemark
