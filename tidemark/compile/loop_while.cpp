// The forward sweep of a loop of unknown length: steps are taped while their tapes fit; when more come, states take the tapes' place, as many as there
// is room for (schedule/online_states.h). With a tier, states go there at equal distances, and those between the last of them and the end lie in the area.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <optional>

#include "tidemark/compile/loop_parts.h"
#include "tidemark/compile/loop_store.h"
#include "tidemark/compile/loops.h"
#include "tidemark/ops/loops.h"
#include "tidemark/schedule/online_states.h"

namespace tidemark {
namespace {

static_assert(schedule::OnlineRecord::bytes(1) == kOnlineRecord);

class WhileSaving final : public Kernel {
 public:
  WhileSaving(const KernelSpec& spec, const RegionKernel& region, std::shared_ptr<LoopStore> store)
      : store_(std::move(store)),
        shape_(loop_shape(spec.attrs, spec.in.size(), spec.regions)),
        tape_(spec.attrs.integer("tape", 0)),
        tier_places_(spec.attrs.integer("tier_places", 0)),
        start_(spec.attrs.integer("start", 0)) {
    const Graph& body = spec.regions[0];
    in_bytes_ = bytes_of(body, body.inputs);
    out_bytes_ = bytes_of(body, body.outputs);
    slots_.assign(static_cast<std::size_t>(shape_.carries), -1);
    for (const std::int64_t i : spec.attrs.integers("snapshot")) {
      slots_[static_cast<std::size_t>(i)] = state_;
      state_ += round_up(in_bytes_[static_cast<std::size_t>(i)], kStorageAlign);
    }
    area_ = online_area_of(spec.attrs, state_);
    Bytes inside = 0;
    const auto use = [&](std::size_t which) {
      std::shared_ptr<const Kernel> kernel = region(spec.regions[which], spec.threads);
      inside = std::max(inside, kernel->workspace());
      return kernel;
    };
    condition_ = use(1);
    if (area_.taped < shape_.trips) body_ = use(0);
    if (area_.taped > 0) {
      taping_ = use(2);
      const std::vector<Bytes> taped = bytes_of(spec.regions[2], spec.regions[2].outputs);
      tape_offsets_ = offsets_of(std::span(taped).subspan(out_bytes_.size()));
    }
    WorkspaceParts parts;
    parts.add(
        static_cast<Bytes>((in_bytes_.size() + out_bytes_.size() + tape_offsets_.size()) * sizeof(void*)));
    for (int i = 0; i < shape_.carries; ++i)
      second_.push_back(parts.add(out_bytes_[static_cast<std::size_t>(i)]));
    if (store_) {
      for (Bytes& s : staging_) s = parts.add(state_);
    }
    inner_ = parts.bytes();
    workspace_ = inner_ + inside;
  }

  void run(const Operands& o) const override {
    draining(store_, [&] { sweep(o); });
  }

 private:
  // The tier's part: states on their way there by turns in two places.
  struct Outgoing {
    OnlineTier tier;
    std::size_t stage = 0;
    std::int64_t under_way[2] = {-1, -1};  // the place that is written from each
  };
  void settle(Outgoing& out, std::size_t stage) const {
    if (out.under_way[stage] >= 0) store_->wait(static_cast<std::size_t>(out.under_way[stage]));
    out.under_way[stage] = -1;
  }

