// What people know buffers by beside their names: the type, and the user's line that asked for the value.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tidemark/compile/pose.h"

namespace tidemark {

// By buffer; empty where they are not known.
struct Labels {
  std::vector<std::string> type, line;  // "f32(8,16)", "gpt.cpp:88"
  const std::string& type_of(plan::BufferId b) const { return at(type, b); }
  const std::string& line_of(plan::BufferId b) const { return at(line, b); }

 private:
  static const std::string& at(const std::vector<std::string>& list, plan::BufferId b) {
    static const std::string none;
    return b >= 0 && static_cast<std::size_t>(b) < list.size() ? list[static_cast<std::size_t>(b)] : none;
  }
};
TIDEMARK_API Labels labels_of(const Posed& posed);

// In a problem file labels stand as x_types and x_lines, a text for each buffer, which planners do not look at.
TIDEMARK_API std::string with_labels(const std::string& problem_json, const Labels& labels);
// Empty where the file has none, or not one for each buffer.
TIDEMARK_API Labels read_labels(std::string_view problem_json, std::size_t buffers);

}  // namespace tidemark
