// SPDX-License-Identifier: Apache-2.0
#include "random_problem.h"

#include <algorithm>

namespace tidemark::plan {
namespace {

class Maker {
 public:
  Maker(std::uint64_t seed, const RandomProblem& shape)
      : rng_(seed * 0x9E3779B97F4A7C15 + 1), shape_(shape) {}

  Problem make() {
    p_.name = "random";
    if (shape_.align && chance(0.4)) p_.align = chance(0.5) ? 32 : 7;
    if (shape_.tiers) make_tiers();
    for (int i = 0; i < shape_.residents; ++i) add_buffer(true);
    if (shape_.tiers) {
      for (std::int64_t i = rng_.below(3); i > 0; --i) {
        const BufferId b = add_buffer(false);
        at(b).start = static_cast<TierId>(rng_.below(static_cast<std::int64_t>(p_.tiers.size())));
        if (chance(0.5))
          at(b).end = static_cast<TierId>(rng_.below(static_cast<std::int64_t>(p_.tiers.size())));
      }
    }
    // What is there at the start fits, with more or less to spare.
    for (std::size_t b = 0; b < p_.buffers.size(); ++b) {
      if (p_.buffers[b].start >= 0)
        p_.tiers[static_cast<std::size_t>(p_.buffers[b].start)].bytes += p_.size(static_cast<BufferId>(b));
    }
    for (int i = 0; i < shape_.tasks; ++i) {
      if (shape_.versions && chance(0.12))
        add_update();
      else
        add_task(i);
      if (shape_.makers && chance(0.15)) add_instead_of();
      if (shape_.makers && chance(0.15)) add_maker();
      if (shape_.makers && chance(0.05)) add_compression();
    }
    for (const BufferId b : made_) {
      if (readers_[static_cast<std::size_t>(b)] == 0 ? chance(0.6) : chance(0.05)) p_.outputs.push_back(b);
    }
    if (shape_.tiers) {
      for (const BufferId b : made_) {
        if (chance(0.05))
          at(b).end = static_cast<TierId>(rng_.below(static_cast<std::int64_t>(p_.tiers.size())));
      }
    }
    return std::move(p_);
  }

 private:
  bool chance(double p) { return rng_.uniform() < p; }
  Buffer& at(BufferId b) { return p_.buffers[static_cast<std::size_t>(b)]; }

  void make_tiers() {
    for (const char* name : {"host", "disk"}) {
      if (p_.tiers.empty() || chance(0.3)) {
        const double rate = 20.0 + static_cast<double>(rng_.below(400));
        p_.tiers.push_back({name, rate, chance(0.5) ? rate : 2 * rate, chance(0.5) ? 0.25 : 0.0,
                            chance(0.3) ? 300 : 100000});
      }
    }
  }

  BufferId add_buffer(bool resident) {
    static constexpr Bytes kSizes[] = {4, 10, 20, 50, 50, 100, 100, 200};
    Buffer b;
    b.name = "b" + std::to_string(p_.buffers.size());
    b.bytes = chance(0.3) ? 1 + rng_.below(200) : kSizes[rng_.below(8)];
    if (chance(0.02)) b.bytes = 0;
    b.resident = resident;
    p_.buffers.push_back(b);
    readers_.push_back(0);
    given_.push_back(0);
    const auto id = static_cast<BufferId>(p_.buffers.size() - 1);
    available_.push_back(id);
    return id;
  }

  BufferId pick_read(int i) {
    if (2 * i > shape_.tasks && chance(shape_.mirrored)) {
      const int mirror = shape_.tasks - 1 - i;
      for (const BufferId b : made_) {
        if (given_[static_cast<std::size_t>(b)] == mirror + 1) return b;
      }
    }
    const auto n = static_cast<std::int64_t>(available_.size());
    const std::int64_t back = std::min(n, chance(0.7) ? std::int64_t{3} : n);
    return available_[static_cast<std::size_t>(n - 1 - rng_.below(back))];
  }

  static void add_once(std::vector<BufferId>& list, BufferId b) {
    if (std::find(list.begin(), list.end(), b) == list.end()) list.push_back(b);
  }

  void fill(Task& t) {
    t.name = "t" + std::to_string(p_.tasks.size());
    t.seconds = chance(0.05) ? 0.0 : static_cast<double>(1 + rng_.below(16)) / (chance(0.3) ? 16.0 : 4.0);
    if (shape_.workspace && chance(0.25)) t.workspace = rng_.below(150);
    t.random = chance(0.05);
  }

  void push(Task t) {
    for (const BufferId b : t.reads) ++readers_[static_cast<std::size_t>(b)];
    p_.tasks.push_back(std::move(t));
  }

  void add_task(int i) {
    Task t;
    fill(t);
    for (std::int64_t k = rng_.below(3) + (i > 0 ? 1 : 0); k > 0 && !available_.empty(); --k)
      add_once(t.reads, pick_read(i));
    const std::int64_t writes = chance(0.05) ? 0 : chance(0.2) ? 2 : 1;
    for (std::int64_t k = 0; k < writes; ++k) {
      const BufferId b = add_buffer(false);
      given_[static_cast<std::size_t>(b)] = i + 1;
      made_.push_back(b);
      t.writes.push_back(b);
    }
    if (shape_.in_place) {
      for (const BufferId r : t.reads) {
        for (const BufferId w : t.writes) {
          if (chance(0.4)) t.in_place.emplace_back(r, w);
          if (chance(0.2)) at(w).bytes = at(r).bytes;
        }
      }
    }
    t.once = shape_.once && chance(t.writes.empty() ? 0.5 : 0.05);
    push(std::move(t));
  }

