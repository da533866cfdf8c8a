// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/loop_choices.h"

#include <simdjson.h>

#include <algorithm>
#include <set>

#include "tidemark/base/json.h"
#include "tidemark/compile/loops.h"
#include "tidemark/compile/plan_notes.h"
#include "tidemark/schedule/sized.h"

namespace tidemark {

void set_area(Graph& g, const PairNodes& pair, Bytes bytes) {
  Node &saving = g.nodes[pair.saving], &adjoint = g.nodes[pair.adjoint];
  AdjointShape s = adjoint_shape(adjoint.attrs, adjoint.regions);
  s.bytes = bytes;
  for (Node* n : {&saving, &adjoint}) n->attrs.set("bytes", bytes);
  const OnlineArea online = s.counted ? online_area_of(adjoint.attrs, s.state) : OnlineArea{};
  s.levels = schedule::Sized(s.counted ? online.longest : longest_leaf(adjoint.attrs), s.state, s.tape,
                             s.counted ? online.segments : area_of_segments(adjoint.attrs, bytes))
                 .levels();
  for (Node* n : {&saving, &adjoint}) n->attrs.set("levels", s.levels);
  const Type area{Shape{bytes}, DType::u8};
  g.value(saving.out.back()).type = area;
  g.value(adjoint.out[0]).type = s.runs_again() ? area : Type{Shape{0}, DType::u8};
}

void set_inner(Graph& g, Bytes budget) {
  for (Node& n : g.nodes) {
    if (is_loop(*n.op)) n.attrs.set("inner", budget);
  }
}

void note_inner_tiers(Graph& g, const PoseOptions& options) {
  if (options.tiers.empty()) return;
  for (Node& n : g.nodes) {
    if (!is_loop(*n.op)) continue;
    std::vector<std::int64_t> held(options.tiers.size(), 0);
    for (const Graph& region : n.regions) {
      if (!has_loops(region)) continue;
      const PlannedRegion& planned =
          options.regions->at(region, n.attrs.integer("inner", RegionCache::kWhatever), options);
      for (std::size_t k = 0; k < planned.in_tiers.size(); ++k) held[k] += planned.in_tiers[k];
    }
    if (std::any_of(held.begin(), held.end(), [](Bytes b) { return b > 0; }))
      n.attrs.set("inner_tiers", held);
  }
}

void set_choice(Graph& g, const PairNodes& pair, const Node& saving, const Node& adjoint,
                const LoopChoice& choice, std::int64_t store) {
  const Attr inner = *g.nodes[pair.saving].attrs.find("inner");
  const std::int64_t trips = adjoint.attrs.integer("trips");
  g.nodes[pair.saving] = saving;
  g.nodes[pair.adjoint] = adjoint;
  for (const std::size_t n : {pair.saving, pair.adjoint}) {
    Attrs& attrs = g.nodes[n].attrs;
    attrs.set("inner", inner);
    if (choice.tier >= 0) attrs.set("tier", choice.tier).set("store", store);
    if (choice.period > 0) attrs.set("period", choice.period).set("longest", choice.period);
    if (!choice.splits.empty())
      attrs.set("splits", choice.splits).set("longest", schedule::tier_shape(choice.splits, trips).longest);
    if (choice.extra >= 0) attrs.set("extra", choice.extra);
    if (choice.places > 0) attrs.set("places", choice.places);
    if (choice.tier_places > 0) attrs.set("tier_places", choice.tier_places).set("start", choice.start);
  }
  set_area(g, pair, choice.area);
}

namespace {

LoopChoice choice_of(const Node& adjoint) {
  const Attrs& a = adjoint.attrs;
  LoopChoice choice{.area = a.integer("bytes"),
                    .tape = a.integer("tape", 0),
                    .tier = a.integer("tier", -1),
                    .period = a.integer("period", 0),
                    .extra = a.integer("extra", -1),
                    .places = a.integer("places", 0),
                    .tier_places = a.integer("tier_places", 0),
                    .start = a.integer("start", 0)};
  if (a.find("splits") != nullptr) choice.splits = a.integers("splits");
  return choice;
}

// The fields of a choice that are numbers; those that say nothing are left out.
struct Field {
  const char* name;
  std::int64_t LoopChoice::*field;
};
constexpr Field kFields[] = {{"area", &LoopChoice::area},
                             {"tape", &LoopChoice::tape},
                             {"tier", &LoopChoice::tier},
                             {"period", &LoopChoice::period},
                             {"extra", &LoopChoice::extra},
                             {"places", &LoopChoice::places},
                             {"tier_places", &LoopChoice::tier_places},
                             {"start", &LoopChoice::start}};

// {"inner": …, "pairs": […]}
std::string write_choices(const Graph& g) {
  JsonWriter w;
  w.begin_object();
  for (const Node& n : g.nodes) {
    if (!is_loop(*n.op) || n.attrs.find("inner") == nullptr) continue;
    w.field("inner", n.attrs.integer("inner"));
    break;
  }
  w.key("pairs").begin_array();
  for (const PairNodes& pair : pairs_of(g)) {
    const LoopChoice choice = choice_of(g.nodes[pair.adjoint]), none;
    w.new_line().begin_object();
    for (const Field& f : kFields) {
      if (choice.*f.field != none.*f.field) w.field(f.name, choice.*f.field);
    }
    if (!choice.splits.empty()) {
      w.key("splits").begin_array();
      for (const std::int64_t s : choice.splits) w.value(s);
      w.end_array();
    }
    w.end_object();
  }
  return w.end_array().end_object().take();
}

using simdjson::dom::element;

// A number of an object, which stays as it is where there is none; false where it is something else.
bool read_number(element object, const char* name, std::int64_t& number) {
  element value;
  const simdjson::error_code found = object[name].get(value);
  return found == simdjson::NO_SUCH_FIELD ||
         (found == simdjson::SUCCESS && value.get(number) == simdjson::SUCCESS);
}

bool read_choice(element item, LoopChoice& choice) {
  for (const Field& f : kFields) {
    if (!read_number(item, f.name, choice.*f.field)) return false;
  }
  element list;
  if (item["splits"].get(list) != simdjson::SUCCESS) return true;
  simdjson::dom::array splits;
  if (list.get(splits) != simdjson::SUCCESS) return false;
  for (const element e : splits) {
    if (e.get(choice.splits.emplace_back()) != simdjson::SUCCESS) return false;
  }
  return true;
}

// No choice has more.
constexpr Bytes kMost = Bytes{1} << 60;
Bytes most_area(const AdjointShape& s) {
  const Bytes step = s.state + s.tape + kStorageAlign;  // the last for records
  return s.trips < kMost / step ? (s.trips + 2) * step : kMost;
}

// Whether a pair can run with a choice that was read: kernels trust in it.
bool can_run(const LoopChoice& c, const AdjointShape& s, std::span<const TierSpec> tiers) {
  const bool stored = c.tier >= 0, in_area = c.extra >= 0, split = !c.splits.empty();
  if (s.trips < 1 || c.area < 0 || c.area > most_area(s) || c.area % kStorageAlign != 0) return false;
  if (c.tier < -1 || c.tier >= static_cast<std::int64_t>(tiers.size()) || (stored && s.state == 0))
    return false;
  const Bytes room = stored ? tiers[static_cast<std::size_t>(c.tier)].bytes : c.area;
  if (s.counted) {
    if (c.period != 0 || split || c.extra != -1 || stored != (c.tier_places > 0)) return false;
    if (c.tier_places < 0 || c.tier_places > s.trips || c.places < 0 || c.places > s.trips) return false;
    if (!stored && s.tape == 0) return c.places == 0 && c.start == 0;
    if (c.places > most_online_places(c.area, s.state, c.tier_places)) return false;
    if (!stored) return c.start == 0;
    // Where nothing runs again, nothing is read from a tier.
    const bool again = s.tape > 0 ? c.area / s.tape < s.trips : c.area < (s.trips - 1) * s.state;
    return again && c.places > 0 && c.start > 0 && c.start <= s.trips && c.tier_places <= room / s.state;
  }
  if (c.places != 0 || c.tier_places != 0 || c.start != 0) return false;
  if (c.extra < -1 || c.extra > most_area(s) || (in_area && c.extra % kStorageAlign != 0) || c.period < 0 ||
      c.period > std::max<std::int64_t>(0, s.trips - 1))
    return false;
  // By a period in a tier, or by splits there or in the area, or by neither.
  if ((stored && in_area) || (stored || in_area) != (c.period > 0 || split) ||
      (c.period > 0 && (split || in_area)))
    return false;
  if (split && !schedule::are_splits_of(c.splits, s.trips)) return false;
  const std::int64_t places = split          ? schedule::tier_shape(c.splits, s.trips).places
                              : c.period > 0 ? (s.trips - 1) / c.period
                                             : 0;
  return s.state == 0 || places <= room / s.state;
}

// Whether it is of these loops. What steps keep in tiers is not noted yet.
bool read_choices(Graph& g, element json, const PoseOptions& options) {
  Bytes inner = RegionCache::kWhatever;
  const bool has_inner = json["inner"].error() == simdjson::SUCCESS;
  if (!read_number(json, "inner", inner) || inner < RegionCache::kWhatever || inner > kMost) return false;
  if (has_inner) set_inner(g, inner);
  simdjson::dom::array list;
  const std::vector<PairNodes> pairs = pairs_of(g);
  if (json["pairs"].get(list) != simdjson::SUCCESS || list.size() != pairs.size()) return false;
  if (!pairs.empty() && !has_inner) return false;
  std::size_t next = 0;
  for (const element item : list) {
    const PairNodes& pair = pairs[next++];
    LoopChoice choice;
    if (!read_choice(item, choice)) return false;
    Node saving = g.nodes[pair.saving], adjoint = g.nodes[pair.adjoint];
    bool found = choice.tape == 0;
    for (const TapeCut kind : {TapeCut::all, TapeCut::cheap}) {
      if (found) break;
      std::optional<TapedPair> taped = taped_pair(saving, adjoint, kind);
      if (!taped || taped->tape != choice.tape) continue;
      found = true;
      saving = std::move(taped->saving);
      adjoint = std::move(taped->adjoint);
    }
    if (!found || !can_run(choice, adjoint_shape(adjoint.attrs, adjoint.regions), options.tiers))
      return false;
    set_choice(g, pair, saving, adjoint, choice, choice.tier >= 0 ? options.regions->new_store() : 0);
  }
  return true;
}

// What the kernel of a step follows; how good it is, is the whole program's matter.
plan::Plan bare(plan::Plan plan) {
  forget_proofs(plan);
  plan.solve_seconds = 0;
  return plan;
}

// The steps of all loops, those inside steps first.
void collect(const Graph& g, const PoseOptions& options, std::set<std::string>& seen, std::string& out) {
  for (const Node& n : g.nodes) {
    if (!is_loop(*n.op)) continue;
    for (const Graph& region : n.regions) {
      const std::string key =
          RegionCache::key(region, n.attrs.integer("inner", RegionCache::kWhatever), options);
      const PlannedRegion* planned = options.regions->find(key);
      if (planned == nullptr || !seen.insert(key).second) continue;
      const Graph& inside = planned->posed->binding.graph;
      collect(inside, options, seen, out);
      out += fmt::format("{}\n{{\"key\": \"{}\", ", out.empty() ? "" : ",", key);
      if (has_loops(inside)) out += "\"loops\": " + write_choices(inside) + ", ";
      out += "\"plan\": " + plan::write_plan(planned->posed->problem, bare(planned->plan)) + "}";
    }
  }
}

}  // namespace

std::string loop_choices(const Graph& graph, const PoseOptions& options) {
  if (!has_loops(graph)) return "";
  std::string regions;
  std::set<std::string> seen;
  if (options.regions) collect(graph, options, seen, regions);
  return fmt::format("{{\"loops\": {}, \"steps\": [{}]}}", write_choices(graph), regions);
}

std::optional<Graph> with_loop_choices(Graph graph, std::string_view json, const PoseOptions& options) {
  simdjson::dom::parser parser;
  element root, loops;
  if (parser.parse(simdjson::padded_string(json)).get(root) != simdjson::SUCCESS ||
      root["loops"].get(loops) != simdjson::SUCCESS || !options.regions)
    return std::nullopt;
  if (!read_choices(graph, loops, options)) return std::nullopt;
  simdjson::dom::array steps;
  const bool has_steps = root["steps"].get(steps) == simdjson::SUCCESS;
  if (has_steps) {
    for (const element step : steps) {
      std::string_view key;
      element plan, inside;
      if (step["key"].get(key) != simdjson::SUCCESS || step["plan"].get(plan) != simdjson::SUCCESS) continue;
      const bool nested = step["loops"].get(inside) == simdjson::SUCCESS;
      options.regions->expect(std::string(key), simdjson::minify(plan),
                              nested ? fmt::format("{{\"loops\": {}}}", simdjson::minify(inside)) : "");
    }
  }
  note_inner_tiers(graph, options);
  for (std::size_t k = 0; k < options.tiers.size(); ++k) {
    if (loop_bytes(graph, k) <= options.tiers[k].bytes) continue;
    // A search is not to find steps as they were read. (Loops inside steps have none of their own here.)
    if (has_steps) options.regions->forget();
    return std::nullopt;
  }
  return graph;
}

std::string loop_choices_in(std::string_view plan_json) {
  simdjson::dom::parser parser;
  element root, loops;
  if (parser.parse(simdjson::padded_string(plan_json)).get(root) != simdjson::SUCCESS ||
      root["x_loops"].get(loops) != simdjson::SUCCESS)
    return "";
  return simdjson::minify(loops);
}

}  // namespace tidemark
