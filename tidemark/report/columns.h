// Columns of numbers and names for the page's script, small: integers as differences in base-64 digits, numbers as 32-bit
// floats, names without the beginning they share with the one before. A hundred thousand buffers fit in a few megabytes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark {

// Each value's difference to the one before, zigzag (the sign in the lowest bit), in groups of 5 bits from the lowest, one
// character a group, the sixth bit saying that more follow. '!' and a number: the difference before comes so many times more.
std::string pack_integers(const std::vector<std::int64_t>& values);
// Little-endian floats in base 64 (RFC 4648). Where few are different: those, ';', and which of them each is, as integers.
std::string pack_floats(const std::vector<double>& values);
// Pairs of "how many characters are shared" and the rest, each ended by a line break.
std::string pack_names(const std::vector<std::string_view>& names);

}  // namespace tidemark
