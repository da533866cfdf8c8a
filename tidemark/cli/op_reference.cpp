// SPDX-License-Identifier: Apache-2.0
#include "tidemark/cli/op_reference.h"

#include <fmt/format.h>

#include "tidemark/base/text.h"
#include "tidemark/grad/regions.h"
#include "tidemark/ops/table.h"

namespace tidemark::cli {
namespace {

std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|')
      out += "\\|";
    else
      out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string facts_of(const Op& op) {
  std::vector<std::string> facts;
  if (op.elementwise()) facts.emplace_back("elementwise, fuses");
  if (op.fold != Fold::none) facts.emplace_back("ends a fused chain");
  if (op.view != nullptr) facts.emplace_back("a view where strides can express it");
  constexpr std::size_t kNamed = 8;
  std::vector<std::string> pairs;
  for (const auto& [i, o] : op.facts.in_place)
    pairs.push_back(fmt::format("output {} may take input {}'s storage", o, i));
  if (pairs.size() > kNamed) pairs = {"an output may take any input's storage"};
  facts.insert(facts.end(), pairs.begin(), pairs.end());
  if (op.facts.random) facts.emplace_back("random, replayed by its key");
  if (!op.facts.deterministic) facts.emplace_back("not deterministic");
  if (op.facts.effect) facts.emplace_back("has an effect");
  if (op.facts.may_refuse)
    facts.emplace_back(op.indices != nullptr ? "refuses indices out of range" : "may refuse its data");
  return join(facts, "; ");
}

std::string derivatives_of(const Op& op) {
  if (op.facts.zero_derivative) return "zero";
  // Those of ops with regions differentiate the regions, and stand in grad/.
  const bool reverse = vjp_of(op) != nullptr, forward = jvp_of(op) != nullptr;
  if (reverse && forward) return "reverse, forward";
  return reverse ? "reverse" : forward ? "forward" : "none";
}

std::string takes(const Op& op) {
  if (op.samples == nullptr) return "";
  const std::vector<Sample> samples = op.samples();
  if (samples.empty()) return "";
  std::vector<std::string> types;
  for (const Type& t : samples[0].in) types.push_back(to_string(t));
  return join(types, ", ");
}

}  // namespace

std::string op_reference() {
  std::string out =
      "# The ops\n\nMade from the op table by `tidemark generate ops` (`tools/docs` writes it here; a test "
      "keeps it so). User functions are in\n"
      "`tidemark/ops/*.h`; each op stands whole in its file there: shape rule, derivatives, cost, facts, "
      "kernels. `docs/tutorials/network.md` shows\n"
      "them in use. \"For example\" gives input types of one of the cases that every fact of the op is "
      "tested on.\n\n"
      "| op | what it does | derivatives | facts | for example |\n|---|---|---|---|---|\n";
  for (const Op* op : all_ops())
    out += fmt::format("| `{}` | {} | {} | {} | {} |\n", op->name, cell(op->doc), derivatives_of(*op),
                       cell(facts_of(*op)), cell(takes(*op)));
  return out;
}

}  // namespace tidemark::cli
