// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/proof_read.h"

#include <fmt/format.h>

#include "tidemark/plan/json_read.h"

namespace tidemark::plan::proof {
namespace {

using json::Element;
using json::Place;

std::vector<Row> read_rows(Element element, const Place& place, std::size_t width) {
  std::vector<Row> rows;
  for (const Element row : json::read_array(element, place)) {
    Row& r = rows.emplace_back();
    for (const Element cell : json::read_array(row, place)) r.push_back(json::read_integer(cell, place));
    if (r.size() != width) json::refuse(place, fmt::format("a row of {} numbers, not {}", r.size(), width));
    for (const std::int64_t cell : r) {
      if (cell < 0 || cell > std::int64_t{1} << 60) json::refuse(place, "a number below 0 or above 2^60");
    }
  }
  return rows;
}

Leaf read_leaf(Element element, const Place& place) {
  static constexpr std::string_view kFields[] = {"prices", "impossible", "decisions", "need",
                                                 "keep",   "sum",        "floors",    "links"};
  static constexpr std::size_t kWidth[] = {0, 0, 3, 5, 5, 4, 2, 2};
  Leaf leaf;
  std::vector<Row>* rows[] = {nullptr,    nullptr,   &leaf.decisions, &leaf.need,
                              &leaf.keep, &leaf.sum, &leaf.floors,    &leaf.links};
  json::read_object(element, place, kFields, [&](std::size_t field, Element e) {
    if (field == 1) leaf.impossible = json::read_bool(e, place);
    if (field > 1) *rows[field] = read_rows(e, place, kWidth[field]);
    if (field > 0) return;
    for (const Element price : json::read_array(e, place))
      leaf.prices.push_back(json::read_double(price, place));
  });
  return leaf;
}

Seconds read_seconds(Element element, const Place& place, std::size_t tasks) {
  static constexpr std::string_view kFields[] = {"unit_exponent", "moments", "leaves"};
  Seconds s;
  json::read_object(element, place, kFields, [&](std::size_t field, Element e) {
    if (field == 0) {
      const std::int64_t exponent = json::read_integer(e, place);
      if (exponent < -900 || exponent > 900) json::refuse(place, "unit_exponent is out of range");
      s.unit_exponent = static_cast<int>(exponent);
    } else if (field == 1) {
      s.moments = json::read_ids(e, place, tasks);
    } else {
      for (const Element leaf : json::read_array(e, place)) s.leaves.push_back(read_leaf(leaf, place));
    }
  });
  return s;
}

Peak read_peak(Element element, const Place& place, std::size_t tasks) {
  static constexpr std::string_view kFields[] = {"moments", "need", "keep", "end"};
  Peak peak;
  json::read_object(element, place, kFields, [&](std::size_t field, Element e) {
    if (field == 0) peak.moments = json::read_ids(e, place, tasks);
    if (field == 1) peak.leaf.need = read_rows(e, place, 5);
    if (field == 2) peak.leaf.keep = read_rows(e, place, 5);
    if (field == 3) peak.end = json::read_bool(e, place);
  });
  return peak;
}

}  // namespace

Text read(std::string_view json, std::size_t tasks) {
  const json::Document document("proof", json);
  static constexpr std::string_view kFields[] = {"seconds", "peak"};
  Text text;
  json::read_object(document.root(), Place{"proof"}, kFields, [&](std::size_t field, Element e) {
    if (field == 0) text.seconds = read_seconds(e, Place{"proof", "seconds"}, tasks);
    if (field == 1) text.peak = read_peak(e, Place{"proof", "peak"}, tasks);
  });
  return text;
}

}  // namespace tidemark::plan::proof
