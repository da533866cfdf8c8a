// A model computed in narrower storage: mixed precision as it is commonly trained (Micikevicius et al. 2018, without loss
// scaling, which bf16 does not need).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/nn/model.h"

namespace tidemark {

// Parameters, running statistics and floating inputs are cast to `dtype` (bf16, f16) before they are used, so that every
// activation and its gradient is stored in it. Parameters, their gradients and the optimizer's state stay f32, and so does the loss.
TIDEMARK_API Model stored_as(const Model& model, DType dtype);

}  // namespace tidemark
