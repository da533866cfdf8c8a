// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/reorder.h"

#include <algorithm>
#include <cmath>

#include "tidemark/plan/cpu_clock.h"

namespace tidemark::plan {
namespace {
constexpr std::int32_t kTogether = 4;  // runs that move as one at most
constexpr double kSecondsAMove = 5e-7;
constexpr std::int64_t kBetweenQuestions = 1024;  // moves, whether there is time
}  // namespace

Reorder::Reorder(const Model& model) : model_(&model), touch_(static_cast<std::size_t>(model.all)) {
  const auto bit = [](BufferId b) { return std::uint64_t{1} << (static_cast<std::uint32_t>(b) % 64); };
  for (TaskId t = 0; t < model.all; ++t) {
    const auto i = static_cast<std::size_t>(t);
    Touch& touch = touch_[i];
    for (const BufferId b : model.reads[i]) touch.reads |= bit(b);
    for (const BufferId b : model.writes[i]) touch.writes |= bit(b);
    touch.has_before = t >= model.tasks || !model.before[i].empty();
    touch.has_after = t >= model.tasks || !model.after[i].empty();
  }
}

void Reorder::load(const std::vector<TaskId>& runs) {
  const Model& m = *model_;
  runs_.clear();
  lives_of_.clear();
  lives_.clear();
  buffer_of_.clear();
  std::vector<std::int32_t> current(static_cast<std::size_t>(m.buffers), -1);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto t = static_cast<std::size_t>(runs[i]);
    Run run{runs[i], static_cast<std::int32_t>(lives_of_.size()), 0, 0, 0, m.workspace[t]};
    for (const BufferId b : m.writes[t]) run.whole += m.size[static_cast<std::size_t>(b)];
    for (const BufferId b : m.reads[t]) {
      const std::int32_t life = current[static_cast<std::size_t>(b)];
      lives_[static_cast<std::size_t>(life)].last = static_cast<std::int32_t>(i);
      lives_of_.push_back(life);
    }
    run.reads = static_cast<std::int32_t>(m.reads[t].size());
    run.first_write = static_cast<std::int32_t>(lives_of_.size());
    for (const BufferId b : m.writes[t]) {
      current[static_cast<std::size_t>(b)] = static_cast<std::int32_t>(lives_.size());
      lives_of_.push_back(static_cast<std::int32_t>(lives_.size()));
      lives_.push_back({m.size[static_cast<std::size_t>(b)], static_cast<std::int32_t>(i), false});
      buffer_of_.push_back(b);
    }
    run.writes = static_cast<std::int32_t>(m.writes[t].size());
    runs_.push_back(run);
  }
  for (BufferId b = 0; b < m.buffers; ++b) {
    if (m.output[static_cast<std::size_t>(b)] && current[static_cast<std::size_t>(b)] >= 0) {
      lives_[static_cast<std::size_t>(current[static_cast<std::size_t>(b)])].kept = true;
    }
  }
  before_.assign(runs.size() + 1, 0);
  bytes_.assign(runs.size(), 0);
  for (std::size_t i = 0; i < runs.size(); ++i) place(static_cast<std::int32_t>(i));
}

void Reorder::place(std::int32_t at) {
  const auto i = static_cast<std::size_t>(at);
  const Run& run = runs_[i];
  Bytes after = before_[i];
  for (std::int32_t k = 0; k < run.writes; ++k) {
    const Life& life =
        lives_[static_cast<std::size_t>(lives_of_[static_cast<std::size_t>(run.first_write + k)])];
    if (life.kept || life.last > at) after += life.size;
  }
  for (std::int32_t k = 0; k < run.reads; ++k) {
    const Life& life =
        lives_[static_cast<std::size_t>(lives_of_[static_cast<std::size_t>(run.first_read + k)])];
    if (!life.kept && life.last == at) after -= life.size;
  }
  before_[i + 1] = after;
  place_during(at);
}

