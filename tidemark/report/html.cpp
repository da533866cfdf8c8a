// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "tidemark/base/error.h"
#include "tidemark/base/text.h"
#include "tidemark/plan/budget.h"
#include "tidemark/report/assets.h"
#include "tidemark/report/data.h"

namespace tidemark {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

using Row = std::pair<std::string, std::string>;

std::string table(const std::vector<Row>& rows) {
  std::string out = "<table>";
  for (const auto& [what, value] : rows)
    out += fmt::format("<tr><th>{}</th><td>{}</td></tr>", escaped(what), escaped(value));
  return out + "</table>";
}

std::string heading(const plan::Problem& problem, const plan::Plan& plan) {
  const double floor = plan::floor_seconds(problem);
  const auto over = [&](double seconds) {
    return fmt::format("{} ({:+.2f} %)", format_seconds(seconds),
                       floor > 0 ? 100 * (seconds / floor - 1) : 0.0);
  };
  std::vector<Row> rows{{"status", plan::name_of(plan.status)},
                        {"planner", plan.planner},
                        {"budget", plan.budget >= 0 ? format_bytes(plan.budget) : "none"},
                        {"peak", format_bytes(plan.peak)},
                        {"most bytes live", format_bytes(plan.live_peak)},
                        {"keeping everything", format_bytes(plan::store_all_live_peak(problem))},
                        {"time (over the floor)", over(plan.seconds)}};
  if (plan.seconds_bound) rows.emplace_back("proven: no plan below", over(*plan.seconds_bound));
  if (plan.peak_bound) rows.emplace_back("proven: no peak below", format_bytes(*plan.peak_bound));
  return table(rows);
}

std::string memory(const Told& told) {
  std::vector<Row> rows;
  for (const PeakRow& row : peak_rows(told.problem, told.plan, told.story, told.fates))
    rows.emplace_back(row.what, format_bytes(row.bytes));
  rows.emplace_back("peak", format_bytes(told.plan.peak));
  return table(rows);
}

// The values whose fate differs, the largest first.
std::string difference(const Told& a, const plan::Plan& other) {
  constexpr std::size_t kShown = 200;
  const Story story = tell(a.problem, other);
  const std::vector<Fate> fates = tidemark::fates(a.problem, story);
  const Told b{a.problem, other, story, fates, a.labels};
  std::vector<Row> rows{
      {"peak", fmt::format("{} vs {}", format_bytes(a.plan.peak), format_bytes(other.peak))},
      {"time", fmt::format("{} vs {}", format_seconds(a.plan.seconds), format_seconds(other.seconds))},
      {"runs", fmt::format("{} vs {}", a.story.runs.size(), story.runs.size())}};
  std::vector<plan::BufferId> differ;
  for (std::size_t i = 0; i < fates.size(); ++i) {
    if (fates[i].kind != a.fates[i].kind || fates[i].makes != a.fates[i].makes)
      differ.push_back(static_cast<plan::BufferId>(i));
  }
  rows.emplace_back("values with another fate", fmt::format("{}", differ.size()));
  std::stable_sort(differ.begin(), differ.end(),
                   [&](plan::BufferId x, plan::BufferId y) { return a.problem.size(x) > a.problem.size(y); });
  if (differ.size() > kShown) differ.resize(kShown);
  for (const plan::BufferId i : differ)
    rows.emplace_back(
        a.problem.buffers[static_cast<std::size_t>(i)].name,
        fmt::format("{}: {} vs {}", format_bytes(a.problem.size(i)), in_short(a, i), in_short(b, i)));
  return "<section id=\"difference\"><h2>This plan vs the other</h2>" + table(rows) + "</section>";
}

}  // namespace

std::string html_report(const plan::Problem& problem, const plan::Plan& plan, const ReportOptions& options) {
  for (const plan::Plan* p : {&plan, options.other}) {
    const std::string broken = p == nullptr ? "" : plan::check(problem, *p);
    if (!broken.empty()) fail(Error::Kind::data, "[report] the plan breaks a rule: {}", broken);
  }
  const Labels none;
  const Story story = tell(problem, plan);
  const std::vector<Fate> fates = tidemark::fates(problem, story);
  const Told told{problem, plan, story, fates, options.labels != nullptr ? *options.labels : none};
  const std::string title = options.title.empty() ? problem.name : options.title;
  std::string html =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\">";
  // No icon: else a browser asks the server for one.
  html += fmt::format(
      "<link rel=\"icon\" href=\"data:,\"><title>{} · Tidemark</title>\n<style>\n{}</style></head>\n<body>\n",
      escaped(title), assets::kStyle);
  html += fmt::format("<header><h1>{}</h1>{}</header>\n", escaped(title), heading(problem, plan));
  std::string page(assets::kPage);
  const std::string mark = "<!-- memory -->";
  page.replace(page.find(mark), mark.size(), memory(told));
  html += page;
  if (options.other != nullptr) html += difference(told, *options.other);
  html += fmt::format(
      "<script id=\"data\" "
      "type=\"application/json\">\n{}\n</script>\n<script>\n{}</script>\n</body></html>\n",
      page_data(told, options), assets::kScript);
  return html;
}

}  // namespace tidemark
