// The forward sweep that keeps snapshots and the reverse sweep that uses them, by revolve (schedule/revolve.h): snapshots form a
// stack, so a slot is its depth. Slot 0 is the first state, which lies outside; a state that is kept is made in
// its slot, so nothing is copied.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "tidemark/compile/loops.h"
#include "tidemark/ops/loops.h"
#include "tidemark/schedule/revolve.h"

namespace tidemark {
namespace {

std::vector<Bytes> bytes_of(const Graph& g, const std::vector<ValueId>& ids) {
  std::vector<Bytes> bytes;
  for (const ValueId v : ids) bytes.push_back(g.type(v).bytes());
  return bytes;
}

// Where the arrays of a state lie from the start of a snapshot.
std::vector<Bytes> offsets_of(std::span<const Bytes> sizes) {
  std::vector<Bytes> offsets;
  Bytes at = 0;
  for (const Bytes b : sizes) {
    offsets.push_back(at);
    at += round_up(b, kStorageAlign);
  }
  offsets.push_back(at);
  return offsets;
}

std::size_t index(int i) { return static_cast<std::size_t>(i); }

class Saving final : public Kernel {
 public:
  Saving(const KernelSpec& spec, const RegionKernel& region)
      : shape_(loop_shape(spec.attrs, spec.in.size(), spec.regions)), slots_(spec.attrs.integer("slots")), body_(region(spec.regions[0], spec.threads)) {
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
    WorkspaceParts parts;
    parts.add(static_cast<Bytes>((in_bytes_.size() + out_bytes_.size()) * sizeof(void*)));
    for (int i = 0; i < shape_.carries; ++i) second_.push_back(parts.add(out_bytes_[index(i)]));
    inner_ = parts.bytes();
    workspace_ = inner_ + body_->workspace();
  }

  void run(const Operands& o) const override {
    auto* base = static_cast<std::byte*>(o.workspace);
    auto** in = static_cast<const void**>(o.workspace);
    auto** out = static_cast<void**>(o.workspace) + in_bytes_.size();
    auto* snapshots = static_cast<std::byte*>(o.out[o.out.size() - 1]);
    const std::int64_t n = shape_.trips;
    for (std::size_t i = 0; i < in_bytes_.size(); ++i) in[i] = o.in[i];
    std::int64_t depth = 0, kept = 0, next = next_kept(kept, depth);
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t t = shape_.reverse ? n - 1 - i : i;
      const bool save = i + 1 == next;
      for (std::size_t c = 0; c < slot_of_carry_.size(); ++c) {
        // By parity: never where the step before left it, and in the outputs at the end.
        out[c] = (n - 1 - i) % 2 == 0 ? static_cast<std::byte*>(o.out[c]) : base + second_[c];
        if (save && slot_of_carry_[c] >= 0) out[c] = snapshots + depth * offsets_.back() + offsets_[static_cast<std::size_t>(slot_of_carry_[c])];
      }
      for (std::size_t x = index(shape_.carries); x < index(shape_.first_const()); ++x) in[x] = o.input<std::byte>(x) + t * in_bytes_[x];
      for (std::size_t y = index(shape_.carries); y < out_bytes_.size(); ++y) out[y] = o.output<std::byte>(y) + t * out_bytes_[y];
      body_->run({{in, in_bytes_.size()}, {out, out_bytes_.size()}, base + inner_});
      for (std::size_t c = 0; c < slot_of_carry_.size(); ++c) in[c] = out[c];
      if (save) {
        kept = next;
        next = next_kept(kept, ++depth);
      }
    }
  }

 private:
  // The step whose state goes into the next slot, or -1.
  std::int64_t next_kept(std::int64_t last, std::int64_t depth) const {
    if (slots_ - depth < 2 || shape_.trips - last < 2) return -1;
    return last + schedule::revolve_split(shape_.trips - last, slots_ - depth);
  }

