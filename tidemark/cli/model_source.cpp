// SPDX-License-Identifier: Apache-2.0
#include "tidemark/cli/model_source.h"

#include <algorithm>
#include <charconv>

#include "tidemark/base/error.h"
#include "tidemark/base/text.h"
#include "tidemark/cli/terminal.h"
#include "tidemark/compile/compile.h"
#include "tidemark/nn/precision.h"
#include "tidemark/plan/budget.h"

namespace tidemark::cli {

void ModelSource::declare_name(Args& args) {
  args.positional("model", name, "A model of the zoo (tidemark models lists them)");
  args.choices("model", model_names());
}

void ModelSource::declare(Args& args) {
  args.option("--batch", batch, "For a model: samples in a step");
  args.option("--size", size, "For a model of images: their height and width");
  args.option("--seq", seq, "For a model of text: tokens in a sequence");
  args.option("--set", sizes, "For a model: its own sizes, with commas, e.g. width=128,depth=4");
  args.option("--optimizer", optimizer, "For a model: adamw (unless given), adam or sgd");
  args.choices("--optimizer", {"adamw", "adam", "sgd"});
  args.option("--dtype", dtype,
              "For a model: how activations and their gradients are stored: f32 (unless given), bf16 or f16; "
              "parameters and optimizer state stay f32");
  args.choices("--dtype", {"f32", "bf16", "f16"});
  args.option("--device", device_name,
              "For a model: whose times to plan with: cpu (this machine), h200, or a file that tidemark "
              "profile wrote; auto: cpu "
              "where the step fits this machine's memory, else h200");
  args.option("--model-threads", threads, "For a model: threads of its kernels; 0: all of this machine");
  means.declare(args);
}

bool ModelSource::is_model(const std::string& name) {
  const std::vector<std::string>& names = model_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

ModelOptions ModelSource::options() const {
  constexpr std::int64_t kMost = 1 << 24, kMostThreads = 1024;
  for (const auto& [what, n] : {std::pair{"--batch", batch}, {"--size", size}, {"--seq", seq}}) {
    if (n && (*n < 1 || *n > kMost))
      fail(Error::Kind::usage, "[model] {} {} vs between 1 and {}; leave it out for the model's own", what,
           *n, kMost);
  }
  if (threads < 0 || threads > kMostThreads)
    fail(Error::Kind::usage, "[model] --model-threads {} vs between 1 and {}, or 0 for all of this machine",
         threads, kMostThreads);
  ModelOptions options{.batch = batch.value_or(0), .size = size.value_or(0), .seq = seq.value_or(0)};
  for (const std::string& text : sizes) {
    const std::size_t at = text.find('=');
    std::int64_t value = 0;
    const char* end = text.data() + text.size();
    const bool named = at != std::string::npos && at > 0 && at + 1 < text.size();
    const auto [rest, error] = std::from_chars(named ? text.data() + at + 1 : end, end, value);
    if (!named || rest != end || error != std::errc())
      fail(Error::Kind::usage, "[model] --set {} is not of the form width=128", text);
    if (!options.sizes.emplace(text.substr(0, at), value).second)
      fail(Error::Kind::usage, "[model] --set gives {} twice; leave one out", text.substr(0, at));
  }
  return options;
}

std::vector<std::string> ModelSource::given() const {
  std::vector<std::string> options;
  const auto add = [&](bool was, const char* option) {
    if (was) options.emplace_back(option);
  };
  add(batch.has_value(), "--batch");
  add(size.has_value(), "--size");
  add(seq.has_value(), "--seq");
  add(!sizes.empty(), "--set");
  add(!optimizer.empty(), "--optimizer");
  add(!dtype.empty(), "--dtype");
  add(device_name != "auto", "--device");
  add(threads != 0, "--model-threads");
  for (std::string& option : means.given()) options.push_back(std::move(option));
  return options;
}

Model ModelSource::unchecked_model() const {
  if (!is_model(name)) fail(Error::Kind::usage, "[model] '{}' is none of {}", name, join(model_names(), " "));
  return make_model(name, options());
}

std::vector<std::string> ModelSource::meaningless() const {
  const BatchInput first = unchecked_model().batch[0];
  std::vector<std::string> options;
  if (size && first.type.shape.rank() != 4) options.emplace_back("--size");
  if (seq && first.name != "tokens") options.emplace_back("--seq");
  return options;
}

Model ModelSource::model() const {
  Model model = unchecked_model();
  if (const std::vector<std::string> none = meaningless(); !none.empty())
    fail(Error::Kind::usage, "[model] {} has no {}: {} means nothing to it", name,
         none[0] == "--size" ? "pictures" : "sequences", none[0]);
  if (dtype.empty() || dtype == "f32") return model;
  if (dtype == "bf16") return stored_as(model, DType::bf16);
  if (dtype == "f16") return stored_as(model, DType::f16);
  fail(Error::Kind::usage, "[model] --dtype {} is none of f32 bf16 f16", dtype);
}

TrainOptions ModelSource::training() const {
  TrainOptions training{.rate = constant_rate(rate), .clip_norm = clip};
  if (optimizer.empty() || optimizer == "adamw") {
    training.optimizer.kind = Optimizer::Kind::adamw;
  } else if (optimizer == "adam") {
    training.optimizer.kind = Optimizer::Kind::adam;
  } else if (optimizer == "sgd") {
    training.optimizer.kind = Optimizer::Kind::sgd;
  } else {
    fail(Error::Kind::usage, "[model] no optimizer '{}'; one of adamw adam sgd", optimizer);
  }
  return training;
}

std::shared_ptr<Device> ModelSource::device() const { return cpu({.threads = static_cast<int>(threads)}); }

CompileOptions ModelSource::compile_options(Budget memory, double time_limit) const {
  CompileOptions options{
      .memory = memory, .device = device(), .state = 1, .time_limit = time_limit, .name = name};
  if (device_name != "auto" && device_name != "cpu") options.profile = device_profile(device_name);
  means.apply(options);
  return options;
}

Graph ModelSource::step_graph() const {
  const Model model = this->model();
  const TrainOptions training = this->training();
  Init shapes({.abstract = true});
  const TrainState state = make_train_state(model, training.optimizer, shapes);
  Graph graph = trace(train_step(model, training), state, synthetic_batch(model, shapes));
  const auto names = named_tensors(model, state);
  for (std::size_t i = 0; i < names.size(); ++i) {
    graph.updates.emplace_back(static_cast<int>(i), static_cast<int>(i));
    graph.value(graph.inputs[i]).name = names[i].first;
  }
  for (std::size_t i = 0; i < model.batch.size(); ++i)
    graph.value(graph.inputs[names.size() + i]).name = model.batch[i].name;
  return graph;
}

void ModelSource::name_kinds(Posed& posed) const {
  const std::size_t parameters = model().parameter_names.size();
  for (std::size_t b = 0; b < posed.binding.graph.inputs.size(); ++b) {
    plan::Buffer& buffer = posed.problem.buffers[b];
    buffer.kind = b < parameters                          ? "parameter"
                  : buffer.name.starts_with("state.")     ? "statistic"
                  : buffer.name.starts_with("optimizer.") ? "optimizer"
                                                          : "input";
  }
}

ModelSource::OnDevice ModelSource::posed() const {
  CompileOptions options = compile_options({}, 0);
  means.expect_number_of_parts();
  const Graph graph = step_graph();
  const auto on = [&](std::shared_ptr<const DeviceProfile> profile, const Graph& g) {
    options.profile = std::move(profile);
    Posed posed = posed_of(g, options);
    name_kinds(posed);
    return posed;
  };
  const auto here = profile_for(options, *options.device);
  const auto described = [](const DeviceProfile& p) {
    return p.threads > 0 ? fmt::format("{}, {} threads", p.device, p.threads) : p.device;
  };
  if (device_name != "auto")
    return {on(here, graph), fmt::format("{} (--device {})", described(*here), device_name), device_name};
  OnDevice result{on(here, graph),
                  described(*here) + ", shipped profile; tidemark profile measures this machine", "cpu"};
  const Bytes all = plan::store_all_live_peak(result.posed.problem), memory = physical_memory();
  if (all <= memory) return result;
  const auto elsewhere = device_profile("h200");
  return {on(elsewhere, graph),
          fmt::format("{}, shipped profile (keeping everything takes {}, this machine has {}; --device cpu "
                      "for this machine)",
                      elsewhere->device, format_bytes(all), format_bytes(memory)),
          "h200"};
}

std::vector<std::pair<std::string, Tensor>> named_tensors(const Model& model, const TrainState& state) {
  std::vector<std::pair<std::string, Tensor>> all;
  const auto add = [&](const char* prefix, const std::vector<std::string>& names, const Tensors& tensors) {
    for (std::size_t i = 0; i < tensors.size(); ++i) all.emplace_back(prefix + names[i], tensors[i]);
  };
  add("", model.parameter_names, state.params);
  add("state.", model.state_names, state.state);
  all.emplace_back("optimizer.step", state.optimizer.step);
  add("optimizer.momentum.", model.parameter_names, state.optimizer.momentum);
  add("optimizer.squares.", model.parameter_names, state.optimizer.squares);
  return all;
}

Budget parse_memory(const std::string& text) {
  if (text == "min") return Budget::minimum();
  const auto refuse = [&] {
    fail(Error::Kind::usage, "[budget] '{}' is no budget; write for example 8GiB, 60% or min", text);
  };
  if (!text.ends_with('%')) {
    const std::optional<Bytes> bytes = bytes_of(text);
    if (!bytes) refuse();
    return {*bytes};
  }
  double percent = 0;
  const char* end = text.data() + text.size() - 1;
  const auto [rest, error] = std::from_chars(text.data(), end, percent);
  if (error != std::errc() || rest != end || !(percent >= 0 && percent <= 1000)) refuse();
  return {percent / 100};
}

}  // namespace tidemark::cli
