// The forward sweep that keeps snapshots and tapes and the reverse sweep that uses them (schedule/sized.h): snapshots form a
// stack from the start of the area, the tapes of one segment lie at its end; of a loop of unknown length the first sweep (loop_while.cpp) chooses which states
// it has (schedule/online_states.h). With a tier, segments between states that lie there are reversed so, one after the other
// (schedule/tier_splits.h). The first state lies outside; a state that is kept is made in its place, so nothing is copied.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <optional>
#include <utility>

#include "tidemark/compile/loop_parts.h"
#include "tidemark/compile/loop_store.h"
#include "tidemark/compile/loops.h"
#include "tidemark/ops/loops.h"
#include "tidemark/schedule/online_states.h"
#include "tidemark/schedule/sized.h"

namespace tidemark {
namespace {

std::size_t index(int i) { return static_cast<std::size_t>(i); }

class Saving final : public Kernel {
 public:
  Saving(const KernelSpec& spec, const RegionKernel& region, std::shared_ptr<LoopStore> store)
      : store_(std::move(store)),
        shape_(loop_shape(spec.attrs, spec.in.size(), spec.regions)),
        area_(spec.attrs.integer("bytes")),
        tape_(spec.attrs.integer("tape", 0)) {
    const schedule::TierSplits splits = splits_of(spec.attrs);
    if (!splits.empty()) kept_ = schedule::tier_shape(splits, shape_.trips).at;
    // Where they lie in the area, that holds nothing else.
    states_only_ = !splits.empty() && !store_;
    const Graph& body = spec.regions[0];
    in_bytes_ = bytes_of(body, body.inputs);
    out_bytes_ = bytes_of(body, body.outputs);
    slot_of_carry_.assign(index(shape_.carries), -1);
    std::vector<Bytes> state;
    for (const std::int64_t i : spec.attrs.integers("snapshot")) {
      slot_of_carry_[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(state.size());
      state.push_back(in_bytes_[static_cast<std::size_t>(i)]);
    }
    offsets_ = offsets_of(state);
    sized_.emplace(longest_leaf(spec.attrs), offsets_.back(), states_only_ ? 0 : tape_, area_);
    const auto use = [&](std::size_t which) {
      std::shared_ptr<const Kernel> kernel = region(spec.regions[which], spec.threads);
      workspace_ = std::max(workspace_, kernel->workspace());
      return kernel;
    };
    if (store_ || !sized_->taped() || !sized_->all_at_once()) body_ = use(0);
    if (sized_->taped()) {
      taping_ = use(1);
      const std::vector<Bytes> taped = bytes_of(spec.regions[1], spec.regions[1].outputs);
      tape_offsets_ = offsets_of(std::span(taped).subspan(out_bytes_.size()));
    }
    WorkspaceParts parts;
    parts.add(
        static_cast<Bytes>((in_bytes_.size() + out_bytes_.size() + tape_offsets_.size()) * sizeof(void*)));
    table_ = parts.add(sized_->table_size() * static_cast<Bytes>(sizeof(std::int64_t)));
    for (int i = 0; i < shape_.carries; ++i) second_.push_back(parts.add(out_bytes_[index(i)]));
    if (store_) {
      for (Bytes& s : staging_) s = parts.add(offsets_.back());
    }
    inner_ = parts.bytes();
    workspace_ += inner_;
  }

  void run(const Operands& o) const override {
    draining(store_, [&] { sweep(o); });
  }

 private:
  void sweep(const Operands& o) const {
    auto* base = static_cast<std::byte*>(o.workspace);
    auto** in = static_cast<const void**>(o.workspace);
    auto** out = static_cast<void**>(o.workspace) + in_bytes_.size();
    auto* area = static_cast<std::byte*>(o.out[o.out.size() - 1]);
    const std::int64_t n = shape_.trips;
    for (std::size_t i = 0; i < in_bytes_.size(); ++i) in[i] = o.in[i];
    auto* table = reinterpret_cast<std::int64_t*>(base + table_);
    sized_->fill({table, static_cast<std::size_t>(sized_->table_size())});
    const std::int64_t end = n + (sized_->taped() ? 1 : 0);
    // The segment at hand begins at `from`; `next` is where it is split, -1: no more. Before the last state that goes to a tier
    // nothing else is kept.
    std::int64_t from = kept_.empty() ? 0 : kept_.back(), depth = 0, next = -1, tape_from = n;
    std::size_t kept = 0;
    const auto look = [&] {
      const bool leaf = end - from <= sized_->leaf(depth);
      if (leaf && sized_->taped()) tape_from = from;
      const bool stays = leaf || (!sized_->taped() && depth == sized_->depths());
      next = stays ? -1 : from + sized_->split(end - from, depth, table);
    };
    if (!states_only_) look();
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t t = shape_.reverse ? n - 1 - i : i;
      // The state from which a leaf is taped is not needed again.
      const bool keep = kept < kept_.size() && i + 1 == kept_[kept];
      if (keep && store_ && kept >= 2) store_->wait(kept - 2);
      const bool save = i + 1 == next && (!sized_->taped() || end - next > sized_->leaf(depth + 1));
      for (std::size_t c = 0; c < slot_of_carry_.size(); ++c) {
        // By parity: never where the step before left it, and in the outputs at the end.
        out[c] = (n - 1 - i) % 2 == 0 ? static_cast<std::byte*>(o.out[c]) : base + second_[c];
        if (save && slot_of_carry_[c] >= 0)
          out[c] = area + depth * offsets_.back() + offsets_[static_cast<std::size_t>(slot_of_carry_[c])];
      }
      std::byte* place = store_ ? base + staging_[kept & 1] : area + static_cast<Bytes>(kept) * offsets_.back();
      for (std::size_t c = 0; keep && c < slot_of_carry_.size(); ++c) {
        if (slot_of_carry_[c] >= 0)
          out[c] = place + offsets_[static_cast<std::size_t>(slot_of_carry_[c])];
      }
      for (std::size_t x = index(shape_.carries); x < index(shape_.first_const()); ++x)
        in[x] = o.input<std::byte>(x) + t * in_bytes_[x];
      for (std::size_t y = index(shape_.carries); y < out_bytes_.size(); ++y)
        out[y] = o.output<std::byte>(y) + t * out_bytes_[y];
      const std::size_t tapes = i < tape_from ? 0 : tape_offsets_.size() - 1;
      for (std::size_t k = 0; k < tapes; ++k)
        out[out_bytes_.size() + k] = area + area_ - (i - tape_from + 1) * tape_ + tape_offsets_[k];
      (tapes == 0 ? body_ : taping_)
          ->run({{in, in_bytes_.size()}, {out, out_bytes_.size() + tapes}, base + inner_});
      for (std::size_t c = 0; c < slot_of_carry_.size(); ++c) in[c] = out[c];
      if (keep && store_) store_->write(kept, place);
      kept += keep ? 1 : 0;
      if (i + 1 == next) {
        from = next;
        ++depth;
        look();
      }
    }
    for (std::size_t k = kept < 2 ? 0 : kept - 2; store_ && k < kept; ++k) store_->wait(k);
  }

