// A verb of the program: what it takes and what it does. One file per verb; verbs.cpp lists them. CLI11 stays behind
// Args, since it costs seconds a file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tidemark::cli {

// Exit codes, everywhere.
enum Exit : int { done = 0, wrong = 1, no = 2, interrupted = 130 };

// Declares what a verb takes; the values are filled in before it runs.
class Args {
 public:
  virtual ~Args() = default;
  virtual void positional(const std::string& name, std::string& value, const std::string& doc) = 0;
  // `names` as in "-o,--output".
  virtual void option(const std::string& names, std::string& value, const std::string& doc) = 0;
  virtual void option(const std::string& names, std::int64_t& value, const std::string& doc) = 0;
  virtual void option(const std::string& names, double& value, const std::string& doc) = 0;
  // Where it matters whether it was given.
  virtual void option(const std::string& names, std::optional<std::int64_t>& value,
                      const std::string& doc) = 0;
  virtual void option(const std::string& names, std::vector<std::string>& values, const std::string& doc) = 0;
  virtual void flag(const std::string& names, bool& value, const std::string& doc) = 0;
  virtual void required(const std::string& name) = 0;
  // What an option or positional is mostly given, for shells to offer; the verb itself says what is wrong with another.
  virtual void choices(const std::string& name, const std::vector<std::string>& values) = 0;
  // Shown below the options.
  virtual void footer(const std::string& text) = 0;
};

class Command {
 public:
  virtual ~Command() = default;
  virtual void declare(Args& args) = 0;
  virtual int run() = 0;
};

struct Verb {
  const char* name;
  const char* doc;  // "": for the project's own use, not listed
  std::unique_ptr<Command> (*make)();
};

std::span<const Verb> verbs();

// How a budget is written, for the docs of options.
inline const std::string kBudget = "8GiB, 60% of what storing all takes beyond the resident buffers, or min";

std::unique_ptr<Command> plan_verb();
std::unique_ptr<Command> check_verb();
std::unique_ptr<Command> frontier_verb();
std::unique_ptr<Command> smallest_verb();
std::unique_ptr<Command> bound_verb();
std::unique_ptr<Command> pack_verb();
std::unique_ptr<Command> schedule_verb();
std::unique_ptr<Command> report_verb();
std::unique_ptr<Command> models_verb();
std::unique_ptr<Command> pose_verb();
std::unique_ptr<Command> emit_verb();
std::unique_ptr<Command> profile_verb();
std::unique_ptr<Command> verify_verb();
std::unique_ptr<Command> bench_verb();
std::unique_ptr<Command> train_verb();
std::unique_ptr<Command> show_verb();
std::unique_ptr<Command> explain_verb();
std::unique_ptr<Command> fit_verb();
std::unique_ptr<Command> whatif_verb();
std::unique_ptr<Command> generate_verb();

}  // namespace tidemark::cli
