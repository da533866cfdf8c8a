// tidemark profile: times the kernels of models on this machine and writes the file that --device and
// CompileOptions::profile take.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/runtime/profile.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include "tidemark/base/error.h"
#include "tidemark/base/text.h"
#include "tidemark/cli/model_source.h"
#include "tidemark/cli/terminal.h"
#include "tidemark/cli/training.h"
#include "tidemark/compile/compile.h"
#include "tidemark/runtime/codec_profile.h"

namespace tidemark::cli {
namespace {

// Between them: products large and small, convolutions of all kinds, norms, attention, gathers, optimizers.
struct Default {
  const char* model;
  std::optional<std::int64_t> batch, size, seq;
};
constexpr Default kDefaults[] = {
    {"mlp", 64, {}, {}}, {"resnet18", 4, 64, {}},  {"mobilenet-v2", 4, 64, {}},
    {"unet", 1, 64, {}}, {"gpt2-124m", 1, {}, 64}, {"lstm", 4, {}, 8},
};

class ProfileVerb : public Command {
 public:
  void declare(Args& args) override {
    args.option("--model", models_,
                "Models whose ops are timed, with commas; without: a set that covers the common ones");
    model_.declare(args);
    args.option("-o,--output", output_,
                "The profile file; one that is there of the same machine is added to");
    args.required("--output");
    args.flag("--again", again_, "Time shapes anew that the file has");
    args.flag("--in-step", in_step_,
              "Then run each model's step, with everything kept, and take the times that tasks have there: "
              "caches are warmer than for "
              "kernels one by one");
    args.flag("--rooflines", rooflines_, "Write the fitted rooflines without the measured points");
    args.flag("--json", json_, "Print the profile file");
    args.option("--repeats", repeats_, "Runs of a kernel, of which the median counts");
    args.footer(
        "Leave the machine alone meanwhile. Ctrl-C keeps what was measured.\n"
        "Example: tidemark profile --model mlp --batch 2048 -o mine.json; "
        "tidemark plan mlp --batch 2048 --budget 85% --device mine.json");
  }

  int run() override {
    if (repeats_ < 3 || repeats_ > 10000)
      fail(Error::Kind::usage, "[profile] --repeats {} vs between 3 and 10000", repeats_);
    expect_writable(output_);
    const std::shared_ptr<Device> device = model_.device();
    DeviceProfile profile = start(device->threads());
    const std::size_t before = profile.points.size();
    Profiler profiler(device, {.repeats = static_cast<int>(repeats_)});
    std::int64_t timed = 0;
    for (const ModelSource& source : sources()) {
      if (was_interrupted()) break;
      ProgressLine line;
      line.show(source.name + ": tracing");
      const Posed posed = source.posed().posed;
      timed +=
          measure(profile, posed.binding, profiler, device->threads(), again_, [&](const ProfileProgress& p) {
            line.show(fmt::format("{}: {} of {} kernels: {}", source.name, p.done, p.of, p.key));
            return !was_interrupted();
          });
      if (in_step_ && !was_interrupted()) run_step(source, profile, line);
    }
    if (!was_interrupted()) {
      ProgressLine line;
      timed += measure_codecs(profile, profiler, device->threads(), again_, [&](const ProfileProgress& p) {
        line.show(fmt::format("codecs: {} of {} kernels: {}", p.done, p.of, p.key));
        return !was_interrupted();
      });
    }
    const std::size_t points = profile.points.size();
    if (rooflines_) profile.points.clear();
    const std::string text = write_profile(profile);
    write_file(output_, text);
    if (json_) {
      fmt::print("{}", text);
    } else {
      Table table;
      table.row("device", fmt::format("{}, {} threads", profile.device, profile.threads));
      table.row("library", profile.library);
      table.row("timed", fmt::format("{} kernels; {} shapes known before, {} now", timed, before, points));
      table.row("roofline", describe(profile.roofline));
      for (const auto& [op, r] : profile.ops) table.row(op, describe(r));
      table.row("written", output_);
      table.print();
    }
    if (was_interrupted()) {
      say("interrupted; what was measured is written");
      return Exit::interrupted;
    }
    return Exit::done;
  }