  LoopShape shape_;
  std::int64_t slots_;
  std::shared_ptr<const Kernel> body_;
  std::vector<Bytes> in_bytes_, out_bytes_, second_, offsets_;
  std::vector<std::int32_t> slot_of_carry_;
  Bytes inner_ = 0;
};

class Adjoint final : public Kernel {
 public:
  Adjoint(const KernelSpec& spec, const RegionKernel& region)
      : s_(adjoint_shape(spec.attrs, spec.regions)), advance_(region(spec.regions[0], spec.threads)), adjoint_(region(spec.regions[1], spec.threads)) {
    const Graph &advance = spec.regions[0], &adjoint = spec.regions[1];
    advance_in_ = bytes_of(advance, advance.inputs);
    adjoint_in_ = bytes_of(adjoint, adjoint.inputs);
    adjoint_out_ = bytes_of(adjoint, adjoint.outputs);
    state_ = bytes_of(advance, advance.outputs);
    offsets_ = offsets_of(state_);
    snapshots_ = spec.in[0].type.bytes();
    WorkspaceParts parts;
    const std::size_t pointers = advance_in_.size() + state_.size() + adjoint_in_.size() + adjoint_out_.size();
    parts.add(static_cast<Bytes>(pointers * sizeof(void*)));
    stack_ = parts.add(s_.slots * static_cast<Bytes>(sizeof(std::int64_t)));
    // A state between two kept ones goes back and forth; where every state is kept there is none.
    if (s_.slots < s_.trips) {
      for (Bytes& w : working_) w = parts.add(offsets_.back());
    }
    for (int i = 0; i < s_.adjoints; ++i) second_.push_back(parts.add(adjoint_out_[index(i)]));
    inner_ = parts.bytes();
    const bool advances = s_.slots < s_.trips;
    workspace_ = inner_ + std::max(advances ? advance_->workspace() : 0, adjoint_->workspace());
  }

  void run(const Operands& o) const override {
    if (s_.slots < s_.trips && snapshots_ > 0 && o.out[0] != o.in[0]) std::memcpy(o.out[0], o.in[0], static_cast<std::size_t>(snapshots_));
    Run r{o, static_cast<std::byte*>(o.workspace)};
    r.advance_in = static_cast<const void**>(o.workspace);
    r.advance_out = static_cast<void**>(o.workspace) + advance_in_.size();
    r.adjoint_in = const_cast<const void**>(r.advance_out + state_.size());
    r.adjoint_out = r.advance_out + state_.size() + adjoint_in_.size();
    for (int i = 0; i < s_.advance_consts; ++i) r.advance_in[index(s_.states + s_.advance_xs + i)] = o.in[index(s_.first_advance_const() + i)];
    const int reads = static_cast<int>(s_.states_read.size());
    for (int i = 0; i < s_.adjoints; ++i) r.adjoint_in[index(i)] = o.in[index(s_.first_adjoint() + i)];
    for (int i = 0; i < s_.adjoint_consts; ++i) r.adjoint_in[index(s_.adjoints + reads + s_.adjoint_xs + i)] = o.in[index(s_.first_adjoint_const() + i)];

    // Steps are counted as the primal ran them; the first sweep has left the stack as it is built here.
    auto* kept = reinterpret_cast<std::int64_t*>(r.base + stack_);
    std::int64_t depth = 1;
    kept[0] = 0;
    while (depth < s_.slots && s_.trips - kept[depth - 1] > 1) {
      kept[depth] = kept[depth - 1] + schedule::revolve_split(s_.trips - kept[depth - 1], s_.slots - depth + 1);
      ++depth;
    }
    for (std::int64_t to = s_.trips; to > 0;) {
      const std::int64_t top = kept[depth - 1];
      if (top == to) {
        --depth;
      } else if (to - top == 1) {
        reverse(r, top, slot(r, depth - 1));
        to = top;
      } else if (depth == s_.slots) {
        reverse(r, to - 1, advance(r, top, to - 1, slot(r, depth - 1), {}));
        --to;
      } else {
        const std::int64_t split = top + schedule::revolve_split(to - top, s_.slots - depth + 1);
        kept[depth] = split;
        advance(r, top, split, slot(r, depth - 1), slot(r, depth));
        ++depth;
      }
    }
    for (int i = 0; i < s_.adjoints; ++i) {
      const auto bytes = static_cast<std::size_t>(adjoint_out_[index(i)]);
      if (bytes > 0 && r.adjoint_in[i] != o.out[index(1 + i)]) std::memcpy(o.out[index(1 + i)], r.adjoint_in[i], bytes);
    }
  }

