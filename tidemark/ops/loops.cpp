// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ops/loops.h"

#include "tidemark/ops/loop_kernels.h"
#include "tidemark/ops/table.h"

namespace tidemark {

Type stacked(const Type& type, std::int64_t n) {
  std::vector<std::int64_t> sizes{n};
  sizes.insert(sizes.end(), type.shape.begin(), type.shape.end());
  return {Shape(std::move(sizes)), type.dtype};
}

Type slice_type(const Type& type) {
  if (type.shape.rank() == 0)
    fail(Error::Kind::usage, "[scan] xs hold a scalar; a slice of the first axis is taken each step");
  return {Shape(std::vector<std::int64_t>(type.shape.begin() + 1, type.shape.end())), type.dtype};
}

Bytes snapshot_bytes(std::span<const Type> state) {
  Bytes bytes = 0;
  for (const Type& t : state) bytes += round_up(t.bytes(), kStorageAlign);
  return bytes;
}

LoopShape loop_shape(const Attrs& a, std::size_t inputs, const std::vector<Graph>& regions) {
  LoopShape s{.trips = a.integer("trips"),
              .carries = static_cast<int>(a.integer("carries")),
              .xs = static_cast<int>(a.integer("xs", 0)),
              .reverse = a.flag("reverse"),
              .counted = a.flag("counted")};
  s.consts = static_cast<int>(inputs) - s.carries - s.xs - (s.counted ? 1 : 0);
  TIDEMARK_CHECK(!regions.empty(), "a loop has no body");
  s.ys = static_cast<int>(regions[0].outputs.size()) - s.carries;
  TIDEMARK_CHECK(s.trips >= 0 && s.carries >= 0 && s.xs >= 0 && s.consts >= 0 && s.ys >= 0,
                 "a loop of {} inputs has {} carries and {} xs", inputs, s.carries, s.xs);
  return s;
}

Attrs loop_attrs(const LoopShape& s) {
  Attrs a{{"trips", s.trips}, {"carries", std::int64_t{s.carries}}, {"xs", std::int64_t{s.xs}}};
  if (s.reverse) a.set("reverse", std::int64_t{1});
  if (s.counted) a.set("counted", std::int64_t{1});
  return a;
}

AdjointShape adjoint_shape(const Attrs& a, const std::vector<Graph>& regions) {
  const auto count = [&](const char* name) { return static_cast<int>(a.integer(name)); };
  AdjointShape s{.trips = a.integer("trips"),
                 .bytes = a.integer("bytes"),
                 .tape = a.integer("tape", 0),
                 .levels = a.integer("levels", 0),
                 .split = a.find("splits") != nullptr || a.find("period") != nullptr,
                 .extra = a.integer("extra", 0),
                 .states = count("states"),
                 .adjoints = count("adjoints"),
                 .advance_xs = count("advance_xs"),
                 .advance_consts = count("advance_consts"),
                 .adjoint_xs = count("adjoint_xs"),
                 .adjoint_consts = count("adjoint_consts"),
                 .reverse = a.flag("reverse"),
                 .counted = a.flag("counted"),
                 .states_read = a.integers("states_read")};
  TIDEMARK_CHECK(regions.size() == (s.tape > 0 ? 4 : 2), "an adjoint with tapes of {} bytes has {} regions",
                 s.tape, regions.size());
  for (int i = 0; i < s.states; ++i)
    s.state +=
        round_up(regions[0].type(regions[0].outputs[static_cast<std::size_t>(i)]).bytes(), kStorageAlign);
  s.ys = static_cast<int>(regions[1].outputs.size()) - s.adjoints;
  return s;
}

Attrs adjoint_attrs(const AdjointShape& s) {
  Attrs a{{"trips", s.trips},
          {"bytes", s.bytes},
          {"states", std::int64_t{s.states}},
          {"adjoints", std::int64_t{s.adjoints}},
          {"advance_xs", std::int64_t{s.advance_xs}},
          {"advance_consts", std::int64_t{s.advance_consts}},
          {"adjoint_xs", std::int64_t{s.adjoint_xs}},
          {"adjoint_consts", std::int64_t{s.adjoint_consts}},
          {"states_read", s.states_read}};
  if (s.tape > 0) a.set("tape", s.tape);
  if (s.reverse) a.set("reverse", std::int64_t{1});
  if (s.counted) a.set("counted", std::int64_t{1});
  return a;
}

Bytes online_area(std::int64_t places, Bytes state, std::int64_t trips) {
  if (state == 0 || places >= trips - 1) return (trips - 1) * state;
  return places * state + round_up(kOnlineRecord * places, kStorageAlign);
}

std::int64_t online_places(Bytes bytes, Bytes state, std::int64_t trips) {
  if (state == 0 || bytes / state >= trips - 1) return trips - 1;
  std::int64_t places = bytes / (state + kOnlineRecord);
  while (places > 0 && online_area(places, state, trips) > bytes) --places;
  return places;
}

std::int64_t OnlineTier::take() {
  const std::int64_t at = next();
  if (count() == places_) {
    // Every other one stays, in order; the places of the others come behind.
    for (std::int64_t k = 1; k <= places_ / 2; ++k) std::swap(memory_[1 + k], memory_[1 + 2 * k]);
    memory_[0] *= 2;
    memory_[1] /= 2;
    if (next() != at) return -1;
  }
  return place(++memory_[1]);
}

std::int64_t OnlineTier::last_period(std::int64_t start, std::int64_t places, std::int64_t steps) {
  std::int64_t period = start;
  while ((steps - 1) / period > places) period *= 2;
  return period;
}

namespace {

Bytes records(std::int64_t places, std::int64_t tier_places) {
  return round_up(kOnlineRecord * places, kStorageAlign) +
         (tier_places > 0 ? round_up(OnlineTier::bytes(tier_places), kStorageAlign) : 0);
}

}  // namespace

OnlineArea online_area_of(Bytes bytes, Bytes state, Bytes tape, std::int64_t trips, std::int64_t places,
                          std::int64_t tier_places, std::int64_t start) {
  if (tape == 0 && tier_places == 0) {
    places = online_places(bytes, state, trips);
    return {.places = places, .longest = trips, .segments = places * state, .all = places >= trips - 1};
  }
  if (tier_places == 0 && bytes >= trips * tape)
    return {.taped = trips, .longest = trips, .segments = bytes, .all = true};
  OnlineArea a{.places = places, .longest = trips, .segments = bytes - records(places, tier_places)};
  // Of many segments one alone would use them.
  if (tier_places == 0) a.taped = a.segments / tape;
  if (tier_places > 0) a.longest = OnlineTier::last_period(start, tier_places, trips);
  return a;
}

OnlineArea online_area_of(const Attrs& a, Bytes state) {
  return online_area_of(a.integer("bytes"), state, a.integer("tape", 0), a.integer("trips"),
                        a.integer("places", 0), a.integer("tier_places", 0), a.integer("start", 0));
}

std::int64_t most_online_places(Bytes bytes, Bytes state, std::int64_t tier_places) {
  if (state == 0) return 0;
  std::int64_t places = std::max<Bytes>(0, bytes) / (state + kOnlineRecord);
  while (places > 0 && places * state + records(places, tier_places) > bytes) --places;
  return places;
}

namespace {

void same(const InferArgs& a, const char* what, std::size_t i, const Type& region, const Type& given) {
  if (region != given)
    fail(Error::Kind::usage, "[{}] {} {} is {} in the body vs {}", a.op, what, i, to_string(region),
         to_string(given));
}

// The operands of a body: state, slices, invariants, from input `first` on.
void check_body(const InferArgs& a, const Graph& body, const LoopShape& s) {
  const auto n = static_cast<std::size_t>(s.carries + s.xs + s.consts);
  TIDEMARK_CHECK(body.inputs.size() == n, "[{}] the body takes {} values vs {} given", a.op,
                 body.inputs.size(), n);
  for (std::size_t i = 0; i < n; ++i) {
    const Type& inside = body.type(body.inputs[i]);
    const bool is_x =
        i >= static_cast<std::size_t>(s.carries) && i < static_cast<std::size_t>(s.first_const());
    if (is_x && (a.in[i].shape.rank() == 0 || a.in[i].shape[0] != s.trips)) {
      fail(Error::Kind::usage, "[{}] xs {} are {} vs {} steps; their first axis is the steps'", a.op,
           i - static_cast<std::size_t>(s.carries), to_string(a.in[i]), s.trips);
    }
    same(a, "input", i, inside, is_x ? slice_type(a.in[i]) : a.in[i]);
  }
  for (int i = 0; i < s.carries; ++i) {
    const auto u = static_cast<std::size_t>(i);
    if (body.type(body.outputs[u]) != a.in[u]) {
      fail(Error::Kind::usage, "[{}] the body turns state {} from {} into {}; a state keeps its type", a.op,
           i, to_string(a.in[u]), to_string(body.type(body.outputs[u])));
    }
  }
  if (s.counted && a.in.back() != Type{Shape{}, DType::i64})
    fail(Error::Kind::usage, "[{}] the count is {} vs i64()", a.op, to_string(a.in.back()));
}

std::vector<Type> loop_outputs(const InferArgs& a, const LoopShape& s) {
  const Graph& body = a.regions[0];
  std::vector<Type> out(a.in.begin(), a.in.begin() + s.carries);
  for (std::size_t i = static_cast<std::size_t>(s.carries); i < body.outputs.size(); ++i)
    out.push_back(stacked(body.type(body.outputs[i]), s.trips));
  return out;
}

std::vector<Type> infer_scan(const InferArgs& a) {
  const LoopShape s = loop_shape(a.attrs, a.in.size(), a.regions);
  check_body(a, a.regions[0], s);
  return loop_outputs(a, s);
}

std::vector<Type> infer_while(const InferArgs& a) {
  TIDEMARK_CHECK(a.regions.size() == (a.attrs.integer("tape", 0) > 0 ? 3 : 2), "a while_loop has {} regions",
                 a.regions.size());
  const LoopShape s = loop_shape(a.attrs, a.in.size(), a.regions);
  TIDEMARK_CHECK(s.xs == 0, "a while_loop takes no xs");
  check_body(a, a.regions[0], s);
  const Graph& condition = a.regions[1];
  TIDEMARK_CHECK(condition.inputs.size() == a.in.size(), "the condition takes {} values vs {}",
                 condition.inputs.size(), a.in.size());
  for (std::size_t i = 0; i < a.in.size(); ++i)
    same(a, "input of the condition", i, condition.type(condition.inputs[i]), a.in[i]);
  if (condition.outputs.size() != 1 || condition.type(condition.outputs[0]) != Type{Shape{}, DType::boolean})
    fail(Error::Kind::usage, "[while_loop] the condition is no single boolean scalar");
  std::vector<Type> out = loop_outputs(a, s);
  out.push_back({Shape{}, DType::i64});
  return out;
}

std::vector<Type> infer_saving(const InferArgs& a) {
  std::vector<Type> out = infer_scan(a);
  out.push_back({Shape{a.attrs.integer("bytes")}, DType::u8});
  return out;
}

std::vector<Type> infer_while_saving(const InferArgs& a) {
  std::vector<Type> out = infer_while(a);
  out.push_back({Shape{a.attrs.integer("bytes")}, DType::u8});
  return out;
}

std::vector<Type> infer_adjoint(const InferArgs& a) {
  const AdjointShape s = adjoint_shape(a.attrs, a.regions);
  TIDEMARK_CHECK(static_cast<int>(a.in.size()) == s.inputs(), "an adjoint of {} inputs is given {}",
                 s.inputs(), a.in.size());
  const Graph &advance = a.regions[0], &adjoint = a.regions[1];
  std::vector<Type> wanted;
  const auto want = [&](int first, int n, bool slices) {
    for (int i = first; i < first + n; ++i)
      wanted.push_back(slices ? slice_type(a.in[static_cast<std::size_t>(i)])
                              : a.in[static_cast<std::size_t>(i)]);
  };
  const auto check = [&](const Graph& region) {
    TIDEMARK_CHECK(region.inputs.size() == wanted.size(), "a region takes {} values vs {}",
                   region.inputs.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i)
      same(a, "input", i, region.type(region.inputs[i]), wanted[i]);
    wanted.clear();
  };
  want(s.first_state(), s.states, false);
  want(s.first_advance_x(), s.advance_xs, true);
  want(s.first_advance_const(), s.advance_consts, false);
  check(advance);
  want(s.first_adjoint(), s.adjoints, false);
  for (const std::int64_t i : s.states_read) want(s.first_state() + static_cast<int>(i), 1, false);
  want(s.first_adjoint_x(), s.adjoint_xs, true);
  want(s.first_adjoint_const(), s.adjoint_consts, false);
  check(adjoint);
  if (s.counted && a.in.back() != Type{Shape{}, DType::i64})
    fail(Error::Kind::usage, "[{}] the count is {} vs i64()", a.op, to_string(a.in.back()));
  std::vector<Type> out{s.runs_again() ? a.in[0] : Type{Shape{0}, DType::u8}};
  for (int i = 0; i < s.adjoints; ++i) out.push_back(a.in[static_cast<std::size_t>(s.first_adjoint() + i)]);
  for (std::size_t i = static_cast<std::size_t>(s.adjoints); i < adjoint.outputs.size(); ++i)
    out.push_back(stacked(adjoint.type(adjoint.outputs[i]), s.trips));
  return out;
}

std::vector<Type> types_of(const Graph& g, const std::vector<ValueId>& ids) {
  std::vector<Type> types;
  for (const ValueId v : ids) types.push_back(g.type(v));
  return types;
}

void check_inputs(const InferArgs& a, const Graph& region, std::span<const Type> in) {
  TIDEMARK_CHECK(region.inputs.size() == in.size(), "[{}] a region takes {} values vs {}", a.op,
                 region.inputs.size(), in.size());
  for (std::size_t i = 0; i < in.size(); ++i) same(a, "input", i, region.type(region.inputs[i]), in[i]);
}

std::vector<Type> infer_cond(const InferArgs& a) {
  TIDEMARK_CHECK(a.regions.size() == 2 && !a.in.empty(), "a cond has {} regions, not two", a.regions.size());
  if (a.in[0] != Type{Shape{}, DType::boolean})
    fail(Error::Kind::usage, "[cond] the condition is {} vs bool()", to_string(a.in[0]));
  for (const Graph& branch : a.regions) check_inputs(a, branch, a.in.subspan(1));
  std::vector<Type> out = types_of(a.regions[0], a.regions[0].outputs);
  const std::vector<Type> other = types_of(a.regions[1], a.regions[1].outputs);
  if (out.size() != other.size())
    fail(Error::Kind::usage, "[cond] one branch returns {} tensors, the other {}", out.size(), other.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] != other[i])
      fail(Error::Kind::usage, "[cond] result {} is {} in one branch vs {} in the other", i,
           to_string(out[i]), to_string(other[i]));
  }
  return out;
}