  void sweep(const Operands& o) const {
    auto* base = static_cast<std::byte*>(o.workspace);
    auto** in = static_cast<const void**>(o.workspace);
    auto** out = static_cast<void**>(o.workspace) + in_bytes_.size();
    auto* area = static_cast<std::byte*>(o.out[o.out.size() - 1]);
    for (std::size_t i = 0; i < in_bytes_.size(); ++i) in[i] = o.in[i];
    std::byte* const record = area + area_.segments;
    // Behind tapes, the first place has the state from which the others are counted.
    const std::int64_t first = area_.taped > 0 && area_.places > 0 ? 1 : 0;
    const auto fresh = [&] { return schedule::OnlineStates(area_.all ? 0 : area_.places - first, record); };
    schedule::OnlineStates states = fresh();
    std::int64_t origin = area_.taped;
    std::optional<Outgoing> outgoing;
    if (store_) {
      outgoing.emplace(
          Outgoing{OnlineTier(tier_places_, record + round_up(kOnlineRecord * area_.places, kStorageAlign))});
      outgoing->tier.begin(start_);
    }
    bool more = false;
    void* const answer[] = {&more};
    std::int64_t n = 0;
    for (;; ++n) {
      condition_->run({{in, in_bytes_.size()}, answer, base + inner_});
      if (!more) break;
      if (n == shape_.trips) too_many_trips(n);
      // The state at hand lies where it goes from; only now is it known that a step follows.
      if (outgoing && n > 0 && outgoing->tier.next() == n) {
        const std::int64_t place = outgoing->tier.take();
        if (place >= 0) {
          const std::size_t stage = outgoing->stage;
          outgoing->stage = 1 - stage;
          if (outgoing->under_way[1 - stage] == place) settle(*outgoing, 1 - stage);
          store_->write(static_cast<std::size_t>(place), base + staging_[stage]);
          outgoing->under_way[stage] = place;
          origin = n;
          states = fresh();
        }
      }
      const bool taped = n < area_.taped;
      if (n == area_.taped && first > 0) {
        for (std::size_t c = 0; c < slots_.size(); ++c) {
          if (slots_[c] >= 0 && in_bytes_[c] > 0)
            std::memcpy(area + slots_[c], in[c], static_cast<std::size_t>(in_bytes_[c]));
        }
      }
      std::byte* kept = nullptr;
      if (outgoing && outgoing->tier.next() == n + 1 && outgoing->tier.keeps_next()) {
        settle(*outgoing, outgoing->stage);
        kept = base + staging_[outgoing->stage];
      } else if (area_.all && tape_ == 0 && n + 1 < shape_.trips) {
        kept = area + n * state_;
      } else if (!taped && states.next() == n + 1 - origin) {
        kept = area + (first + states.take()) * state_;
      }
      for (std::size_t c = 0; c < slots_.size(); ++c) {
        // Never where the step before left it.
        out[c] = n % 2 == 0 ? static_cast<std::byte*>(o.out[c]) : base + second_[c];
        if (kept != nullptr && slots_[c] >= 0) out[c] = kept + slots_[c];
      }
      for (std::size_t y = slots_.size(); y < out_bytes_.size(); ++y)
        out[y] = o.output<std::byte>(y) + n * out_bytes_[y];
      const std::size_t tapes = taped ? tape_offsets_.size() - 1 : 0;
      for (std::size_t k = 0; k < tapes; ++k)
        out[out_bytes_.size() + k] = area + area_.segments - (n + 1) * tape_ + tape_offsets_[k];
      (taped ? taping_ : body_)
          ->run({{in, in_bytes_.size()}, {out, out_bytes_.size() + tapes}, base + inner_});
      for (std::size_t c = 0; c < slots_.size(); ++c) in[c] = out[c];
    }
    if (!area_.all && n > origin) states.finish(n - origin);
    finish(o, in, n);
    if (outgoing) settle(*outgoing, 0), settle(*outgoing, 1);
  }

  void finish(const Operands& o, const void* const* last, std::int64_t n) const {
    for (std::size_t c = 0; c < slots_.size(); ++c) {
      if (out_bytes_[c] > 0 && last[c] != o.out[c])
        std::memcpy(o.out[c], last[c], static_cast<std::size_t>(out_bytes_[c]));
    }
    for (std::size_t y = slots_.size(); y < out_bytes_.size(); ++y) {
      const auto rest = static_cast<std::size_t>((shape_.trips - n) * out_bytes_[y]);
      if (rest > 0) std::memset(o.output<std::byte>(y) + n * out_bytes_[y], 0, rest);
    }
    *static_cast<std::int64_t*>(o.out[o.out.size() - 2]) = n;
  }

  std::shared_ptr<LoopStore> store_;
  LoopShape shape_;
  Bytes tape_;
  std::int64_t tier_places_, start_;
  OnlineArea area_;
  std::shared_ptr<const Kernel> body_, condition_, taping_;
  std::vector<Bytes> in_bytes_, out_bytes_, second_, tape_offsets_;
  std::vector<Bytes> slots_;  // of a carry in a snapshot, or -1
  Bytes staging_[2] = {0, 0};
  Bytes state_ = 0, inner_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> while_saving_kernel(const KernelSpec& spec, const RegionKernel& region,
                                            std::shared_ptr<LoopStore> store) {
  return std::make_unique<WhileSaving>(spec, region, std::move(store));
}

}  // namespace tidemark
