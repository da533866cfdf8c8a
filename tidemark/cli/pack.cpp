// tidemark pack: offsets for a CSV of buffers with lifetimes.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/pack.h"

#include <fmt/core.h>

#include "tidemark/base/error.h"
#include "tidemark/base/json.h"
#include "tidemark/base/text.h"
#include "tidemark/cli/problem_source.h"
#include "tidemark/cli/terminal.h"
#include "tidemark/cli/verb.h"
#include "tidemark/plan/pack_csv.h"

namespace tidemark::cli {
namespace {

class PackVerb : public Command {
 public:
  void declare(Args& args) override {
    args.positional("file", file_, "CSV with the columns id,lower,upper,size; lifetimes are half-open");
    args.option("--capacity", capacity_,
                "Stop at the first packing that fits, e.g. 1048576 or 1MiB; exit code 2 if none is found");
    args.flag("--minimise", minimise_, "Make the arena as small as the time allows (the default)");
    args.option("--align", align_, "Offsets are multiples of it, and sizes count rounded up to it");
    args.option("--time", time_, "CPU time to spend, e.g. 1s or 500ms");
    args.option("-o,--output", output_, "Write the CSV with a column of offsets there");
    args.flag("--json", json_, "Print {bytes, lower_bound, seconds}");
    args.footer("Example: tidemark pack buffers.csv --capacity 1MiB -o packed.csv");
  }

  int run() override {
    if (minimise_ && !capacity_.empty())
      fail(Error::Kind::usage, "[pack] --capacity and --minimise exclude each other");
    if (align_ < 1) fail(Error::Kind::usage, "[pack] --align {} is not positive", align_);
    const Bytes capacity = capacity_.empty() ? -1 : parse_bytes(capacity_);
    const double time_limit = parse_seconds(time_);
    expect_writable(output_);
    const auto instance =
        read_named(file_, [](const std::string& text) { return plan::read_pack_csv(text); });
    const double begin = cpu_seconds();
    const plan::Packing packing = plan::pack(
        instance.intervals,
        {.align = align_, .capacity = capacity, .time_limit = time_limit, .stop = &interrupt_flag()});
    const double seconds = cpu_seconds() - begin;
    const std::string broken = plan::check_packing(instance.intervals, packing, align_);
    TIDEMARK_CHECK(broken.empty(), "[pack] {}", broken);
    if (!output_.empty()) write_file(output_, plan::write_pack_csv(instance, packing));
    const bool fits = capacity < 0 || packing.bytes <= capacity;
    if (json_) {
      JsonWriter w;
      w.begin_object()
          .field("bytes", packing.bytes)
          .field("lower_bound", packing.lower_bound)
          .field("seconds", seconds)
          .end_object();
      fmt::print("{}\n", w.text());
    } else {
      const auto over =
          static_cast<double>(packing.bytes) / static_cast<double>(std::max<Bytes>(packing.lower_bound, 1));
      Table table;
      table.row("buffers", fmt::format("{}", instance.intervals.size()));
      table.row("arena", fmt::format("{} ({})", packing.bytes, format_bytes(packing.bytes)));
      table.row("most live", fmt::format("{} ({}); the arena is {:.4f} of it", packing.lower_bound,
                                         format_bytes(packing.lower_bound), over));
      if (capacity >= 0)
        table.row("capacity", fmt::format("{} ({}): {}", capacity, format_bytes(capacity),
                                          fits ? "fits" : "not reached"));
      table.row("time", format_seconds(seconds));
      table.print();
    }
    if (!fits) {
      say("[pack] {} bytes vs capacity {}{}", packing.bytes, capacity,
          packing.lower_bound > capacity && align_ > 1
              ? "; more is live at one moment, each size rounded up to --align, so none exists"
          : packing.lower_bound > capacity ? "; more is live at one moment, so none exists"
                                           : "; more --time may find one");
    }
    if (was_interrupted()) say("interrupted; this is the best so far");
    return was_interrupted() ? Exit::interrupted : fits ? Exit::done : Exit::no;
  }

 private:
  std::string file_, capacity_, output_, time_ = "1s";
  std::int64_t align_ = 1;
  bool minimise_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> pack_verb() { return std::make_unique<PackVerb>(); }

}  // namespace tidemark::cli