  std::shared_ptr<LoopStore> store_;
  LoopShape shape_;
  Bytes area_, tape_;
  std::vector<std::int64_t> kept_;  // steps between whose states segments are reversed
  bool states_only_ = false;
  std::shared_ptr<const Kernel> body_, taping_;
  std::optional<schedule::Sized> sized_;
  std::vector<Bytes> in_bytes_, out_bytes_, second_, offsets_, tape_offsets_;
  std::vector<std::int32_t> slot_of_carry_;
  Bytes staging_[2] = {0, 0};  // for states on their way to a tier
  Bytes table_ = 0, inner_ = 0;
};

class Adjoint final : public Kernel {
 public:
  Adjoint(const KernelSpec& spec, const RegionKernel& region, std::shared_ptr<LoopStore> store)
      : store_(std::move(store)),
        s_(adjoint_shape(spec.attrs, spec.regions)),
        splits_(splits_of(spec.attrs)),
        area_(s_.counted ? online_area_of(spec.attrs, s_.state) : OnlineArea{}),
        tier_places_(spec.attrs.integer("tier_places", 0)),
        sized_(s_.counted ? area_.longest : longest_leaf(spec.attrs), s_.state, s_.tape,
               s_.counted ? area_.segments : area_of_segments(spec.attrs, s_.bytes)) {
    const Graph &advance = spec.regions[0], &adjoint = spec.regions[1];
    advance_in_ = bytes_of(advance, advance.inputs);
    adjoint_in_ = bytes_of(adjoint, adjoint.inputs);
    adjoint_out_ = bytes_of(adjoint, adjoint.outputs);
    offsets_ = offsets_of(bytes_of(advance, advance.outputs));
    const bool again = s_.runs_again();
    online_ = s_.counted && again;
    Bytes inside = 0;
    const auto use = [&](std::size_t which) {
      std::shared_ptr<const Kernel> kernel = region(spec.regions[which], spec.threads);
      inside = std::max(inside, kernel->workspace());
      return kernel;
    };
    if (again) advance_ = use(0);
    if (again || !sized_.taped()) adjoint_ = use(1);
    if (sized_.taped()) {
      std::vector<Bytes> taped = bytes_of(spec.regions[2], spec.regions[2].outputs);
      tape_offsets_ = offsets_of(std::span(taped).subspan(index(s_.states)));
      if (again) taping_ = use(2);
      untaping_ = use(3);
    }
    WorkspaceParts parts;
    const std::size_t pointers = advance_in_.size() + offsets_.size() + adjoint_in_.size() +
                                 adjoint_out_.size() + 2 * tape_offsets_.size();
    parts.add(static_cast<Bytes>(pointers * sizeof(void*)));
    stack_ = parts.add((sized_.depths() + 2) * static_cast<Bytes>(sizeof(std::int64_t)));
    table_ = parts.add(sized_.table_size() * static_cast<Bytes>(sizeof(std::int64_t)));
    // A state between two kept ones goes back and forth; where nothing runs again there is none.
    if (again) {
      for (Bytes& w : working_) w = parts.add(offsets_.back());
    }
    if (s_.split) {
      // States that lie in the area need no way there; one is made beside them.
      staging_[0] = parts.add(offsets_.back());
      if (store_) staging_[1] = parts.add(offsets_.back());
      const std::int64_t places = schedule::tier_shape(splits_, s_.trips).places;
      kept_ = parts.add((places + 1) * static_cast<Bytes>(sizeof(std::int64_t)));
      extra_ = parts.add(s_.extra);
    } else if (store_) {
      for (Bytes& place : staging_) place = parts.add(offsets_.back());
    }
    for (int i = 0; i < s_.adjoints; ++i) second_.push_back(parts.add(adjoint_out_[index(i)]));
    inner_ = parts.bytes();
    workspace_ = inner_ + inside;
  }

