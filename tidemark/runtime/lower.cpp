// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tidemark/base/error.h"
#include "tidemark/plan/pack.h"
#include "tidemark/runtime/program.h"

namespace tidemark {
namespace {

class Lowering {
 public:
  Lowering(const plan::Problem& problem, const plan::Plan& plan, const Binding& binding)
      : problem_(problem),
        plan_(plan),
        binding_(binding),
        offset_(problem.buffers.size(), -1),
        resident_(problem.buffers.size(), -1),
        input_(problem.buffers.size(), -1),
        under_way_(problem.buffers.size()),
        held_(problem.tiers.size()),
        lives_(problem.tiers.size()) {}

  Program run() {
    TIDEMARK_CHECK(plan_.has_arena, "a plan without offsets cannot be lowered");
    place_residents();
    place_tiers();
    std::size_t next = 0;  // placements come in the order of the steps
    std::vector<plan::Placement> placements = plan_.placements;
    std::stable_sort(placements.begin(), placements.end(),
                     [](const auto& a, const auto& b) { return a.step < b.step; });
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      Bytes workspace = 0;
      std::vector<std::pair<plan::BufferId, Bytes>> created;
      for (; next < placements.size() && placements[next].step == static_cast<std::int32_t>(s); ++next) {
        const plan::Placement& p = placements[next];
        if (p.buffer == plan::Placement::kWorkspace) {
          workspace = p.offset;
        } else {
          created.emplace_back(p.buffer, p.offset);
        }
      }
      at_ = static_cast<std::int64_t>(s);
      step(plan_.steps[s], created, workspace);
    }
    pack_tiers();
    for (const ValueId v : binding_.graph.outputs) program_.outputs.push_back(output(v));
    program_.arena_bytes = plan_.arena_bytes;
    program_.peak = plan_.peak;
    return std::move(program_);
  }

 private:
  Bytes size(plan::BufferId b) const { return problem_.size(b); }

  void place_residents() {
    for (const ValueId v : binding_.graph.inputs) {
      const plan::BufferId b = binding_.buffer_of_value[static_cast<std::size_t>(v)];
      const plan::Buffer& buffer = problem_.buffers[static_cast<std::size_t>(b)];
      const auto input = static_cast<std::int32_t>(program_.residents.size());
      input_[static_cast<std::size_t>(b)] = input;
      program_.residents.push_back(b);
      program_.resident_bytes.push_back(buffer.bytes);
      if (!buffer.resident) continue;  // the caller keeps it in a tier
      resident_[static_cast<std::size_t>(b)] = input;
      live_ += size(b);
    }
  }

  void place_tiers() {
    for (const plan::Tier& tier : problem_.tiers) program_.tiers.push_back({.name = tier.name});
    for (auto& held : held_) held.assign(problem_.buffers.size(), -1);
    for (std::size_t b = 0; b < problem_.buffers.size(); ++b) {
      const plan::TierId tier = problem_.buffers[b].start;
      if (tier >= 0)
        program_.tiers[static_cast<std::size_t>(tier)].held += size(static_cast<plan::BufferId>(b));
    }
  }

  // The slot that holds the buffer in the tier, from now on where it has none yet.
  std::int32_t slot_of(plan::BufferId b, plan::TierId tier) {
    ProgramTier& t = program_.tiers[static_cast<std::size_t>(tier)];
    std::int32_t& slot = held_[static_cast<std::size_t>(tier)][static_cast<std::size_t>(b)];
    if (slot < 0) {
      slot = static_cast<std::int32_t>(t.slots.size());
      const bool callers = problem_.buffers[static_cast<std::size_t>(b)].start == tier ||
                           problem_.buffers[static_cast<std::size_t>(b)].end == tier;
      t.slots.push_back({.bytes = problem_.buffers[static_cast<std::size_t>(b)].bytes,
                         .buffer = b,
                         .input = callers ? input_[static_cast<std::size_t>(b)] : -1});
      lives_[static_cast<std::size_t>(tier)].push_back({at_, -1, callers ? 0 : size(b)});
    }
    return slot;
  }

  // Offsets in each tier, as tightly as what is there together allows.
  void pack_tiers() {
    for (std::size_t k = 0; k < program_.tiers.size(); ++k) {
      ProgramTier& tier = program_.tiers[k];
      if (tier.slots.empty()) continue;
      for (plan::Interval& i : lives_[k]) i.end = i.end < 0 ? at_ + 1 : i.end;
      const plan::Packing packing =
          plan::pack(lives_[k], {.align = problem_.align, .time_limit = 10, .effort = 20000});
      for (std::size_t i = 0; i < tier.slots.size(); ++i) tier.slots[i].offset = packing.offsets[i];
      tier.bytes = packing.bytes;
    }
  }

  Place place(const BufferPart& operand) const {
    const auto b = static_cast<std::size_t>(operand.buffer);
    Place p{.resident = resident_[b],
            .offset = operand.offset,
            .bytes = problem_.buffers[b].bytes - operand.offset,
            .buffer = operand.buffer};
    if (p.resident < 0) {
      TIDEMARK_CHECK(offset_[b] >= 0, "buffer '{}' is read but has no place", problem_.buffers[b].name);
      p.offset += offset_[b];
    }
    return p;
  }