std::vector<Type> infer_call(const InferArgs& a) {
  TIDEMARK_CHECK(a.regions.size() == 1, "a call has {} regions, not one", a.regions.size());
  check_inputs(a, a.regions[0], a.in);
  return types_of(a.regions[0], a.regions[0].outputs);
}

Cost cost_of_graph(const Graph& g, int threads) {
  Cost cost;
  for (const Node& n : g.nodes) {
    KernelSpec spec{.attrs = n.attrs, .regions = n.regions, .threads = threads};
    for (const ValueId v : n.in) spec.in.push_back(g.value(v));
    for (const ValueId v : n.out) spec.out.push_back(g.value(v));
    const Cost c = cost_of(*n.op, spec);
    cost.flops += c.flops;
    cost.bytes += c.bytes;
  }
  return cost;
}

// What all the steps cost; of branches, the dearer one.
Cost cost_of_loop(const KernelSpec& s) {
  const auto trips = static_cast<double>(s.attrs.integer("trips", 1));
  Cost most;
  for (const Graph& region : s.regions) {
    const Cost c = cost_of_graph(region, s.threads);
    most = {std::max(most.flops, c.flops), std::max(most.bytes, c.bytes)};
  }
  return {most.flops * trips, most.bytes * trips};
}

}  // namespace

