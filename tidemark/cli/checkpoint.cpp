// SPDX-License-Identifier: Apache-2.0
#include "tidemark/cli/checkpoint.h"

#include <charconv>

#include "tidemark/base/error.h"
#include "tidemark/base/text.h"

namespace tidemark::cli {
namespace {

const char* safe_dtype(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return "F64";
    case DType::f32:
      return "F32";
    case DType::bf16:
      return "BF16";
    case DType::f16:
      return "F16";
    case DType::i64:
      return "I64";
    case DType::i32:
      return "I32";
    case DType::u8:
      return "U8";
    case DType::boolean:
      return "BOOL";
  }
  return "";
}

SafeMetadata metadata_of(const SafetensorsFile& file, const std::string& path) {
  SafeMetadata about = file.metadata();
  if (about["format"] != "tidemark-checkpoint-1")
    fail(Error::Kind::data, "[checkpoint] {}: not a checkpoint of tidemark train", path);
  return about;
}

}  // namespace

SafeMetadata checkpoint_metadata(const std::string& path) { return metadata_of(SafetensorsFile(path), path); }

void write_checkpoint(const std::string& path, const Model& model, const TrainState& state,
                      SafeMetadata about) {
  about["format"] = "tidemark-checkpoint-1";
  std::vector<SafeTensor> tensors;
  for (const auto& [name, t] : named_tensors(model, state)) {
    tensors.push_back({.name = name,
                       .dtype = safe_dtype(t.dtype()),
                       .shape = t.shape().sizes(),
                       .data = t.storage()->data(),
                       .bytes = t.type().bytes()});
  }
  write_safetensors(path, tensors, about);
}

Checkpoint read_checkpoint(const std::string& path, const Model& model, const TrainState& like) {
  const SafetensorsFile file(path);
  Checkpoint checkpoint;
  const std::string step = metadata_of(file, path)["step"];
  if (std::from_chars(step.data(), step.data() + step.size(), checkpoint.step).ec != std::errc())
    fail(Error::Kind::data, "[checkpoint] {}: its step '{}' is no number", path, step);
  Tensors tensors;
  const auto wanted = named_tensors(model, like);
  for (const auto& [name, t] : wanted) {
    const SafeTensor* found = file.find(name);
    if (found == nullptr)
      fail(Error::Kind::data, "[checkpoint] {}: no tensor '{}', which {} has", path, name, model.name);
    if (found->dtype != safe_dtype(t.dtype()) || found->shape != t.shape().sizes())
      fail(Error::Kind::data, "[checkpoint] {}: '{}' is {}({}) vs {} here; the same --set and --optimizer?",
           path, name, found->dtype, join(found->shape, ","), to_string(t.type()));
    const auto storage = Storage::allocate(t.type().bytes());
    file.read(*found, storage->data());
    tensors.push_back(from_storage(t.type(), storage));
  }
  if (file.tensors().size() != wanted.size())
    fail(Error::Kind::data, "[checkpoint] {}: {} tensors vs {} of {}; the same --optimizer?", path,
         file.tensors().size(), wanted.size(), model.name);
  // In the order of named_tensors: parameters, statistics, the step, moments.
  auto next = tensors.begin();
  const auto take = [&](Tensors& into, std::size_t n) {
    into.assign(next, next + static_cast<std::ptrdiff_t>(n));
    next += static_cast<std::ptrdiff_t>(n);
  };
  TrainState& s = checkpoint.state;
  take(s.params, like.params.size());
  take(s.state, like.state.size());
  s.optimizer.step = *next++;
  take(s.optimizer.momentum, like.optimizer.momentum.size());
  take(s.optimizer.squares, like.optimizer.squares.size());
  return checkpoint;
}

}  // namespace tidemark::cli
