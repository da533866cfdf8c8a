// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/json_read.h"

#include <cmath>

#include "tidemark/plan/json_syntax.h"

namespace tidemark::plan::json {
namespace {

// Of our files only proofs nest, two levels for each decision above what is proven.
constexpr std::size_t kMostDepth = 1024;

}  // namespace

std::string Place::text() const {
  std::string out(list);
  if (index >= 0) out += fmt::format("[{}]", index);
  if (!field.empty()) out += (out.empty() ? "" : ".") + std::string(field);
  return out.empty() ? std::string("the document") : out;
}

void refuse(const Place& place, std::string_view what) {
  fail(Error::Kind::data, "[{}] {}: {}", place.document, place.text(), what);
}

Document::Document(const char* name, std::string_view text) {
  simdjson::error_code error = parser_.allocate(text.size(), kMostDepth);
  if (error == simdjson::SUCCESS) error = parser_.parse(text.data(), text.size(), true).get(root_);
  if (error == simdjson::DEPTH_ERROR)
    fail(Error::Kind::data, "[{}] nested deeper than {} levels", name, kMostDepth);
  // JSON has numbers of any size.
  if (error == simdjson::NUMBER_ERROR && json_error(text).empty())
    fail(Error::Kind::data, "[{}] a number is out of range: beyond 1.8e308, or no integer of 64 bits", name);
  if (error != simdjson::SUCCESS) {
    const std::string place = json_error(text);
    fail(Error::Kind::data, "[{}] not JSON: {}", name,
         place.empty() ? simdjson::error_message(error) : place);
  }
}

std::uint64_t fields_seen(const Place& place, std::uint64_t seen, std::size_t field, std::string_view name) {
  if (field == 64) refuse(place, fmt::format("unknown field '{}'; fields of your own begin with x_", name));
  if (has(seen, field)) refuse(place, fmt::format("field '{}' twice", name));
  return seen | std::uint64_t{1} << field;
}

std::string read_string(Element element, const Place& place) {
  std::string_view text;
  if (element.get(text) != simdjson::SUCCESS) refuse(place, "is not a string");
  return std::string(text);
}

bool read_bool(Element element, const Place& place) {
  bool yes = false;
  if (element.get(yes) != simdjson::SUCCESS) refuse(place, "is not true or false");
  return yes;
}

double read_double(Element element, const Place& place) {
  double number = 0;
  if (element.get(number) != simdjson::SUCCESS || !std::isfinite(number))
    refuse(place, "is not a finite number");
  return number;
}

std::int64_t read_integer(Element element, const Place& place) {
  std::int64_t whole = 0;
  if (element.get(whole) == simdjson::SUCCESS) return whole;
  double number = 0;
  if (!element.is_double() || element.get(number) != simdjson::SUCCESS || std::abs(number) > 0x1p53 ||
      number != std::floor(number)) {
    refuse(place, "is not an integer of 64 bits");
  }
  return static_cast<std::int64_t>(number);
}

Bytes read_size(Element element, const Place& place) {
  const std::int64_t bytes = read_integer(element, place);
  if (bytes < 0) refuse(place, fmt::format("{} is negative", bytes));
  return bytes;
}

std::int32_t read_id(Element element, const Place& place, std::size_t count) {
  const std::int64_t id = read_integer(element, place);
  if (id < 0 || static_cast<std::uint64_t>(id) >= count) {
    refuse(place, fmt::format("id {} is not a place in a list of {}", id, count));
  }
  return static_cast<std::int32_t>(id);
}

simdjson::dom::array read_array(Element element, const Place& place) {
  simdjson::dom::array array;
  if (element.get(array) != simdjson::SUCCESS) refuse(place, "is not a list");
  return array;
}

std::vector<std::int32_t> read_ids(Element element, const Place& place, std::size_t count) {
  const simdjson::dom::array array = read_array(element, place);
  std::vector<std::int32_t> ids;
  ids.reserve(array.size());
  for (const Element item : array) ids.push_back(read_id(item, place, count));
  return ids;
}

std::vector<std::pair<std::int32_t, std::int32_t>> read_pairs(Element element, const Place& place,
                                                              std::size_t count) {
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
  for (const Element item : read_array(element, place)) {
    const std::vector<std::int32_t> ids = read_ids(item, place, count);
    if (ids.size() != 2) refuse(place, "is not a list of pairs");
    pairs.emplace_back(ids[0], ids[1]);
  }
  return pairs;
}

void expect_format(Element root, const char* document, std::string_view name) {
  const Place place{document};
  if (!root.is_object()) refuse(place, "is not an object");
  std::string_view said;
  if (root["format"].get(said) != simdjson::SUCCESS)
    refuse(place.of("format"), fmt::format("is not \"{}\"", name));
  if (said != name) refuse(place.of("format"), fmt::format("is \"{}\", not \"{}\"", said, name));
  Element version;
  if (root["version"].get(version) != simdjson::SUCCESS || read_integer(version, place.of("version")) != 1)
    refuse(place.of("version"), "is not 1");
}

}  // namespace tidemark::plan::json
