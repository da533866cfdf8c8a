// The version of the library: part of every key under which something is cached.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tidemark {

inline constexpr const char* kVersion = "0.1.0";

}  // namespace tidemark