void Reorder::place_during(std::int32_t at) {
  const auto i = static_cast<std::size_t>(at);
  const Run& run = runs_[i];
  Bytes during = before_[i] + run.whole;
  if (model_->has_in_place() && run.task < model_->tasks) {
    const auto& pairs = model_->in_place[static_cast<std::size_t>(run.task)];
    for (std::size_t p = 0; p < pairs.size(); ++p) {
      const auto taken = [&](std::size_t q) {
        return pairs[q].read == pairs[p].read || pairs[q].write == pairs[p].write;
      };
      bool free = true;
      for (std::size_t q = 0; q < p && free; ++q)
        free = !taken(q);  // strict: only the first pair of a buffer counts
      if (!free) continue;
      for (std::int32_t k = 0; k < run.reads; ++k) {
        const auto id = static_cast<std::size_t>(lives_of_[static_cast<std::size_t>(run.first_read + k)]);
        if (buffer_of_[id] == pairs[p].read && !lives_[id].kept && lives_[id].last == at) {
          during -= model_->size[static_cast<std::size_t>(pairs[p].write)];
        }
      }
    }
  }
  bytes_[i] = during;
}

bool must_precede(const Model& model, TaskId a, TaskId b) {
  const auto i = static_cast<std::size_t>(a), j = static_cast<std::size_t>(b);
  const auto lists = [](std::span<const std::int32_t> list, std::int32_t id) {
    return std::find(list.begin(), list.end(), id) != list.end();
  };
  for (const BufferId buffer : model.writes[i]) {
    if (lists(model.reads[j], buffer) || lists(model.writes[j], buffer)) return true;
  }
  for (const BufferId buffer : model.writes[j]) {
    if (lists(model.reads[i], buffer)) return true;
  }
  if (lists(model.before[i], b) || lists(model.after[j], a)) return true;
  // Copies keep their order among themselves, as the streams carry them out one after the other, and their place among the uses
  // of their buffer.
  const bool a_copies = a >= model.tasks, b_copies = b >= model.tasks;
  if (!a_copies && !b_copies) return false;
  if (a_copies && b_copies) return true;
  const BufferId copied = model.copies[static_cast<std::size_t>((a_copies ? a : b) - model.tasks)].buffer;
  return lists(model.reads[a_copies ? j : i], copied);
}

bool Reorder::exchange(std::int32_t at) {
  if (conflict(runs_[static_cast<std::size_t>(at)], runs_[static_cast<std::size_t>(at) + 1])) return false;
  exchange_anyway(at);
  return true;
}

void Reorder::exchange_anyway(std::int32_t at) {
  Run& a = runs_[static_cast<std::size_t>(at)];
  Run& b = runs_[static_cast<std::size_t>(at) + 1];
  // Uses of b move to `at`, uses of a behind it: what both read ends behind in either order.
  for (std::int32_t k = 0; k < b.reads; ++k) {
    Life& life = lives_[static_cast<std::size_t>(lives_of_[static_cast<std::size_t>(b.first_read + k)])];
    if (life.last == at + 1) life.last = at;
  }
  for (std::int32_t k = 0; k < b.writes; ++k) {
    Life& life = lives_[static_cast<std::size_t>(lives_of_[static_cast<std::size_t>(b.first_write + k)])];
    if (life.last == at + 1) life.last = at;
  }
  for (std::int32_t k = 0; k < a.reads; ++k) {
    Life& life = lives_[static_cast<std::size_t>(lives_of_[static_cast<std::size_t>(a.first_read + k)])];
    if (life.last == at) life.last = at + 1;
  }
  for (std::int32_t k = 0; k < a.writes; ++k) {
    Life& life = lives_[static_cast<std::size_t>(lives_of_[static_cast<std::size_t>(a.first_write + k)])];
    if (life.last == at) life.last = at + 1;
  }
  std::swap(a, b);
  place(at);
  place_during(at + 1);  // behind both there is what there was
}

bool Reorder::pass_next(std::int32_t first, std::int32_t length) {
  const Run& next = runs_[static_cast<std::size_t>(first + length)];
  for (std::int32_t i = first; i < first + length; ++i) {
    if (conflict(runs_[static_cast<std::size_t>(i)], next)) return false;
  }
  for (std::int32_t i = first + length - 1; i >= first; --i) exchange_anyway(i);
  return true;
}

