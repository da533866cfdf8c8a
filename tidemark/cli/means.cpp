// SPDX-License-Identifier: Apache-2.0
#include "tidemark/cli/means.h"

#include <charconv>
#include <filesystem>

#include "tidemark/base/error.h"
#include "tidemark/base/text.h"

namespace tidemark::cli {
namespace {

TierSpec disk_of(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == text.size())
    fail(Error::Kind::usage, "[disk] '{}' is not of the form folder:20GiB", text);
  const std::string folder = text.substr(0, colon);
  if (!std::filesystem::is_directory(folder)) fail(Error::Kind::usage, "[disk] {} is no folder", folder);
  return disk(folder, parse_bytes(text.substr(colon + 1)));
}

MicroBatches parts_of(const std::string& text) {
  if (text == "split") return may_split;
  int n = 0;
  const char* end = text.data() + text.size();
  if (std::from_chars(text.data(), end, n).ptr != end || n < 1)
    fail(Error::Kind::usage, "[micro-batches] '{}' is no number of parts; write for example 4, or split",
         text);
  return n;
}

}  // namespace

void Means::declare(Args& args) {
  args.option("--host", host_,
              "For a model: values may be copied to so much other memory, e.g. 4GiB, beside the budget");
  args.option(
      "--disk", disk_,
      "For a model: values may be copied to a file in a folder, e.g. /tmp:20GiB; it is unlinked at once");
  args.option("--micro-batches", parts_,
              "For a model: work through the batch in so many equal parts; split: as many as are best, where "
              "the verb runs the step");
}

void Means::declare_running(Args& args) {
  args.option("--makers", makers_,
              "on (unless given): masks, factors, inverses and codecs that change no bit may be used; off");
  args.choices("--makers", {"on", "off"});
}

void Means::apply(CompileOptions& options) const {
  if (tiers_.empty()) {
    if (!host_.empty()) tiers_.push_back(measured(host(parse_bytes(host_))));
    if (!disk_.empty()) tiers_.push_back(measured(disk_of(disk_)));
  }
  options.tiers = tiers_;
  if (!parts_.empty()) options.micro_batches = parts_of(parts_);
  if (!makers_.empty() && makers_ != "on" && makers_ != "off")
    fail(Error::Kind::usage, "[makers] '{}' is neither on nor off", makers_);
  options.makers = makers_ != "off";
}

void Means::expect_number_of_parts() const {
  if (parts() == 0)
    fail(Error::Kind::usage,
         "[micro-batches] split is for verbs that run the step (train, verify, bench); give a number here");
}

int Means::parts() const { return parts_.empty() ? 1 : parts_of(parts_).parts; }

std::vector<std::string> Means::given() const {
  std::vector<std::string> options;
  if (!host_.empty()) options.emplace_back("--host");
  if (!disk_.empty()) options.emplace_back("--disk");
  if (!parts_.empty()) options.emplace_back("--micro-batches");
  return options;
}

}  // namespace tidemark::cli
