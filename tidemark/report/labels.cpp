// SPDX-License-Identifier: Apache-2.0
#include "tidemark/report/labels.h"

#include <simdjson.h>

#include "tidemark/base/json.h"

namespace tidemark {

Labels labels_of(const Posed& posed) {
  Labels labels;
  const Graph& graph = posed.binding.graph;
  const std::vector<std::int32_t> maker = makers(graph);
  for (const ValueId v : posed.binding.value_of_buffer) {
    // Buffers without a value (an optional maker's own) have no label.
    labels.type.push_back(v < 0 ? "" : to_string(graph.type(v)));
    const std::int32_t node = v < 0 ? -1 : maker[static_cast<std::size_t>(v)];
    std::string line = node < 0 ? "" : to_string(graph.nodes[static_cast<std::size_t>(node)].loc);
    // What the transform itself wrote has no line of the user's.
    if (line.starts_with("level.cpp:")) line.clear();
    labels.line.push_back(std::move(line));
  }
  return labels;
}

std::string with_labels(const std::string& problem_json, const Labels& labels) {
  JsonWriter w;
  w.begin_object();
  for (const auto& [name, list] : {std::pair{"x_types", &labels.type}, {"x_lines", &labels.line}}) {
    w.new_line().key(name).begin_array();
    for (const std::string& text : *list) w.value(std::string_view(text));
    w.end_array();
  }
  const std::string fields = w.end_object().take();
  // Between the last field of the problem and its closing brace.
  const std::size_t end = problem_json.rfind('}');
  return problem_json.substr(0, end) + "," + fields.substr(1) + "\n";
}

Labels read_labels(std::string_view problem_json, std::size_t buffers) {
  Labels labels;
  simdjson::dom::parser parser;
  simdjson::dom::object top;
  if (parser.parse(problem_json.data(), problem_json.size()).get(top) != simdjson::SUCCESS) return {};
  for (const auto& [name, list] : {std::pair{"x_types", &labels.type}, {"x_lines", &labels.line}}) {
    simdjson::dom::array items;
    if (top[name].get(items) != simdjson::SUCCESS) continue;
    for (const simdjson::dom::element item : items) {
      std::string_view text;
      if (item.get(text) != simdjson::SUCCESS) text = {};
      list->emplace_back(text);
    }
    if (list->size() != buffers) list->clear();
  }
  return labels;
}

}  // namespace tidemark
