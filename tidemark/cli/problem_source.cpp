// SPDX-License-Identifier: Apache-2.0
#include "tidemark/cli/problem_source.h"

#include "tidemark/cli/terminal.h"

#include <filesystem>

#include "tidemark/base/error.h"
#include "tidemark/base/text.h"

namespace tidemark::cli {

namespace {

// Names are for people, and are shown by every verb.
plan::Problem read_with_plain_names(const std::string& text) {
  plan::Problem problem = plan::read_problem(text);
  const auto plain = [](std::string& name) { name = one_line(std::move(name)); };
  plain(problem.name);
  plain(problem.device);
  for (plan::Tier& t : problem.tiers) plain(t.name);
  for (plan::Buffer& b : problem.buffers) {
    plain(b.name);
    plain(b.kind);
  }
  for (plan::Task& t : problem.tasks) {
    plain(t.name);
    plain(t.kind);
  }
  return problem;
}

}  // namespace

plan::Problem read_problem_file(const std::string& path) { return read_named(path, read_with_plain_names); }

void ProblemSource::declare(Args& args) {
  args.positional("problem", model_.name,
                  "a problem file (/dev/stdin: a pipe), or a model of the zoo (tidemark models lists them)");
  args.choices("problem", model_names());
  model_.declare(args);
}

bool ProblemSource::is_file() const {
  std::error_code error;
  return model_.name.ends_with(".json") ||
         (!ModelSource::is_model(model_.name) && std::filesystem::exists(model_.name, error) &&
          !std::filesystem::is_directory(model_.name, error));
}

plan::Problem ProblemSource::get(std::string* text) const {
  if (is_file()) {
    if (const std::vector<std::string> given = model_.given(); !given.empty())
      fail(Error::Kind::usage,
           "[problem] {} is for models; {} is a problem file, whose sizes and times are fixed", given[0],
           model_.name);
    plan::Problem problem = read_named(model_.name, [&](const std::string& read) {
      if (text != nullptr) *text = read;
      return read_with_plain_names(read);
    });
    device_ = problem.device;
    return problem;
  }
  return posed().problem;
}

Posed ProblemSource::posed() const {
  if (!ModelSource::is_model(model_.name)) {
    fail(Error::Kind::usage, "[problem] '{}' is neither a file nor a model; models: {}", model_.name,
         join(model_names(), " "));
  }
  ModelSource::OnDevice on = model_.posed();
  device_ = std::move(on.device);
  return std::move(on.posed);
}

}  // namespace tidemark::cli
