// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/pack_csv.h"

#include <array>
#include <charconv>
#include <unordered_map>

#include "tidemark/base/error.h"
#include "tidemark/base/text.h"

namespace tidemark::plan {
namespace {

constexpr std::array<std::string_view, 4> kColumns{"id", "lower", "upper", "size"};

// The fields of one line, without copying; no quoting: ids hold no commas.
void split_into(std::string_view line, std::vector<std::string_view>& fields) {
  fields.clear();
  for (;;) {
    const std::size_t comma = line.find(',');
    fields.push_back(trim(line.substr(0, comma)));
    if (comma == std::string_view::npos) return;
    line.remove_prefix(comma + 1);
  }
}

}  // namespace

PackInstance read_pack_csv(std::string_view text) {
  PackInstance out;
  std::vector<std::string_view> fields;
  std::array<std::size_t, 4> column{};
  std::size_t columns = 0, line_number = 0;
  std::unordered_map<std::string_view, std::size_t> line_of;  // by id
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++line_number;
    if (line.empty()) continue;
    split_into(line, fields);
    if (columns == 0) {
      columns = fields.size();
      for (std::size_t c = 0; c < kColumns.size(); ++c) {
        column[c] = columns;
        for (std::size_t f = 0; f < columns; ++f) {
          if (fields[f] != kColumns[c]) continue;
          if (column[c] != columns)
            fail(Error::Kind::data, "[pack csv] line {}: column '{}' twice; name it once", line_number,
                 kColumns[c]);
          column[c] = f;
        }
        if (column[c] == columns)
          fail(Error::Kind::data,
               "[pack csv] line {}: no column '{}'; the first line must name id,lower,upper,size",
               line_number, kColumns[c]);
      }
      continue;
    }
    if (fields.size() != columns)
      fail(Error::Kind::data, "[pack csv] line {}: {} fields vs {} columns", line_number, fields.size(),
           columns);
    const auto number = [&](std::size_t c) {
      const std::string_view field = fields[column[c]];
      std::int64_t value = 0;
      const auto [rest, error] = std::from_chars(field.data(), field.data() + field.size(), value);
      if (error != std::errc() || rest != field.data() + field.size())
        fail(Error::Kind::data, "[pack csv] line {}: {} '{}' is not a whole number of 64 bits", line_number,
             kColumns[c], field);
      return value;
    };
    const Interval interval{.begin = number(1), .end = number(2), .bytes = number(3)};
    if (interval.bytes < 0)
      fail(Error::Kind::data, "[pack csv] line {}: size {} is negative", line_number, interval.bytes);
    if (interval.end < interval.begin)
      fail(Error::Kind::data, "[pack csv] line {}: upper {} before lower {}", line_number, interval.end,
           interval.begin);
    const auto [first, fresh] = line_of.emplace(fields[column[0]], line_number);
    if (!fresh)
      fail(Error::Kind::data, "[pack csv] line {}: id '{}' is that of line {}; give each buffer its own",
           line_number, fields[column[0]], first->second);
    out.ids.emplace_back(fields[column[0]]);
    out.intervals.push_back(interval);
  }
  if (columns == 0)
    fail(Error::Kind::data, "[pack csv] empty file; the first line must name id,lower,upper,size");
  return out;
}

std::string write_pack_csv(const PackInstance& instance, const Packing& packing) {
  std::string out = "id,lower,upper,size,offset\n";
  for (std::size_t i = 0; i < instance.intervals.size(); ++i) {
    const Interval& a = instance.intervals[i];
    out += fmt::format("{},{},{},{},{}\n", instance.ids[i], a.begin, a.end, a.bytes, packing.offsets[i]);
  }
  return out;
}

}  // namespace tidemark::plan
