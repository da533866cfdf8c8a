// Loops in words: what is kept of each, and what that costs.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "tidemark/base/text.h"
#include "tidemark/compile/loop_parts.h"
#include "tidemark/compile/loops.h"
#include "tidemark/schedule/sized.h"

namespace tidemark {
namespace {

std::string with_commas(std::int64_t n) {
  const std::string digits = std::to_string(n);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

// A number of runs for people.
std::string runs(double n) { return n < 99.5 ? fmt::format("{:.2g}", n) : with_commas(std::llround(n)); }

// The regions of a loop's node that are run.
std::vector<const PlannedRegion*> planned_regions(const Node& n, const PoseOptions& options) {
  std::vector<const PlannedRegion*> planned;
  const bool adjoint = n.op == &scan_adjoint_op;
  const AdjointShape s = adjoint ? adjoint_shape(n.attrs, n.regions) : AdjointShape{};
  for (std::size_t r = 0; r < n.regions.size(); ++r) {
    const bool used = !adjoint || r == 3 || s.runs_again() || (r == 1 && s.tape == 0);
    const Bytes inner = n.attrs.integer("inner", RegionCache::kWhatever);
    if (used) planned.push_back(&options.regions->at(n.regions[r], inner, options));
  }
  return planned;
}

std::string line_of(const Node& n, const PoseOptions& options) {
  const AdjointShape s = adjoint_shape(n.attrs, n.regions);
  const OnlineArea online = s.counted ? online_area_of(n.attrs, s.state) : OnlineArea{};
  const schedule::Sized sized(s.counted ? online.longest : longest_leaf(n.attrs), s.state, s.tape,
                              s.counted ? online.segments : area_of_segments(n.attrs, s.bytes));
  Bytes step = 0;
  for (const PlannedRegion* region : planned_regions(n, options)) step = std::max(step, region->arena);
  const LoopCosts costs{.trips = s.trips,
                        .state = s.state,
                        .tape = s.tape,
                        .splits = splits_of(n.attrs),
                        .extra = n.attrs.integer("extra", -1),
                        .online = s.counted,
                        .places = n.attrs.integer("places", 0),
                        .tier_places = n.attrs.integer("tier_places", 0),
                        .start = n.attrs.integer("start", 0)};
  std::string kept;
  if (n.attrs.find("tier") != nullptr)
    kept = fmt::format("{} states in tier {}, ", with_commas(costs.in_tier()), n.attrs.integer("tier"));
  else if (s.split)
    kept = fmt::format("{} states, and while it is reversed ", with_commas(costs.in_tier()));
  if (sized.taped() && sized.all_at_once() && !s.split && costs.tier_places == 0) {
    kept = fmt::format("the tapes of all steps, {} each,", format_bytes(s.tape));
  } else {
    kept += fmt::format("{} {}", with_commas(sized.depths()), sized.taped() ? "snapshots or" : "snapshots");
    if (sized.taped())
      kept += fmt::format(" {} tapes of {}", with_commas(sized.leaf(0) - 1), format_bytes(s.tape));
  }
  return fmt::format(
      "{}{} steps of {} in {}: {} and a {} step; {} forward runs a step (at least {}); all states "
      "would take {}",
      s.counted ? "at most " : "", with_commas(s.trips), format_bytes(s.state),
      format_bytes(s.bytes + s.extra + step), kept, format_bytes(step), runs(costs.forward_runs(s.bytes)),
      runs(costs.least_forward_runs(s.bytes)), format_bytes((s.trips - 1) * s.state));
}

void explain_in(const Graph& graph, const PoseOptions& options, std::string_view pattern, int depth,
                std::vector<std::string>& lines) {
  const std::vector<PairNodes> pairs = pairs_of(graph);
  const std::string indent =
      depth == 0 ? "" : std::string(2 * static_cast<std::size_t>(depth), ' ') + "in each step: ";
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (!is_loop(*node.op)) continue;
    std::vector<ValueId> values = node.out;
    const auto pair =
        std::find_if(pairs.begin(), pairs.end(), [&](const PairNodes& p) { return p.adjoint == n; });
    if (pair != pairs.end()) {
      const std::vector<ValueId>& made = graph.nodes[pair->saving].out;
      values.insert(values.end(), made.begin(), made.end());
    }
    const bool named = std::any_of(values.begin(), values.end(),
                                   [&](ValueId v) { return glob_match(pattern, graph.value(v).name); });
    if (named && pair != pairs.end()) lines.push_back(indent + line_of(node, options));
    if (std::none_of(node.regions.begin(), node.regions.end(), has_loops)) continue;
    // A loop whose name was asked for is explained with all that is in it; several regions may have the same loop inside.
    std::vector<std::string> inside;
    for (const PlannedRegion* region : planned_regions(node, options))
      explain_in(region->posed->binding.graph, options, named ? "*" : pattern, depth + 1, inside);
    for (auto line = inside.begin(); line != inside.end(); ++line) {
      if (std::find(inside.begin(), line, *line) == line) lines.push_back(*line);
    }
  }
}

}  // namespace

std::vector<std::string> explain_loops(const Graph& graph, const PoseOptions& given,
                                       std::string_view pattern) {
  PoseOptions options = given;
  if (!options.regions) options.regions = std::make_shared<RegionCache>();
  std::vector<std::string> lines;
  explain_in(graph, options, pattern, 0, lines);
  return lines;
}

}  // namespace tidemark
