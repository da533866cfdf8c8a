// tidemark fit: the largest batch, sequence or picture that fits a budget, or the one with most samples a second. By
// bisection over plans; nothing runs.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/fit.h"

#include <fmt/core.h>

#include "tidemark/base/error.h"
#include "tidemark/base/json.h"
#include "tidemark/base/text.h"
#include "tidemark/cli/model_source.h"
#include "tidemark/cli/solve_options.h"

namespace tidemark::cli {
namespace {

class FitVerb : public Command {
 public:
  void declare(Args& args) override {
    model_.declare_name(args);
    args.option("-b,--budget", budget_, "In bytes: 8GiB, 500MB");
    args.required("--budget");
    args.option("--vary", vary_, "What grows: batch, seq or size");
    args.option("--goal", goal_, "largest, or throughput: most samples (tokens, pixels) a second");
    args.choices("--vary", {"batch", "seq", "size"});
    args.choices("--goal", {"largest", "throughput"});
    args.option("--most", most_, "Look no further than this");
    args.option("--multiple-of", multiple_,
                "Only multiples of it; 0: of 32 for sizes of pictures, else of 1");
    args.option("--most-over", most_over_, "Only plans at most so many per cent over the floor; -1: any");
    args.option("--retries", retries_,
                "How often a size with no plan found, and none proven to be, gets 4 times the time");
    model_.declare(args);
    options_.declare(args);
    args.flag("--json", json_,
              "Print {batch, budget, peak, seconds_over_floor, refused, proven}, and seq or size where that "
              "varies");
    args.footer(
        "The time is for each size that is tried. Exit code 2: not even the least fits.\n"
        "refused: the least size above that does not fit; proven: no plan can; else none was found in the "
        "time.\n"
        "Example: tidemark fit resnet18 --size 64 --budget 500MB --time 200ms");
  }

  int run() override {
    if (vary_ != "batch" && vary_ != "seq" && vary_ != "size")
      fail(Error::Kind::usage, "[fit] --vary {} is none of batch, seq, size", vary_);
    if (goal_ != "largest" && goal_ != "throughput")
      fail(Error::Kind::usage, "[fit] --goal {} is none of largest, throughput", goal_);
    // Pictures are halved several times on their way.
    if (multiple_ == 0) multiple_ = vary_ == "size" ? 32 : vary_ == "batch" ? model_.means.parts() : 1;
    if (most_ < 1 || multiple_ < 1)
      fail(Error::Kind::usage, "[fit] --most {} and --multiple-of {} vs at least 1", most_, multiple_);
    if (budget_.ends_with('%') || budget_ == "min")
      fail(Error::Kind::usage,
           "[fit] '{}' depends on the size that is looked for; give the budget in bytes, e.g. 8GiB", budget_);
    FitOptions options{
        .budget = parse_bytes(budget_), .most = most_, .multiple_of = multiple_, .solve = options_.get()};
    options.least = vary_ == "size" ? std::min<std::int64_t>(32, most_) : 1;
    if (!(most_over_ >= 0) && most_over_ != -1)
      fail(Error::Kind::usage, "[fit] --most-over {} vs 0 or more, or -1 for any", most_over_);
    if (retries_ < 0) fail(Error::Kind::usage, "[fit] --retries {} vs 0 or more", retries_);
    options.retries = static_cast<int>(std::min<std::int64_t>(retries_, 16));
    if (most_over_ >= 0) options.most_overhead = most_over_ / 100;
    std::optional<std::int64_t> ModelSource::*const what = vary_ == "batch" ? &ModelSource::batch
                                                           : vary_ == "seq" ? &ModelSource::seq
                                                                            : &ModelSource::size;
    if (model_.*what)
      fail(Error::Kind::usage, "[fit] --{0} is what is looked for; --vary names what grows", vary_);
    const PoseAt pose_at = [&](std::int64_t n) {
      ModelSource at = model_;
      at.*what = n;
      ModelSource::OnDevice on = at.posed();
      model_.device_name = on.name;  // the first size decides for all
      return std::move(on.posed.problem);
    };
    ModelSource varied = model_;
    varied.*what = options.least;
    if (!varied.meaningless().empty())
      fail(Error::Kind::usage, "[fit] {} has no {} to vary", model_.name,
           vary_ == "seq" ? "sequence" : "pictures");
    Fit fit;
    {
      ProgressLine line;
      options.solve.progress = [](const plan::Progress&) { return !was_interrupted(); };
      options.progress = [&](const FitTry& t) {
        line.show(fmt::format("{} {}: {}", vary_, t.n,
                              t.fits     ? "fits"
                              : t.proven ? "does not fit"
                                         : "no plan found"));
        return !was_interrupted();
      };
      fit = goal_ == "largest" ? largest_fit(pose_at, options) : best_fit(pose_at, options);
    }
    if (fit.n > 0) json_ ? print_json(fit, options.budget) : print_table(fit, options.budget);
    if (was_interrupted()) {
      say("interrupted; {}", fit.n > 0 ? "this is the best so far" : "nothing fits so far");
      return Exit::interrupted;
    }
    if (fit.n == 0) {
      say("[fit] {} {} does not fit {}{}: {}", vary_, fit.tried.empty() ? options.least : fit.tried[0].n,
          format_bytes(options.budget), fit.proven ? "" : " as far as was found", fit.why_not);
    }
    return fit.n > 0 ? Exit::done : Exit::no;
  }

