// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "tidemark/base/json.h"
#include "tidemark/plan/json_read.h"
#include "tidemark/plan/plan.h"

namespace tidemark::plan {
namespace {

using json::Element;
using json::has;
using json::Place;

constexpr const char* kDocument = "plan";
constexpr Step::Kind kKinds[] = {Step::Kind::run,   Step::Kind::drop, Step::Kind::evict,
                                 Step::Kind::fetch, Step::Kind::wait, Step::Kind::discard};
constexpr Plan::Status kStatuses[] = {Plan::Status::optimal, Plan::Status::feasible, Plan::Status::infeasible,
                                      Plan::Status::timed_out};

Plan::Status read_status(Element element, const Place& place) {
  const std::string name = json::read_string(element, place);
  for (const Plan::Status status : kStatuses) {
    if (name == name_of(status)) return status;
  }
  json::refuse(place, fmt::format("'{}' is not optimal, feasible, infeasible or timed_out", name));
}

double read_time(Element element, const Place& place) {
  const double seconds = json::read_double(element, place);
  if (seconds < 0) json::refuse(place, fmt::format("{} is negative", seconds));
  return seconds;
}

TierId read_tier(const Problem& problem, Element element, const Place& place) {
  const std::string name = json::read_string(element, place);
  for (std::size_t t = 0; t < problem.tiers.size(); ++t) {
    if (problem.tiers[t].name == name) return static_cast<TierId>(t);
  }
  json::refuse(place, fmt::format("tiers are those of the problem, '{}' is not", name));
}

bool has_tier(Step::Kind kind) {
  return kind == Step::Kind::evict || kind == Step::Kind::fetch || kind == Step::Kind::discard;
}

Step read_step(const Problem& problem, Element element, const Place& place) {
  const simdjson::dom::array items = json::read_array(element, place);
  Step step;
  std::size_t position = 0;
  for (const Element item : items) {
    switch (position++) {
      case 0: {
        const std::string name = json::read_string(item, place);
        std::size_t kind = 0;
        while (kind < std::size(kKinds) && name != name_of(kKinds[kind])) ++kind;
        if (kind == std::size(kKinds)) {
          json::refuse(place,
                       fmt::format("steps are run, drop, evict, fetch, wait, discard, not '{}'", name));
        }
        step.kind = kKinds[kind];
        break;
      }
      case 1:
        step.id = json::read_id(item, place,
                                step.kind == Step::Kind::run ? problem.tasks.size() : problem.buffers.size());
        break;
      case 2:
        if (has_tier(step.kind)) {
          step.tier = read_tier(problem, item, place);
        } else if (step.kind == Step::Kind::run) {
          static constexpr std::string_view names[] = {"in_place"};
          json::read_object(item, place, names, [&](std::size_t, Element e) {
            step.in_place = json::read_pairs(e, place, problem.buffers.size());
          });
        } else {
          json::refuse(place, "has more than a kind and an id");
        }
        break;
      default:
        json::refuse(place, "has more than three parts");
    }
  }
  if (position < (has_tier(step.kind) ? 3u : 2u)) json::refuse(place, "is not whole");
  return step;
}

Placement read_placement(const Problem& problem, std::size_t steps, Element element, const Place& place) {
  const simdjson::dom::array items = json::read_array(element, place);
  Placement placement;
  std::size_t position = 0;
  for (const Element item : items) {
    switch (position++) {
      case 0:
        placement.step = json::read_id(item, place, steps);
        break;
      case 1:
        if (item.is_string()) {
          if (json::read_string(item, place) != "workspace")
            json::refuse(place, "is neither a buffer nor \"workspace\"");
          placement.buffer = Placement::kWorkspace;
        } else {
          placement.buffer = json::read_id(item, place, problem.buffers.size());
        }
        break;
      case 2:
        placement.offset = json::read_size(item, place);
        break;
      default:
        break;
    }
  }
  if (position != 3) json::refuse(place, "is not [step, buffer, offset]");
  return placement;
}

void read_arena(const Problem& problem, Element element, Plan& plan) {
  static constexpr std::string_view names[] = {"bytes", "at"};
  const Place place{kDocument, "arena"};
  const auto seen = json::read_object(element, place, names, [&](std::size_t field, Element e) {
    if (field == 0) {
      plan.arena_bytes = json::read_size(e, place.of("bytes"));
      return;
    }
    std::int64_t index = 0;
    for (const Element item : json::read_array(e, place.of("at"))) {
      plan.placements.push_back(
          read_placement(problem, plan.steps.size(), item, {kDocument, "arena.at", index++}));
    }
  });
  for (const std::size_t needed : {0, 1}) {
    if (!has(seen, needed)) json::refuse(place, fmt::format("has no {}", names[needed]));
  }
  plan.has_arena = true;
}

// The text of the proof as it stands: reading and writing it again would change digits. The document is known
// to be valid JSON with one such field.
std::string raw_proof(std::string_view text) {
  simdjson::ondemand::parser parser;
  const simdjson::padded_string padded(text);
  simdjson::ondemand::document document;
  simdjson::ondemand::object root;
  std::string_view raw;
  if (parser.iterate(padded).get(document) == simdjson::SUCCESS &&
      document.get_object().get(root) == simdjson::SUCCESS) {
    simdjson::ondemand::value value;
    simdjson::ondemand::object object;
    if (root.find_field_unordered("proof").get(value) == simdjson::SUCCESS &&
        value.get_object().get(object) == simdjson::SUCCESS &&
        object.raw_json().get(raw) == simdjson::SUCCESS) {
      return std::string(raw);
    }
  }
  json::refuse(Place{kDocument, "proof"}, "cannot be read");
}

// What is wrong with ids and sizes has as a rule one cause.
class Of : public ErrorContext {
 public:
  Of(const Problem& problem, const Plan& plan) : problem_(problem), plan_(plan) {}
  std::string complete(Error::Kind, std::string message) const override {
    if (!plan_.problem_hash.empty() && plan_.problem_hash != hash(problem_))
      message += fmt::format("; it is a plan of another problem, '{}'", plan_.problem);
    return message;
  }

