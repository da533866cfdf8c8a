// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/data_checks.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <unordered_map>

#include "tidemark/compile/data_needs.h"
#include "tidemark/compile/storage_facts.h"
#include "tidemark/compile/task_list.h"
#include "tidemark/runtime/check_indices.h"

namespace tidemark {
namespace {

using plan::BufferId;
using plan::TaskId;

template <typename I>
std::size_t at(I id) {
  return static_cast<std::size_t>(id);
}

// Something that may be refused, told from all others, and how updates wait for it.
struct Key {
  DataNeed need;
  TaskId first = -1;     // the first task that needs it
  BufferId read = -1;    // what the task that stands for it reads; -1: it cannot be had before updates
  BufferPart indices{};  // where it looks at them itself
  Type type{};
  TaskId before = 0;  // its place in the list
  bool awaited = false;
  std::size_t rank = 0;  // among those that are
};

class Waiting {
 public:
  explicit Waiting(Posed& posed)
      : posed_(posed),
        problem_(posed.problem),
        needs_(posed.binding.graph),
        keys_of_(problem_.tasks.size()) {}

  void run() {
    if (!needs_.any()) return;
    collect();
    if (keys_.empty()) return;
    find_late();
    for (Key& key : keys_) resolve(key);
    for_each_missing([&](TaskId, std::size_t k) { keys_[k].awaited |= keys_[k].read >= 0; });
    std::vector<std::size_t> chain;
    for (std::size_t k = 0; k < keys_.size(); ++k) {
      if (keys_[k].awaited) chain.push_back(k);
    }
    if (chain.empty()) return;
    std::stable_sort(chain.begin(), chain.end(),
                     [&](std::size_t a, std::size_t b) { return keys_[a].before < keys_[b].before; });
    for (std::size_t r = 0; r < chain.size(); ++r) keys_[chain[r]].rank = r;
    // An update that waits for one of them waits for those before it too.
    std::unordered_map<TaskId, std::size_t> last;
    for_each_missing([&](TaskId update, std::size_t k) {
      if (!keys_[k].awaited) return;
      const auto [found, is_new] = last.try_emplace(update, keys_[k].rank);
      if (!is_new) found->second = std::max(found->second, keys_[k].rank);
    });
    add_tasks(chain, last);
  }

 private:
  bool is_update(TaskId t) const {
    return !problem_.tasks[at(t)].optional && plan::updates(problem_.tasks[at(t)]);
  }

  void collect() {
    for (TaskId t = 0; t < static_cast<TaskId>(problem_.tasks.size()); ++t) {
      const std::int32_t n = posed_.binding.node_of_task[at(t)];
      if (n < 0 || problem_.tasks[at(t)].optional) continue;
      for (const DataNeed& need : needs_.of(at(n))) {
        std::vector<std::size_t>& same = by_number_[need.of];
        const auto equal = [&](std::size_t k) {
          return needs_.covers(keys_[k].need, need) && needs_.covers(need, keys_[k].need);
        };
        auto found = std::find_if(same.begin(), same.end(), equal);
        if (found == same.end()) {
          same.push_back(keys_.size());
          found = same.end() - 1;
          keys_.push_back({.need = need, .first = t});
        }
        keys_of_[at(t)].push_back(*found);
      }
    }
    // Those that a key's acceptance makes good.
    covers_.resize(keys_.size());
    for (std::size_t k = 0; k < keys_.size(); ++k) {
      for (const ValueNumber n : needs_.inside(keys_[k].need.of)) {
        const auto found = by_number_.find(n);
        if (found == by_number_.end()) continue;
        for (const std::size_t by : found->second) {
          if (needs_.covers(keys_[by].need, keys_[k].need)) covers_[by].push_back(k);
        }
      }
    }
  }

  // Tasks that are, or are computed from, an update: what they may refuse cannot be known before it.
  void find_late() {
    late_.assign(problem_.tasks.size(), 0);
    std::vector<char> buffer(problem_.buffers.size(), 0);
    for (std::size_t t = 0; t < problem_.tasks.size(); ++t) {
      const plan::Task& task = problem_.tasks[t];
      late_[t] = plan::updates(task) || std::any_of(task.reads.begin(), task.reads.end(),
                                                    [&](BufferId b) { return buffer[at(b)] != 0; });
      if (!late_[t]) continue;
      for (const BufferId b : task.writes) buffer[at(b)] = 1;
    }
    maker_ = makers(posed_.binding.graph);
    task_of_node_.assign(posed_.binding.graph.nodes.size(), -1);
    for (std::size_t t = problem_.tasks.size(); t-- > 0;) {
      const std::int32_t n = posed_.binding.node_of_task[t];
      if (n >= 0 && !problem_.tasks[t].optional) task_of_node_[at(n)] = static_cast<TaskId>(t);
    }
  }

  // The task that makes a value, -1 for an input.
  TaskId maker_of(ValueId v) const {
    const Graph& g = posed_.binding.graph;
    const std::int32_t n = maker_[at(root_of(g, v))];
    return n < 0 ? -1 : task_of_node_[at(n)];
  }