  // An optimizer's step: reads a buffer and what it is updated with, and gives it a new version.
  void add_update() {
    if (available_.empty()) return;
    Task t;
    fill(t);
    const BufferId b =
        available_[static_cast<std::size_t>(rng_.below(static_cast<std::int64_t>(available_.size())))];
    t.reads.push_back(b);
    if (chance(0.7)) add_once(t.reads, available_.back());
    t.writes.push_back(b);
    t.once = true;
    push(std::move(t));
  }

  void add_instead_of() {
    std::vector<TaskId> plain;
    for (std::size_t i = 0; i < p_.tasks.size(); ++i) {
      const Task& t = p_.tasks[i];
      const bool updates = std::any_of(t.writes.begin(), t.writes.end(), [&](BufferId w) {
        return std::find(t.reads.begin(), t.reads.end(), w) != t.reads.end();
      });
      if (!t.optional && !t.once && !updates) plain.push_back(static_cast<TaskId>(i));
    }
    if (plain.empty()) return;
    const TaskId of = plain.back();
    Task t = p_.tasks[static_cast<std::size_t>(of)];
    fill(t);
    if (t.reads.size() > 1 && chance(0.4)) {
      std::erase_if(t.in_place, [&](const auto& pair) { return pair.first == t.reads.back(); });
      t.reads.pop_back();
    }
    t.optional = true;
    t.instead_of = of;
    push(std::move(t));
  }

  // An inverse or a cheaper way to make a buffer again.
  void add_maker() {
    if (made_.empty()) return;
    const BufferId b = made_[static_cast<std::size_t>(rng_.below(static_cast<std::int64_t>(made_.size())))];
    Task t;
    fill(t);
    for (std::int64_t k = rng_.below(3); k > 0; --k) {
      const BufferId r = pick_read(0);
      if (r != b) add_once(t.reads, r);
    }
    t.writes.push_back(b);
    t.optional = true;
    t.lossy = shape_.lossy && chance(0.15);
    push(std::move(t));
  }

  void add_compression() {
    if (made_.empty()) return;
    const BufferId b = made_.back();
    const BufferId q = add_buffer(false);
    available_.pop_back();  // only the decompressor reads it: it need not be there
    at(q).bytes = at(b).bytes / 4;
    Task squeeze, back;
    fill(squeeze);
    squeeze.reads = {b};
    squeeze.writes = {q};
    squeeze.optional = true;
    push(std::move(squeeze));
    fill(back);
    back.reads = {q};
    back.writes = {b};
    back.optional = true;
    back.lossy = shape_.lossy;
    push(std::move(back));
  }

  Rng rng_;
  RandomProblem shape_;
  Problem p_;
  std::vector<BufferId> available_, made_;
  std::vector<int> readers_, given_;  // by buffer; given_: 1 + the required task that makes it
};

}  // namespace

Problem random_problem(std::uint64_t seed, const RandomProblem& shape) { return Maker(seed, shape).make(); }

void choose_features(Rng& rng, std::int64_t off_one_in, RandomProblem& shape) {
  for (bool RandomProblem::*feature :
       {&RandomProblem::workspace, &RandomProblem::align, &RandomProblem::once, &RandomProblem::in_place,
        &RandomProblem::versions, &RandomProblem::makers})
    shape.*feature = rng.below(off_one_in) != 0;
}

Problem random_problem_of_any_kind(std::uint64_t seed, int most) {
  Rng rng(seed ^ 0xA5A5A5A5A5A5A5A5);
  RandomProblem shape;
  shape.tasks = static_cast<int>(2 + rng.below(most - 1));
  shape.residents = static_cast<int>(rng.below(4));
  choose_features(rng, 3, shape);
  shape.lossy = rng.below(3) != 0;
  shape.tiers = rng.below(3) != 0;
  return random_problem(seed, shape);
}

Problem mirrored_problem(Rng& rng, const Mirrored& shape) {
  const int n = shape.half;
  Problem p;
  p.buffers.push_back({.name = "x", .bytes = 10, .resident = true});
  for (int i = 0; i < 2 * n; ++i) {
    p.buffers.push_back({.name = "b", .bytes = 20 + 20 * rng.below(5)});
    if (shape.ends_there && rng.below(4) == 0) p.buffers.back().end = 0;
  }
  for (int i = 0; i < 2 * n; ++i) {
    Task t{.name = "t",
           .reads = {i},
           .writes = {i + 1},
           .seconds = 0.25 * static_cast<double>(1 + rng.below(8))};
    if (i >= n) t.reads.push_back(2 * n - i);
    t.once = i < n && rng.below(2) == 0;
    p.tasks.push_back(t);
  }
  p.outputs = {2 * n};
  p.tiers.push_back({.name = "host",
                     .write_bytes_per_second = 4 + static_cast<double>(rng.below(shape.rates)),
                     .read_bytes_per_second = 4 + static_cast<double>(rng.below(shape.rates)),
                     .latency_seconds = 0.125 * static_cast<double>(rng.below(2)),
                     .bytes = 1'000'000});
  return p;
}

}  // namespace tidemark::plan
