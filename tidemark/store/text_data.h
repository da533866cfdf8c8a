// Text to train on, as bytes: what any Debian machine has, or a made-up language where it has none.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tidemark/base/api.h"

namespace tidemark {

struct TextData {
  std::string text;
  std::string source;  // for people: where it is from
};

// All plain files of a folder, in the order of their names; empty where there is none.
TIDEMARK_API TextData text_of_folder(const std::string& folder);
// Sentences of a small grammar with fixed words: a source with structure to learn and no file behind it.
TIDEMARK_API TextData synthetic_text(std::int64_t bytes, std::uint64_t seed = 0);
// The licence texts of the system where they are, else synthetic_text.
TIDEMARK_API TextData find_text();

inline constexpr std::int64_t kByteVocabulary = 256;

// `batch` windows of `length` tokens at places drawn for (seed, step), and the token behind each: rows of (batch,
// length).
struct TokenBatch {
  std::vector<std::int64_t> tokens, labels;
};
TIDEMARK_API TokenBatch token_batch(const TextData& data, std::int64_t batch, std::int64_t length,
                                    std::uint64_t seed, std::uint64_t step);

}  // namespace tidemark
