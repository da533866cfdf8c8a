// SPDX-License-Identifier: Apache-2.0
#include "tidemark/report/fate.h"

#include <algorithm>
#include <bit>
#include <map>

namespace tidemark {
namespace {

using plan::BufferId;
using plan::TaskId;

constexpr int kMostTasks = 512;  // looked at for one estimate

// The largest of any range in constant time (a sparse table).
class RangeMax {
 public:
  explicit RangeMax(const Story& story) {
    levels_.emplace_back();
    for (const Run& r : story.runs) levels_[0].push_back(r.live);
    for (std::size_t width = 1; 2 * width <= levels_[0].size(); width *= 2) {
      const std::vector<Bytes>& below = levels_.back();
      std::vector<Bytes> next;
      for (std::size_t i = 0; i + 2 * width <= levels_[0].size(); ++i)
        next.push_back(std::max(below[i], below[i + width]));
      levels_.push_back(std::move(next));
    }
  }
  Bytes over(std::int32_t from, std::int32_t to) const {  // half-open
    if (to <= from) return 0;
    const auto level = static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(to - from)) - 1);
    return std::max(
        levels_[level][static_cast<std::size_t>(from)],
        levels_
            [level]
            [static_cast<std::size_t>(to) -
             (std::size_t{1}
              << level)]);  // NOLINT(clang-analyzer-core.UndefinedBinaryOperatorResult): lengths are positive
  }

 private:
  std::vector<std::vector<Bytes>> levels_;
};

class Estimate {
 public:
  Estimate(const plan::Problem& problem, const Story& story)
      : problem_(problem),
        story_(story),
        lives_(problem.buffers.size()),
        maker_(problem.buffers.size(), -1),
        updated_(problem.buffers.size(), -1),
        seen_(problem.tasks.size(), -1) {
    for (std::size_t l = 0; l < story.lives.size(); ++l) {
      if (story.lives[l].buffer >= 0)
        lives_[at(story.lives[l].buffer)].push_back(static_cast<std::int32_t>(l));
    }
    for (std::size_t t = 0; t < problem.tasks.size(); ++t) {
      if (problem.tasks[t].optional) continue;
      for (const BufferId b : problem.tasks[t].writes) {
        if (maker_[at(b)] < 0) maker_[at(b)] = static_cast<TaskId>(t);
      }
    }
    for (std::size_t r = 0; r < story.runs.size(); ++r) {
      const plan::Task& task = problem.tasks[at(story.runs[r].task)];
      for (const BufferId b : task.writes) {
        if (problem.buffers[at(b)].resident && updated_[at(b)] < 0)
          updated_[at(b)] = static_cast<std::int32_t>(r);
      }
    }
  }
  // Seconds to make `b` before `run`, were it not there; negative: that cannot be.
  double remake(BufferId b, std::int32_t run) {
    ++serial_;
    looked_at_ = 0;
    return make(b, run, b);
  }
  bool live(BufferId b, std::int32_t run) const {
    for (const std::int32_t l : lives_[at(b)]) {
      const Life& life = story_.lives[static_cast<std::size_t>(l)];
      if (life.first <= run && run < life.last) return true;
    }
    return false;
  }

 private:
  static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }
  double make(BufferId b, std::int32_t run, BufferId gone) {
    const plan::Buffer& buffer = problem_.buffers[at(b)];
    if (buffer.resident) return updated_[at(b)] >= 0 && updated_[at(b)] < run ? -1 : 0;
    if (b != gone && live(b, run)) return 0;
    const TaskId t = maker_[at(b)];
    if (t < 0) return buffer.start >= 0 ? 0 : -1;
    const plan::Task& task = problem_.tasks[at(t)];
    if (task.once) return -1;
    if (seen_[at(t)] == serial_ || ++looked_at_ > kMostTasks) return 0;
    seen_[at(t)] = serial_;
    double sum = task.seconds;
    for (const BufferId r : task.reads) {
      const double part = make(r, run, gone);
      if (part < 0) return -1;
      sum += part;
    }
    return sum;
  }

  const plan::Problem& problem_;
  const Story& story_;
  std::vector<std::vector<std::int32_t>> lives_;
  std::vector<TaskId> maker_;
  std::vector<std::int32_t> updated_;  // the first run that updates a resident buffer
  std::vector<std::int32_t> seen_;
  std::int32_t serial_ = 0;
  int looked_at_ = 0;
};

// By the name of what it does, as pose gives it.
Fate::Kind kind_of_maker(const plan::Task& task) {
  if (task.kind.starts_with("decode")) return Fate::Kind::compressed;
  return task.kind.find("inverse") != std::string::npos ? Fate::Kind::inverted : Fate::Kind::made_otherwise;
}

}  // namespace

const char* name_of(Fate::Kind kind) {
  switch (kind) {
    case Fate::Kind::resident:
      return "resident";
    case Fate::Kind::brief:
      return "short-lived";
    case Fate::Kind::kept:
      return "kept";
    case Fate::Kind::made_again:
      return "made again";
    case Fate::Kind::made_otherwise:
      return "made another way";
    case Fate::Kind::moved:
      return "moved";
    case Fate::Kind::unused:
      return "not made";
    case Fate::Kind::compressed:
      return "compressed";
    case Fate::Kind::inverted:
      return "inverted";
  }
  return "";
}

