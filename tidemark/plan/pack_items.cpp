// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/pack_items.h"

#include <algorithm>
#include <bit>

#include "tidemark/base/error.h"

namespace tidemark::plan::packing {
namespace {

constexpr Bytes kMostBytes = Bytes{1} << 62;

// Sets Item::most: table[k][s] is the most live in the 2^k sections from s.
void find_busiest(Items& items) {
  std::vector<std::vector<Units>> table{items.live};
  for (std::size_t width = 2; width <= items.live.size(); width *= 2) {
    const std::vector<Units>& half = table.back();
    std::vector<Units> whole(items.live.size() - width + 1);
    for (std::size_t s = 0; s < whole.size(); ++s) whole[s] = std::max(half[s], half[s + width / 2]);
    table.push_back(std::move(whole));
  }
  for (Item& i : items.items) {
    const auto length = static_cast<std::uint32_t>(i.end - i.begin);
    const auto k = static_cast<std::size_t>(std::bit_width(length) - 1);
    i.most = std::max(
        table[k][static_cast<std::size_t>(i.begin)],
        table[k][static_cast<std::size_t>(i.end) -
                 (std::size_t{1}
                  << k)]);  // NOLINT(clang-analyzer-core.UndefinedBinaryOperatorResult): lengths are positive
  }
}

// Refuses what has no meaning; returns for each interval the one that follows it, or -1.
std::vector<std::int32_t> verify(std::span<const Interval> intervals, Bytes align) {
  const auto n = static_cast<std::int64_t>(intervals.size());
  if (align < 1 || align > kMostBytes) fail(Error::Kind::usage, "[pack] alignment {} vs 1 to 2^62", align);
  if (n >= std::int64_t{1} << 30) fail(Error::Kind::usage, "[pack] {} intervals vs at most 2^30", n);
  Bytes total = 0;
  std::vector<std::int32_t> next(intervals.size(), -1);
  for (std::int64_t i = 0; i < n; ++i) {
    const Interval& a = intervals[static_cast<std::size_t>(i)];
    if (a.bytes < 0) fail(Error::Kind::usage, "[pack] interval {} has {} bytes", i, a.bytes);
    if (a.end < a.begin)
      fail(Error::Kind::usage, "[pack] interval {} ends at {} before it begins at {}", i, a.end, a.begin);
    if (a.bytes >= kMostBytes - total || round_up(a.bytes, align) >= kMostBytes - total)
      fail(Error::Kind::usage, "[pack] sizes up to interval {} add up to 2^62 bytes or more", i);
    total += round_up(a.bytes, align);
    if (a.follows == -1) continue;
    if (a.follows < 0 || a.follows >= n || a.follows == i)
      fail(Error::Kind::usage, "[pack] interval {} follows {} of {} intervals", i, a.follows, n);
    const Interval& b = intervals[static_cast<std::size_t>(a.follows)];
    std::int32_t& taken = next[static_cast<std::size_t>(a.follows)];
    if (taken != -1)
      fail(Error::Kind::usage, "[pack] intervals {} and {} both follow {}", taken, i, a.follows);
    if (a.bytes > b.bytes)
      fail(Error::Kind::usage, "[pack] interval {} of {} bytes follows {} of {}", i, a.bytes, a.follows,
           b.bytes);
    if (a.begin <= b.begin || a.begin > b.end || b.end > a.end)
      fail(Error::Kind::usage, "[pack] interval {} [{}, {}) cannot follow {} [{}, {})", i, a.begin, a.end,
           a.follows, b.begin, b.end);
    taken = static_cast<std::int32_t>(i);
  }
  return next;
}

}  // namespace

Items make_items(std::span<const Interval> intervals, Bytes align) {
  const std::vector<std::int32_t> next = verify(intervals, align);
  const auto n = static_cast<std::int32_t>(intervals.size());
  Items out;
  out.item_of.assign(intervals.size(), -1);
  const auto counts = [](const Interval& a) { return a.bytes > 0 && a.begin < a.end; };
  for (const Interval& a : intervals) {
    if (!counts(a)) continue;
    out.moments.push_back(a.begin);
    out.moments.push_back(a.end);
  }
  std::sort(out.moments.begin(), out.moments.end());
  out.moments.erase(std::unique(out.moments.begin(), out.moments.end()), out.moments.end());
  const auto rank = [&](std::int64_t moment) {
    return static_cast<std::int32_t>(std::lower_bound(out.moments.begin(), out.moments.end(), moment) -
                                     out.moments.begin());
  };
  for (std::int32_t i = 0; i < n; ++i) {
    if (intervals[static_cast<std::size_t>(i)].follows != -1) continue;
    Item item;
    item.first_part = static_cast<std::int32_t>(out.parts.size());
    std::int64_t from = intervals[static_cast<std::size_t>(i)].begin;
    for (std::int32_t k = i; k != -1; k = next[static_cast<std::size_t>(k)]) {
      const Interval& a = intervals[static_cast<std::size_t>(k)];
      from = std::max(from, a.begin);
      if (a.bytes > 0 && from < a.end) {
        const Part part{rank(from), rank(a.end), round_up(a.bytes, align) / align};
        const bool has = static_cast<std::int32_t>(out.parts.size()) > item.first_part;
        if (has && out.parts.back().height == part.height) {
          out.parts.back().end = part.end;
        } else {
          out.parts.push_back(part);
        }
        from = a.end;
      }
      out.item_of[static_cast<std::size_t>(k)] = static_cast<std::int32_t>(out.items.size());
    }
    item.last_part = static_cast<std::int32_t>(out.parts.size());
    if (item.last_part == item.first_part) {
      for (std::int32_t k = i; k != -1; k = next[static_cast<std::size_t>(k)])
        out.item_of[static_cast<std::size_t>(k)] = -1;
      continue;
    }
    item.begin = out.parts[static_cast<std::size_t>(item.first_part)].begin;
    item.end = out.parts.back().end;
    item.height = out.parts[static_cast<std::size_t>(item.first_part)].height;
    out.items.push_back(item);
  }

  out.live.assign(out.moments.empty() ? 0 : out.moments.size() - 1, 0);
  std::vector<Units> change(out.moments.size() + 1, 0);
  for (const Part& p : out.parts) {
    change[static_cast<std::size_t>(p.begin)] += p.height;
    change[static_cast<std::size_t>(p.end)] -= p.height;
  }
  Units now = 0;
  for (std::size_t s = 0; s < out.live.size(); ++s) {
    out.live[s] = now += change[s];
    out.lower_bound = std::max(out.lower_bound, now);
  }
  find_busiest(out);
  return out;
}

Units height_of(const Items& items, std::span<const Units> offsets) {
  Units height = 0;
  for (std::size_t i = 0; i < items.items.size(); ++i)
    height = std::max(height, offsets[i] + items.items[i].height);
  return height;
}

Packing packing_of(const Items& items, const Layout& layout, Bytes align) {
  Packing out;
  out.offsets.assign(items.item_of.size(), 0);
  for (std::size_t i = 0; i < out.offsets.size(); ++i)
    if (items.item_of[i] >= 0)
      out.offsets[i] = layout.offsets[static_cast<std::size_t>(items.item_of[i])] * align;
  out.bytes = layout.height * align;
  out.lower_bound = items.lower_bound * align;
  return out;
}

}  // namespace tidemark::plan::packing
