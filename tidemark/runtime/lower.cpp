// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tidemark/base/error.h"
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
        resident_(problem.buffers.size(), -1) {}

  Program run() {
    TIDEMARK_CHECK(plan_.has_arena, "a plan without offsets cannot be lowered");
    place_residents();
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
      step(plan_.steps[s], created, workspace);
    }
    for (const ValueId v : binding_.graph.outputs) program_.outputs.push_back(place(v));
    program_.arena_bytes = plan_.arena_bytes;
    program_.peak = plan_.peak;
    return std::move(program_);
  }

 private:
  Bytes size(plan::BufferId b) const { return problem_.size(b); }

  void place_residents() {
    for (const ValueId v : binding_.graph.inputs) {
      const plan::BufferId b = binding_.buffer_of_value[static_cast<std::size_t>(v)];
      resident_[static_cast<std::size_t>(b)] = static_cast<std::int32_t>(program_.residents.size());
      program_.residents.push_back(b);
      program_.resident_bytes.push_back(problem_.buffers[static_cast<std::size_t>(b)].bytes);
      live_ += size(b);
    }
  }

  Place place(ValueId v) const {
    const plan::BufferId b = binding_.buffer_of_value[static_cast<std::size_t>(v)];
    const Value& value = binding_.graph.value(v);
    const Bytes bytes = problem_.buffers[static_cast<std::size_t>(b)].bytes;
    const Bytes view = value.layout.offset * size_of(value.type.dtype);
    Place p{.resident = resident_[static_cast<std::size_t>(b)], .offset = view, .bytes = bytes - view};
    if (p.resident < 0) {
      TIDEMARK_CHECK(offset_[static_cast<std::size_t>(b)] >= 0, "buffer '{}' is read but has no place",
                     problem_.buffers[static_cast<std::size_t>(b)].name);
      p.offset += offset_[static_cast<std::size_t>(b)];
    }
    return p;
  }

  void step(const plan::Step& s, const std::vector<std::pair<plan::BufferId, Bytes>>& created,
            Bytes workspace) {
    switch (s.kind) {
      case plan::Step::Kind::drop:
        live_ -= size(s.id);
        offset_[static_cast<std::size_t>(s.id)] = -1;
        return;
      case plan::Step::Kind::run:
        break;
      default:
        fail(Error::Kind::unsupported, "[lower] step '{}' needs a device with tiers", plan::name_of(s.kind));
    }
    const Node& node =
        binding_.graph.nodes[static_cast<std::size_t>(binding_.node_of_task[static_cast<std::size_t>(s.id)])];
    const auto& kernel = binding_.kernel_of_task[static_cast<std::size_t>(s.id)];
    Instr instr{.kernel = kernel.get(),
                .task = s.id,
                .first_place = static_cast<std::int32_t>(program_.places.size()),
                .inputs = static_cast<std::int32_t>(node.in.size()),
                .outputs = static_cast<std::int32_t>(node.out.size())};
    for (const ValueId v : node.in) program_.places.push_back(place(v));
    for (const auto& [b, offset] : created) {
      offset_[static_cast<std::size_t>(b)] = offset;
      live_ += size(b);
    }
    for (const auto& [from, to] : s.in_place) {
      // The write takes the larger of the two while it runs and its own size after.
      live_ -= std::min(size(from), size(to));
    }
    for (const ValueId v : node.out) program_.places.push_back(place(v));
    program_.places.push_back(Place{.offset = workspace, .bytes = kernel->workspace()});
    instr.live = live_ + problem_.tasks[static_cast<std::size_t>(s.id)].workspace;
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
  std::vector<Bytes> offset_;  // of live buffers in the arena
  std::vector<std::int32_t> resident_;
  Bytes live_ = 0;
  Program program_;
};

}  // namespace

Program lower(const plan::Problem& problem, const plan::Plan& plan, const Binding& binding) {
  return Lowering(problem, plan, binding).run();
}

}  // namespace tidemark