 private:
  std::int64_t batch_of(const Fit& fit) const {
    if (vary_ == "batch") return fit.n;
    return model_.batch ? *model_.batch : model_.model().batch[0].type.shape[0];
  }

  void print_json(const Fit& fit, Bytes budget) const {
    JsonWriter w;
    w.begin_object().field("batch", batch_of(fit));
    if (vary_ != "batch") w.field(vary_, fit.n);
    w.field("budget", budget)
        .field("peak", fit.plan.peak)
        .field("seconds_over_floor", fit.plan.seconds - fit.seconds_floor)
        .field("refused", fit.refused)
        .field("proven", fit.proven)
        .end_object();
    fmt::print("{}\n", w.text());
  }

  std::string upper_side(const Fit& fit) const {
    if (fit.refused == 0)
      return fit.stopped ? "not looked at" : fmt::format("nothing above was looked at: --most {}", most_);
    if (fit.proven) return fmt::format("{} {} is proven not to fit", vary_, fit.refused);
    double seconds = 0;
    for (const FitTry& t : fit.tried) {
      if (t.n == fit.refused) seconds = std::max(seconds, t.time_limit);
    }
    return fmt::format(
        "no plan for {} {} was found in {}; that there is none is not proven, more --time may find one",
        vary_, fit.refused, format_seconds(seconds));
  }

  void print_table(const Fit& fit, Bytes budget) const {
    Table table;
    table.row("model", model_.name);
    table.row("batch", fmt::format("{}", batch_of(fit)));
    if (vary_ != "batch") table.row(vary_, fmt::format("{}", fit.n));
    table.row("peak", fmt::format("{} of {}", format_bytes(fit.plan.peak), format_bytes(budget)));
    table.row("time", fmt::format("{}, {} over the floor", format_seconds(fit.plan.seconds),
                                  format_percent(fit.overhead())));
    table.row("rate", fmt::format("{:.4g} {} a second, predicted", fit.per_second(),
                                  vary_ == "batch" ? "samples" : vary_));
    table.row("next", upper_side(fit));
    std::string tried;
    for (const FitTry& t : fit.tried)
      tried += fmt::format("{}{}{}", tried.empty() ? "" : " ", t.n, t.fits ? "" : t.proven ? "-" : "?");
    table.row("looked at", tried + "  (-: proven not to fit, ?: no plan found)");
    table.print();
  }

  ModelSource model_;
  std::string budget_, vary_ = "batch", goal_ = "largest";
  std::int64_t most_ = 1 << 16, multiple_ = 0;
  double most_over_ = -1;
  std::int64_t retries_ = FitOptions{}.retries;
  SolveOptions options_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> fit_verb() { return std::make_unique<FitVerb>(); }

}  // namespace tidemark::cli
