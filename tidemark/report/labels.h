// What people know buffers by beside their names: the type, and the user's line that asked for the value.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tidemark/compile/pose.h"

namespace tidemark {

// By buffer; both empty for a problem that comes from a file.
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

}  // namespace tidemark
