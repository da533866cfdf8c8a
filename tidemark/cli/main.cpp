// The program: reads the command line, runs one verb, turns what happened into an exit code (0 done, 1 wrong use or
// error, 2 the answer is no, 130 interrupted).
// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <new>

#include "tidemark/base/error.h"
#include "tidemark/base/text.h"
#include "tidemark/base/version.h"
#include "tidemark/cli/terminal.h"
#include "tidemark/cli/verb.h"

namespace tidemark::cli {
namespace {

class Cli11Args : public Args {
 public:
  explicit Cli11Args(CLI::App& app) : app_(app) {}
  void positional(const std::string& name, std::string& value, const std::string& doc) override {
    app_.add_option(name, value, doc)->required();
  }
  void option(const std::string& names, std::string& value, const std::string& doc) override {
    add(names, value, doc);
  }
  void option(const std::string& names, std::int64_t& value, const std::string& doc) override {
    number(names, value, doc, "INT")->default_str(fmt::format("{}", value));
  }
  void option(const std::string& names, double& value, const std::string& doc) override {
    number(names, value, doc, "FLOAT")->default_str(fmt::format("{}", value));
  }
  void option(const std::string& names, std::optional<std::int64_t>& value, const std::string& doc) override {
    number(names, value, doc, "INT");
  }
  void option(const std::string& names, std::vector<std::string>& values, const std::string& doc) override {
    app_.add_option(names, values, doc)->delimiter(',')->allow_extra_args(false);
  }
  void flag(const std::string& names, bool& value, const std::string& doc) override {
    app_.add_flag(names, value, doc);
  }
  void required(const std::string& name) override { app_.get_option(name)->required(); }
  void choices(const std::string&, const std::vector<std::string>&) override {}
  void footer(const std::string& text) override { app_.footer(text); }

 private:
  template <typename T>
  void add(const std::string& names, T& value, const std::string& doc) {
    app_.add_option(names, value, doc)->capture_default_str();
  }
  // CLI11 would take 010 for 8, infinities, and the largest number for all beyond it.
  template <typename T>
  CLI::Option* number(const std::string& names, T& value, const std::string& doc, const char* type) {
    const auto read = [&value, name = names.substr(names.rfind(',') + 1)](const std::string& text) {
      value = number_of<T>(name, text);
    };
    return app_.add_option_function<std::string>(names, read, doc)->type_name(type);
  }
  template <typename T>
  static auto number_of(const std::string& name, const std::string& text) {
    constexpr bool whole = !std::is_same_v<T, double>;
    std::conditional_t<whole, std::int64_t, double> n{};
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, n);
    if (error == std::errc::result_out_of_range)
      fail(Error::Kind::usage, "[option] {} {} is beyond what a number holds", name, text);
    if (rest != end || error != std::errc() || !std::isfinite(static_cast<double>(n)))
      fail(Error::Kind::usage, "[option] {} '{}' is no {}number; write for example {}", name, text,
           whole ? "whole " : "", whole ? "16" : "0.5");
    return n;
  }
  CLI::App& app_;
};

// Insertions, deletions and replacements between two words (Levenshtein 1966).
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] != b[j] ? 1 : 0);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

// CLI11 would say only that a verb is missing.
void expect_verb(std::string_view word) {
  std::vector<std::string> names;
  std::string nearest;
  std::size_t least = 3;  // edits beyond which it is another word
  for (const Verb& verb : verbs()) {
    if (word == verb.name) return;
    if (verb.doc[0] == '\0') continue;
    names.emplace_back(verb.name);
    const bool begins = word.size() > 1 && names.back().starts_with(word);
    if (const std::size_t n = begins ? 0 : edits(word, verb.name); n < least) {
      least = n;
      nearest = verb.name;
    }
  }
  fail(Error::Kind::usage, "[tidemark] unknown verb '{}'; {}", word,
       nearest.empty() ? fmt::format("one of {}", join(names, " "))
                       : fmt::format("did you mean '{}'? tidemark --help lists all", nearest));
}

int run(int argc, char** argv) {
  CLI::App app("Reverse-mode differentiation inside a memory budget.", "tidemark");
  app.set_version_flag("--version", fmt::format("tidemark {}", kVersion));
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 done, 1 wrong use or error, 2 the answer is no, 130 interrupted.\n"
      "Example: tidemark plan problem.json --budget 60% -o plan.json");
  std::vector<std::unique_ptr<Command>> commands;
  std::vector<CLI::App*> apps;
  for (const Verb& verb : verbs()) {
    commands.push_back(verb.make());
    apps.push_back(app.add_subcommand(verb.name, verb.doc));
    if (verb.doc[0] == '\0') apps.back()->group("");
    Cli11Args args(*apps.back());
    commands.back()->declare(args);
  }
  if (argc > 1 && argv[1][0] != '-') expect_verb(argv[1]);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app.exit(e, std::cout, std::cerr) == 0 ? Exit::done : Exit::wrong;
  }
  catch_interrupt();
  for (std::size_t i = 0; i < apps.size(); ++i) {
    if (apps[i]->parsed()) return commands[i]->run();
  }
  return Exit::wrong;
}

}  // namespace
}  // namespace tidemark::cli

int main(int argc, char** argv) {
  using namespace tidemark;
  try {
    const int code = cli::run(argc, argv);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      cli::say("[io] cannot write to standard output");
      return cli::Exit::wrong;
    }
    return code;
  } catch (const Error& e) {
    cli::say("{}", cli::text_of(e));
    return e.kind() == Error::Kind::infeasible ? cli::Exit::no : cli::Exit::wrong;
  } catch (const std::bad_alloc&) {
    cli::say("[memory] not enough of it");
  } catch (const std::exception& e) {
    cli::say("{}", e.what());
  }
  return cli::Exit::wrong;
}
