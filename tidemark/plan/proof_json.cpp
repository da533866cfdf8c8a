// Writes the proof of a plan file; docs/proofs.md has the format. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
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

// Bounds and the peak name moments by their place in one list, since leaves have the same ones.
class ProofWriter {
 public:
  explicit ProofWriter(const Values& values) : v_(values) {}

  std::string write(std::span<const Certificate> seconds, const PeakBound* peak) {
    const bool peak_at_moment = peak != nullptr && peak->moment >= 0;
    w_.begin_object().field("version", 3);
    write_rows(w_, "never_first", v_.never_first,
               [&](const auto& r) { w_.value(r.buffer).value(r.maker).value(r.read); });
    w_.key("moments").begin_array();
    for (const Certificate& c : seconds) {
      const Values values(v_.problem, held_orders(c.orders));
      for (const TaskId t : c.moments) write_moment(values, t, true);
    }
    if (peak_at_moment) write_moment(v_, peak->moment, !peak->leaf.need.empty() || !peak->leaf.keep.empty());
    w_.end_array();
    if (!seconds.empty()) {
      unit_exponent_ = seconds[0].unit_exponent;
      w_.field("unit_exponent", unit_exponent_).key("seconds");
      write_cases(seconds, 0);
    }
    if (peak_at_moment) {
      w_.key("peak");
      Certificate::Leaf leaf = peak->leaf;
      leaf.impossible = true;  // with fewer bytes than it says
      write_leaf(leaf, 1);
    }
    w_.end_object();
    return w_.take();
  }

 private:
  void write_moment(const Values& values, TaskId task, bool with_after) {
    w_.new_line().begin_object().field("task", task);
    std::vector<std::pair<TaskId, TaskId>> ranges;
    if (with_after) {
      const Moment moment(values, task);
      for (TaskId t = 0; t < values.tasks(); ++t) {
        if (!moment.after[static_cast<std::size_t>(t)]) continue;
        if (ranges.empty() || ranges.back().second != t - 1) ranges.emplace_back(t, t);
        ranges.back().second = t;
      }
    }
    write_rows(w_, "after", ranges, [&](const auto& r) { w_.value(r.first).value(r.second); });
    w_.end_object();
  }

  // Those that have the same first `depth` orders, the ones that are not turned first.
  void write_cases(std::span<const Certificate> cases, std::size_t depth) {
    if (cases[0].orders.size() == depth) {
      case_ = cases.data();
      write_leaves(cases[0].leaves, 0);
      moments_ += cases[0].moments.size();
      return;
    }
    const auto turned = std::find_if(cases.begin(), cases.end(),
                                     [&](const Certificate& c) { return c.orders[depth].turned; });
    const Order& order = cases[0].orders[depth].order;
    w_.begin_object().key("order").begin_array().value(order.first).value(order.then).end_array();
    w_.key("cases").begin_array();
    write_cases({cases.begin(), turned}, depth + 1);
    write_cases({turned, cases.end()}, depth + 1);
    w_.end_array().end_object();
  }

  // Likewise by decisions; what is not stored comes first in the list, and last in the text.
  void write_leaves(std::span<const Certificate::Leaf> leaves, std::size_t depth) {
    if (leaves[0].decisions.size() == depth) {
      write_leaf(leaves[0], case_->moments.size());
      return;
    }
    const auto stored =
        std::find_if(leaves.begin(), leaves.end(), [&](const auto& l) { return l.decisions[depth].stored; });
    const Certificate::Decision& decision = leaves[0].decisions[depth];
    const TaskId task = case_->moments[static_cast<std::size_t>(decision.moment) - 1];
    w_.begin_object().key("stored").begin_array().value(task).value(decision.value).end_array();
    w_.key("cases").begin_array();
    write_leaves({stored, leaves.end()}, depth + 1);
    write_leaves({leaves.begin(), stored}, depth + 1);
    w_.end_array().end_object();
  }

  void write_leaf(const Certificate::Leaf& leaf, std::size_t moments) {
    w_.new_line().begin_object();
    if (leaf.impossible) w_.field("impossible", true);
    if (moments > 0) w_.key("moments").begin_array();
    for (std::size_t i = 0; i < moments; ++i)
      write_price(moments_ + i, leaf.impossible ? -1 : leaf.prices[i]);
    if (moments > 0) w_.end_array();
    write_rows(w_, "need", leaf.need,
               [&](const auto& r) { w_.value(r.i).value(r.j).value(r.task).value(r.value).value(r.y); });
    write_rows(w_, "keep", leaf.keep,
               [&](const auto& r) { w_.value(r.i).value(r.j).value(r.at).value(r.value).value(r.y); });
    write_rows(w_, "sum", leaf.sum,
               [&](const auto& r) { w_.value(r.i).value(r.j).value(r.task).value(r.y); });
    write_rows(w_, "first", leaf.first,
               [&](const auto& r) { w_.value(r.i).value(r.j).value(r.task).value(r.y); });
    write_rows(w_, "floors", leaf.floors, [&](const auto& r) { w_.value(r.task).value(r.y); });
    write_rows(w_, "links", leaf.links, [&](const auto& r) { w_.value(r.read).value(r.write); });
    w_.end_object();
  }

  // [moment, p, s]: p / 2^s units a byte, the double of seconds exactly; below 0: one.
  void write_price(std::size_t moment, double price) {
    int exponent = 0;
    auto p = static_cast<std::int64_t>(std::ldexp(std::frexp(price, &exponent), 53));
    int s = 53 + unit_exponent_ - exponent;
    for (; s < 0; ++s) p *= 2;  // prices stay below Certificate::kMost
    for (; s > 0 && p % 2 == 0; --s) p /= 2;
    if (price < 0) p = 1, s = 0;
    w_.begin_array().value(static_cast<std::int64_t>(moment)).value(p).value(s).end_array();
  }

  const Values& v_;
  JsonWriter w_;
  int unit_exponent_ = 0;
  const Certificate* case_ = nullptr;  // that is being written
  std::size_t moments_ = 0;            // of the list, before its own
};

}  // namespace

std::string proof_json(const Values& values, std::span<const Certificate> seconds, const PeakBound* peak) {
  return ProofWriter(values).write(seconds, peak);
}

}  // namespace tidemark::plan
