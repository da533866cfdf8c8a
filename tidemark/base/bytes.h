// Sizes in bytes: the type, literals, and how people read and write them ("5.13 GiB").
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tidemark/base/api.h"

namespace tidemark {

using Bytes = std::int64_t;

inline namespace literals {
constexpr Bytes operator""_B(unsigned long long n) { return static_cast<Bytes>(n); }
constexpr Bytes operator""_KiB(unsigned long long n) { return static_cast<Bytes>(n) << 10; }
constexpr Bytes operator""_MiB(unsigned long long n) { return static_cast<Bytes>(n) << 20; }
constexpr Bytes operator""_GiB(unsigned long long n) { return static_cast<Bytes>(n) << 30; }
}  // namespace literals

// `align` is a positive number, not necessarily a power of two.
constexpr Bytes round_up(Bytes bytes, Bytes align) { return (bytes + align - 1) / align * align; }

// "512 B", "1.50 KiB", "5.13 GiB".
TIDEMARK_API std::string format_bytes(Bytes bytes);
// For a text that has both: "1.00 MiB (1051008 bytes)" where it would otherwise read as `beside` does and is not.
TIDEMARK_API std::string format_bytes(Bytes bytes, Bytes beside);

// "4096", "8GiB", "1.5 MiB", "2GB" (decimal). Throws Error(usage) naming the text otherwise.
TIDEMARK_API Bytes parse_bytes(std::string_view text);
TIDEMARK_API std::optional<Bytes> bytes_of(std::string_view text);  // the same, empty where it is none

}  // namespace tidemark