  void resolve(Key& key) {
    const Graph& g = posed_.binding.graph;
    const ValueId v = key.need.indices() && key.need.within.empty() && key.need.range.refuse != nullptr
                          ? needs_.value(key.need.of)
                          : -1;
    if (v >= 0 && g.value(v).layout.strides.empty() && g.value(v).layout.blocked.empty()) {
      const TaskId maker = maker_of(v);
      if (maker >= 0 && late_[at(maker)]) return;
      key.indices = {posed_.binding.buffer_of_value[at(v)],
                     g.value(v).layout.offset * size_of(g.type(v).dtype)};
      key.read = key.indices.buffer;
      key.type = g.type(v);
      key.before = maker + 1;
      return;
    }
    const plan::Task& task = problem_.tasks[at(key.first)];
    if (late_[at(key.first)] || task.writes.empty()) return;
    key.read = *std::min_element(task.writes.begin(), task.writes.end(),
                                 [&](BufferId a, BufferId b) { return problem_.size(a) < problem_.size(b); });
    key.before = key.first + 1;
  }

  // Calls f(update, key) for every key that is needed somewhere and that nothing the update is computed from has met.
  void for_each_missing(const std::function<void(TaskId, std::size_t)>& f) const {
    constexpr std::size_t kBits = 64;
    std::vector<std::uint64_t> met(problem_.buffers.size());
    for (std::size_t from = 0; from < keys_.size(); from += kBits) {
      const std::size_t n = std::min(kBits, keys_.size() - from);
      const std::uint64_t all = n == kBits ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
      std::fill(met.begin(), met.end(), 0);
      for (TaskId t = 0; t < static_cast<TaskId>(problem_.tasks.size()); ++t) {
        const plan::Task& task = problem_.tasks[at(t)];
        if (task.optional) continue;
        std::uint64_t here = 0;
        for (const BufferId b : task.reads) here |= met[at(b)];
        if (is_update(t)) {
          for (std::uint64_t missing = all & ~here; missing != 0; missing &= missing - 1)
            f(t, from + at(std::countr_zero(missing)));
        }
        for (const std::size_t k : keys_of_[at(t)]) {
          for (const std::size_t good : covers_[k]) {
            if (good >= from && good < from + n) here |= std::uint64_t{1} << (good - from);
          }
        }
        for (const BufferId b : task.writes) met[at(b)] = here;
      }
    }
  }

  void add_tasks(const std::vector<std::size_t>& chain, const std::unordered_map<TaskId, std::size_t>& last) {
    constexpr double kSecondsPerByte = 1e-10, kSeconds = 1e-6;
    const auto token = static_cast<BufferId>(problem_.buffers.size());
    for (const auto& [update, rank] : last)
      problem_.tasks[at(update)].reads.push_back(token + static_cast<BufferId>(rank));
    std::vector<NewTask> added;
    for (std::size_t r = 0; r < chain.size(); ++r) {
      const Key& key = keys_[chain[r]];
      problem_.buffers.push_back({.name = "accepted", .bytes = 1, .kind = "gate"});
      posed_.binding.value_of_buffer.push_back(-1);
      NewTask task{.before = key.before, .kernel = make_kernel(0, [](const Operands&) {})};
      task.task = {.name = problem_.tasks[at(key.first)].name,
                   .kind = "check",
                   .reads = {key.read},
                   .writes = {token + static_cast<BufferId>(r)},
                   .once = true};
      if (r > 0) {
        const BufferId before = token + static_cast<BufferId>(r) - 1;
        task.task.reads.push_back(before);
        task.task.in_place.emplace_back(before, before + 1);
      }
      if (key.indices.buffer >= 0) {
        task.task.seconds = kSeconds + kSecondsPerByte * static_cast<double>(key.type.bytes());
        task.kernel = std::make_shared<CheckIndices>(key.type, key.need.range, key.need.op->name);
        task.operands.in.push_back(key.indices);
      }
      added.push_back(std::move(task));
    }
    const Moved moved = insert_tasks(posed_, std::move(added));
    for (Maker& maker : posed_.makers) {
      for (auto* list : {&maker.run, &maker.instead}) {
        for (TaskId& t : *list) t = moved.place[at(t)];
      }
    }
    sort_tasks(posed_);
  }

  Posed& posed_;
  plan::Problem& problem_;
  const DataNeeds needs_;
  std::vector<Key> keys_;
  std::vector<std::vector<std::size_t>> keys_of_;  // by task
  std::vector<std::vector<std::size_t>> covers_;   // by key
  std::unordered_map<ValueNumber, std::vector<std::size_t>> by_number_;
  std::vector<char> late_;
  std::vector<TaskId> task_of_node_;
  std::vector<std::int32_t> maker_;  // by value: its node
};

}  // namespace

void check_before_updates(Posed& posed) {
  const auto updates = [](const plan::Task& t) { return plan::updates(t); };
  if (std::any_of(posed.problem.tasks.begin(), posed.problem.tasks.end(), updates)) Waiting(posed).run();
}

}  // namespace tidemark
