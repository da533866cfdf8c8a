// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <unordered_set>

namespace tidemark::plan {
namespace {

// Every sum of sizes stays below it, so that nobody downstream has to think of overflow.
constexpr Bytes kMostBytes = Bytes{1} << 60;  // so that sums of a few stay far from overflow
constexpr double kMostSeconds = 1e30;
constexpr double kLeastRate = 1e-12;
constexpr std::size_t kMostTiers = 64;

std::size_t at(std::int32_t id) { return static_cast<std::size_t>(id); }

class Verifier {
 public:
  explicit Verifier(const Problem& problem) : p_(problem) {}

  std::string run() {
    sizes() && tiers() && tasks() && alternatives() && order() && ends();
    return std::move(broken_);
  }

 private:
  template <typename... Args>
  bool broken(fmt::format_string<Args...> format, Args&&... args) {
    broken_ = fmt::format(format, std::forward<Args>(args)...);
    return false;
  }
  std::span<const BufferId> updates(std::size_t t) const {
    return std::span(updates_).subspan(first_update_[t], first_update_[t + 1] - first_update_[t]);
  }
  bool is_buffer(BufferId b) const { return b >= 0 && at(b) < p_.buffers.size(); }

  bool sizes() {
    constexpr auto most = static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max());
    if (p_.buffers.size() > most) return broken("buffers: {} of them; at most {}", p_.buffers.size(), most);
    if (p_.tasks.size() > most) return broken("tasks: {} of them; at most {}", p_.tasks.size(), most);
    if (p_.align < 1 || p_.align > kMostBytes) return broken("align: {} is not between 1 and 2^60", p_.align);
    __int128 total = 0;
    const auto rounded = [&](Bytes bytes) {
      return (static_cast<__int128>(bytes) + p_.align - 1) / p_.align * p_.align;
    };
    for (std::size_t b = 0; b < p_.buffers.size(); ++b) {
      const Bytes bytes = p_.buffers[b].bytes;
      if (bytes < 0) return broken("buffers[{}].bytes: {} is negative", b, bytes);
      total += rounded(bytes);
      if (total > kMostBytes) return broken("buffers[{}].bytes: the buffers up to here exceed 2^60 bytes", b);
    }
    for (std::size_t t = 0; t < p_.tasks.size(); ++t) {
      const Bytes bytes = p_.tasks[t].workspace;
      if (bytes < 0) return broken("tasks[{}].workspace: {} is negative", t, bytes);
      if (total + rounded(bytes) > kMostBytes)
        return broken("tasks[{}].workspace: exceeds 2^60 bytes with the buffers", t);
    }
    return true;
  }

  bool tiers() {
    if (p_.tiers.size() > kMostTiers)
      return broken("tiers: {} of them; at most {}", p_.tiers.size(), kMostTiers);
    std::unordered_set<std::string_view> names;
    for (const Tier& tier : p_.tiers) {
      if (!names.insert(tier.name).second) return broken("tiers.{}: named twice", tier.name);
      for (const double rate : {tier.write_bytes_per_second, tier.read_bytes_per_second}) {
        if (!(rate >= kLeastRate && rate <= kMostSeconds))
          return broken("tiers.{}: a rate of {} bytes a second", tier.name, rate);
      }
      if (!(tier.latency_seconds >= 0 && tier.latency_seconds <= kMostSeconds)) {
        return broken("tiers.{}.latency_seconds: {}", tier.name, tier.latency_seconds);
      }
      if (tier.bytes < 0) return broken("tiers.{}.bytes: {} is negative", tier.name, tier.bytes);
    }
    std::vector<Bytes> filled(p_.tiers.size(), 0);
    for (std::size_t b = 0; b < p_.buffers.size(); ++b) {
      const Buffer& buffer = p_.buffers[b];
      for (const TierId tier : {buffer.start, buffer.end}) {
        if (tier < -1 || tier >= static_cast<TierId>(p_.tiers.size()))
          return broken("buffers[{}]: tier {} is not there", b, tier);
        if (tier >= 0 && buffer.resident)
          return broken("buffers[{}]: resident, so it has neither a start nor an end tier", b);
      }
      if (buffer.start < 0) continue;
      filled[at(buffer.start)] += p_.size(static_cast<BufferId>(b));
      if (filled[at(buffer.start)] > p_.tiers[at(buffer.start)].bytes) {
        return broken("buffers[{}].start: what starts in {} exceeds its capacity", b,
                      p_.tiers[at(buffer.start)].name);
      }
    }
    return true;
  }

