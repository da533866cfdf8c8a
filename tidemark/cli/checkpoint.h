// The state of a training run as a safetensors file: parameters by their names, running statistics, optimizer state, and
// what the run was, so that it goes on as if it had not stopped.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/cli/training.h"
#include "tidemark/store/safetensors.h"

namespace tidemark::cli {

void write_checkpoint(const std::string& path, const Model& model, const TrainState& state,
                      SafeMetadata about);

// What the run was: quick, whatever the file's size. Throws Error(io), or Error(data) where it is no checkpoint.
SafeMetadata checkpoint_metadata(const std::string& path);

struct Checkpoint {
  TrainState state;
  std::int64_t step = 0;
};
// `like` gives the types. Throws Error(io) or Error(data) naming the tensor that is missing or of another shape.
Checkpoint read_checkpoint(const std::string& path, const Model& model, const TrainState& like);

}  // namespace tidemark::cli