 private:
  const Problem& problem_;
  const Plan& plan_;
};

}  // namespace

Plan read_plan(const Problem& problem, std::string_view text) {
  enum : std::size_t {
    format,
    version,
    problem_name,
    problem_hash,
    status,
    planner,
    budget,
    peak,
    live_peak,
    seconds,
    seconds_bound,
    peak_bound,
    bound_order,
    lossy,
    smallest_peak,
    reason,
    solve_seconds,
    steps,
    arena,
    proof
  };
  static constexpr std::string_view names[] = {
      "format",        "version",   "problem",       "problem_hash",  "status",     "planner",     "budget",
      "peak",          "live_peak", "seconds",       "seconds_bound", "peak_bound", "bound_order", "lossy",
      "smallest_peak", "x_reason",  "solve_seconds", "steps",         "arena",      "proof"};
  const json::Document document(kDocument, text);
  const Place place{kDocument};
  json::expect_format(document.root(), kDocument, "tidemark-plan");
  Element elements[std::size(names)];
  const auto seen = json::read_object(document.root(), place, names,
                                      [&](std::size_t field, Element e) { elements[field] = e; });
  for (const std::size_t needed : {std::size_t{status}, std::size_t{steps}}) {
    if (!has(seen, needed)) json::refuse(place, fmt::format("has no {}", names[needed]));
  }
  const auto with = [&](std::size_t field, auto&& take) {
    if (has(seen, field)) take(elements[field], place.of(names[field]));
  };

  Plan plan{.budget = -1, .peak = -1, .live_peak = -1, .seconds = -1};
  with(problem_name, [&](Element e, Place p) { plan.problem = json::read_string(e, p); });
  with(problem_hash, [&](Element e, Place p) { plan.problem_hash = json::read_string(e, p); });
  const Of context(problem, plan);
  with(status, [&](Element e, Place p) { plan.status = read_status(e, p); });
  with(planner, [&](Element e, Place p) { plan.planner = json::read_string(e, p); });
  with(budget, [&](Element e, Place p) { plan.budget = json::read_size(e, p); });
  with(peak, [&](Element e, Place p) { plan.peak = json::read_size(e, p); });
  with(live_peak, [&](Element e, Place p) { plan.live_peak = json::read_size(e, p); });
  with(seconds, [&](Element e, Place p) { plan.seconds = read_time(e, p); });
  with(seconds_bound, [&](Element e, Place p) { plan.seconds_bound = read_time(e, p); });
  with(peak_bound, [&](Element e, Place p) { plan.peak_bound = json::read_size(e, p); });
  with(bound_order, [&](Element e, Place p) {
    plan.bound_order_given = json::read_string(e, p) == "given";
    if (!plan.bound_order_given) json::refuse(p, "is not \"given\"");
  });
  with(lossy, [&](Element e, Place p) { plan.lossy = json::read_bool(e, p); });
  with(smallest_peak, [&](Element e, Place p) { plan.smallest_peak = json::read_size(e, p); });
  with(reason, [&](Element e, Place p) { plan.reason = json::read_string(e, p); });
  with(solve_seconds, [&](Element e, Place p) { plan.solve_seconds = read_time(e, p); });
  with(steps, [&](Element e, Place p) {
    std::int64_t index = 0;
    for (const Element item : json::read_array(e, p))
      plan.steps.push_back(read_step(problem, item, {kDocument, "steps", index++}));
    if (plan.steps.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()))
      json::refuse(p, "too many");
  });
  with(arena, [&](Element e, Place) { read_arena(problem, e, plan); });
  with(proof, [&](Element e, Place p) {
    if (!e.is_object()) json::refuse(p, "is not an object");
    plan.proof.json = raw_proof(text);
  });
  return plan;
}

