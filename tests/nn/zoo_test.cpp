// SPDX-License-Identifier: Apache-2.0
#include "tidemark/nn/zoo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tidemark {
namespace {

using testing::HasSubstr;

TEST(Zoo, ParameterCountsAreThePublishedOnes) {
  const std::map<std::string, std::int64_t> counts{
      {"vgg16", 138'357'544},       {"vgg19", 143'667'240},      {"resnet18", 11'689'512},
      {"resnet50", 25'557'032},     {"resnet152", 60'192'808},   {"mobilenet-v2", 3'504'872},
      {"densenet121", 7'978'856},   {"vit-b-16", 86'567'656},    {"bert-base", 109'482'240},
      {"gpt2-124m", 124'439'808},   {"gpt2-355m", 354'823'168},  {"gpt2-774m", 774'030'080},
      {"gpt2-1.5b", 1'557'611'200}, {"llama-1b", 1'235'814'400}, {"mlp", 1'863'690},
      {"unet", 31'037'698},         {"segnet", 29'441'996},      {"lstm", 19'775'200},
  };
  EXPECT_EQ(model_names().size(), counts.size());
  for (const std::string& name : model_names()) {
    ASSERT_TRUE(counts.contains(name)) << name;
    EXPECT_EQ(make_model(name).parameter_count(), counts.at(name)) << name;
  }
}

TEST(Zoo, NamesOfParametersFollowTheStructs) {
  const Model gpt = make_model("gpt2-124m");
  EXPECT_EQ(gpt.parameter_names.front(), "words");
  EXPECT_THAT(gpt.parameter_names, testing::Contains("blocks.3.attn.qkv.w"));
  EXPECT_THAT(make_model("resnet50").state_names, testing::Contains("stages.3.2.layers.2.variance"));
}

TEST(Zoo, OverridesChangeSizesAndUnknownOnesAreNamed) {
  EXPECT_LT(make_model("resnet18", {.sizes = {{"width", 8}, {"classes", 10}}}).parameter_count(), 200'000);
  EXPECT_EQ(make_model("resnet18", {.batch = 3, .size = 32}).batch[0].type.shape, (Shape{3, 3, 32, 32}));
  try {
    make_model("resnet18", {.sizes = {{"wdith", 8}}});
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("width"));
  }
  EXPECT_THROW(make_model("resnet19"), Error);
  EXPECT_THROW(make_model("unet", {.size = 100}), Error);
  EXPECT_THROW(make_model("gpt2-124m", {.seq = 2000}), Error);
  EXPECT_THROW(make_model("lstm", {.sizes = {{"hidden", 0}}}), Error);
}

TEST(Zoo, InitIsReproducibleAndStreamsDiffer) {
  Init a({.seed = 7}), b({.seed = 7}), c({.seed = 8});
  const Tensor x = a.normal({100}, 1), y = b.normal({100}, 1), z = c.normal({100}, 1), w = a.normal({100}, 1);
  double mean = 0, square = 0;
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(x.data<float>()[i], y.data<float>()[i]);
    EXPECT_NE(x.data<float>()[i], z.data<float>()[i]);
    EXPECT_NE(x.data<float>()[i], w.data<float>()[i]);
    mean += x.data<float>()[i] / 100;
    square += x.data<float>()[i] * x.data<float>()[i] / 100;
  }
  EXPECT_LT(std::abs(mean), 0.4);
  EXPECT_NEAR(square, 1, 0.5);
  const Tensor u = a.uniform({1000}, 0.5), n = a.integers({1000}, 3);
  for (const float v : u.data<float>()) EXPECT_TRUE(v >= -0.5 && v <= 0.5);
  for (const std::int64_t v : n.data<std::int64_t>()) EXPECT_TRUE(v >= 0 && v < 3);
  Init shapes({.abstract = true});
  EXPECT_FALSE(shapes.ones({1 << 20, 1 << 10}).concrete());
}

}  // namespace
}  // namespace tidemark