  bool tasks() {
    std::vector<std::int32_t> read_by(p_.buffers.size(), -1), written_by(p_.buffers.size(), -1);
    first_update_.assign(1, 0);
    for (std::size_t t = 0; t < p_.tasks.size(); ++t) {
      const Task& task = p_.tasks[t];
      const auto id = static_cast<TaskId>(t);
      if (task.seconds != 0 && !(task.seconds >= kLeastSeconds && task.seconds <= kMostSeconds)) {
        return broken("tasks[{}].seconds: {} is neither 0 nor a time between 1e-30 and 1e30", t,
                      task.seconds);
      }
      for (const BufferId b : task.reads) {
        if (!is_buffer(b)) return broken("tasks[{}].reads: buffer {} is not in the list", t, b);
        read_by[at(b)] = id;
      }
      for (const BufferId b : task.writes) {
        if (!is_buffer(b)) return broken("tasks[{}].writes: buffer {} is not in the list", t, b);
        if (written_by[at(b)] == id) return broken("tasks[{}].writes: buffer {} twice", t, b);
        written_by[at(b)] = id;
        if (read_by[at(b)] == id) updates_.push_back(b);
      }
      first_update_.push_back(updates_.size());
      if (!updates(t).empty() && !task.once)
        return broken("tasks[{}]: updates a buffer, so it must be once", t);
      for (const auto& [read, write] : task.in_place) {
        if (!is_buffer(read) || !is_buffer(write)) {
          return broken("tasks[{}].in_place: [{}, {}] is not a pair of buffers", t, read, write);
        }
      }
    }
    return true;
  }

  // An optional task that updates is another way to do an update of the list, and of the same buffers: the
  // number of versions must not depend on which one ran.
  bool alternatives() {
    std::vector<TaskId> updated_by(p_.buffers.size(), -1);
    for (std::size_t t = 0; t < p_.tasks.size(); ++t) {
      const Task& task = p_.tasks[t];
      const std::span<const BufferId> mine = updates(t);
      if (task.instead_of < -1 || task.instead_of >= static_cast<TaskId>(p_.tasks.size())) {
        return broken("tasks[{}].instead_of: task {} is not in the list", t, task.instead_of);
      }
      if (task.instead_of < 0) {
        if (task.optional && !mine.empty())
          return broken("tasks[{}]: an optional update must be instead_of one of the list", t);
        continue;
      }
      const Task& other = p_.tasks[at(task.instead_of)];
      if (!task.optional) return broken("tasks[{}].instead_of: only an optional task has it", t);
      if (other.optional)
        return broken("tasks[{}].instead_of: task {} is optional itself", t, task.instead_of);
      if (other.once && !task.once)
        return broken("tasks[{}]: task {} is once, so what runs instead of it is too", t, task.instead_of);
      const std::span<const BufferId> theirs = updates(at(task.instead_of));
      bool same = mine.size() == theirs.size();
      for (const BufferId b : mine) updated_by[at(b)] = static_cast<TaskId>(t);
      for (std::size_t i = 0; same && i < theirs.size(); ++i)
        same = updated_by[at(theirs[i])] == static_cast<TaskId>(t);
      if (!same)
        return broken("tasks[{}].instead_of: does not update the buffers that task {} updates", t,
                      task.instead_of);
    }
    return true;
  }