 private:
  // A state: outside for the first one, else an address that offsets_ counts from.
  struct State {
    bool outside = false;
    std::byte* data = nullptr;
  };
  struct Run {
    const Operands& o;
    std::byte* base;
    const void** advance_in = nullptr;
    void** advance_out = nullptr;
    const void** adjoint_in = nullptr;
    void** adjoint_out = nullptr;
  };
  State slot(const Run& r, std::int64_t depth) const {
    if (depth == 0) return {.outside = true};
    auto* first = static_cast<std::byte*>(s_.slots < s_.trips ? r.o.out[0] : const_cast<void*>(r.o.in[0]));
    return {.data = first + (depth - 1) * offsets_.back()};
  }
  const void* array(const Run& r, const State& s, std::size_t i) const {
    return s.outside ? r.o.in[index(s_.first_state()) + i] : s.data + offsets_[i];
  }
  // The slice that step i of the primal takes; the adjoint's own direction is the other way round.
  std::int64_t slice(std::int64_t i) const { return s_.reverse ? i : s_.trips - 1 - i; }

  State advance(const Run& r, std::int64_t from, std::int64_t to, State state, State into) const {
    for (std::int64_t i = from; i < to; ++i) {
      const State next = i + 1 == to && into.data != nullptr ? into : State{.data = r.base + working_[i & 1]};
      for (std::size_t c = 0; c < state_.size(); ++c) {
        r.advance_in[c] = array(r, state, c);
        r.advance_out[c] = next.data + offsets_[c];
      }
      for (int x = 0; x < s_.advance_xs; ++x) {
        const std::size_t at = index(s_.states + x);
        r.advance_in[at] = r.o.input<std::byte>(index(s_.first_advance_x() + x)) + slice(i) * advance_in_[at];
      }
      advance_->run({{r.advance_in, advance_in_.size()}, {r.advance_out, state_.size()}, r.base + inner_});
      state = next;
    }
    return state;
  }

  void reverse(const Run& r, std::int64_t i, const State& state) const {
    const bool into_outputs = i % 2 == 0;  // step 0 is the last
    for (std::size_t a = 0; a < index(s_.adjoints); ++a) r.adjoint_out[a] = into_outputs ? static_cast<std::byte*>(r.o.out[1 + a]) : r.base + second_[a];
    std::size_t at = index(s_.adjoints);
    for (const std::int64_t c : s_.states_read) r.adjoint_in[at++] = array(r, state, static_cast<std::size_t>(c));
    for (int x = 0; x < s_.adjoint_xs; ++x, ++at) r.adjoint_in[at] = r.o.input<std::byte>(index(s_.first_adjoint_x() + x)) + slice(i) * adjoint_in_[at];
    for (std::size_t y = index(s_.adjoints); y < adjoint_out_.size(); ++y) r.adjoint_out[y] = r.o.output<std::byte>(1 + y) + slice(i) * adjoint_out_[y];
    adjoint_->run({{r.adjoint_in, adjoint_in_.size()}, {r.adjoint_out, adjoint_out_.size()}, r.base + inner_});
    for (std::size_t a = 0; a < index(s_.adjoints); ++a) r.adjoint_in[a] = r.adjoint_out[a];
  }

  AdjointShape s_;
  std::shared_ptr<const Kernel> advance_, adjoint_;
  std::vector<Bytes> advance_in_, adjoint_in_, adjoint_out_, state_, offsets_, second_;
  Bytes working_[2] = {0, 0};
  Bytes snapshots_ = 0, stack_ = 0, inner_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> saving_kernel(const KernelSpec& spec, const RegionKernel& region) { return std::make_unique<Saving>(spec, region); }
std::unique_ptr<Kernel> adjoint_kernel(const KernelSpec& spec, const RegionKernel& region) { return std::make_unique<Adjoint>(spec, region); }

}  // namespace tidemark