void Reorder::put_off(std::int32_t at) {
  const auto n = static_cast<std::int32_t>(runs_.size());
  const Bytes limit = peak();
  std::int32_t first = at, length = 1;
  const auto most = [&](std::int32_t from, std::int32_t to) {
    return *std::max_element(bytes_.begin() + from, bytes_.begin() + to);
  };
  std::vector<std::int32_t> passed;  // where an exchange was made, to go back
  std::size_t best = 0;
  Bytes least = most(first, first + 1);
  while (first + length < n) {
    if (!pass_next(first, length)) {
      // What needs it goes along: the update that ends the life of a gradient.
      if (++length > kTogether) break;
      continue;
    }
    for (std::int32_t i = first + length - 1; i >= first; --i) passed.push_back(i);
    if (bytes_[static_cast<std::size_t>(first)] > limit)
      break;  // of what was passed; its own is chosen in the end
    ++first;
    const Bytes here = most(first, first + length);
    if (here > least) continue;
    least = here;
    best = passed.size();
  }
  while (passed.size() > best) {
    exchange_anyway(passed.back());
    passed.pop_back();
  }
}

void Reorder::lower_peak(int most) {
  for (Bytes before = peak(); most > 0; --most) {
    put_off(static_cast<std::int32_t>(std::max_element(bytes_.begin(), bytes_.end()) - bytes_.begin()));
    if (peak() >= before) return;
    before = peak();
  }
}

double Reorder::overflow(const Limits& limits) const {
  double sum = 0;
  for (const Bytes b : bytes_) sum += limits.cost(b);
  return sum;
}

Bytes Reorder::peak() const { return bytes_.empty() ? 0 : *std::max_element(bytes_.begin(), bytes_.end()); }

bool Reorder::anneal(const Limits& limits, double hot, double cold, std::int64_t moves, Rng& rng) {
  const auto n = static_cast<std::int32_t>(runs_.size());
  double over = overflow(limits);
  if (n < 2) return over == 0;
  const auto cost = [&](std::int32_t at) { return limits.cost(bytes_[static_cast<std::size_t>(at)]); };
  std::int64_t listed = -n;  // the move before which `over_` was made
  std::int64_t k = 0;
  for (; k < moves && over > 0; ++k) {
    if (k % kBetweenQuestions == kBetweenQuestions - 1) {
      worked(static_cast<double>(kBetweenQuestions), kSecondsAMove);
      if (limit_ != nullptr && limit_->time_is_up()) break;
    }
    const auto heat = [&] {
      return hot * std::pow(cold / hot, static_cast<double>(k) / static_cast<double>(moves));
    };
    auto at = static_cast<std::int32_t>(rng.below(n));
    if (rng.below(2) == 0) {
      // Near a moment that is over. They are few, as a rule, and do not move much.
      if (k - listed >= n) {
        listed = k;
        over_.clear();
        for (std::int32_t i = 0; i < n; ++i) {
          if (cost(i) > 0) over_.push_back(i);
        }
      }
      if (!over_.empty())
        at = over_[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(over_.size())))];
      at = static_cast<std::int32_t>(std::clamp<std::int64_t>(at + rng.below(41) - 20, 0, n - 1));
    }
    const bool right = rng.below(2) == 0;
    const std::int64_t most = rng.below(4) == 0 ? 1 + rng.below(200) : 1 + rng.below(12);
    double change = 0;
    std::int32_t done = 0;
    double best_change = 0;
    std::int32_t best_done = 0;
    for (; done < most; ++done) {
      const std::int32_t left = right ? at + done : at - done - 1;
      if (left < 0 || left + 1 >= n) break;
      const double old = cost(left) + cost(left + 1);
      if (!exchange(left)) break;
      change += cost(left) + cost(left + 1) - old;
      if (change < best_change) {
        best_change = change;
        best_done = done + 1;
      }
    }
    if (done == 0) continue;
    // The best place on the way, or the end of it with a probability that falls with what it costs.
    std::int32_t keep = done;
    if (best_done > 0) {
      keep = best_done;
    } else if (change > 0 && rng.uniform() >= std::exp(-change / heat())) {
      keep = 0;
    }
    for (std::int32_t d = done - 1; d >= keep; --d) exchange_anyway(right ? at + d : at - d - 1);
    if (keep > 0) over += keep == best_done ? best_change : change;
    if (over < 0.5) over = overflow(limits);
  }
  worked(static_cast<double>(k % kBetweenQuestions), kSecondsAMove);
  return overflow(limits) == 0;
}

std::vector<TaskId> Reorder::runs() const {
  std::vector<TaskId> out;
  out.reserve(runs_.size());
  for (const Run& run : runs_) out.push_back(run.task);
  return out;
}

}  // namespace tidemark::plan
