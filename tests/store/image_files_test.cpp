// SPDX-License-Identifier: Apache-2.0
#include "tidemark/store/image_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tidemark/base/error.h"
#include "tidemark/base/text.h"

namespace tidemark {
namespace {

using testing::HasSubstr;

class ImageFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() /
        ("tidemark_images_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string file(const std::string& name, const std::string& contents) const {
    const auto path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    write_file(path.string(), contents);
    return path.string();
  }
  static std::string why_not(const std::string& path) {
    try {
      read_images(path, 4);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }
  std::string idx(const std::string& pixels) const {
    file("train-labels-idx1-ubyte", std::string("\0\0\x08\x01\0\0\0\x02\x03\x01", 10));
    return file("train-images-idx3-ubyte",
                std::string("\0\0\x08\x03\0\0\0\x02\0\0\0\x02\0\0\0\x02", 16) + pixels);
  }

  std::filesystem::path folder_;
};

TEST_F(ImageFiles, Idx) {
  const std::string path = idx("abcdefgh");
  for (const std::string& place : {path, folder_.string()}) {
    const ImageSet set = read_images(place, 4);
    EXPECT_EQ(set.count, 2);
    EXPECT_EQ(set.classes, 4);
    EXPECT_EQ(set.height, 2);
    EXPECT_THAT(set.labels, testing::ElementsAre(3, 1));
    EXPECT_EQ(set.pixels[7], 'h');
  }
  EXPECT_THAT(why_not(idx("abcdefg")), HasSubstr("truncated"));
  EXPECT_THAT(why_not(file("t-images-idx3-ubyte", "hello")),
              HasSubstr("t-labels-idx1-ubyte"));  // its labels are not there
}

TEST_F(ImageFiles, Cifar) {
  const std::string ten = std::string(1, '\x04') + std::string(3072, 'p'),
                    hundred = std::string("\x01\x63", 2) + std::string(3072, 'q');
  const ImageSet set = read_images(file("data_batch_1.bin", ten + ten + ten), 32);
  EXPECT_EQ(set.count, 3);
  EXPECT_EQ(set.classes, 5);
  file("test_batch.bin", ten);
  EXPECT_EQ(read_images(folder_.string(), 32).count, 3);
  EXPECT_EQ(read_images(file("one/train.bin", hundred), 32).classes, 100);
  EXPECT_THAT(why_not(file("short.bin", ten.substr(1))), HasSubstr("3073"));
}

TEST_F(ImageFiles, FoldersOfPnm) {
  file("cats/a.pgm", "P5\n# a comment\n2 1\n255\n" + std::string("\x00\xff", 2));
  file("cats/b.ppm", "P6 1 1 255\n" + std::string("\xff\x80\x00", 3));
  file("dogs/c.pgm", "P2 1 1 15\n15\n");
  const ImageSet set = read_images(folder_.string(), 2);
  EXPECT_EQ(set.count, 3);
  EXPECT_THAT(set.class_names, testing::ElementsAre("cats", "dogs"));
  EXPECT_THAT(set.labels, testing::ElementsAre(0, 0, 1));
  EXPECT_EQ(set.pixels[0], 0);
  EXPECT_EQ(set.pixels[1], 255);
  EXPECT_EQ(set.pixels[12], 255);    // red of b
  EXPECT_EQ(set.pixels[12 + 8], 0);  // its blue
  EXPECT_EQ(set.pixels[24], 255);    // 15 of 15
  file("dogs/d.pgm", "P5 9 9 255\nfew");
  EXPECT_THAT(why_not(folder_.string()), HasSubstr("truncated"));
}

TEST_F(ImageFiles, WhatIsNoDataIsNamed) {
  EXPECT_THAT(why_not(folder_.string()), HasSubstr("no folders of pictures"));
  file("cats/a.tiff", "x");
  EXPECT_THAT(why_not(folder_.string()), HasSubstr("a.tiff"));
  EXPECT_THAT(why_not((folder_ / "missing").string()), HasSubstr("no such file"));
  EXPECT_THAT(why_not(file("words.txt", "x")), HasSubstr("neither"));
}

TEST_F(ImageFiles, BatchesAreScaledAndRepeatThemselves) {
  const ImageSet set = read_images(idx(std::string(4, '\xff') + std::string(4, '\0')), 4);
  const ImageBatch batch = image_batch(set, 16, 3, 5, 1, 2);
  ASSERT_EQ(batch.images.size(), 16u * 3 * 25);
  for (std::size_t b = 0; b < 16; ++b) EXPECT_EQ(batch.images[b * 75], batch.labels[b] == 3 ? 1 : -1);
  EXPECT_THAT(batch.labels, testing::Contains(3));
  EXPECT_THAT(batch.labels, testing::Contains(1));
  EXPECT_EQ(batch.images, image_batch(set, 16, 3, 5, 1, 2).images);
  EXPECT_NE(batch.labels, image_batch(set, 16, 3, 5, 1, 3).labels);
}

}  // namespace
}  // namespace tidemark
