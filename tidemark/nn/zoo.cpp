// SPDX-License-Identifier: Apache-2.0
#include "tidemark/nn/zoo.h"

#include "tidemark/base/text.h"
#include "tidemark/nn/families.h"
#include "tidemark/nn/loss.h"

namespace tidemark {
namespace {

struct Entry {
  const char* name;
  Model (*make)(const std::string&, const ModelOptions&);
};
constexpr Entry kZoo[] = {
    {"mlp", mlp},
    {"vgg16", vgg},
    {"vgg19", vgg},
    {"resnet18", resnet},
    {"resnet50", resnet},
    {"resnet152", resnet},
    {"mobilenet-v2", mobilenet_v2},
    {"densenet121", densenet},
    {"unet", unet},
    {"segnet", segnet},
    {"vit-b-16", vit},
    {"bert-base", bert},
    {"gpt2-124m", gpt2},
    {"gpt2-355m", gpt2},
    {"gpt2-774m", gpt2},
    {"gpt2-1.5b", gpt2},
    {"llama-1b", llama},
    {"lstm", lstm_language_model},
};

}  // namespace

const std::vector<std::string>& model_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Entry& e : kZoo) all.emplace_back(e.name);
    return all;
  }();
  return names;
}

Model make_model(const std::string& name, const ModelOptions& options) {
  for (const Entry& e : kZoo) {
    if (name == e.name) return e.make(name, options);
  }
  fail(Error::Kind::usage, "[model] '{}' is none of {}", name, join(model_names(), " "));
}

Sizes::Sizes(std::string model, const ModelOptions& options,
             std::initializer_list<std::pair<const std::string, std::int64_t>> defaults)
    : sizes_(defaults) {
  for (const auto& [name, value] : options.sizes) {
    const auto found = sizes_.find(name);
    if (found == sizes_.end()) {
      std::vector<std::string> known;
      for (const auto& [k, v] : sizes_) known.push_back(k);
      fail(Error::Kind::usage, "[{}] size '{}' is none of {}", model, name, join(known, " "));
    }
    if (value <= 0) fail(Error::Kind::usage, "[{}] size {} = {} vs a positive number", model, name, value);
    found->second = value;
  }
}

std::int64_t Sizes::operator[](const std::string& name) const { return sizes_.at(name); }

void add_key(std::vector<BatchInput>& batch, const ModelOptions& options) {
  if (options.dropout > 0) batch.push_back({"key", {{2}, DType::i64}, std::int64_t{1} << 32, false});
}

std::vector<BatchInput> image_batch(const ModelOptions& options, std::int64_t channels, std::int64_t size,
                                    std::int64_t classes, std::int64_t batch) {
  const std::int64_t b = or_default(options.batch, batch), s = or_default(options.size, size);
  std::vector<BatchInput> inputs{{"image", {{b, channels, s, s}, DType::f32}},
                                 {"label", {{b}, DType::i64}, classes}};
  add_key(inputs, options);
  return inputs;
}

std::vector<BatchInput> segmentation_batch(const ModelOptions& options, std::int64_t channels,
                                           std::int64_t size, std::int64_t classes, std::int64_t batch) {
  std::vector<BatchInput> inputs = image_batch(options, channels, size, classes, batch);
  const Shape& x = inputs[0].type.shape;
  inputs[1].type.shape = {x[0], x[2], x[3]};
  return inputs;
}

std::vector<BatchInput> token_batch(const ModelOptions& options, std::int64_t vocab, std::int64_t seq,
                                    std::int64_t batch) {
  const Type type{{or_default(options.batch, batch), or_default(options.seq, seq)}, DType::i64};
  std::vector<BatchInput> inputs{{"tokens", type, vocab}, {"labels", type, vocab}};
  add_key(inputs, options);
  return inputs;
}

Tensor cross_entropy_of_batch(const Tensor& logits, const Tensors& batch) {
  if (logits.rank() == 4) return pixel_cross_entropy(logits, batch[1]);
  return token_cross_entropy(logits, batch[1]);
}

}  // namespace tidemark
