// SPDX-License-Identifier: Apache-2.0
#include "tidemark/store/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tidemark/base/error.h"
#include "tidemark/base/text.h"

namespace tidemark {
namespace {

class Safetensors : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("tidemark_safetensors_" +
               std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const char* name = "a.safetensors") const { return (folder_ / name).string(); }
  void write() const {
    write_safetensors(path(),
                      {{.name = "w", .dtype = "F32", .shape = {2, 3}, .data = floats_, .bytes = 24},
                       {.name = "none", .dtype = "I64", .shape = {0, 4}, .data = nullptr, .bytes = 0},
                       {.name = "n\"ame", .dtype = "U8", .shape = {}, .data = "x", .bytes = 1}},
                      {{"step", "7"}, {"model", "mlp"}});
  }
  std::string why_not(const std::string& contents) const {
    write_file(path(), contents);
    try {
      SafetensorsFile file(path());
    } catch (const Error& e) {
      EXPECT_EQ(e.kind(), Error::Kind::data);
      return e.what();
    }
    return "";
  }
  static std::string with_header(const std::string& header, std::size_t data) {
    std::string text(8, '\0');
    text[0] = static_cast<char>(header.size());
    return text + header + std::string(data, 'd');
  }

  std::filesystem::path folder_;
  float floats_[6] = {1, 2, 3, 4, 5, -0.0f};
};

TEST_F(Safetensors, WhatIsWrittenIsRead) {
  write();
  const SafetensorsFile file(path());
  EXPECT_EQ(file.metadata(), (SafeMetadata{{"step", "7"}, {"model", "mlp"}}));
  ASSERT_EQ(file.tensors().size(), 3u);
  const SafeTensor* w = file.find("w");
  ASSERT_NE(w, nullptr);
  EXPECT_EQ(w->shape, (std::vector<std::int64_t>{2, 3}));
  float back[6];
  file.read(*w, back);
  EXPECT_THAT(back, testing::ElementsAreArray(floats_));
  EXPECT_NE(file.find("n\"ame"), nullptr);
  EXPECT_EQ(file.find("none")->bytes, 0);
  EXPECT_EQ(file.find("other"), nullptr);
  EXPECT_FALSE(std::filesystem::exists(path() + ".partial"));
}

TEST_F(Safetensors, TheDataBeginsAtAMultipleOfEight) {
  write();
  EXPECT_EQ(SafetensorsFile(path()).find("w")->offset % 8, 0);
}

TEST_F(Safetensors, EveryTruncationIsNoticed) {
  write();
  const std::string whole = read_file(path());
  for (std::size_t n = 0; n < whole.size(); ++n) EXPECT_NE(why_not(whole.substr(0, n)), "") << n;
  EXPECT_NE(why_not(whole + "more"), "");
  EXPECT_EQ(why_not(whole), "");
}

TEST_F(Safetensors, HeadersThatLieAreNamed) {
  using testing::HasSubstr;
  EXPECT_THAT(why_not(with_header("nonsense", 0)), HasSubstr("not a JSON object"));
  EXPECT_THAT(why_not(with_header(R"({"a":1})", 0)), HasSubstr("'a' is not an object"));
  EXPECT_THAT(why_not(with_header(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}})", 8)),
              HasSubstr("'a' has 4 bytes"));
  EXPECT_THAT(why_not(with_header(R"({"a":{"dtype":"F99","shape":[1],"data_offsets":[0,4]}})", 4)),
              HasSubstr("F99"));
  EXPECT_THAT(why_not(with_header(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4)),
              HasSubstr("shape"));
  EXPECT_THAT(
      why_not(with_header(
          R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
          6)),
      HasSubstr("overlap"));
  EXPECT_THAT(why_not(with_header(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})", 6)),
              HasSubstr("4 bytes vs 6"));
}

TEST_F(Safetensors, AnOldFileOutlivesAWriteThatFails) {
  write();
  const std::string before = read_file(path());
  std::filesystem::create_directory(path() + ".partial");  // the new file cannot be opened
  EXPECT_THROW(write(), Error);
  EXPECT_EQ(read_file(path()), before);
  EXPECT_THROW(SafetensorsFile(path("missing")), Error);
}

}  // namespace
}  // namespace tidemark
