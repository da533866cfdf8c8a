// SPDX-License-Identifier: Apache-2.0
#include "tidemark/store/checksum.h"

#include <cstring>

#ifdef TIDEMARK_WITH_XXHASH
#define XXH_INLINE_ALL
#include <xxhash.h>
#endif

namespace tidemark {

#ifdef TIDEMARK_WITH_XXHASH
std::uint64_t checksum(const void* data, Bytes bytes) {
  return XXH3_64bits(data, static_cast<std::size_t>(bytes));
}
#else
std::uint64_t checksum(const void* data, Bytes bytes) {
  constexpr std::uint64_t kPrime = 0x100000001b3;
  // Four lanes of words, so that one multiplication does not wait for the last.
  std::uint64_t lanes[4] = {0xcbf29ce484222325, 0x84222325cbf29ce4, 0x9ae16a3b2f90404f, 0xc949d7c7509e6557};
  const auto* p = static_cast<const unsigned char*>(data);
  Bytes left = bytes;
  for (; left >= 32; left -= 32, p += 32) {
    for (int k = 0; k < 4; ++k) {
      std::uint64_t word = 0;
      std::memcpy(&word, p + 8 * k, 8);
      lanes[k] = (lanes[k] ^ word) * kPrime;
    }
  }
  std::uint64_t hash = static_cast<std::uint64_t>(bytes);
  for (const std::uint64_t lane : lanes) hash = (hash ^ lane ^ (lane >> 32)) * kPrime;
  for (; left > 0; --left, ++p) hash = (hash ^ *p) * kPrime;
  return hash ^ (hash >> 29);
}
#endif

}  // namespace tidemark