 private:
  // A step whose prediction is off corrects the profile it was planned with.
  void run_step(ModelSource source, DeviceProfile& profile, ProgressLine& line) const {
    const std::string alone = write_profile(profile);
    write_file(output_, alone);
    source.device_name = output_;
    Training training(source, {.verb = "profile"});
    training.start(0);
    const Tensors batch = random_batch(training.model(), 0, 0);
    // Enough for two corrections; while other programs disturb the step, none is made.
    constexpr int kSteps = 35, kRounds = 4;
    for (int round = 0; round < kRounds && write_profile(training.compiled().profile()) == alone; ++round) {
      for (int i = 0; i < kSteps && !was_interrupted(); ++i) {
        line.show(fmt::format("{}: step {} of {}", source.name, i + 1, kSteps));
        training.step(batch);
        training.wait_for_correction();
      }
    }
    profile = training.compiled().profile();
  }

  // What the file has, where it is of this machine, this many threads and these libraries.
  DeviceProfile start(int threads) const {
    DeviceProfile fresh = cpu_profile(threads);
    fresh.device = this_cpu();
    fresh.library = library_versions();
    fresh.made = fmt::format("tidemark profile, medians of up to {} runs", repeats_);
    struct stat info {};
    if (stat(output_.c_str(), &info) != 0 || info.st_size == 0) return fresh;
    DeviceProfile there = read_profile(read_file(output_));
    if (there.device != fresh.device || there.threads != threads || there.library != fresh.library) {
      fail(Error::Kind::usage,
           "[profile] {} is of {}, {} threads, {} vs {}, {} threads, {} here; write another file", output_,
           there.device, there.threads, there.library, fresh.device, threads, fresh.library);
    }
    return there;
  }

  std::vector<ModelSource> sources() const {
    if (model_.device_name != "auto")
      fail(Error::Kind::usage, "[profile] --device {} is for plans; what is timed here is this machine",
           model_.device_name);
    ModelSource source = model_;
    source.device_name = "cpu";
    std::vector<ModelSource> all;
    if (models_.empty()) {
      if (model_.batch || model_.size || model_.seq || !model_.sizes.empty())
        fail(Error::Kind::usage,
             "[profile] --batch, --size, --seq and --set are for --model; the common set has its own sizes");
      for (const Default& d : kDefaults) {
        source.name = d.model;
        source.batch = d.batch;
        source.size = d.size;
        source.seq = d.seq;
        all.push_back(source);
      }
      return all;
    }
    // Where several models are timed, a size is for those that have one.
    bool sized = !model_.size, long_enough = !model_.seq;
    for (const std::string& name : models_) {
      source.name = name;
      source.size = model_.size;
      source.seq = model_.seq;
      for (const std::string& option : source.meaningless())
        (option == "--size" ? source.size : source.seq).reset();
      sized |= source.size.has_value();
      long_enough |= source.seq.has_value();
      all.push_back(source);
    }
    if (!sized || !long_enough)
      fail(Error::Kind::usage, "[profile] {} means nothing to {}", sized ? "--seq" : "--size",
           join(models_, " "));
    return all;
  }

  static std::string describe(const Roofline& r) {
    const auto rate = [](double x, const char* unit) {
      return x >= 1e29 ? fmt::format("any {}", unit) : fmt::format("{:.4g} G{}", x * 1e-9, unit);
    };
    return fmt::format("{}, {}, {} a task", rate(r.flops_per_second, "flop/s"),
                       rate(r.bytes_per_second, "B/s"), format_seconds(r.seconds_per_task));
  }

  ModelSource model_;
  std::vector<std::string> models_;
  std::string output_;
  std::int64_t repeats_ = 7;
  bool again_ = false, in_step_ = false, rooflines_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> profile_verb() { return std::make_unique<ProfileVerb>(); }

}  // namespace tidemark::cli
