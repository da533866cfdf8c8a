// What a model is trained on: text files for models of text, pictures for models of images, or what is drawn from a
// counter. A batch depends on the seed and the step alone, so that a resumed run sees what an uninterrupted one would.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "tidemark/nn/model.h"
#include "tidemark/store/image_files.h"
#include "tidemark/store/text_data.h"

namespace tidemark::cli {

class DataSource {
 public:
  // `path` "": synthetic. Throws Error(usage) where the model takes no such data, Error(io) or Error(data) by the file.
  DataSource(const Model& model, const std::string& path);
  // How many classes or words the model should tell apart, and the name of that size ("classes", "vocab").
  std::pair<std::string, std::int64_t> wanted() const { return wanted_; }
  const std::string& description() const { return description_; }
  // Throws Error(usage) where the model tells fewer apart than the data has.
  void expect_fits(const Model& model) const;
  Tensors batch(const Model& model, std::uint64_t seed, std::int64_t step) const;

 private:
  std::optional<TextData> text_;
  std::optional<ImageSet> images_;
  std::string description_;
  std::pair<std::string, std::int64_t> wanted_;
};

}  // namespace tidemark::cli
