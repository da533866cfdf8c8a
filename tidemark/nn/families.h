// The families behind zoo.h: each is one file with its structs of parameters, its sizes and its forward function.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>

#include "tidemark/nn/zoo.h"

namespace tidemark {

// The sizes of a model: defaults, overridden by ModelOptions::sizes.
class Sizes {
 public:
  Sizes(std::string model, const ModelOptions& options,
        std::initializer_list<std::pair<const std::string, std::int64_t>> defaults);
  std::int64_t operator[](const std::string& name) const;

 private:
  std::map<std::string, std::int64_t> sizes_;
};

inline std::int64_t or_default(std::int64_t given, std::int64_t otherwise) {
  return given > 0 ? given : otherwise;
}

// x (B, 3, size, size) and labels (B).
std::vector<BatchInput> image_batch(const ModelOptions& options, std::int64_t channels, std::int64_t size,
                                    std::int64_t classes, std::int64_t batch);
// x (B, channels, size, size) and a label for each pixel.
std::vector<BatchInput> segmentation_batch(const ModelOptions& options, std::int64_t channels,
                                           std::int64_t size, std::int64_t classes, std::int64_t batch);
// tokens and labels (B, T).
std::vector<BatchInput> token_batch(const ModelOptions& options, std::int64_t vocab, std::int64_t seq,
                                    std::int64_t batch);
// Adds the key where options.dropout > 0.
void add_key(std::vector<BatchInput>& batch, const ModelOptions& options);
Tensor cross_entropy_of_batch(const Tensor& logits, const Tensors& batch);  // labels are input 1

Model mlp(const std::string& name, const ModelOptions& options);
Model vgg(const std::string& name, const ModelOptions& options);
Model resnet(const std::string& name, const ModelOptions& options);
Model mobilenet_v2(const std::string& name, const ModelOptions& options);
Model densenet(const std::string& name, const ModelOptions& options);
Model unet(const std::string& name, const ModelOptions& options);
Model segnet(const std::string& name, const ModelOptions& options);
Model vit(const std::string& name, const ModelOptions& options);
Model bert(const std::string& name, const ModelOptions& options);
Model gpt2(const std::string& name, const ModelOptions& options);
Model llama(const std::string& name, const ModelOptions& options);
Model lstm_language_model(const std::string& name, const ModelOptions& options);

}  // namespace tidemark
