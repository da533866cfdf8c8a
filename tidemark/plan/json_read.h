// Reading the two file formats with simdjson: typed fields, no unknown nor duplicate ones, and errors that
// name the place ("tasks[5].reads[2]"). Internal to problem_json.cpp, plan_json.cpp and the checkers of
// proofs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tidemark/base/bytes.h"
#include "tidemark/base/error.h"

namespace tidemark::plan::json {

using Element = simdjson::dom::element;

// Where in the document: "tasks", 5, "reads". Formatted only when something is wrong.
struct Place {
  const char* document;  // "problem" or "plan"
  std::string_view list = {};
  std::int64_t index = -1;
  std::string_view field = {};

  Place of(std::string_view name) const { return {document, list, index, name}; }
  std::string text() const;
};

[[noreturn]] void refuse(const Place& place, std::string_view what);

// Owns the parsed text. Throws Error(data) with line and column if it is not JSON, or nested deeper than any
// of our files.
class Document {
 public:
  Document(const char* name, std::string_view text);
  Element root() const { return root_; }

 private:
  simdjson::dom::parser parser_;
  Element root_;
};

// Calls take(field index, value) for each known field; refuses unknown names (but x_...) and duplicates;
// returns a bit for each field seen.
std::uint64_t fields_seen(const Place& place, std::uint64_t seen, std::size_t field, std::string_view name);
template <std::size_t N, typename Take>
std::uint64_t read_object(Element element, const Place& place, const std::string_view (&names)[N],
                          Take&& take) {
  static_assert(N <= 64);
  simdjson::dom::object object;
  if (element.get(object) != simdjson::SUCCESS) refuse(place, "is not an object");
  std::uint64_t seen = 0;
  for (const auto& [key, value] : object) {
    std::size_t field = 0;
    while (field < N && names[field] != key) ++field;
    if (field == N && key.substr(0, 2) == "x_") continue;
    seen = fields_seen(place, seen, field < N ? field : 64, key);
    take(field, value);
  }
  return seen;
}
inline bool has(std::uint64_t seen, std::size_t field) { return (seen >> field & 1) != 0; }

std::string read_string(Element element, const Place& place);
bool read_bool(Element element, const Place& place);
double read_double(Element element, const Place& place);                       // finite
std::int64_t read_integer(Element element, const Place& place);                // 64e9 is one too
Bytes read_size(Element element, const Place& place);                          // not negative
std::int32_t read_id(Element element, const Place& place, std::size_t count);  // in [0, count)
simdjson::dom::array read_array(Element element, const Place& place);
std::vector<std::int32_t> read_ids(Element element, const Place& place, std::size_t count);
std::vector<std::pair<std::int32_t, std::int32_t>> read_pairs(Element element, const Place& place,
                                                              std::size_t count);

// The two fields that say what a file is, to be asked before what else it holds is read.
void expect_format(Element root, const char* document, std::string_view name);

}  // namespace tidemark::plan::json
