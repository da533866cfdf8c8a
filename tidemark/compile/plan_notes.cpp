// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/plan_notes.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <limits>

#include "tidemark/plan/budget.h"

namespace tidemark {

std::string with_notes(std::string plan_json, const PlanNotes& notes) {
  std::string text;
  if (notes.fraction)
    text += fmt::format(",\n\"x_budget\": {{\"fraction\": {}, \"bytes\": {}}}", *notes.fraction, notes.bytes);
  if (!notes.seconds.empty()) text += fmt::format(",\n\"x_seconds\": [{}]", fmt::join(notes.seconds, ", "));
  if (notes.parts > 1) text += fmt::format(",\n\"x_parts\": {}", notes.parts);
  if (!notes.fallback.empty()) text += ",\n\"x_fallback\": " + notes.fallback;
  return plan_json.insert(plan_json.rfind('}'), text);
}

PlanNotes read_notes(std::string_view plan_json) {
  PlanNotes notes;
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (parser.parse(simdjson::padded_string(plan_json)).get(root) != simdjson::SUCCESS) return notes;
  double fraction = 0;
  std::int64_t bytes = 0;
  if (root["x_budget"]["fraction"].get(fraction) == simdjson::SUCCESS &&
      root["x_budget"]["bytes"].get(bytes) == simdjson::SUCCESS && bytes >= 0)
    notes.fraction = fraction, notes.bytes = bytes;
  std::int64_t parts = 1;
  if (root["x_parts"].get(parts) == simdjson::SUCCESS && parts >= 1 &&
      parts <= std::numeric_limits<int>::max())
    notes.parts = static_cast<int>(parts);
  simdjson::dom::element fallback;
  if (root["x_fallback"].get(fallback) == simdjson::SUCCESS) notes.fallback = simdjson::minify(fallback);
  simdjson::dom::array list;
  if (root["x_seconds"].get(list) != simdjson::SUCCESS) return notes;
  for (const simdjson::dom::element e : list) {
    double seconds = 0;
    if (e.get(seconds) != simdjson::SUCCESS || seconds < 0) {
      notes.seconds.clear();
      break;
    }
    notes.seconds.push_back(seconds);
  }
  return notes;
}

void forget_proofs(plan::Plan& plan) {
  plan.status = plan::Plan::Status::feasible;
  plan.seconds_bound.reset();
  plan.peak_bound.reset();
  plan.smallest_peak.reset();
  plan.reason.clear();
  plan.proof = {};
}

void add_figures(const plan::Problem& problem, const plan::Replay& truth, plan::Plan& plan) {
  if (plan.peak < 0)
    plan.peak = plan.has_arena ? plan::resident_bytes(problem) + plan.arena_bytes : truth.live_peak;
  if (plan.live_peak < 0) plan.live_peak = truth.live_peak;
  if (plan.seconds < 0) plan.seconds = truth.seconds;
}

}  // namespace tidemark
