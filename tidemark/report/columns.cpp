// SPDX-License-Identifier: Apache-2.0
#include "tidemark/report/columns.h"

#include <algorithm>
#include <bit>
#include <map>

namespace tidemark {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void add_number(std::string& out, std::uint64_t number) {
  do {
    const std::uint64_t group = number & 31;
    number >>= 5;
    out += kDigits[group | (number != 0 ? 32 : 0)];
  } while (number != 0);
}

std::string base64(const std::vector<float>& values) {
  std::string bytes;
  for (const float value : values) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
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

}  // namespace

std::string pack_integers(const std::vector<std::int64_t>& values) {
  std::string out, one, repeat;
  const auto difference = [&](std::size_t i) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(values[i]) -
                                     static_cast<std::uint64_t>(i > 0 ? values[i - 1] : 0));
  };
  for (std::size_t i = 0, next = 0; i < values.size(); i = next) {
    const std::int64_t d = difference(i);
    next = i + 1;
    while (next < values.size() && difference(next) == d) ++next;
    one.clear();
    add_number(one, (static_cast<std::uint64_t>(d) << 1) ^ static_cast<std::uint64_t>(d >> 63));
    repeat = "!";
    add_number(repeat, next - i - 1);
    out += one;
    if (repeat.size() < one.size() * (next - i - 1)) {
      out += repeat;
    } else {
      for (std::size_t k = i + 1; k < next; ++k) out += one;
    }
  }
  return out;
}

std::string pack_floats(const std::vector<double>& values) {
  std::vector<float> all, table;
  std::vector<std::int64_t> which;
  std::map<std::uint32_t, std::int64_t> places;  // by bits: -0 and 0 differ, and so may numbers that are none
  for (const double value : values) {
    all.push_back(static_cast<float>(value));
    const auto [at, fresh] =
        places.emplace(std::bit_cast<std::uint32_t>(all.back()), static_cast<std::int64_t>(table.size()));
    if (fresh) table.push_back(all.back());
    which.push_back(at->second);
  }
  std::string plain = base64(all), few = base64(table) + ";" + pack_integers(which);
  return few.size() < plain.size() ? few : plain;
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
