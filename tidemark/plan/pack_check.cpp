// check_packing: a sweep over time that keeps what is live ordered by offset. Shares no code with pack.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "tidemark/plan/pack.h"

namespace tidemark::plan {

std::string check_packing(std::span<const Interval> intervals, const Packing& packing, Bytes align) {
  using Wide = __int128;  // hostile offsets and sizes must not wrap
  const std::size_t n = intervals.size();
  if (align < 1) return fmt::format("alignment {} is not positive", align);
  if (packing.offsets.size() != n)
    return fmt::format("{} offsets vs {} intervals", packing.offsets.size(), n);
  const auto size = [&](std::size_t i) {
    return (static_cast<Wide>(intervals[i].bytes) + align - 1) / align * align;
  };
  const auto end_of = [&](std::size_t i) { return packing.offsets[i] + size(i); };

  // Where one interval takes over another's storage, it counts from the end of that one.
  std::vector<std::int64_t> begin(n);
  std::vector<char> taken(n, 0);
  Wide highest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const Interval& a = intervals[i];
    const Bytes offset = packing.offsets[i];
    begin[i] = a.begin;
    if (a.bytes < 0 || a.end < a.begin)
      return fmt::format("interval {} has {} bytes in [{}, {})", i, a.bytes, a.begin, a.end);
    if (offset < 0 || offset % align != 0)
      return fmt::format("interval {} at {} vs alignment {}", i, offset, align);
    if (a.bytes > 0 && a.begin < a.end) highest = std::max(highest, end_of(i));
    if (a.follows == -1) continue;
    if (a.follows < 0 || static_cast<std::size_t>(a.follows) >= n || static_cast<std::size_t>(a.follows) == i)
      return fmt::format("interval {} follows {} of {} intervals", i, a.follows, n);
    const auto f = static_cast<std::size_t>(a.follows);
    const Interval& b = intervals[f];
    if (std::exchange(taken[f], 1)) return fmt::format("interval {} is followed twice", f);
    if (a.bytes > b.bytes)
      return fmt::format("interval {} of {} bytes follows {} of {}", i, a.bytes, f, b.bytes);
    if (a.begin <= b.begin || a.begin > b.end || b.end > a.end)
      return fmt::format("interval {} cannot follow {}", i, f);
    if (offset != packing.offsets[f])
      return fmt::format("interval {} at {} follows {} at {}", i, offset, f, packing.offsets[f]);
    begin[i] = b.end;
  }
  if (highest != packing.bytes)
    return fmt::format("highest end {} vs {} stated", static_cast<Bytes>(highest), packing.bytes);

  std::vector<std::size_t> starts, ends;
  for (std::size_t i = 0; i < n; ++i)
    if (intervals[i].bytes > 0 && begin[i] < intervals[i].end) starts.push_back(i);
  ends = starts;
  std::sort(starts.begin(), starts.end(),
            [&](auto a, auto b) { return std::pair(begin[a], a) < std::pair(begin[b], b); });
  std::sort(ends.begin(), ends.end(), [&](auto a, auto b) { return intervals[a].end < intervals[b].end; });
  std::map<Bytes, std::size_t> live;
  std::size_t ended = 0;
  const auto overlap = [&](std::size_t a, std::size_t b, std::int64_t when) {
    return fmt::format("intervals {} [{}, +{}) and {} [{}, +{}) overlap at {}", a, packing.offsets[a],
                       intervals[a].bytes, b, packing.offsets[b], intervals[b].bytes, when);
  };
  for (const std::size_t i : starts) {
    while (ended < ends.size() && intervals[ends[ended]].end <= begin[i])
      live.erase(packing.offsets[ends[ended++]]);
    const auto [at, inserted] = live.emplace(packing.offsets[i], i);
    if (!inserted) return overlap(at->second, i, begin[i]);
    if (at != live.begin() && end_of(std::prev(at)->second) > packing.offsets[i])
      return overlap(std::prev(at)->second, i, begin[i]);
    if (std::next(at) != live.end() && end_of(i) > std::next(at)->first)
      return overlap(i, std::next(at)->second, begin[i]);
  }
  return "";
}

}  // namespace tidemark::plan
