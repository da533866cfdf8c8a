// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "tidemark/base/error.h"
#include "tidemark/base/text.h"
#include "tidemark/store/image_data.h"
#include "tidemark/store/text_data.h"

namespace tidemark {
namespace {

TEST(TextData, FolderIsReadInOrderOfNames) {
  const auto folder = std::filesystem::temp_directory_path() / "tidemark_text_data_test";
  std::filesystem::create_directories(folder);
  write_file((folder / "b").string(), "second");
  write_file((folder / "a").string(), "first ");
  EXPECT_EQ(text_of_folder(folder.string()).text, "first second");
  std::filesystem::remove_all(folder);
  EXPECT_EQ(text_of_folder(folder.string()).text, "");
}

TEST(TextData, SyntheticTextRepeatsItselfForASeed) {
  EXPECT_EQ(synthetic_text(1000, 3).text, synthetic_text(1000, 3).text);
  EXPECT_NE(synthetic_text(1000, 3).text, synthetic_text(1000, 4).text);
  EXPECT_EQ(synthetic_text(1234).text.size(), 1234u);
  EXPECT_GE(find_text().text.size(), 50'000u);
}

TEST(TextData, LabelsAreTheNextTokens) {
  const TextData data{.text = "abcdefghij"};
  const TokenBatch batch = token_batch(data, 50, 4, 1, 2);
  ASSERT_EQ(batch.tokens.size(), 200u);
  std::set<std::int64_t> starts;
  for (std::size_t i = 0; i < 200; ++i) {
    EXPECT_EQ(batch.labels[i], batch.tokens[i] + 1);
    if (i % 4 == 0) starts.insert(batch.tokens[i]);
  }
  EXPECT_EQ(starts.size(), 6u);  // every place a window fits
  EXPECT_EQ(token_batch(data, 50, 4, 1, 2).tokens, batch.tokens);
  EXPECT_NE(token_batch(data, 50, 4, 1, 3).tokens, batch.tokens);
  EXPECT_THROW(token_batch(data, 1, 10, 0, 0), Error);
}

TEST(ImageData, PicturesRepeatAndDoNotDependOnTheBatch) {
  const ImageBatch all = shape_images(40, 16, 5, 7), some = shape_images(10, 16, 5, 7);
  ASSERT_EQ(all.images.size(), 40u * 3 * 16 * 16);
  EXPECT_TRUE(std::equal(some.images.begin(), some.images.end(), all.images.begin()));
  EXPECT_EQ(std::set<std::int64_t>(all.labels.begin(), all.labels.end()).size(), 8u);
  for (const float v : all.images) EXPECT_TRUE(v > -1 && v < 1.5);
  EXPECT_NE(shape_images(1, 16, 5, 8).images, shape_images(1, 16, 5, 7).images);
}

TEST(ImageData, ShapesStandOutFromTheGround) {
  const ImageBatch batch = shape_images(20, 24, 1, 0);
  for (std::size_t b = 0; b < 20; ++b) {
    const auto* first = batch.images.data() + b * 3 * 24 * 24;
    const auto bright = std::count_if(first, first + 24 * 24, [](float v) { return v > -0.1f; });
    EXPECT_GT(bright, 20) << batch.labels[b];
    EXPECT_LT(bright, 24 * 24 / 2) << batch.labels[b];
  }
}

}  // namespace
}  // namespace tidemark
