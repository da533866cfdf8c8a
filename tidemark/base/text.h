// Small text helpers that several folders need.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tidemark/base/api.h"

namespace tidemark {

TIDEMARK_API std::vector<std::string> split(std::string_view text, char separator);
TIDEMARK_API std::string_view trim(std::string_view text);
// Shell-style: '*' any run, '?' any one character. "blocks.*" matches "blocks.3.attn".
TIDEMARK_API bool glob_match(std::string_view pattern, std::string_view text);

// "(3, 4)"-like lists for messages: join({3, 4}, ",") is "3,4".
template <typename Range>
std::string join(const Range& range, std::string_view separator) {
  std::string out;
  bool first = true;
  for (const auto& item : range) {
    if (!first) out += separator;
    first = false;
    if constexpr (requires { std::string(item); }) {
      out += std::string(item);
    } else {
      out += std::to_string(item);
    }
  }
  return out;
}

TIDEMARK_API std::string format_seconds(double seconds);  // "81.2 ms"

// Whole files; errors of kind io name the file and the reason.
TIDEMARK_API std::string read_file(const std::string& path);
// Written beside and renamed, so that a reader sees the old or the new file, never half of one.
TIDEMARK_API void write_file(const std::string& path, std::string_view contents);

}  // namespace tidemark
