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
  static constexpr std::string_view kFields[] = {"impossible", "decisions", "prices", "need",
                                                 "keep",       "sum",       "floors", "links"};
  static constexpr std::size_t kWidth[] = {0, 2, 2, 5, 5, 4, 2, 2};
  Leaf leaf;
  std::vector<Row>* rows[] = {nullptr,    &leaf.decisions, &leaf.prices, &leaf.need,
                              &leaf.keep, &leaf.sum,       &leaf.floors, &leaf.links};
  json::read_object(element, place, kFields, [&](std::size_t field, Element e) {
    if (field == 0) {
      leaf.impossible = json::read_bool(e, place);
    } else {
      *rows[field] = read_rows(e, place, kWidth[field]);
    }
  });
  return leaf;
}

MomentText read_moment(Element element, const Place& place, std::size_t tasks) {
  static constexpr std::string_view kFields[] = {"task", "after"};
  MomentText moment;
  json::read_object(element, place, kFields, [&](std::size_t field, Element e) {
    if (field == 0) moment.task = json::read_id(e, place, tasks);
    if (field == 1) moment.after = read_rows(e, place, 2);
  });
  if (moment.task < 0) json::refuse(place, "a moment without a task");
  return moment;
}

// One of the three fields of a case.
void read_of_case(Case& c, std::size_t field, Element element, const Place& place, std::size_t tasks) {
  if (field == 0) {
    for (const Element moment : json::read_array(element, place))
      c.moments.push_back(read_moment(moment, place, tasks));
  } else if (field == 1) {
    for (const Element leaf : json::read_array(element, place)) c.leaves.push_back(read_leaf(leaf, place));
  } else {
    c.order = read_rows(element, place, 2);
  }
}

Part read_part(Element element, const Place& place, std::size_t tasks) {
  static constexpr std::string_view kFields[] = {"moments", "leaves", "cases", "unit_exponent", "end"};
  static constexpr std::string_view kCaseFields[] = {"moments", "leaves", "order"};
  Part part;
  Case only;
  bool several = false;
  json::read_object(element, place, kFields, [&](std::size_t field, Element e) {
    if (field <= 1) read_of_case(only, field, e, place, tasks);
    if (field == 2) {
      several = true;
      for (const Element each : json::read_array(e, place)) {
        Case& c = part.cases.emplace_back();
        json::read_object(each, place, kCaseFields,
                          [&](std::size_t f, Element x) { read_of_case(c, f, x, place, tasks); });
      }
    }
    if (field == 3) {
      const std::int64_t exponent = json::read_integer(e, place);
      if (exponent < -900 || exponent > 900) json::refuse(place, "unit_exponent is out of range");
      part.unit_exponent = static_cast<int>(exponent);
    }
    if (field == 4) part.end = json::read_bool(e, place);
  });
  if (several && !(only.moments.empty() && only.leaves.empty()))
    json::refuse(place, "moments or leaves beside cases");
  if (!several) part.cases.push_back(std::move(only));
  return part;
}

}  // namespace

Text read(std::string_view json, std::size_t tasks) {
  const json::Document document("proof", json);
  static constexpr std::string_view kFields[] = {"version", "never_first", "seconds", "peak"};
  Text text;
  // Of another version, whatever else it holds, only the version is said.
  std::vector<std::pair<std::size_t, Element>> fields;
  json::read_object(document.root(), Place{"proof"}, kFields, [&](std::size_t field, Element e) {
    if (field == 0) text.version = json::read_integer(e, Place{"proof", "version"});
    if (field > 0) fields.emplace_back(field, e);
  });
  if (text.version != 2)
    json::refuse(Place{"proof"}, fmt::format("version {}, and 2 is what is read; plan again", text.version));
  for (const auto& [field, e] : fields) {
    if (field == 1) text.never_first = read_rows(e, Place{"proof", "never_first"}, 3);
    if (field == 2) text.seconds = read_part(e, Place{"proof", "seconds"}, tasks);
    if (field == 3) text.peak = read_part(e, Place{"proof", "peak"}, tasks);
  }
  return text;
}

}  // namespace tidemark::plan::proof