  void run(const Operands& o) const override {
    draining(store_, [&] { sweep(o); });
  }

 private:
  // What a step starts from: outside for the first state, else an address that offsets_ (a tape: tape_offsets_) counts from.
  struct State {
    bool outside = false;
    std::byte* data = nullptr;
    std::byte* tape = nullptr;
  };
  struct Run {
    const Operands& o;
    std::byte* base;
    std::byte* area = nullptr;
    std::byte* segments = nullptr;  // where they are reversed, and its end
    std::byte* end = nullptr;
    const void** advance_in = nullptr;
    void** advance_out = nullptr;
    const void** adjoint_in = nullptr;
    void** adjoint_out = nullptr;
    std::int64_t trips = 0;
    std::optional<schedule::OnlineRecord> record{};
    State root{};  // of the segment at hand
  };

  void sweep(const Operands& o) const {
    Run r{o, static_cast<std::byte*>(o.workspace)};
    r.trips = s_.counted ? *static_cast<const std::int64_t*>(o.in.back()) : s_.trips;
    r.area = static_cast<std::byte*>(s_.runs_again() ? o.out[0] : const_cast<void*>(o.in[0]));
    if (s_.bytes > 0 && r.area != o.in[0]) std::memcpy(r.area, o.in[0], static_cast<std::size_t>(s_.bytes));
    const bool beside = s_.split && !store_;
    r.segments = beside ? r.base + extra_ : r.area;
    r.end = r.segments + (beside ? s_.extra : online_ ? area_.segments : s_.bytes);
    r.advance_in = static_cast<const void**>(o.workspace);
    r.advance_out = static_cast<void**>(o.workspace) + advance_in_.size();
    r.adjoint_in = const_cast<const void**>(r.advance_out + offsets_.size() + tape_offsets_.size());
    r.adjoint_out = r.advance_out + offsets_.size() + 2 * tape_offsets_.size() + adjoint_in_.size();
    for (int i = 0; i < s_.advance_consts; ++i)
      r.advance_in[index(s_.states + s_.advance_xs + i)] = o.in[index(s_.first_advance_const() + i)];
    for (int i = 0; i < s_.adjoints; ++i) r.adjoint_in[index(i)] = o.in[index(s_.first_adjoint() + i)];
    auto* table = reinterpret_cast<std::int64_t*>(r.base + table_);
    sized_.fill({table, static_cast<std::size_t>(sized_.table_size())});

    if (s_.split) {
      by_splits(r);
    } else if (online_ && store_) {
      by_tier(r);
    } else {
      r.root.outside = true;
      segment(r, 0, r.trips, true);
    }
    for (int i = 0; i < s_.adjoints; ++i) {
      const auto bytes = static_cast<std::size_t>(adjoint_out_[index(i)]);
      if (bytes > 0 && r.adjoint_in[i] != o.out[index(1 + i)])
        std::memcpy(o.out[index(1 + i)], r.adjoint_in[i], bytes);
    }
    // Slices of steps that did not run.
    for (std::size_t y = index(s_.adjoints); r.trips < s_.trips && y < adjoint_out_.size(); ++y) {
      const auto rest = static_cast<std::size_t>((s_.trips - r.trips) * adjoint_out_[y]);
      if (rest > 0) std::memset(o.output<std::byte>(1 + y) + r.trips * adjoint_out_[y], 0, rest);
    }
  }

