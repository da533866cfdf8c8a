// Offsets: buffers with lifetimes into one arena. Input: half-open intervals and sizes; output: an offset for
// each, so that what is live together never overlaps. Anytime, deterministic, monotone in capacity.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tidemark/base/api.h"
#include "tidemark/base/bytes.h"

namespace tidemark::plan {

struct Interval {
  std::int64_t begin = 0, end = 0;  // live in [begin, end)
  Bytes bytes = 0;                  // counts rounded up to the alignment
  // Takes over the storage of that interval (in place): the same offset. Then that one is followed by no
  // other, is not smaller, and its begin < our begin <= its end <= our end; while both are live its bytes
  // count.
  std::int32_t follows = -1;
};

struct PackOptions {
  Bytes align = 1;
  Bytes capacity = -1;  // stop at the first packing that fits it; -1: make it as small as possible
  // Nothing higher than the capacity is of use: it alone is searched for, which is quicker, and no longer monotone in it.
  bool aim = false;
  double time_limit = 1.0;  // process CPU seconds
  std::int64_t effort =
      -1;  // search nodes; the result depends on it alone when the time limit is not reached
  const std::atomic<bool>* stop = nullptr;  // once it is set: ends soon, with the best so far
  std::function<bool()> go_on;              // likewise once it says no; asked now and then
};

struct Packing {
  std::vector<Bytes> offsets;  // one for each interval
  Bytes bytes = 0;             // the highest end
  Bytes lower_bound = 0;       // most bytes live at one moment
};

// Throws Error(usage) for sizes, lifetimes or relations that make no sense, and for sizes that add up to 2^62
// or more.
TIDEMARK_API Packing pack(std::span<const Interval> intervals, const PackOptions& options = {});
// "" or the first pair that overlaps. Shares no code with pack.
TIDEMARK_API std::string check_packing(std::span<const Interval> intervals, const Packing& packing,
                                       Bytes align = 1);

}  // namespace tidemark::plan
