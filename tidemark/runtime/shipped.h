// The profiles of profiles/*.json as strings of the library: no file has to be found at run time. Made by CMake.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>
#include <utility>

namespace tidemark::shipped {

extern const std::array<std::pair<std::string_view, std::string_view>, 2> kProfiles;

}  // namespace tidemark::shipped