  // Segment by segment, as the splits say.
  void by_splits(Run& r) const {
    std::optional<LoopStages> stages;
    if (store_) stages.emplace(*store_, std::array{r.base + staging_[0], r.base + staging_[1]});
    const auto in_area = [&](std::size_t k) { return r.area + static_cast<Bytes>(k) * s_.state; };
    auto* kept = reinterpret_cast<std::int64_t*>(r.base + kept_);
    std::int64_t to = s_.trips;
    std::size_t depth = 0, next = 0;
    kept[0] = 0;
    for (; splits_[next] > 0; ++next, ++depth) kept[depth + 1] = kept[depth] + splits_[next];
    for (bool first = store_ != nullptr; to > 0; ++next) {
      const std::int64_t top = kept[depth], split = top + std::abs(splits_[next]);
      const bool keep = splits_[next] > 0;
      if (depth > 0 && stages) stages->bring(top, depth - 1, kept[depth - 1]);
      r.root = {.outside = depth == 0};
      if (depth > 0) r.root.data = stages ? stages->at(top) : in_area(depth - 1);
      if (split > top) {
        std::byte* place = stages ? stages->room(top) : keep ? in_area(depth) : r.base + staging_[0];
        advance(r, top, split, r.root, {.data = place});
        if (stages) stages->made(split);
        if (keep) {
          if (stages) stages->keep(split, depth);
          kept[++depth] = split;
          continue;
        }
        r.root = {.data = place};
      } else if (depth > 1 && stages) {
        stages->bring(kept[depth - 1], depth - 2, top);
      }
      segment(r, split, to, std::exchange(first, false));
      to = split;
      if (split == top && depth > 0) --depth;
    }
    if (stages) stages->finish();
  }

  // Of a loop of unknown length: segment by segment, between states that it left in the tier.
  void by_tier(Run& r) const {
    const OnlineTier tier(tier_places_, r.area + area_.segments + round_up(kOnlineRecord * area_.places, kStorageAlign));
    LoopStages stages(*store_, std::array{r.base + staging_[0], r.base + staging_[1]});
    const auto bring = [&](std::int64_t k, std::int64_t beside) {
      stages.bring(k * tier.period(), static_cast<std::size_t>(tier.place(k)), beside * tier.period());
    };
    std::int64_t to = r.trips;
    bool first = true;
    for (std::int64_t k = tier.count(); to > 0; --k) {
      const std::int64_t top = k * tier.period();
      r.root = {.outside = k == 0};
      if (k > 0) bring(k, k - 1), r.root.data = stages.at(top);
      if (k > 1) bring(k - 1, k);
      segment(r, top, to, std::exchange(first, false));
      to = top;
    }
    stages.finish();
  }

