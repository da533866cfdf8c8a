// Writes the proof of a plan file; docs/proofs.md has the format. SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <span>

#include "tidemark/base/json.h"
#include "tidemark/plan/peak.h"

namespace tidemark::plan {
namespace {

template <typename Rows, typename Fields>
void write_rows(JsonWriter& w, const char* name, const Rows& rows, Fields&& fields) {
  if (rows.empty()) return;
  w.key(name).begin_array();
  for (const auto& r : rows) {
    w.begin_array();
    fields(r);
    w.end_array();
  }
  w.end_array();
}

// A price, in seconds, as p / 2^s units a byte: the double exactly.
void write_price(JsonWriter& w, double price, int unit_exponent) {
  int exponent = 0;
  auto p = static_cast<std::int64_t>(std::ldexp(std::frexp(price, &exponent), 53));
  int s = 53 + unit_exponent - exponent;
  for (; s < 0; ++s) p *= 2;  // prices stay below Certificate::kMost
  for (; s > 0 && p % 2 == 0; --s) p /= 2;
  w.begin_array().value(p).value(s).end_array();
}

void write_leaf(JsonWriter& w, const Certificate::Leaf& leaf, std::size_t moments, int unit_exponent) {
  w.begin_object();
  // Those that the leaf before does not settle: all behind the last that is "stored".
  auto first = leaf.decisions.end();
  while (first != leaf.decisions.begin() && !std::prev(first)->stored) --first;
  write_rows(w, "decisions", std::span(first, leaf.decisions.end()),
             [&](const auto& d) { w.value(d.moment).value(d.value); });
  if (leaf.impossible) w.field("impossible", true);
  if (moments > 0) {
    w.key("prices").begin_array();
    for (std::size_t i = 0; i < moments; ++i) {
      if (leaf.impossible) {
        w.begin_array().value(1).value(0).end_array();
      } else {
        write_price(w, leaf.prices[i], unit_exponent);
      }
    }
    w.end_array();
  }
  write_rows(w, "need", leaf.need,
             [&](const auto& r) { w.value(r.i).value(r.j).value(r.task).value(r.value).value(r.y); });
  write_rows(w, "keep", leaf.keep,
             [&](const auto& r) { w.value(r.i).value(r.j).value(r.at).value(r.value).value(r.y); });
  write_rows(w, "sum", leaf.sum, [&](const auto& r) { w.value(r.i).value(r.j).value(r.task).value(r.y); });
  write_rows(w, "floors", leaf.floors, [&](const auto& r) { w.value(r.task).value(r.y); });
  write_rows(w, "links", leaf.links, [&](const auto& r) { w.value(r.read).value(r.write); });
  w.end_object();
}

void write_moment(JsonWriter& w, const Values& values, TaskId task, bool with_after) {
  w.begin_object().field("task", task);
  std::vector<std::pair<TaskId, TaskId>> ranges;
  if (with_after) {
    const Moment moment(values, task);
    for (TaskId t = 0; t < values.tasks(); ++t) {
      if (!moment.after[static_cast<std::size_t>(t)]) continue;
      if (ranges.empty() || ranges.back().second != t - 1) ranges.emplace_back(t, t);
      ranges.back().second = t;
    }
  }
  write_rows(w, "after", ranges, [&](const auto& r) { w.value(r.first).value(r.second); });
  w.end_object();
}

void write_case(JsonWriter& w, const Values& values, const Certificate& c) {
  w.key("moments").begin_array();
  for (TaskId t : c.moments) write_moment(w, values, t, true);
  w.end_array().key("leaves").begin_array();
  for (const Certificate::Leaf& leaf : c.leaves) {
    w.new_line();
    write_leaf(w, leaf, c.moments.size(), c.unit_exponent);
  }
  w.end_array();
}

void write_cases(JsonWriter& w, const Values& values, std::span<const Certificate> cases) {
  w.key("seconds").begin_object().field("unit_exponent", cases[0].unit_exponent);
  if (cases.size() == 1) {
    write_case(w, values, cases[0]);
    w.end_object();
    return;
  }
  w.key("cases").begin_array();
  for (const Certificate& c : cases) {
    w.new_line().begin_object();
    auto first = c.orders.end();
    while (first != c.orders.begin() && !std::prev(first)->turned) --first;
    write_rows(w, "order", std::span(first, c.orders.end()),
               [&](const auto& o) { w.value(o.order.first).value(o.order.then); });
    write_case(w, Values(values.problem, held_orders(c.orders)), c);
    w.end_object();
  }
  w.end_array().end_object();
}

struct NeverFirst {
  ValueId value;
  TaskId maker;
  ValueId read;
};
std::vector<NeverFirst> never_first(const Values& values) {
  std::vector<NeverFirst> rows;
  for (ValueId v = 0; v < values.values(); ++v) {
    const auto begin = static_cast<std::size_t>(values.makers.first[static_cast<std::size_t>(v)]);
    for (std::size_t k = 0; k < values.makers[v].size(); ++k) {
      if (values.never_first[begin + k])
        rows.push_back({v, values.makers[v][k], values.never_first_by[begin + k]});
    }
  }
  return rows;
}

}  // namespace

std::string proof_json(const Values& values, std::span<const Certificate> seconds, const PeakBound* peak) {
  JsonWriter w;
  w.begin_object().field("version", 2);
  write_rows(w, "never_first", never_first(values),
             [&](const auto& r) { w.value(r.value).value(r.maker).value(r.read); });
  if (!seconds.empty()) write_cases(w, values, seconds);
  if (peak != nullptr) {
    w.key("peak").begin_object();
    if (peak->moment < 0) {
      w.field("end", true);
    } else {
      Certificate::Leaf leaf = peak->leaf;
      leaf.prices = {1};
      w.key("moments").begin_array();
      write_moment(w, values, peak->moment, !leaf.need.empty() || !leaf.keep.empty());
      w.end_array().key("leaves").begin_array();
      write_leaf(w, leaf, 1, 0);
      w.end_array();
    }
    w.end_object();
  }
  w.end_object();
  return w.take();
}

}  // namespace tidemark::plan
