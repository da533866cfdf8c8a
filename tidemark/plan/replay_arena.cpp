// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/replay_arena.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace tidemark::plan {

ReplayArena::ReplayArena(const Problem& problem, const Plan& plan)
    : problem_(problem), plan_(plan), sorted_(plan.placements), offset_(problem.buffers.size() + 1, -1) {
  std::stable_sort(sorted_.begin(), sorted_.end(), [](const Placement& a, const Placement& b) {
    return std::tie(a.step, a.buffer) < std::tie(b.step, b.buffer);
  });
}

std::string ReplayArena::what(BufferId buffer) const {
  if (buffer == Placement::kWorkspace) return "workspace";
  if (buffer < 0 || static_cast<std::size_t>(buffer) >= problem_.buffers.size())
    return fmt::format("buffer {}", buffer);
  return fmt::format("buffer {} '{}'", buffer, problem_.buffers[static_cast<std::size_t>(buffer)].name);
}

std::string ReplayArena::begin_step(std::int32_t step) {
  first_ = last_;
  if (first_ < sorted_.size() && sorted_[first_].step < step)
    return fmt::format("the arena names step {}, which is not there", sorted_[first_].step);
  while (last_ < sorted_.size() && sorted_[last_].step == step) ++last_;
  used_ = 0;
  return {};
}

const Placement* ReplayArena::find(BufferId buffer) const {
  const auto begin = sorted_.begin() + static_cast<std::ptrdiff_t>(first_),
             end = sorted_.begin() + static_cast<std::ptrdiff_t>(last_);
  const auto found =
      std::lower_bound(begin, end, buffer, [](const Placement& p, BufferId b) { return p.buffer < b; });
  return found != end && found->buffer == buffer ? &*found : nullptr;
}

std::string ReplayArena::create(BufferId buffer, Bytes bytes) {
  const Placement* placement = find(buffer);
  if (placement == nullptr)
    return fmt::format("every buffer a step creates has an offset, {} has none", what(buffer));
  ++used_;
  const Bytes offset = placement->offset;
  if (offset < 0 || offset % problem_.align != 0) {
    return fmt::format("offsets are multiples of align: {} of {} at {}", problem_.align, what(buffer),
                       offset);
  }
  if (offset > plan_.arena_bytes || bytes > plan_.arena_bytes - offset) {
    return fmt::format("arena.bytes is the highest end: {} ends at {} + {}, past {}", what(buffer), offset,
                       bytes, plan_.arena_bytes);
  }
  offset_[static_cast<std::size_t>(key(buffer))] = offset;
  highest_ = std::max(highest_, offset + bytes);
  if (bytes == 0) return {};
  const auto next = regions_.lower_bound(offset);
  const Region* hit = nullptr;
  if (next != regions_.end() && next->first < offset + bytes) hit = &next->second;
  if (next != regions_.begin() && std::prev(next)->second.end > offset) hit = &std::prev(next)->second;
  if (hit != nullptr) {
    return fmt::format("what is live together never overlaps: {} at {} and {}", what(buffer), offset,
                       what(hit->buffer));
  }
  regions_.emplace_hint(next, offset, Region{offset + bytes, buffer});
  return {};
}

std::string ReplayArena::take_over(BufferId read, BufferId write) {
  const Placement* placement = find(write);
  if (placement == nullptr)
    return fmt::format("every buffer a step creates has an offset, {} has none", what(write));
  ++used_;
  const Bytes offset = offset_[static_cast<std::size_t>(read)];
  if (placement->offset != offset) {
    return fmt::format("in_place: {} takes the offset of {}, {}, not {}", what(write), what(read), offset,
                       placement->offset);
  }
  offset_[static_cast<std::size_t>(write)] = offset;
  offset_[static_cast<std::size_t>(read)] = -1;
  const auto region = regions_.find(offset);
  if (region != regions_.end() && region->second.buffer == read) region->second.buffer = write;
  return {};
}

void ReplayArena::shrink(BufferId buffer, Bytes bytes) {
  const auto region = regions_.find(offset_[static_cast<std::size_t>(buffer)]);
  if (region == regions_.end() || region->second.buffer != buffer) return;
  if (bytes == 0) {
    regions_.erase(region);
  } else {
    region->second.end = region->first + bytes;
  }
}

void ReplayArena::remove(BufferId buffer) {
  Bytes& offset = offset_[static_cast<std::size_t>(key(buffer))];
  const auto region = regions_.find(offset);
  if (region != regions_.end() && region->second.buffer == buffer) regions_.erase(region);
  offset = -1;
}

std::string ReplayArena::end_step() {
  if (used_ == last_ - first_) return {};
  for (std::size_t i = first_ + 1; i < last_; ++i) {
    if (sorted_[i].buffer == sorted_[i - 1].buffer)
      return fmt::format("the arena places {} twice", what(sorted_[i].buffer));
  }
  return "the arena places something that the step does not create";
}

std::string ReplayArena::finish() const {
  if (last_ != sorted_.size())
    return fmt::format("the arena names step {}, which is not there", sorted_[last_].step);
  if (highest_ != plan_.arena_bytes) {
    return fmt::format("arena.bytes is the highest end: {}, not {}", highest_, plan_.arena_bytes);
  }
  return {};
}

}  // namespace tidemark::plan
