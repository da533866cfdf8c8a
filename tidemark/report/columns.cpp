// SPDX-License-Identifier: Apache-2.0
#include "tidemark/report/columns.h"

#include <algorithm>
#include <bit>

namespace tidemark {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string pack_integers(const std::vector<std::int64_t>& values) {
  std::string out;
  std::uint64_t before = 0;
  for (const std::int64_t value : values) {
    const auto difference = static_cast<std::int64_t>(static_cast<std::uint64_t>(value) - before);
    before = static_cast<std::uint64_t>(value);
    std::uint64_t left =
        (static_cast<std::uint64_t>(difference) << 1) ^ static_cast<std::uint64_t>(difference >> 63);
    do {
      const std::uint64_t group = left & 31;
      left >>= 5;
      out += kDigits[group | (left != 0 ? 32 : 0)];
    } while (left != 0);
  }
  return out;
}

std::string pack_floats(const std::vector<double>& values) {
  std::string bytes;
  for (const double value : values) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    for (int i = 0; i < 4; ++i) bytes += static_cast<char>(bits >> (8 * i));
  }
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t k) {
      return i + k < bytes.size() ? static_cast<unsigned>(static_cast<unsigned char>(bytes[i + k])) : 0u;
    };
    const unsigned word = byte(0) << 16 | byte(1) << 8 | byte(2);
    for (std::size_t k = 0; k < 4; ++k)
      out += i + k <= bytes.size() ? kDigits[word >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

std::string pack_names(const std::vector<std::string_view>& names) {
  std::string out;
  std::string_view before;
  for (const std::string_view name : names) {
    std::size_t shared = 0;
    while (shared < std::min({name.size(), before.size(), std::size_t{93}}) && name[shared] == before[shared])
      ++shared;
    // A letter must stay whole: never split inside a UTF-8 sequence.
    while (shared > 0 && shared < name.size() && (static_cast<unsigned char>(name[shared]) & 0xC0) == 0x80)
      --shared;
    out += static_cast<char>(33 + shared);  // '!' to '~'
    // A line break in a name would end it; shown as a blank.
    for (const char c : name.substr(shared)) out += c == '\n' ? ' ' : c;
    out += '\n';
    before = name;
  }
  return out;
}

}  // namespace tidemark