std::string write_plan(const Problem& problem, const Plan& plan) {
  JsonWriter w;
  w.begin_object().field("format", "tidemark-plan").field("version", 1).field("problem", plan.problem);
  if (!plan.problem_hash.empty()) w.field("problem_hash", plan.problem_hash);
  w.field("status", name_of(plan.status));
  if (!plan.planner.empty()) w.field("planner", plan.planner);
  w.new_line();
  if (plan.budget >= 0) w.field("budget", plan.budget);
  // Without steps there is nothing that these could be true of.
  const bool answered = plan.status != Plan::Status::infeasible &&
                        !(plan.status == Plan::Status::timed_out && plan.steps.empty());
  if (answered && plan.peak >= 0) w.field("peak", plan.peak);
  if (answered && plan.live_peak >= 0) w.field("live_peak", plan.live_peak);
  if (answered && plan.seconds >= 0) w.field("seconds", plan.seconds);
  if (plan.seconds_bound) w.field("seconds_bound", *plan.seconds_bound);
  if (plan.peak_bound) w.field("peak_bound", *plan.peak_bound);
  if (plan.bound_order_given) w.field("bound_order", "given");
  if (plan.lossy) w.field("lossy", true);
  if (plan.smallest_peak) w.field("smallest_peak", *plan.smallest_peak);
  if (!plan.reason.empty()) w.field("x_reason", plan.reason);
  w.field("solve_seconds", plan.solve_seconds).new_line().key("steps").begin_array();
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    if (i % 8 == 0) w.new_line();
    w.begin_array().value(name_of(step.kind)).value(step.id);
    if (has_tier(step.kind))
      w.value(std::string_view(problem.tiers[static_cast<std::size_t>(step.tier)].name));
    if (!step.in_place.empty()) {
      w.begin_object().key("in_place").begin_array();
      for (const auto& [read, write] : step.in_place) w.begin_array().value(read).value(write).end_array();
      w.end_array().end_object();
    }
    w.end_array();
  }
  w.end_array();
  if (plan.has_arena) {
    w.new_line().key("arena").begin_object().field("bytes", plan.arena_bytes).key("at").begin_array();
    for (std::size_t i = 0; i < plan.placements.size(); ++i) {
      const Placement& placement = plan.placements[i];
      if (i % 8 == 0) w.new_line();
      w.begin_array().value(placement.step);
      if (placement.buffer == Placement::kWorkspace) {
        w.value("workspace");
      } else {
        w.value(placement.buffer);
      }
      w.value(placement.offset).end_array();
    }
    w.end_array().end_object();
  }
  std::string out = w.take();
  if (!plan.proof.json.empty()) out += ",\n\"proof\": " + plan.proof.json;
  return out + "}\n";
}

}  // namespace tidemark::plan
