// SPDX-License-Identifier: Apache-2.0
#include "tidemark/cli/data_source.h"

#include <cmath>
#include <filesystem>

#include "tidemark/base/error.h"
#include "tidemark/base/random.h"
#include "tidemark/base/text.h"

namespace tidemark::cli {
namespace {

constexpr std::int64_t kMask = kByteVocabulary;  // BERT's masked word, behind the bytes
constexpr std::int64_t kNothingAsked = -100;
constexpr std::int64_t kSyntheticText = 200'000;

bool is_text(const Model& model) { return model.batch[0].name == "tokens"; }
bool is_masked(const Model& model) { return model.batch.size() > 2 && model.batch[2].name == "segments"; }
bool is_segmentation(const Model& model) { return model.batch[1].type.shape.rank() == 3; }

// Channels and side of the pictures: (b, c, s, s), or rows of s * s grey pixels.
std::pair<std::int64_t, std::int64_t> picture_shape(const Model& model) {
  const Shape& shape = model.batch[0].type.shape;
  if (shape.rank() == 4) return {shape[1], shape[2]};
  const auto side = static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(shape[1]))));
  if (side * side != shape[1])
    fail(Error::Kind::usage, "[train] {} takes {} numbers, which is no square picture", model.name, shape[1]);
  return {1, side};
}

TextData read_text(const std::string& path) {
  std::error_code error;
  TextData data =
      std::filesystem::is_directory(path, error) ? text_of_folder(path) : TextData{read_file(path), path};
  if (data.text.empty()) fail(Error::Kind::data, "[train] {}: no text there", path);
  return data;
}

// Words are hidden for the model to find; the second half of every other window is from elsewhere.
Tensors masked_batch(const TextData& text, const Shape& shape, std::uint64_t seed, std::uint64_t step) {
  const std::int64_t b = shape[0], t = shape[1];
  TokenBatch here = token_batch(text, b, t, seed, step);
  const TokenBatch there = token_batch(text, b, t, seed ^ 0x5bd1e995, step);
  std::vector<std::int64_t> labels(here.tokens.size(), kNothingAsked), segments(here.tokens.size(), 0),
      follows;
  for (std::int64_t i = 0; i < b; ++i) {
    follows.push_back(i % 2);
    for (std::int64_t j = 0; j < t; ++j) {
      const auto at = static_cast<std::size_t>(i * t + j);
      if (2 * j >= t) {
        segments[at] = 1;
        if (i % 2 == 0) here.tokens[at] = there.tokens[at];
      }
      if (uniform_float(Philox::block(seed + 1, at, step)[0]) < 0.15f) {
        labels[at] = here.tokens[at];
        here.tokens[at] = kMask;
      }
    }
  }
  // Something must be asked for, else the loss has no terms.
  if (labels[0] == kNothingAsked) labels[0] = std::exchange(here.tokens[0], kMask);
  return {tensor(here.tokens, shape), tensor(labels, shape), tensor(segments, shape), tensor(follows, {b})};
}

}  // namespace

DataSource::DataSource(const Model& model, const std::string& path) {
  if (is_text(model)) {
    text_ = path.empty() ? synthetic_text(kSyntheticText) : read_text(path);
    wanted_ = {"vocab", kByteVocabulary + (is_masked(model) ? 1 : 0)};
    description_ =
        fmt::format("{} bytes of text, {}", text_->text.size(), path.empty() ? "synthetic" : "from " + path);
    return;
  }
  if (path.empty()) {
    wanted_ = {"classes", is_segmentation(model) ? 2 : kShapeClasses};
    description_ = "drawn shapes";
    return;
  }
  if (is_segmentation(model))
    fail(Error::Kind::usage,
         "[train] {} labels every pixel, and no file form with such labels is read; leave --data out for "
         "drawn shapes",
         model.name);
  images_ = read_images(path, picture_shape(model).second);
  wanted_ = {"classes", images_->classes};
  description_ =
      fmt::format("{} pictures of {} classes, {}", images_->count, images_->classes, images_->source);
}

void DataSource::expect_fits(const Model& model) const {
  const std::int64_t has = model.batch[is_text(model) ? 0 : 1].below;
  if (has < wanted_.second)
    fail(Error::Kind::usage, "[train] {} tells {} apart vs {} in the data; --set {}={}", model.name, has,
         wanted_.second, wanted_.first, wanted_.second);
}

Tensors DataSource::batch(const Model& model, std::uint64_t seed, std::int64_t step) const {
  const Shape& shape = model.batch[0].type.shape;
  const auto s = static_cast<std::uint64_t>(step);
  if (text_) {
    if (is_masked(model)) return masked_batch(*text_, shape, seed, s);
    const TokenBatch b = token_batch(*text_, shape[0], shape[1], seed, s);
    return {tensor(b.tokens, shape), tensor(b.labels, shape)};
  }
  const auto [channels, side] = picture_shape(model);
  if (images_) {
    const ImageBatch b = image_batch(*images_, shape[0], channels, side, seed, s);
    return {tensor(b.images, shape), tensor(b.labels, {shape[0]})};
  }
  const ShapeOptions wanted{
      .channels = channels, .pixel_labels = is_segmentation(model), .classes = model.batch[1].below};
  const ImageBatch b = shape_images(shape[0], side, seed, s, wanted);
  return {tensor(b.images, shape), tensor(b.labels, model.batch[1].type.shape)};
}

}  // namespace tidemark::cli