  // The stack that the first sweep of a loop of unknown length has left for steps [kept[0], end); its depth.
  std::int64_t stack_of_record(Run& r, std::int64_t* kept, std::int64_t end) const {
    if (end == kept[0]) return 0;
    std::int64_t depth = 0, origin = kept[0];
    if (area_.taped > 0 && area_.places > 0) kept[++depth] = origin = area_.taped;
    const std::int64_t first = depth, places = area_.places - first;
    r.record.emplace(places, r.area + area_.segments);
    const std::int64_t count = r.record->kept(end - origin);
    for (std::int64_t k = 0; k < count; ++k) kept[++depth] = origin + r.record->step(k);
    if (!sized_.taped()) return depth;
    // Tapes lie behind the states, which therefore lie in the order of their steps.
    const auto state = [&](std::int64_t k) { return r.area + (first + k) * offsets_.back(); };
    const auto bytes = static_cast<std::size_t>(offsets_.back());
    std::byte* const held = r.base + working_[0];
    for (std::int64_t k = 0; k < places; ++k) {
      if (r.record->place(k) == k) continue;
      std::memcpy(held, state(k), bytes);
      std::int64_t to = k;
      for (std::int64_t from = r.record->place(to); from != k; from = r.record->place(to)) {
        std::memcpy(state(to), state(from), bytes);
        r.record->put(to, to);
        to = from;
      }
      std::memcpy(state(to), held, bytes);
      r.record->put(to, to);
    }
    r.record.reset();
    return depth;
  }

  // Steps [from, end) from the root, by the area; `first`: what the first sweep has left in it is taken up.
  void segment(Run& r, std::int64_t from, std::int64_t end, bool first) const {
    const auto* table = reinterpret_cast<const std::int64_t*>(r.base + table_);
    auto* kept = reinterpret_cast<std::int64_t*>(r.base + stack_);
    // A loop of unknown length has given its tapes up where it went on behind them.
    const bool tapes = first && sized_.taped() && (!online_ || (!store_ && end <= area_.taped));
    std::int64_t depth = 0, to = end + (tapes ? 1 : 0);
    kept[0] = from;
    r.record.reset();
    if (online_ && first && !tapes) depth = stack_of_record(r, kept, end);
    // The first sweep has left the stack as it is built here.
    while (first && !online_ && to - kept[depth] > sized_.leaf(depth) && (sized_.taped() || depth < sized_.depths())) {
      kept[depth + 1] = kept[depth] + sized_.split(to - kept[depth], depth, table);
      ++depth;
    }
    if (tapes) {
      for (std::int64_t i = end; i-- > kept[depth];) reverse(r, i, {.tape = tape(r, i - kept[depth])});
      to = kept[depth];
    }
    while (to > from) {
      const std::int64_t top = kept[depth];
      if (top == to) {
        --depth;
      } else if (to - top <= sized_.leaf(depth)) {
        leaf(r, top, to, place(r, depth), depth);
        to = top;
      } else {
        const std::int64_t split = top + sized_.split(to - top, depth, table);
        if (to - split <= sized_.leaf(depth + 1)) {
          leaf(r, split, to, advance(r, top, split, place(r, depth), {}), 0);
          to = split;
        } else {
          advance(r, top, split, place(r, depth), place(r, depth + 1));
          kept[++depth] = split;
        }
      }
    }
  }

  State place(const Run& r, std::int64_t depth) const {
    if (depth == 0) return r.root;
    return {.data = r.segments + (r.record ? r.record->place(depth - 1) : depth - 1) * offsets_.back()};
  }
  std::byte* tape(const Run& r, std::int64_t k) const { return r.end - (k + 1) * s_.tape; }
  // Where step i puts the state that it makes.
  std::byte* working(const Run& r, std::int64_t i) const { return r.base + working_[i & 1]; }
  const void* array(const Run& r, const State& s, std::size_t i) const {
    return s.outside ? r.o.in[index(s_.first_state()) + i] : s.data + offsets_[i];
  }
  // The slice that step i of the primal takes; the adjoint's own direction is the other way round.
  std::int64_t slice(std::int64_t i) const { return s_.reverse ? i : s_.trips - 1 - i; }

  // With `tape`, that of the step too.
  State step(const Run& r, std::int64_t i, const State& state, const State& next, std::byte* tape) const {
    const std::size_t states = offsets_.size() - 1, tapes = tape == nullptr ? 0 : tape_offsets_.size() - 1;
    for (std::size_t c = 0; c < states; ++c) {
      r.advance_in[c] = array(r, state, c);
      r.advance_out[c] = next.data + offsets_[c];
    }
    for (std::size_t k = 0; k < tapes; ++k) r.advance_out[states + k] = tape + tape_offsets_[k];
    for (int x = 0; x < s_.advance_xs; ++x) {
      const std::size_t at = index(s_.states + x);
      r.advance_in[at] = r.o.input<std::byte>(index(s_.first_advance_x() + x)) + slice(i) * advance_in_[at];
    }
    (tapes == 0 ? advance_ : taping_)
        ->run({{r.advance_in, advance_in_.size()}, {r.advance_out, states + tapes}, r.base + inner_});
    return next;
  }

