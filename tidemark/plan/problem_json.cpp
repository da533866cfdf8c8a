// SPDX-License-Identifier: Apache-2.0
#include <unordered_map>

#include "tidemark/base/json.h"
#include "tidemark/plan/json_read.h"
#include "tidemark/plan/problem.h"

namespace tidemark::plan {
namespace {

using json::Element;
using json::has;
using json::Place;

constexpr const char* kDocument = "problem";

using TierNames = std::unordered_map<std::string_view, TierId>;

void read_tiers(Element element, Problem& problem) {
  simdjson::dom::object tiers;
  const Place place{kDocument, "tiers"};
  if (element.get(tiers) != simdjson::SUCCESS) json::refuse(place, "is not an object");
  for (const auto& [key, value] : tiers) {
    static constexpr std::string_view names[] = {"write_bytes_per_second", "read_bytes_per_second",
                                                 "latency_seconds", "bytes"};
    Tier tier{.name = std::string(key)};
    const Place here = place.of(key);
    const auto seen = json::read_object(value, here, names, [&](std::size_t field, Element e) {
      switch (field) {
        case 0:
          tier.write_bytes_per_second = json::read_double(e, here);
          break;
        case 1:
          tier.read_bytes_per_second = json::read_double(e, here);
          break;
        case 2:
          tier.latency_seconds = json::read_double(e, here);
          break;
        case 3:
          tier.bytes = json::read_size(e, here);
          break;
      }
    });
    for (const std::size_t needed : {0, 1, 3}) {
      if (!has(seen, needed)) json::refuse(here, fmt::format("has no {}", names[needed]));
    }
    problem.tiers.push_back(std::move(tier));
  }
}

TierId read_tier(Element element, const Place& place, const TierNames& tiers) {
  const std::string name = json::read_string(element, place);
  const auto found = tiers.find(name);
  if (found == tiers.end()) json::refuse(place, fmt::format("tier '{}' is not among the tiers", name));
  return found->second;
}

Buffer read_buffer(Element element, std::int64_t index, const TierNames& tiers) {
  static constexpr std::string_view names[] = {"name", "bytes", "resident", "start", "end", "kind"};
  const Place place{kDocument, "buffers", index};
  Buffer buffer;
  const auto seen = json::read_object(element, place, names, [&](std::size_t field, Element e) {
    const Place here = place.of(names[field]);
    switch (field) {
      case 0:
        buffer.name = json::read_string(e, here);
        break;
      case 1:
        buffer.bytes = json::read_size(e, here);
        break;
      case 2:
        buffer.resident = json::read_bool(e, here);
        break;
      case 3:
        buffer.start = read_tier(e, here, tiers);
        break;
      case 4:
        buffer.end = read_tier(e, here, tiers);
        break;
      case 5:
        buffer.kind = json::read_string(e, here);
        break;
    }
  });
  if (!has(seen, 1)) json::refuse(place, "has no bytes");
  return buffer;
}

Task read_task(Element element, std::int64_t index, std::size_t buffers, std::size_t tasks) {
  static constexpr std::string_view names[] = {"name",     "kind",    "reads",     "writes",
                                               "in_place", "seconds", "workspace", "once",
                                               "optional", "lossy",   "random",    "instead_of"};
  const Place place{kDocument, "tasks", index};
  Task task;
  const auto seen = json::read_object(element, place, names, [&](std::size_t field, Element e) {
    const Place here = place.of(names[field]);
    switch (field) {
      case 0:
        task.name = json::read_string(e, here);
        break;
      case 1:
        task.kind = json::read_string(e, here);
        break;
      case 2:
        task.reads = json::read_ids(e, here, buffers);
        break;
      case 3:
        task.writes = json::read_ids(e, here, buffers);
        break;
      case 4:
        task.in_place = json::read_pairs(e, here, buffers);
        break;
      case 5:
        task.seconds = json::read_double(e, here);
        break;
      case 6:
        task.workspace = json::read_size(e, here);
        break;
      case 7:
        task.once = json::read_bool(e, here);
        break;
      case 8:
        task.optional = json::read_bool(e, here);
        break;
      case 9:
        task.lossy = json::read_bool(e, here);
        break;
      case 10:
        task.random = json::read_bool(e, here);
        break;
      case 11:
        task.instead_of = json::read_id(e, here, tasks);
        break;
    }
  });
  for (const std::size_t needed : {2, 3, 5}) {
    if (!has(seen, needed)) json::refuse(place, fmt::format("has no {}", names[needed]));
  }
  return task;
}

}  // namespace

Problem read_problem(std::string_view text) {
  static constexpr std::string_view names[] = {"format",  "version", "name",    "device", "align",
                                               "buffers", "tasks",   "outputs", "tiers"};
  const json::Document document(kDocument, text);
  const Place place{kDocument};
  json::expect_format(document.root(), kDocument, "tidemark-problem");
  Element elements[std::size(names)];
  const auto seen = json::read_object(document.root(), place, names,
                                      [&](std::size_t field, Element e) { elements[field] = e; });
  for (const std::size_t needed : {5, 6, 7}) {
    if (!has(seen, needed)) json::refuse(place, fmt::format("has no {}", names[needed]));
  }
  Problem problem;
  if (has(seen, 2)) problem.name = json::read_string(elements[2], place.of("name"));
  if (has(seen, 3)) problem.device = json::read_string(elements[3], place.of("device"));
  if (has(seen, 4)) problem.align = json::read_size(elements[4], place.of("align"));
  if (has(seen, 8)) read_tiers(elements[8], problem);
  TierNames tiers;
  for (std::size_t t = 0; t < problem.tiers.size(); ++t) {
    // A second tier of the same name is verify's to refuse.
    tiers.emplace(problem.tiers[t].name, static_cast<TierId>(t));
  }

  // simdjson's size() saturates; it only reserves and bounds ids, which verify bounds again.
  std::int64_t index = 0;
  for (const Element e : json::read_array(elements[5], place.of("buffers")))
    problem.buffers.push_back(read_buffer(e, index++, tiers));
  const simdjson::dom::array tasks = json::read_array(elements[6], place.of("tasks"));
  std::size_t task_count = 0;
  for ([[maybe_unused]] const Element e : tasks) ++task_count;
  problem.tasks.reserve(task_count);
  index = 0;
  for (const Element e : tasks)
    problem.tasks.push_back(read_task(e, index++, problem.buffers.size(), task_count));
  problem.outputs = json::read_ids(elements[7], place.of("outputs"), problem.buffers.size());
  if (const std::string broken = verify(problem); !broken.empty())
    fail(Error::Kind::data, "[problem] {}", broken);
  return problem;
}

namespace {

void write_ids(JsonWriter& w, std::string_view name, const std::vector<std::int32_t>& ids) {
  w.key(name).begin_array();
  for (const std::int32_t id : ids) w.value(id);
  w.end_array();
}

void write_task(JsonWriter& w, const Task& task) {
  w.new_line().begin_object();
  if (!task.name.empty()) w.field("name", task.name);
  if (!task.kind.empty()) w.field("kind", task.kind);
  write_ids(w, "reads", task.reads);
  write_ids(w, "writes", task.writes);
  if (!task.in_place.empty()) {
    w.key("in_place").begin_array();
    for (const auto& [read, write] : task.in_place) w.begin_array().value(read).value(write).end_array();
    w.end_array();
  }
  w.field("seconds", task.seconds);
  if (task.workspace > 0) w.field("workspace", task.workspace);
  if (task.once) w.field("once", true);
  if (task.optional) w.field("optional", true);
  if (task.lossy) w.field("lossy", true);
  if (task.random) w.field("random", true);
  if (task.instead_of >= 0) w.field("instead_of", task.instead_of);
  w.end_object();
}

}  // namespace

std::string write_problem(const Problem& problem) {
  JsonWriter w;
  w.begin_object().field("format", "tidemark-problem").field("version", 1).field("name", problem.name);
  if (!problem.device.empty()) w.field("device", problem.device);
  if (problem.align != 1) w.field("align", problem.align);
  const auto tier_name = [&](TierId tier) {
    return std::string_view(problem.tiers[static_cast<std::size_t>(tier)].name);
  };
  w.new_line().key("buffers").begin_array();
  for (const Buffer& b : problem.buffers) {
    w.new_line().begin_object();
    if (!b.name.empty()) w.field("name", b.name);
    w.field("bytes", b.bytes);
    if (b.resident) w.field("resident", true);
    if (b.start >= 0) w.field("start", tier_name(b.start));
    if (b.end >= 0) w.field("end", tier_name(b.end));
    if (!b.kind.empty()) w.field("kind", b.kind);
    w.end_object();
  }
  w.new_line().end_array().new_line().key("tasks").begin_array();
  for (const Task& t : problem.tasks) write_task(w, t);
  w.new_line().end_array().new_line();
  write_ids(w, "outputs", problem.outputs);
  if (!problem.tiers.empty()) {
    w.new_line().key("tiers").begin_object();
    for (const Tier& t : problem.tiers) {
      w.key(t.name).begin_object();
      w.field("write_bytes_per_second", t.write_bytes_per_second)
          .field("read_bytes_per_second", t.read_bytes_per_second);
      w.field("latency_seconds", t.latency_seconds).field("bytes", t.bytes).end_object();
    }
    w.end_object();
  }
  w.end_object();
  return w.take() + "\n";
}

}  // namespace tidemark::plan