  // The list without its optional tasks is a valid order.
  bool order() {
    made_.assign(p_.buffers.size(), false);
    for (std::size_t b = 0; b < p_.buffers.size(); ++b)
      made_[b] = p_.buffers[b].resident || p_.buffers[b].start >= 0;
    for (std::size_t t = 0; t < p_.tasks.size(); ++t) {
      const Task& task = p_.tasks[t];
      if (task.optional) continue;
      for (const BufferId b : task.reads) {
        if (!made_[at(b)])
          return broken("tasks[{}].reads: buffer {} is not made by any task before it in the list", t, b);
      }
      for (const BufferId b : task.writes) made_[at(b)] = true;
    }
    return true;
  }

  bool ends() {
    for (std::size_t i = 0; i < p_.outputs.size(); ++i) {
      const BufferId b = p_.outputs[i];
      if (!is_buffer(b)) return broken("outputs[{}]: buffer {} is not in the list", i, b);
      if (!made_[at(b)]) return broken("outputs[{}]: buffer {} is made by no task of the list", i, b);
    }
    for (std::size_t b = 0; b < p_.buffers.size(); ++b) {
      if (p_.buffers[b].end >= 0 && !made_[b])
        return broken("buffers[{}].end: made by no task of the list", b);
    }
    return true;
  }

  const Problem& p_;
  std::string broken_;
  std::vector<BufferId> updates_;  // task t updates those from first_update_[t] to first_update_[t + 1]
  std::vector<std::size_t> first_update_;
  std::vector<bool> made_;
};

// A stream of 64-bit words into one; the finaliser of SplitMix64 after each word.
class Hash {
 public:
  Hash& add(std::uint64_t word) {
    std::uint64_t z = (state_ ^ word) + 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    state_ = z ^ (z >> 31);
    return *this;
  }
  Hash& add(double number) { return add(std::bit_cast<std::uint64_t>(number == 0 ? 0.0 : number)); }
  Hash& add(std::int64_t number) { return add(static_cast<std::uint64_t>(number)); }
  Hash& add(std::int32_t number) { return add(static_cast<std::int64_t>(number)); }
  Hash& add(const std::vector<BufferId>& ids) {
    add(static_cast<std::uint64_t>(ids.size()));
    for (const BufferId b : ids) add(b);
    return *this;
  }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0x7469'6465'6D61'726B;
};

}  // namespace

std::string verify(const Problem& problem) { return Verifier(problem).run(); }

std::string hash(const Problem& problem) {
  Hash h;
  h.add(problem.align).add(static_cast<std::uint64_t>(problem.buffers.size()));
  for (const Buffer& b : problem.buffers)
    h.add(b.bytes).add(static_cast<std::int64_t>(b.resident)).add(b.start).add(b.end);
  h.add(static_cast<std::uint64_t>(problem.tasks.size()));
  for (const Task& t : problem.tasks) {
    h.add(t.reads).add(t.writes).add(t.seconds).add(t.workspace).add(t.instead_of);
    h.add(std::uint64_t{t.once} | std::uint64_t{t.optional} << 1 | std::uint64_t{t.lossy} << 2 |
          std::uint64_t{t.random} << 3);
    h.add(static_cast<std::uint64_t>(t.in_place.size()));
    for (const auto& [read, write] : t.in_place) h.add(read).add(write);
  }
  h.add(problem.outputs).add(static_cast<std::uint64_t>(problem.tiers.size()));
  for (const Tier& t : problem.tiers) {
    h.add(t.write_bytes_per_second).add(t.read_bytes_per_second).add(t.latency_seconds).add(t.bytes);
  }
  return fmt::format("{:016x}", h.value());
}

bool updates(const Task& task, BufferId b) {
  return std::find(task.reads.begin(), task.reads.end(), b) != task.reads.end() &&
         std::find(task.writes.begin(), task.writes.end(), b) != task.writes.end();
}

bool updates(const Task& task) {
  // A task may have as many buffers as there are.
  std::vector<BufferId> reads = task.reads;
  std::sort(reads.begin(), reads.end());
  return std::any_of(task.writes.begin(), task.writes.end(),
                     [&](BufferId b) { return std::binary_search(reads.begin(), reads.end(), b); });
}

}  // namespace tidemark::plan
