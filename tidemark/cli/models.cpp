// tidemark models: the zoo with its parameter counts.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "tidemark/base/json.h"
#include "tidemark/cli/terminal.h"
#include "tidemark/cli/verb.h"
#include "tidemark/nn/zoo.h"

namespace tidemark::cli {
namespace {

// 124439808 reads as 124,439,808.
std::string grouped(std::int64_t n) {
  std::string digits = std::to_string(n);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

class ModelsVerb : public Command {
 public:
  void declare(Args& args) override {
    args.flag("--json", json_, "Print a list of {name, parameters}");
    args.footer("Example: tidemark models --json");
  }
  int run() override {
    JsonWriter w;
    Table table;
    w.begin_array();
    for (const std::string& name : model_names()) {
      const std::int64_t parameters = make_model(name).parameter_count();
      w.begin_object().field("name", name).field("parameters", parameters).end_object();
      table.row(name, grouped(parameters));
    }
    w.end_array();
    if (json_) {
      fmt::print("{}\n", w.text());
    } else {
      table.print();
    }
    return Exit::done;
  }

 private:
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> models_verb() { return std::make_unique<ModelsVerb>(); }

}  // namespace tidemark::cli
