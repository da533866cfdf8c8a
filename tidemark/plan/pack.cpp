// The driver of pack: greedy answers first, then better ones for as long as there is time and something to
// gain.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/pack.h"

#include <ctime>

#include "tidemark/plan/pack_greedy.h"

namespace tidemark::plan {
namespace {

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace

Packing pack(std::span<const Interval> intervals, const PackOptions& options) {
  using namespace packing;
  const double stop = cpu_seconds() + options.time_limit;
  const Items items = make_items(intervals, options.align);
  const Units target = options.capacity < 0 ? items.lower_bound
                                            : std::max(options.capacity / options.align, items.lower_bound);

  AddressTree tree(items.sections());
  Layout best;
  bool first = true;
  for (const Rule rule :
       {Rule::size_start, Rule::size_duration, Rule::size_end, Rule::area, Rule::duration, Rule::start}) {
    if (!first && (best.height <= target || cpu_seconds() > stop)) break;
    const std::vector<std::int32_t> order = order_by(items, rule);
    for (const Fit kind : {Fit::best, Fit::first}) {
      if (!first && (best.height <= target || cpu_seconds() > stop)) break;
      Layout next = fit(items, order, kind, tree);
      if (first || next.height < best.height) best = std::move(next);
      first = false;
    }
  }

  Packing out;
  out.offsets.assign(intervals.size(), 0);
  for (std::size_t i = 0; i < intervals.size(); ++i)
    if (items.item_of[i] >= 0)
      out.offsets[i] = best.offsets[static_cast<std::size_t>(items.item_of[i])] * options.align;
  out.bytes = best.height * options.align;
  out.lower_bound = items.lower_bound * options.align;
  return out;
}

}  // namespace tidemark::plan
