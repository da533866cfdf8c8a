// SPDX-License-Identifier: Apache-2.0
#include "tidemark/store/text_data.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "tidemark/base/error.h"
#include "tidemark/base/random.h"
#include "tidemark/base/text.h"

namespace tidemark {

TextData text_of_folder(const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<std::string> paths;
  std::error_code ignored;  // a folder that cannot be read has no files
  for (auto it = fs::directory_iterator(folder, ignored); !ignored && it != fs::directory_iterator();
       it.increment(ignored)) {
    // Links point to other files of the folder; they would repeat them.
    if (it->is_regular_file(ignored) && !it->is_symlink(ignored)) paths.push_back(it->path().string());
  }
  std::sort(paths.begin(), paths.end());
  TextData data{.source = folder};
  for (const std::string& path : paths) data.text += read_file(path);
  return data;
}

TextData synthetic_text(std::int64_t bytes, std::uint64_t seed) {
  constexpr std::array subjects{"the river",  "a sailor",    "the tide",
                                "an old map", "the harbour", "every wave"};
  constexpr std::array verbs{"carries", "remembers", "follows", "leaves", "draws", "returns to"};
  constexpr std::array objects{"the shore",    "a line of salt", "the moon",
                               "its own mark", "the morning",    "what it found"};
  Rng rng(seed);
  const auto pick = [&](const auto& words) {
    return std::string(words[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(words.size())))]);
  };
  TextData data{.source = "synthetic"};
  while (static_cast<std::int64_t>(data.text.size()) < bytes)
    data.text += pick(subjects) + " " + pick(verbs) + " " + pick(objects) + ".\n";
  data.text.resize(static_cast<std::size_t>(bytes));
  return data;
}

TextData find_text() {
  constexpr std::size_t kEnough = 50'000;
  TextData found = text_of_folder("/usr/share/common-licenses");
  return found.text.size() >= kEnough ? found : synthetic_text(200'000);
}

TokenBatch token_batch(const TextData& data, std::int64_t batch, std::int64_t length, std::uint64_t seed,
                       std::uint64_t step) {
  const auto size = static_cast<std::int64_t>(data.text.size());
  if (size < length + 1)
    fail(Error::Kind::data, "[token_batch] windows of {} tokens vs a text of {} bytes", length, size);
  TokenBatch result;
  const auto token = [&](std::int64_t i) {
    return static_cast<std::int64_t>(static_cast<unsigned char>(data.text[static_cast<std::size_t>(i)]));
  };
  for (std::int64_t b = 0; b < batch; ++b) {
    const Philox::Block r = Philox::block(seed, static_cast<std::uint64_t>(b), step);
    const std::uint64_t bits = (static_cast<std::uint64_t>(r[0]) << 32) | r[1];
    const auto begin = static_cast<std::int64_t>(
        (static_cast<unsigned __int128>(bits) * static_cast<std::uint64_t>(size - length)) >> 64);
    for (std::int64_t i = begin; i < begin + length; ++i) {
      result.tokens.push_back(token(i));
      result.labels.push_back(token(i + 1));
    }
  }
  return result;
}

}  // namespace tidemark