  // What the caller keeps in a tier is given back there.
  Place output(ValueId v) const {
    const plan::BufferId b = binding_.buffer_of_value[static_cast<std::size_t>(v)];
    const Value& value = binding_.graph.value(v);
    const Bytes view = value.layout.offset * size_of(value.type.dtype);
    if (problem_.buffers[static_cast<std::size_t>(b)].start < 0) return place({b, view});
    return {.resident = input_[static_cast<std::size_t>(b)],
            .offset = view,
            .bytes = problem_.buffers[static_cast<std::size_t>(b)].bytes - view};
  }

  void copy(Instr::Kind kind, plan::BufferId b, plan::TierId tier, std::int32_t slot) {
    Instr instr{.kind = kind,
                .tier = tier,
                .slot = slot,
                .first_place = static_cast<std::int32_t>(program_.places.size()),
                .live = live_};
    if (kind != Instr::Kind::wait) {
      program_.places.push_back(place({b, 0}));
      (kind == Instr::Kind::evict ? instr.inputs : instr.outputs) = 1;
    }
    program_.places.push_back(Place{});
    program_.instrs.push_back(instr);
    program_.task_names.push_back(problem_.buffers[static_cast<std::size_t>(b)].name);
  }

  void step(const plan::Step& s, const std::vector<std::pair<plan::BufferId, Bytes>>& created,
            Bytes workspace) {
    switch (s.kind) {
      case plan::Step::Kind::drop:
        live_ -= size(s.id);
        offset_[static_cast<std::size_t>(s.id)] = -1;
        return;
      case plan::Step::Kind::evict:
        under_way_[static_cast<std::size_t>(s.id)] = {s.tier, true};
        return copy(Instr::Kind::evict, s.id, s.tier, slot_of(s.id, s.tier));
      case plan::Step::Kind::fetch:
        for (const auto& [b, offset] : created) offset_[static_cast<std::size_t>(b)] = offset;
        live_ += size(s.id);
        under_way_[static_cast<std::size_t>(s.id)] = {s.tier, false};
        return copy(Instr::Kind::fetch, s.id, s.tier, slot_of(s.id, s.tier));
      case plan::Step::Kind::wait: {
        const auto [tier, out] = under_way_[static_cast<std::size_t>(s.id)];
        copy(Instr::Kind::wait, s.id, tier, slot_of(s.id, tier));
        if (out) {
          live_ -= size(s.id);
          offset_[static_cast<std::size_t>(s.id)] = -1;
        }
        return;
      }
      case plan::Step::Kind::discard: {
        std::int32_t& slot = held_[static_cast<std::size_t>(s.tier)][static_cast<std::size_t>(s.id)];
        if (slot >= 0) lives_[static_cast<std::size_t>(s.tier)][static_cast<std::size_t>(slot)].end = at_;
        slot = -1;
        return;
      }
      case plan::Step::Kind::run:
        break;
    }
    const auto& kernel = binding_.kernel_of_task[static_cast<std::size_t>(s.id)];
    const TaskOperands& operands = binding_.operands_of_task[static_cast<std::size_t>(s.id)];
    Instr instr{.kernel = kernel.get(),
                .task = s.id,
                .first_place = static_cast<std::int32_t>(program_.places.size()),
                .inputs = static_cast<std::int32_t>(operands.in.size()),
                .outputs = static_cast<std::int32_t>(operands.out.size())};
    for (const BufferPart& o : operands.in) program_.places.push_back(place(o));
    for (const auto& [b, offset] : created) {
      offset_[static_cast<std::size_t>(b)] = offset;
      live_ += size(b);
    }
    for (const auto& [from, to] : s.in_place) {
      // The write takes the larger of the two while it runs and its own size after.
      live_ -= std::min(size(from), size(to));
    }
    for (const BufferPart& o : operands.out) program_.places.push_back(place(o));
    program_.places.push_back(Place{.offset = workspace, .bytes = kernel->workspace()});
    const plan::Task& task = problem_.tasks[static_cast<std::size_t>(s.id)];
    instr.repeats =
        !task.lossy && std::none_of(task.writes.begin(), task.writes.end(), [&](plan::BufferId b) {
          return std::find(task.reads.begin(), task.reads.end(), b) != task.reads.end();
        });
    instr.live = live_ + round_up(problem_.tasks[static_cast<std::size_t>(s.id)].workspace, problem_.align);
    for (const auto& [from, to] : s.in_place) {
      live_ -= size(from) - std::min(size(from), size(to));
      offset_[static_cast<std::size_t>(from)] = -1;
    }
    program_.instrs.push_back(instr);
    program_.kernels.push_back(kernel);
    program_.task_names.push_back(problem_.tasks[static_cast<std::size_t>(s.id)].name);
  }

  const plan::Problem& problem_;
  const plan::Plan& plan_;
  const Binding& binding_;
  std::vector<Bytes> offset_;                   // of live buffers in the arena
  std::vector<std::int32_t> resident_, input_;  // by buffer: which of the caller's it is
  struct Copying {
    plan::TierId tier = -1;
    bool out = false;
  };
  std::vector<Copying> under_way_;
  std::vector<std::vector<std::int32_t>> held_;     // by tier and buffer: its slot there now, or -1
  std::vector<std::vector<plan::Interval>> lives_;  // by tier and slot
  std::int64_t at_ = 0;                             // the step
  Bytes live_ = 0;
  Program program_;
};

}  // namespace

Program lower(const plan::Problem& problem, const plan::Plan& plan, const Binding& binding) {
  return Lowering(problem, plan, binding).run();
}

}  // namespace tidemark
