// SPDX-License-Identifier: Apache-2.0
#include "tidemark/nn/model.h"

namespace tidemark {

std::int64_t Model::parameter_count() const {
  Init shapes({.abstract = true});
  return count_parameters(parameters(shapes));
}

Tensors synthetic_batch(const Model& model, Init& init) {
  Tensors batch;
  for (const BatchInput& input : model.batch) {
    batch.push_back(is_float(input.type.dtype) ? init.normal(input.type.shape, 1)
                                               : init.integers(input.type.shape, input.below));
  }
  return batch;
}

}  // namespace tidemark
