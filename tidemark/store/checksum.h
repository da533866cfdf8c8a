// A checksum of bytes that leave memory: XXH3 where xxHash was found at build time, else FNV-1a over words. For copies of one
// process only, so that the two never meet.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "tidemark/base/api.h"
#include "tidemark/base/bytes.h"

namespace tidemark {

TIDEMARK_API std::uint64_t checksum(const void* data, Bytes bytes);

}  // namespace tidemark
