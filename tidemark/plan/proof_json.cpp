// Writes the proof of a plan file; docs/proofs.md has the format. SPDX-License-Identifier: Apache-2.0
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

void write_supply(JsonWriter& w, const Certificate::Leaf& leaf) {
  write_rows(w, "need", leaf.need,
             [&](const auto& r) { w.value(r.i).value(r.j).value(r.task).value(r.value).value(r.y); });
  write_rows(w, "keep", leaf.keep,
             [&](const auto& r) { w.value(r.i).value(r.j).value(r.at).value(r.value).value(r.y); });
}

void write_leaf(JsonWriter& w, const Certificate::Leaf& leaf) {
  w.begin_object();
  write_rows(w, "decisions", leaf.decisions,
             [&](const auto& d) { w.value(d.moment).value(d.value).value(d.stored ? 1 : 0); });
  if (leaf.impossible) {
    w.field("impossible", true);
  } else {
    w.key("prices").begin_array();
    for (double p : leaf.prices) w.value(p);
    w.end_array();
  }
  write_supply(w, leaf);
  write_rows(w, "sum", leaf.sum, [&](const auto& r) { w.value(r.i).value(r.j).value(r.task).value(r.y); });
  write_rows(w, "floors", leaf.floors, [&](const auto& r) { w.value(r.task).value(r.y); });
  write_rows(w, "links", leaf.links, [&](const auto& r) { w.value(r.read).value(r.write); });
  w.end_object();
}

}  // namespace

std::string proof_json(const Certificate* seconds, const PeakBound* peak) {
  JsonWriter w;
  w.begin_object();
  if (seconds != nullptr) {
    w.key("seconds")
        .begin_object()
        .field("unit_exponent", seconds->unit_exponent)
        .key("moments")
        .begin_array();
    for (TaskId t : seconds->moments) w.value(t);
    w.end_array().key("leaves").begin_array();
    for (const Certificate::Leaf& leaf : seconds->leaves) {
      w.new_line();
      write_leaf(w, leaf);
    }
    w.end_array().end_object();
  }
  if (peak != nullptr) {
    w.key("peak").begin_object();
    if (peak->moment < 0) {
      w.field("end", true);
    } else {
      w.key("moments").begin_array().value(peak->moment).end_array();
      write_supply(w, peak->leaf);
    }
    w.end_object();
  }
  w.end_object();
  return w.take();
}

}  // namespace tidemark::plan
