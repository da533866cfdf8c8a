// SPDX-License-Identifier: Apache-2.0
#include "tidemark/base/json.h"

#include <fmt/format.h>

#include <cmath>

#include "tidemark/base/error.h"

namespace tidemark {

void JsonWriter::separate() {
  if (need_comma_) out_ += pending_line_ ? "," : ", ";
  if (pending_line_) out_ += '\n';
  pending_line_ = false;
  need_comma_ = true;
}

JsonWriter& JsonWriter::begin_object() {
  separate();
  out_ += '{';
  need_comma_ = false;
  return *this;
}
JsonWriter& JsonWriter::end_object() {
  if (pending_line_) out_ += '\n';
  pending_line_ = false;
  out_ += '}';
  need_comma_ = true;
  return *this;
}
JsonWriter& JsonWriter::begin_array() {
  separate();
  out_ += '[';
  need_comma_ = false;
  return *this;
}
JsonWriter& JsonWriter::end_array() {
  if (pending_line_) out_ += '\n';
  pending_line_ = false;
  out_ += ']';
  need_comma_ = true;
  return *this;
}
JsonWriter& JsonWriter::key(std::string_view name) {
  value(name);
  out_ += ": ";
  need_comma_ = false;
  return *this;
}
JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  out_ += '"';
  for (const char c : text) {
    switch (c) {
      case '"': out_ += "\\\""; break;
      case '\\': out_ += "\\\\"; break;
      case '\n': out_ += "\\n"; break;
      case '\t': out_ += "\\t"; break;
      case '\r': out_ += "\\r"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out_ += fmt::format("\\u{:04x}", static_cast<int>(c));
        } else {
          out_ += c;
        }
    }
  }
  out_ += '"';
  return *this;
}
JsonWriter& JsonWriter::value(double number) {
  TIDEMARK_CHECK(std::isfinite(number), "JSON has no {}", number);
  separate();
  fmt::format_to(std::back_inserter(out_), "{}", number);
  return *this;
}
JsonWriter& JsonWriter::value(std::int64_t number) {
  separate();
  fmt::format_to(std::back_inserter(out_), "{}", number);
  return *this;
}
JsonWriter& JsonWriter::value(bool yes) {
  separate();
  out_ += yes ? "true" : "false";
  return *this;
}
JsonWriter& JsonWriter::new_line() {
  pending_line_ = true;
  return *this;
}

}  // namespace tidemark
