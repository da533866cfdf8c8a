// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/proof_read.h"

#include <fmt/format.h>

#include "tidemark/plan/json_read.h"

namespace tidemark::plan::proof {
namespace {

using json::Element;
using json::Place;

constexpr double kMostWork = 3e9;  // numbers that are looked at: some ten seconds
constexpr std::size_t kMostMoments = 16;

class Reader {
 public:
  explicit Reader(const Problem& problem) : p_(problem) {
    size_ = static_cast<double>(problem.tasks.size() + problem.buffers.size()) + 1;
    makers_.resize(problem.buffers.size());
    for (const Task& task : problem.tasks) {
      size_ += static_cast<double>(task.reads.size() + task.writes.size());
      for (const BufferId b : task.writes) ++makers_[static_cast<std::size_t>(b)];
    }
  }

  Text read(Element root) {
    static constexpr std::string_view kFields[] = {"version", "unit_exponent", "seconds", "peak"};
    const auto place = [&](std::size_t f) { return Place{"proof", kFields[f]}; };
    // Of another version, whatever else it holds, only the version is said.
    if (Element said; root.at_key(kFields[0]).get(said) == simdjson::SUCCESS) {
      const std::int64_t version = json::read_integer(said, place(0));
      if (version != 4)
        json::refuse(Place{"proof"}, fmt::format("version {}, and 4 is what is read; plan again", version));
    } else if (root.is_object()) {
      json::refuse(Place{"proof"}, "no version; plan again");
    }
    json::read_object(root, Place{"proof"}, kFields, [&](std::size_t f, Element e) {
      if (f == 1) {
        const std::int64_t exponent = json::read_integer(e, place(f));
        if (exponent < -900 || exponent > 900) json::refuse(place(f), "out of range");
        text_.unit_exponent = static_cast<int>(exponent);
      }
      if (f == 2) text_.seconds = read_node(e, place(f));
      if (f == 3) text_.peak = read_node(e, place(f));
    });
    return std::move(text_);
  }

 private:
  // `fields`: what each number is: a task, a buffer, or any; "*": at least these, and any behind them.
  Row row(Element element, const Place& place, std::string_view fields) const {
    Row row;
    const bool more = fields.back() == '*';
    if (more) fields.remove_suffix(1);
    for (const Element cell : json::read_array(element, place)) {
      const char kind = row.size() < fields.size() ? fields[row.size()] : '.';
      const std::int64_t most = kind == 't'   ? std::ssize(p_.tasks) - 1
                                : kind == 'b' ? std::ssize(p_.buffers) - 1
                                              : std::int64_t{1} << 60;
      row.push_back(json::read_integer(cell, place));
      if (row.back() < 0 || row.back() > most)
        json::refuse(place, fmt::format("{} is not from 0 to {}", row.back(), most));
    }
    if (row.size() != fields.size() && (!more || row.size() < fields.size()))
      json::refuse(place, fmt::format("a row of {} numbers, not {}", row.size(), fields.size()));
    return row;
  }

  Rows rows(Element element, const Place& place, std::string_view fields) const {
    Rows rows;
    for (const Element each : json::read_array(element, place)) rows.push_back(row(each, place, fields));
    return rows;
  }

  // What adding up rows of needs and keeps looks at.
  void count(const Rows& rows) {
    for (const Row& r : rows) work_ += static_cast<double>(makers_[static_cast<std::size_t>(r[3])]);
  }

  Node read_node(Element element, const Place& place) {
    static constexpr std::string_view kFields[] = {"order", "stored", "cases", "moments",   "need",
                                                   "keep",  "parts",  "links", "impossible"};
    Node node;
    std::optional<Element> cases;
    json::read_object(element, place, kFields, [&](std::size_t field, Element e) {
      const Place here = place.of(kFields[field]);
      if (field <= 1 && !node.decision.empty()) json::refuse(here, "an order beside what is stored");
      if (field <= 1) node.decision = row(e, here, field == 0 ? "tt" : "tb");
      if (field == 0) node.by_order = true;
      if (field == 3) node.moments = rows(e, here, "t..");
      if (field == 4) count(node.need = rows(e, here, "..tb."));
      if (field == 5) count(node.keep = rows(e, here, "...b."));
      if (field == 6) node.parts = rows(e, here, "t...*");
      if (field == 7) node.links = rows(e, here, "..");
      if (field == 8) node.impossible = json::read_bool(e, here);
      if (field == 2) cases = e;
    });
    if (node.by_order) ++orders_;
    if (cases) {
      for (const Element each : json::read_array(*cases, place.of(kFields[2])))
        node.cases.push_back(read_node(each, place));
    }
    if (node.by_order) --orders_;
    if (node.cases.size() != (node.decision.empty() ? 0 : 2))
      json::refuse(place, "not two cases by an order or by what is stored");
    if (node.moments.size() > (p_.tiers.empty() ? kMostMoments : 1)) json::refuse(place, "too many moments");
    // Each order may take another walk through all that is read, at each moment.
    work_ += size_ * static_cast<double>(node.moments.size() + 1) * (1 + orders_);
    if (work_ > kMostWork) json::refuse(place, "too many cases");
    return node;
  }

  const Problem& p_;
  Text text_;
  double size_ = 0;                   // of the problem: what one walk looks at
  std::vector<std::int64_t> makers_;  // by buffer
  int orders_ = 0;                    // in force
  double work_ = 0;
};

}  // namespace

Text read(std::string_view json, const Problem& problem) {
  const json::Document document("proof", json);
  return Reader(problem).read(document.root());
}

}  // namespace tidemark::plan::proof