  State advance(const Run& r, std::int64_t from, std::int64_t to, State state, State into) const {
    for (std::int64_t i = from; i < to; ++i)
      state = step(r, i, state, i + 1 == to && into.data != nullptr ? into : State{.data = working(r, i)},
                   nullptr);
    return state;
  }

  // Steps [from, to) from a state, which lies in the area at `depth`, or not (0).
  void leaf(const Run& r, std::int64_t from, std::int64_t to, State state, std::int64_t depth) const {
    if (to - from > 1 && depth > 0 && tape(r, 0) < state.data + offsets_.back()) {
      std::byte* free = working(r, from + 1);
      std::memcpy(free, state.data, static_cast<std::size_t>(offsets_.back()));
      state.data = free;
    }
    for (std::int64_t i = from; i + 1 < to; ++i)
      state = step(r, i, state, {.data = working(r, i)}, tape(r, i - from));
    for (std::int64_t i = to; i-- > from;)
      reverse(r, i, i + 1 == to ? state : State{.tape = tape(r, i - from)});
  }

  void reverse(const Run& r, std::int64_t i, const State& state) const {
    const bool into_outputs = i % 2 == 0;  // step 0 is the last
    for (std::size_t a = 0; a < index(s_.adjoints); ++a)
      r.adjoint_out[a] = into_outputs ? static_cast<std::byte*>(r.o.out[1 + a]) : r.base + second_[a];
    std::size_t at = index(s_.adjoints);
    if (state.tape != nullptr) {
      for (std::size_t k = 0; k + 1 < tape_offsets_.size(); ++k)
        r.adjoint_in[at++] = state.tape + tape_offsets_[k];
    } else {
      for (const std::int64_t c : s_.states_read)
        r.adjoint_in[at++] = array(r, state, static_cast<std::size_t>(c));
    }
    const std::size_t xs = index(s_.adjoints) + s_.states_read.size();
    for (std::size_t x = 0; x < index(s_.adjoint_xs); ++x)
      r.adjoint_in[at++] =
          r.o.input<std::byte>(index(s_.first_adjoint_x()) + x) + slice(i) * adjoint_in_[xs + x];
    for (int c = 0; c < s_.adjoint_consts; ++c)
      r.adjoint_in[at++] = r.o.in[index(s_.first_adjoint_const() + c)];
    for (std::size_t y = index(s_.adjoints); y < adjoint_out_.size(); ++y)
      r.adjoint_out[y] = r.o.output<std::byte>(1 + y) + slice(i) * adjoint_out_[y];
    (state.tape != nullptr ? untaping_ : adjoint_)
        ->run({{r.adjoint_in, at}, {r.adjoint_out, adjoint_out_.size()}, r.base + inner_});
    for (std::size_t a = 0; a < index(s_.adjoints); ++a) r.adjoint_in[a] = r.adjoint_out[a];
  }

  std::shared_ptr<LoopStore> store_;
  AdjointShape s_;
  schedule::TierSplits splits_;
  OnlineArea area_;
  std::int64_t tier_places_;
  schedule::Sized sized_;
  std::shared_ptr<const Kernel> advance_, adjoint_, taping_, untaping_;
  std::vector<Bytes> advance_in_, adjoint_in_, adjoint_out_, offsets_, tape_offsets_, second_;
  Bytes working_[2] = {0, 0}, staging_[2] = {0, 0};
  Bytes stack_ = 0, table_ = 0, kept_ = 0, extra_ = 0, inner_ = 0;
  bool online_ = false;  // which states are kept was decided while the loop ran
};

}  // namespace

std::unique_ptr<Kernel> saving_kernel(const KernelSpec& spec, const RegionKernel& region,
                                      std::shared_ptr<LoopStore> store) {
  return std::make_unique<Saving>(spec, region, std::move(store));
}
std::unique_ptr<Kernel> adjoint_kernel(const KernelSpec& spec, const RegionKernel& region,
                                       std::shared_ptr<LoopStore> store) {
  return std::make_unique<Adjoint>(spec, region, std::move(store));
}

}  // namespace tidemark
