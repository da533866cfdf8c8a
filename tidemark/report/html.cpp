// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "tidemark/base/error.h"
#include "tidemark/base/json.h"
#include "tidemark/plan/budget.h"
#include "tidemark/report/assets.h"
#include "tidemark/report/report.h"
#include "tidemark/report/story.h"

namespace tidemark {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

template <typename Range, typename F>
void column(JsonWriter& w, const char* name, const Range& range, F&& f) {
  w.key(name).begin_array();
  for (const auto& item : range) w.value(f(item));
  w.end_array();
}

// Columns rather than objects: a hundred thousand buffers in a few megabytes.
std::string data(const plan::Problem& problem, const plan::Plan& plan, const ReportOptions& options) {
  const Story story = tell(problem, plan);
  JsonWriter w;
  w.begin_object();
  w.field("budget", plan.budget).field("peak", plan.peak).field("live_peak", plan.live_peak).field("resident", story.resident);
  w.field("arena", plan.arena_bytes).field("has_arena", plan.has_arena);
  column(w, "buffer_names", problem.buffers, [](const plan::Buffer& b) { return std::string_view(b.name); });
  column(w, "task_names", problem.tasks, [](const plan::Task& t) { return std::string_view(t.name); });
  column(w, "task_kinds", problem.tasks, [](const plan::Task& t) { return std::string_view(t.kind); });
  column(w, "task_ms", problem.tasks, [](const plan::Task& t) { return t.seconds * 1e3; });
  std::vector<plan::TaskId> maker(problem.buffers.size(), -1);
  for (std::size_t t = problem.tasks.size(); t-- > 0;) {
    for (const plan::BufferId b : problem.tasks[t].writes) maker[static_cast<std::size_t>(b)] = static_cast<plan::TaskId>(t);
  }
  column(w, "buffer_maker", maker, [](plan::TaskId t) { return static_cast<std::int64_t>(t); });
  w.new_line();
  column(w, "run_task", story.runs, [](const Run& r) { return static_cast<std::int64_t>(r.task); });
  column(w, "run_again", story.runs, [](const Run& r) { return static_cast<std::int64_t>(r.again); });
  column(w, "run_live", story.runs, [](const Run& r) { return r.live; });
  w.new_line();
  column(w, "life_buffer", story.lives, [](const Life& l) { return static_cast<std::int64_t>(l.buffer); });
  column(w, "life_first", story.lives, [](const Life& l) { return static_cast<std::int64_t>(l.first); });
  column(w, "life_last", story.lives, [](const Life& l) { return static_cast<std::int64_t>(l.last); });
  column(w, "life_offset", story.lives, [](const Life& l) { return l.offset; });
  column(w, "life_bytes", story.lives, [](const Life& l) { return l.bytes; });
  column(w, "copy_buffer", story.copies, [](const Copy& c) { return static_cast<std::int64_t>(c.buffer); });
  column(w, "copy_out", story.copies, [](const Copy& c) { return static_cast<std::int64_t>(c.out); });
  column(w, "copy_run", story.copies, [](const Copy& c) { return static_cast<std::int64_t>(c.run); });
  w.key("frontier").begin_array();
  for (const FrontierPoint& p : options.frontier) {
    w.begin_array().value(p.budget).value(p.peak).value(p.seconds).value(p.seconds_bound).end_array();
  }
  w.end_array().field("seconds", plan.seconds).end_object();
  // "</script>" inside a name must not end the script.
  std::string text = w.take();
  for (std::size_t at = 0; (at = text.find("</", at)) != std::string::npos; at += 3) text.replace(at, 2, "<\\/");
  return text;
}

using Row = std::pair<std::string, std::string>;

std::string table(const std::vector<Row>& rows) {
  std::string out = "<table>";
  for (const auto& [what, value] : rows) out += fmt::format("<tr><th>{}</th><td>{}</td></tr>", escaped(what), escaped(value));
  return out + "</table>";
}

std::string summary(const plan::Problem& problem, const plan::Plan& plan) {
  const double floor = plan::floor_seconds(problem);
  const Bytes keep_all = plan::store_all_live_peak(problem);
  std::vector<Row> rows{{"status", plan::name_of(plan.status)},
                        {"planner", plan.planner},
                        {"budget", plan.budget > 0 ? format_bytes(plan.budget) : "none"},
                        {"peak", format_bytes(plan.peak)},
                        {"most bytes live", format_bytes(plan.live_peak)},
                        {"keeping everything", format_bytes(keep_all)},
                        {"time over the floor", fmt::format("{:.2f} %", floor > 0 ? 100 * (plan.seconds / floor - 1) : 0.0)}};
  if (plan.seconds_bound) {
    rows.emplace_back("proven: no plan below", fmt::format("{:.2f} %", floor > 0 ? 100 * (*plan.seconds_bound / floor - 1) : 0.0));
  }
  if (plan.peak_bound) rows.emplace_back("proven: no peak below", format_bytes(*plan.peak_bound));
  return table(rows);
}

std::string difference(const plan::Problem& problem, const plan::Plan& a, const plan::Plan& b) {
  const auto runs = [&](const plan::Plan& p) {
    std::vector<int> count(problem.tasks.size(), 0);
    for (const plan::Step& s : p.steps) {
      if (s.kind == plan::Step::Kind::run) ++count[static_cast<std::size_t>(s.id)];
    }
    return count;
  };
  const std::vector<int> ra = runs(a), rb = runs(b);
  std::vector<Row> rows{{"peak", fmt::format("{} vs {}", format_bytes(a.peak), format_bytes(b.peak))},
                        {"seconds", fmt::format("{:.6g} vs {:.6g}", a.seconds, b.seconds)}};
  for (std::size_t t = 0; t < ra.size() && rows.size() < 200; ++t) {
    if (ra[t] != rb[t]) rows.emplace_back(problem.tasks[t].name, fmt::format("runs {} × vs {} ×", ra[t], rb[t]));
  }
  return "<h2>Against the other plan</h2>" + table(rows);
}

}  // namespace

std::string html_report(const plan::Problem& problem, const plan::Plan& plan, const ReportOptions& options) {
  const std::string broken = plan::check(problem, plan);
  if (!broken.empty()) fail(Error::Kind::data, "[report] the plan breaks a rule: {}", broken);
  const std::string title = options.title.empty() ? problem.name : options.title;
  std::string html = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">";
  html += fmt::format("<title>{} · Tidemark</title>\n<style>\n{}</style></head>\n<body>\n", escaped(title), assets::kStyle);
  html += fmt::format("<header><h1>{}</h1>{}</header>\n", escaped(title), summary(problem, plan));
  html += assets::kPage;
  if (options.other != nullptr) html += difference(problem, plan, *options.other);
  html += fmt::format("<script id=\"data\" type=\"application/json\">\n{}\n</script>\n<script>\n{}</script>\n</body></html>\n",
                      data(problem, plan, options), assets::kScript);
  return html;
}

}  // namespace tidemark
