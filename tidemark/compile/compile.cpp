// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/compile.h"

#include <algorithm>
#include <numeric>

#include "tidemark/base/text.h"
#include "tidemark/compile/arena.h"

namespace tidemark {

// NOLINTNEXTLINE(performance-unnecessary-value-param): a traced graph is given away here
plan::Problem posed_problem_of(Graph graph, const CompileOptions& options) {
  return posed_of(graph, options).problem;
}

int state_tensors(int state, const std::vector<int>& counts) {
  if (state < 0 || state > static_cast<int>(counts.size()))
    fail(Error::Kind::usage, "[compile] .state = {} vs {} arguments; it counts those at the front that are state",
         state, counts.size());
  return std::accumulate(counts.begin(), counts.begin() + state, 0);
}

void settle_arguments(Graph& graph, CompileOptions& options, const std::vector<int>& counts) {
  const int state = state_tensors(options.state, counts);
  if (state > static_cast<int>(graph.outputs.size()))
    fail(Error::Kind::usage,
         "[compile] {} state tensors vs {} results; return the next version of the state first", state,
         graph.outputs.size());
  for (int i = 0; i < state; ++i) {
    const Value& old = graph.value(graph.inputs[static_cast<std::size_t>(i)]);
    const Type& next = graph.type(graph.outputs[static_cast<std::size_t>(i)]);
    if (old.type != next)
      fail(Error::Kind::usage,
           "[compile] state {}{} is {} vs {} returned; return the next version of the state first", i,
           old.name.empty() ? "" : " (" + old.name + ")", to_string(old.type), to_string(next));
    graph.updates.emplace_back(i, i);
  }
  std::vector<int> first{0};  // tensor of each argument
  for (const int n : counts) first.push_back(first.back() + n);
  options.micro_batches.arguments = first.back();
  for (const int i : options.micro_batches.batch) {
    if (i < 0 || i >= static_cast<int>(counts.size()))
      fail(Error::Kind::usage, "[micro_batches] argument {} vs {} arguments", i, counts.size());
    for (int t = first[static_cast<std::size_t>(i)]; t < first[static_cast<std::size_t>(i) + 1]; ++t)
      options.micro_batches.inputs.push_back(t);
  }
}

namespace {
std::vector<Type> types_of(const Tensors& tensors) {
  std::vector<Type> types;
  types.reserve(tensors.size());
  for (const Tensor& t : tensors) types.push_back(t.type());
  return types;
}
}  // namespace

bool CompileCache::refused_ahead(const Tensors& inputs, const std::string& key) const {
  const std::vector<Type> types = types_of(inputs);
  return std::any_of(refused_.begin(), refused_.end(),
                     [&](const Refused& r) { return r.types == types && r.key == key; });
}

void CompileCache::note_refused(const Tensors& inputs, const std::string& key) {
  refused_.push_back({types_of(inputs), key});
}

void CompileCache::fail_at_shapes(const std::vector<std::size_t>& which, const Error& why) const {
  std::vector<std::string> types, others;
  for (const Type& t : options_.shapes[which.front()]) types.push_back(to_string(t));
  for (std::size_t i = 1; i < which.size(); ++i) others.push_back(fmt::format("{}", which[i]));
  throw Error(why.kind(),
              fmt::format("[shapes] number {} ({}){}: {}", which.front(), join(types, ", "),
                          others.empty() ? "" : ", and so number " + join(others, ", "), why.what()));
}

CompileCache::CompileCache(CompileOptions options)
    : options_(std::move(options)),
      device_(options_.device ? options_.device : cpu()),
      arena_(std::make_shared<SharedArena>(SharedArena{.device = device_})) {}

CompileCache::Entry* CompileCache::find(const Tensors& inputs, const std::string& key) const {
  const auto same = [](const Type& type, const Tensor& t) { return type == t.type(); };
  for (const auto& entry : entries_) {
    if (entry->key == key &&
        std::equal(entry->types.begin(), entry->types.end(), inputs.begin(), inputs.end(), same))
      return entry.get();
  }
  return nullptr;
}

CompileCache::Entry& CompileCache::make(const Tensors& inputs, const std::vector<std::string>& names,
                                        const std::string& key, const std::vector<int>& counts,
                                        const Trace& f) {
  std::vector<Type> types = types_of(inputs);
  const auto builder = Builder::make();
  Tensors traced;
  for (std::size_t i = 0; i < inputs.size(); ++i) traced.push_back(builder->input(types[i], names[i]));
  const Tensors results = f(std::move(traced));
  auto entry = std::make_unique<Entry>();
  Graph graph = builder->finish(results);
  entry->captures = builder->captures();
  entry->types = std::move(types);
  entry->key = key;
  CompileOptions options = options_;
  settle_arguments(graph, options, counts);
  entry->compiled = std::make_unique<Compiled>(std::move(graph), options, device_, arena_);
  entries_.push_back(std::move(entry));
  return *entries_.back();
}

}  // namespace tidemark
