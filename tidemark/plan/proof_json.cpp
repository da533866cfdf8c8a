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

class ProofWriter {
 public:
  std::string write(std::span<const Certificate> seconds, const PeakBound* peak) {
    w_.begin_object().field("version", 4);
    if (!seconds.empty()) {
      unit_exponent_ = seconds[0].unit_exponent;
      w_.field("unit_exponent", unit_exponent_).key("seconds");
      write_cases(seconds, 0);
    }
    if (peak != nullptr && peak->moment >= 0) {
      w_.key("peak");
      Certificate::Leaf leaf = peak->leaf;
      leaf.impossible = true;  // with fewer bytes than it says
      write_leaf(leaf, {{peak->moment}});
    }
    w_.end_object();
    return w_.take();
  }

 private:
  // Those that have the same first `depth` orders, the ones that are not turned first.
  void write_cases(std::span<const Certificate> cases, std::size_t depth) {
    if (cases[0].orders.size() == depth) {
      case_ = cases.data();
      write_leaves(cases[0].leaves, 0);
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
      write_leaf(leaves[0], case_->moments);
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

  void write_leaf(const Certificate::Leaf& leaf, const std::vector<TaskId>& moments) {
    w_.new_line().begin_object();
    if (leaf.impossible) w_.field("impossible", true);
    if (!moments.empty()) w_.key("moments").begin_array();
    for (std::size_t i = 0; i < moments.size(); ++i)
      write_price(moments[i], leaf.impossible ? -1 : leaf.prices[i]);
    if (!moments.empty()) w_.end_array();
    write_rows(w_, "need", leaf.need,
               [&](const auto& r) { w_.value(r.i).value(r.j).value(r.task).value(r.value).value(r.y); });
    write_rows(w_, "keep", leaf.keep,
               [&](const auto& r) { w_.value(r.i).value(r.j).value(r.at).value(r.value).value(r.y); });
    write_rows(w_, "parts", leaf.parts, [&](const auto& r) {
      w_.value(r.task).value(r.y);
      for (const std::int32_t stage : r.ends) w_.value(stage);
    });
    write_rows(w_, "links", leaf.links, [&](const auto& r) { w_.value(r.read).value(r.write); });
    w_.end_object();
  }

  // [moment, p, s]: p / 2^s units a byte, the double of seconds exactly; below 0: one.
  void write_price(TaskId moment, double price) {
    int exponent = 0;
    auto p = static_cast<std::int64_t>(std::ldexp(std::frexp(price, &exponent), 53));
    int s = 53 + unit_exponent_ - exponent;
    for (; s < 0; ++s) p *= 2;  // prices stay below Certificate::kMost
    for (; s > 0 && p % 2 == 0; --s) p /= 2;
    if (price < 0) p = 1, s = 0;
    w_.begin_array().value(moment).value(p).value(s).end_array();
  }

  JsonWriter w_;
  int unit_exponent_ = 0;
  const Certificate* case_ = nullptr;  // that is being written
};

}  // namespace

std::string proof_json(std::span<const Certificate> seconds, const PeakBound* peak) {
  return ProofWriter().write(seconds, peak);
}

}  // namespace tidemark::plan
