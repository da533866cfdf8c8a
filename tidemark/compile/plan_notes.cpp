// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/plan_notes.h"

#include <fmt/format.h>
#include <simdjson.h>

namespace tidemark {

std::string write_notes(const PlanNotes& notes) {
  std::string text;
  if (notes.fraction)
    text += fmt::format(",\n\"x_budget\": {{\"fraction\": {}, \"bytes\": {}}}", *notes.fraction, notes.bytes);
  if (!notes.seconds.empty()) text += fmt::format(",\n\"x_seconds\": [{}]", fmt::join(notes.seconds, ", "));
  return text;
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

}  // namespace tidemark
