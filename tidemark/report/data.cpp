// SPDX-License-Identifier: Apache-2.0
#include "tidemark/report/data.h"

#include <map>

#include "tidemark/base/json.h"
#include "tidemark/report/columns.h"

namespace tidemark {
namespace {

template <typename Range, typename F>
void integers(JsonWriter& w, const char* name, const Range& range, F&& f) {
  std::vector<std::int64_t> values;
  for (const auto& item : range) values.push_back(static_cast<std::int64_t>(f(item)));
  w.new_line().field(name, std::string_view(pack_integers(values)));
}
template <typename Range, typename F>
void floats(JsonWriter& w, const char* name, const Range& range, F&& f) {
  std::vector<double> values;
  for (const auto& item : range) values.push_back(f(item));
  w.new_line().field(name, std::string_view(pack_floats(values)));
}

// A column of few different texts: the texts once, and which of them each item has.
void words(JsonWriter& w, const std::string& name, const std::vector<std::string_view>& items) {
  std::map<std::string_view, std::int64_t> places;
  std::vector<std::string_view> table;
  std::vector<std::int64_t> which;
  for (const std::string_view item : items) {
    const auto [at, fresh] = places.emplace(item, static_cast<std::int64_t>(table.size()));
    if (fresh) table.push_back(item);
    which.push_back(at->second);
  }
  w.new_line()
      .field(name + "_words", std::string_view(pack_names(table)))
      .field(name, std::string_view(pack_integers(which)));
}

}  // namespace

std::string page_data(const Told& told, const ReportOptions& options) {
  const plan::Problem& problem = told.problem;
  const plan::Plan& plan = told.plan;
  JsonWriter w;
  w.begin_object();
  w.field("budget", plan.budget)
      .field("peak", plan.peak)
      .field("live_peak", plan.live_peak)
      .field("resident", told.story.resident);
  w.field("arena", plan.arena_bytes).field("has_arena", plan.has_arena).field("seconds", plan.seconds);

  std::vector<std::string_view> names, types, lines, kinds;
  for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
    names.push_back(problem.buffers[b].name);
    types.push_back(told.labels.type_of(static_cast<plan::BufferId>(b)));
    lines.push_back(told.labels.line_of(static_cast<plan::BufferId>(b)));
  }
  w.new_line().field("buffer_names", std::string_view(pack_names(names)));
  words(w, "buffer_types", types);
  words(w, "buffer_lines", lines);
  std::vector<plan::TaskId> maker(problem.buffers.size(), -1);
  std::vector<std::string_view> task_names;
  for (std::size_t t = 0; t < problem.tasks.size(); ++t) {
    const plan::Task& task = problem.tasks[t];
    kinds.push_back(task.kind);
    for (const plan::BufferId b : task.writes) {
      if (maker[static_cast<std::size_t>(b)] < 0)
        maker[static_cast<std::size_t>(b)] = static_cast<plan::TaskId>(t);
    }
    // Mostly a task is called what it makes.
    const bool same =
        !task.writes.empty() && problem.buffers[static_cast<std::size_t>(task.writes[0])].name == task.name;
    task_names.push_back(same ? std::string_view() : std::string_view(task.name));
  }
  w.new_line().field("task_names", std::string_view(pack_names(task_names)));
  words(w, "task_kinds", kinds);
  integers(w, "task_makes", problem.tasks,
           [](const plan::Task& t) { return t.writes.empty() ? -1 : t.writes[0]; });
  floats(w, "task_ms", problem.tasks, [](const plan::Task& t) { return t.seconds * 1e3; });
  integers(w, "buffer_maker", maker, [](plan::TaskId t) { return t; });
  integers(w, "buffer_fate", told.fates, [](const Fate& f) { return static_cast<int>(f.kind); });
  integers(w, "buffer_uses", told.fates, [](const Fate& f) { return f.uses; });
  integers(w, "gap_from", told.fates, [](const Fate& f) { return f.gap_from; });
  integers(w, "gap_to", told.fates, [](const Fate& f) { return f.gap_to; });
  floats(w, "remake_ms", told.fates,
         [](const Fate& f) { return f.remake_seconds < 0 ? -1 : f.remake_seconds * 1e3; });
  integers(w, "live_if_kept", told.fates, [](const Fate& f) { return f.live_if_kept; });

  const Story& story = told.story;
  integers(w, "run_task", story.runs, [](const Run& r) { return r.task; });
  integers(w, "run_again", story.runs, [](const Run& r) { return r.again ? 1 : 0; });
  integers(w, "run_live", story.runs, [](const Run& r) { return r.live; });
  floats(w, "run_wait_ms", story.runs, [before = 0.0](const Run& r) mutable {
    const double wait = r.begin - before;
    before = r.end;
    return wait * 1e3;
  });
  integers(w, "life_buffer", story.lives, [](const Life& l) { return l.buffer; });
  integers(w, "life_first", story.lives, [](const Life& l) { return l.first; });
  integers(w, "life_runs", story.lives, [](const Life& l) { return l.last - l.first; });
  integers(w, "life_offset", story.lives, [](const Life& l) { return l.offset; });
  integers(w, "life_bytes", story.lives, [](const Life& l) { return l.bytes; });
  integers(w, "copy_buffer", story.copies, [](const Copy& c) { return c.buffer; });
  integers(w, "copy_out", story.copies, [](const Copy& c) { return c.out ? 1 : 0; });
  floats(w, "copy_begin_ms", story.copies, [](const Copy& c) { return c.begin * 1e3; });
  floats(w, "copy_end_ms", story.copies, [](const Copy& c) { return c.end * 1e3; });
  w.new_line().key("frontier").begin_array();
  for (const FrontierPoint& p : options.frontier) {
    w.begin_array().value(p.budget).value(p.peak).value(p.seconds).value(p.seconds_bound).end_array();
  }
  w.end_array();
  if (options.other != nullptr) {
    const Story other = tell(problem, *options.other);
    floats(w, "other_end_ms", other.runs, [](const Run& r) { return r.end * 1e3; });
    integers(w, "other_live", other.runs, [](const Run& r) { return r.live; });
  }
  w.end_object();
  // "</script>" inside a name must not end the script.
  std::string text = w.take();
  for (std::size_t at = 0; (at = text.find("</", at)) != std::string::npos; at += 3)
    text.replace(at, 2, "<\\/");
  return text;
}

}  // namespace tidemark