std::vector<Fate> fates(const plan::Problem& problem, const Story& story) {
  const auto at = [](std::int32_t i) { return static_cast<std::size_t>(i); };
  std::vector<Fate> result(problem.buffers.size());
  const RangeMax most(story);
  Estimate estimate(problem, story);
  std::vector<std::int32_t> last(problem.buffers.size(), -1);  // the run that touched it
  std::vector<char> otherwise(problem.buffers.size(), 0), moved(problem.buffers.size(), 0);
  for (const Copy& c : story.copies) moved[at(c.buffer)] = 1;
  std::vector<std::int32_t> freed_gap(problem.buffers.size(), 0), kept_gap(problem.buffers.size(), 0);
  for (std::size_t r = 0; r < story.runs.size(); ++r) {
    const plan::Task& task = problem.tasks[at(story.runs[r].task)];
    const auto run = static_cast<std::int32_t>(r);
    const auto touch = [&](BufferId b, bool write) {
      Fate& f = result[at(b)];
      if (problem.buffers[at(b)].resident) return;
      std::int32_t& before = last[at(b)];
      const std::int32_t gap = before < 0 ? 0 : run - before - 1;
      if (gap > 0) {
        // A gap in which it was freed says more than one in which it stayed.
        const bool freed = !estimate.live(b, before + 1);
        const bool better = freed ? gap > freed_gap[at(b)] : freed_gap[at(b)] == 0 && gap > kept_gap[at(b)];
        if (better) {
          (freed ? freed_gap : kept_gap)[at(b)] = gap;
          f.gap_from = before;
          f.gap_to = run;
        }
      }
      if (write && f.makes > 0 && f.kind != Fate::Kind::resident) f.spent += task.seconds;
      before = run;
    };
    for (const BufferId b : task.reads) {
      ++result[at(b)].uses;
      touch(b, false);
    }
    for (const BufferId b : task.writes) {
      if (std::find(task.reads.begin(), task.reads.end(), b) == task.reads.end()) touch(b, true);
      ++result[at(b)].makes;
      if (task.optional) otherwise[at(b)] = static_cast<char>(kind_of_maker(task));
    }
  }
  const std::int32_t long_life = std::max<std::int32_t>(3, static_cast<std::int32_t>(story.runs.size() / 20));
  for (std::size_t b = 0; b < result.size(); ++b) {
    Fate& f = result[b];
    const auto id = static_cast<BufferId>(b);
    if (problem.buffers[b].resident) {
      f.kind = Fate::Kind::resident;
      continue;
    }
    f.kind = moved[b]                                      ? Fate::Kind::moved
             : otherwise[b]                                ? static_cast<Fate::Kind>(otherwise[b])
             : f.makes > 1                                 ? Fate::Kind::made_again
             : f.makes == 0                                ? Fate::Kind::unused
             : f.gap_from >= 0 && kept_gap[b] >= long_life ? Fate::Kind::kept
                                                           : Fate::Kind::brief;
    if (f.gap_from < 0) continue;
    if (freed_gap[b] > 0) {
      f.live_if_kept = most.over(f.gap_from + 1, f.gap_to) + problem.size(id);
    } else {
      f.remake_seconds = estimate.remake(id, f.gap_to);
    }
  }
  return result;
}

std::int32_t peak_run(const Story& story) {
  const auto most = std::max_element(story.runs.begin(), story.runs.end(),
                                     [](const Run& a, const Run& b) { return a.live < b.live; });
  return story.runs.empty() ? -1 : static_cast<std::int32_t>(most - story.runs.begin());
}

std::vector<PeakRow> peak_rows(const plan::Problem& problem, const plan::Plan& plan, const Story& story,
                               const std::vector<Fate>& fates) {
  // In this order, as far as there is anything of them.
  std::vector<PeakRow> rows{{"parameters"},       {"optimizer state"}, {"statistics"},     {"inputs"},
                            {"resident"},         {"gradients"},       {"kept"},           {"made again"},
                            {"made another way"}, {"compressed"},      {"inverted"},       {"moved"},
                            {"short-lived"},      {"workspace"},       {"between buffers"}};
  const auto row = [&](std::string_view what) -> Bytes& {
    return std::find_if(rows.begin(), rows.end(), [&](const PeakRow& r) { return r.what == what; })->bytes;
  };
  std::vector<char> gradient(problem.buffers.size(), 0);
  for (const plan::Task& task : problem.tasks) {
    const bool updates = std::any_of(task.writes.begin(), task.writes.end(), [&](BufferId b) {
      return problem.buffers[static_cast<std::size_t>(b)].resident;
    });
    if (!updates) continue;
    for (const BufferId b : task.reads) gradient[static_cast<std::size_t>(b)] = 1;
  }
  Bytes sum = 0;
  for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
    if (!problem.buffers[b].resident) continue;
    const std::string& kind = problem.buffers[b].kind;
    const char* what = kind == "parameter"   ? "parameters"
                       : kind == "optimizer" ? "optimizer state"
                       : kind == "statistic" ? "statistics"
                       : kind == "input"     ? "inputs"
                                             : "resident";
    row(what) += problem.size(static_cast<BufferId>(b));
    sum += problem.size(static_cast<BufferId>(b));
  }
  const std::int32_t peak = peak_run(story);
  if (peak >= 0) {
    const plan::Step& step =
        plan.steps[static_cast<std::size_t>(story.runs[static_cast<std::size_t>(peak)].step)];
    for (const Life& life : story.lives) {
      if (peak < life.first || peak >= life.last) continue;
      const bool taken_over = std::any_of(step.in_place.begin(), step.in_place.end(),
                                          [&](const auto& pair) { return pair.first == life.buffer; });
      if (taken_over) continue;
      const auto b = static_cast<std::size_t>(life.buffer);
      row(life.buffer < 0 ? "workspace" : gradient[b] ? "gradients" : name_of(fates[b].kind)) += life.bytes;
      sum += life.bytes;
    }
  }
  row("between buffers") = plan.peak - sum;
  std::erase_if(rows, [](const PeakRow& r) { return r.bytes == 0; });
  return rows;
}

}  // namespace tidemark
