// Where a verb's problem comes from: a problem file, or a training step of a model of the zoo posed for this machine.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "tidemark/base/error.h"
#include "tidemark/base/text.h"
#include "tidemark/cli/model_source.h"
#include "tidemark/plan/problem.h"

namespace tidemark::cli {

// Reads a file's text by `read`; what is wrong with it is said with its name.
template <typename Read>
auto read_named(const std::string& path, const Read& read) {
  const std::string text = read_file(path);
  try {
    return read(text);
  } catch (const Error& e) {
    fail(e.kind(), "{}: {}", path, e.what());
  }
}
plan::Problem read_problem_file(const std::string& path);

class ProblemSource {
 public:
  void declare(Args& args);
  // A name ending in .json is a file, and so is what is no model but there, a pipe too; anything else a model. Throws Error(usage) naming the
  // models there are. A file's text goes to `text`, which a pipe gives only once.
  plan::Problem get(std::string* text = nullptr) const;
  bool is_file() const;
  const ModelSource& model() const { return model_; }
  ModelSource& model() { return model_; }
  // For a model: with what its buffers are in the graph.
  Posed posed() const;
  // After get() or posed(): whose times they are and why, in words; "" where a file does not say.
  const std::string& device() const { return device_; }

 private:
  ModelSource model_;
  mutable std::string device_;
};

}  // namespace tidemark::cli
