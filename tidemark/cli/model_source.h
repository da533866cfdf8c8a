// Which model of the zoo a verb is about, how large, trained by what: the options that planning, verifying, training and
// measuring share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/cli/means.h"
#include "tidemark/cli/verb.h"
#include "tidemark/compile/compiled.h"
#include "tidemark/nn/train.h"
#include "tidemark/nn/zoo.h"

namespace tidemark::cli {

class ModelSource {
 public:
  void declare(Args& args);       // the options; the name is the verb's positional
  void declare_name(Args& args);  // for verbs that take a model only
  // Throws Error(usage) naming the models there are, a size below 1 or an unknown optimizer.
  Model model() const;
  TrainOptions training() const;
  std::shared_ptr<Device> device() const;
  CompileOptions compile_options(Budget memory, double time_limit) const;
  // The training step, traced for shapes alone: nothing of the model is allocated.
  Graph step_graph() const;
  // For the device that is asked for, and which that is and why, in words.
  struct OnDevice {
    Posed posed;
    std::string device;
    std::string name;  // as --device takes it, so that other sizes are planned for the same
  };
  OnDevice posed() const;
  static bool is_model(const std::string& name);
  // "--seq" and its like that were given and mean nothing to this model; model() refuses them.
  std::vector<std::string> meaningless() const;
  // Of the options, those that were given: a file has its sizes already.
  std::vector<std::string> given() const;

  std::string name, optimizer, dtype, device_name = "auto";  // "": adamw, f32
  std::optional<std::int64_t> batch, size, seq;              // none: the model's own
  std::int64_t threads = 0;
  double rate = 1e-3, clip = 0;
  std::vector<std::string> sizes;  // "width=128"
  Means means;

 private:
  ModelOptions options() const;
  Model unchecked_model() const;
  void name_kinds(Posed& posed) const;
};

// Every tensor of the state by the name it has in a checkpoint, in the order that flatten gives.
std::vector<std::pair<std::string, Tensor>> named_tensors(const Model& model, const TrainState& state);

// "8GiB", "60%" or "min", as compile takes it. Throws Error(usage) naming the text.
Budget parse_memory(const std::string& text);

}  // namespace tidemark::cli