constinit const Op scan_op{
    .name = "scan",
    .doc =
        "Runs its region `trips` times: a state is handed from step to step, xs are taken and ys given slice "
        "by slice.",
    .infer = infer_scan,
    .cost = cost_of_loop,
    .reference = [](const KernelSpec& s) { return scan_kernel(s, in_order); },
};
constinit const Op while_op{
    .name = "while_loop",
    .doc = "Runs its body as long as its condition holds, at most `trips` times; says how often.",
    .infer = infer_while,
    .facts = {.may_refuse = true},
    .cost = cost_of_loop,
    .reference = [](const KernelSpec& s) { return while_kernel(s, in_order); },
};
constinit const Op cond_op{
    .name = "cond",
    .doc = "One of two regions, by a boolean.",
    .infer = infer_cond,
    .cost = cost_of_loop,
    .reference = [](const KernelSpec& s) { return cond_kernel(s, in_order); },
};
constinit const Op call_op{
    .name = "call",
    .doc = "A region under a name of its own.",
    .infer = infer_call,
    .cost = cost_of_loop,
    .reference = [](const KernelSpec& s) { return in_order(s.regions[0], s.threads); },
};
constinit const Op scan_saving_op{
    .name = "scan_saving",
    .doc = "A scan that keeps snapshots of its state, and tapes of steps, for scan_adjoint.",
    .infer = infer_saving,
    .cost = cost_of_loop,
};
constinit const Op scan_adjoint_op{
    .name = "scan_adjoint",
    .doc = "The adjoint of a scan: from snapshots and tapes, with the steps between them run again.",
    .infer = infer_adjoint,
    .facts = {.in_place = {{0, 0}}},
    .cost = cost_of_loop,
};

constinit const Op while_saving_op{
    .name = "while_saving",
    .doc =
        "A while_loop that keeps snapshots of its state, and tapes of steps, for scan_adjoint, as many as "
        "there is room for.",
    .infer = infer_while_saving,
    .facts = {.may_refuse = true},
    .cost = cost_of_loop,
};

OpList loop_ops() {
  static constexpr const Op* list[] = {&scan_op,        &while_op,        &cond_op,        &call_op,
                                       &scan_saving_op, &scan_adjoint_op, &while_saving_op};
  return list;
}

}  // namespace tidemark
