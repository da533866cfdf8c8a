// The model zoo: the published architectures by name, parametric, so that tests run small ones and planners large.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "tidemark/nn/model.h"

namespace tidemark {

struct ModelOptions {
  std::int64_t batch = 0;  // 0, here and below: the model's own
  std::int64_t size = 0;   // of images, both sides
  std::int64_t seq = 0;    // tokens in a sequence
  bool training = true;    // batch statistics, and dropout where there is any
  double dropout = 0;      // > 0: the batch has a key {seed, step} as its last input
  // By name, e.g. {"width", 8}; each family's file says which it takes. An unknown one is Error(usage) naming those.
  std::map<std::string, std::int64_t> sizes{};
};

// In a fixed order; the names of docs, tests, benchmarks and the program.
TIDEMARK_API const std::vector<std::string>& model_names();
TIDEMARK_API Model make_model(const std::string& name, const ModelOptions& options = {});

}  // namespace tidemark
