// A model being trained inside a budget: what verify, bench and train do step by step.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "tidemark/base/json.h"
#include "tidemark/cli/model_source.h"

namespace tidemark::cli {

class Training {
 public:
  struct Asked {
    const char* verb = "";  // for messages
    Budget memory;
    double time_limit = 1;
    Bytes held = 0;  // by the caller while this one runs
  };
  // Plans for the model's own batch. Throws Error(infeasible) before anything of the model is allocated where the plan does not
  // fit its budget or this machine. Ctrl-C meanwhile ends the process.
  Training(const ModelSource& source, const Asked& asked);
  ~Training();
  // Initial parameters of the seed, or a state read from elsewhere.
  void start(std::uint64_t seed);
  void start(TrainState state) { state_ = std::move(state); }
  float step(const Tensors& batch);  // the loss before the update
  void wait_for_correction() { compiled_->wait_for_correction(); }

  const TrainState& state() const { return state_; }
  const Model& model() const { return model_; }
  const TrainOptions& options() const { return training_; }
  const Compiled& compiled() const { return *compiled_; }
  TrainState abstract_state() const;
  Bytes state_bytes() const;  // parameters, running statistics, optimizer state

 private:
  struct Step;  // the compiled function, kept out of this header
  Model model_;
  TrainOptions training_;
  std::unique_ptr<Step> step_;
  TrainState state_;
  Compiled* compiled_ = nullptr;
};

// The batch of a step, the same for a seed wherever it is asked for.
Tensors random_batch(const Model& model, std::uint64_t seed, std::int64_t step);
Tensors abstract_batch(const Model& model);

// What libraries kept on the heap inside steps, beside the peak: for people, and as the field "libraries".
std::string describe(const LibraryMemory& libraries);
void write_libraries(JsonWriter& w, const LibraryMemory& libraries);

// "" or the name of the first tensor whose bytes differ.
std::string first_difference(const Model& model, const TrainState& a, const TrainState& b);

}  // namespace tidemark::cli
