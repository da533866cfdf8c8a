// Every model of the zoo at a small size, and how tests are named by them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include "tests/contract/setting.h"

namespace tidemark {

inline std::string case_name(const testing::TestParamInfo<ModelCase>& info) {
  std::string name = info.param.model;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

inline const std::vector<ModelCase>& zoo_cases() {
  static const std::vector<ModelCase> all{
      {"bert-base",
       {.batch = 4,
        .seq = 11,
        .sizes =
            {{"vocab", 29}, {"positions", 16}, {"width", 24}, {"depth", 2}, {"heads", 3}, {"hidden", 40}}}},
      {"densenet121",
       {.batch = 6,
        .size = 64,
        .sizes = {{"growth", 4},
                  {"width", 8},
                  {"classes", 7},
                  {"layers1", 2},
                  {"layers2", 3},
                  {"layers3", 2},
                  {"layers4", 2}}}},
      {"gpt2-1.5b",
       {.batch = 4,
        .seq = 40,
        .sizes = {{"vocab", 29}, {"positions", 64}, {"width", 50}, {"depth", 1}, {"heads", 2}}}},
      {"gpt2-124m",
       {.batch = 4,
        .seq = 11,
        .sizes = {{"vocab", 29}, {"positions", 16}, {"width", 24}, {"depth", 2}, {"heads", 3}}}},
      {"gpt2-355m",
       {.batch = 4,
        .seq = 13,
        .sizes = {{"vocab", 31}, {"positions", 13}, {"width", 32}, {"depth", 3}, {"heads", 4}}}},
      {"gpt2-774m",
       {.batch = 6,
        .seq = 7,
        .sizes = {{"vocab", 23}, {"positions", 16}, {"width", 40}, {"depth", 1}, {"heads", 5}}}},
      {"llama-1b",
       {.batch = 4,
        .seq = 9,
        .sizes = {{"vocab", 29}, {"width", 32}, {"depth", 2}, {"heads", 4}, {"groups", 2}, {"hidden", 48}}}},
      {"lstm", {.batch = 6, .seq = 6, .sizes = {{"vocab", 23}, {"hidden", 10}, {"depth", 2}}}},
      {"mlp", {.batch = 10, .sizes = {{"inputs", 12}, {"hidden", 17}, {"depth", 2}, {"classes", 6}}}},
      {"mobilenet-v2", {.batch = 6, .size = 64, .sizes = {{"width", 25}, {"classes", 7}}}},
      {"resnet152",
       {.batch = 6,
        .size = 64,
        .sizes =
            {{"width", 8}, {"classes", 7}, {"blocks1", 1}, {"blocks2", 2}, {"blocks3", 3}, {"blocks4", 1}}}},
      {"resnet18",
       {.batch = 6,
        .size = 64,
        .sizes =
            {{"width", 8}, {"classes", 7}, {"blocks1", 2}, {"blocks2", 2}, {"blocks3", 2}, {"blocks4", 2}}}},
      {"resnet50",
       {.batch = 6,
        .size = 64,
        .sizes =
            {{"width", 8}, {"classes", 7}, {"blocks1", 2}, {"blocks2", 2}, {"blocks3", 2}, {"blocks4", 1}}}},
      {"segnet", {.batch = 4, .size = 32, .sizes = {{"width", 4}, {"classes", 5}}}},
      {"unet",
       {.batch = 4, .size = 32, .sizes = {{"channels", 3}, {"width", 4}, {"depth", 3}, {"classes", 3}}}},
      {"vgg16", {.batch = 4, .size = 64, .sizes = {{"width", 4}, {"hidden", 20}, {"classes", 7}}}},
      {"vgg19", {.batch = 4, .size = 64, .sizes = {{"width", 4}, {"hidden", 20}, {"classes", 7}}}},
      {"vit-b-16",
       {.batch = 4,
        .size = 32,
        .sizes = {{"patch", 8}, {"width", 24}, {"depth", 2}, {"heads", 3}, {"hidden", 40}, {"classes", 7}}}},
  };
  return all;
}

}  // namespace tidemark
