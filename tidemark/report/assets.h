// The page's own files (page.html, style.css, script.js beside this header), put into the library by CMake.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace tidemark::assets {

extern const std::string_view kPage, kStyle, kScript;

}  // namespace tidemark::assets
