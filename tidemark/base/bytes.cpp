// SPDX-License-Identifier: Apache-2.0
#include "tidemark/base/bytes.h"

#include <array>
#include <charconv>
#include <cmath>

#include "tidemark/base/error.h"

namespace tidemark {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};
constexpr std::array kUnits{
    Unit{"", 1},         Unit{"B", 1},      Unit{"KiB", 0x1p10}, Unit{"MiB", 0x1p20}, Unit{"GiB", 0x1p30},
    Unit{"TiB", 0x1p40}, Unit{"kB", 1e3},   Unit{"KB", 1e3},     Unit{"MB", 1e6},     Unit{"GB", 1e9},
    Unit{"TB", 1e12},    Unit{"K", 0x1p10}, Unit{"M", 0x1p20},   Unit{"G", 0x1p30},   Unit{"T", 0x1p40},
};

}  // namespace

std::string format_bytes(Bytes bytes) {
  const double magnitude = std::abs(static_cast<double>(bytes));
  if (magnitude < 0x1p10) return fmt::format("{} B", bytes);
  constexpr std::array names{"KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes) / 0x1p10;
  std::size_t unit = 0;
  while (std::abs(value) >= 1024 && unit + 1 < names.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.2f} {}", value, names[unit]);
}

std::string format_bytes(Bytes bytes, Bytes beside) {
  std::string text = format_bytes(bytes);
  if (bytes != beside && text == format_bytes(beside)) text += fmt::format(" ({} bytes)", bytes);
  return text;
}

std::optional<Bytes> bytes_of(std::string_view text) {
  double number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number) || number < 0) return std::nullopt;
  std::string_view unit(rest, static_cast<std::size_t>(text.data() + text.size() - rest));
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  for (const Unit& u : kUnits) {
    if (u.name != unit) continue;
    const double bytes = number * u.factor;
    if (bytes >= 0x1p62 || (u.factor == 1 && bytes != std::floor(bytes))) return std::nullopt;
    return static_cast<Bytes>(std::llround(bytes));
  }
  return std::nullopt;
}

Bytes parse_bytes(std::string_view text) {
  const std::optional<Bytes> bytes = bytes_of(text);
  if (!bytes)
    fail(Error::Kind::usage, "[bytes] '{}' is not a size; write for example 4096, 512MiB or 8GiB", text);
  return *bytes;
}

}  // namespace tidemark
