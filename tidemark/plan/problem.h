// What the planner is asked: buffers, the tasks that make and read them, tiers to copy to. Plain data with the
// fields of docs/format.md; pose makes one from a Graph, a file or a script may make one too. Input of solve.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tidemark/base/api.h"
#include "tidemark/base/bytes.h"

namespace tidemark::plan {

// A task that takes any time takes at least this: shorter ones are too small for proofs to count with.
inline constexpr double kLeastSeconds = 1e-30;

using BufferId = std::int32_t;
using TaskId = std::int32_t;
using TierId = std::int32_t;

struct Buffer {
  std::string name;
  Bytes bytes = 0;           // as given; counts rounded up to Problem::align
  bool resident = false;
  TierId start = -1, end = -1;  // a valid copy there at the start; the last version has one there at the end
  std::string kind;          // for people; never used in logic
};

struct Task {
  std::string name;
  std::string kind;          // for people, and for finding equal blocks
  std::vector<BufferId> reads, writes;                   // several tasks may write (make) one buffer
  std::vector<std::pair<BufferId, BufferId>> in_place;   // (read, write): write may take over read's storage
  double seconds = 0;
  Bytes workspace = 0;
  bool once = false, optional = false, lossy = false, random = false;
  TaskId instead_of = -1;
};

struct Tier {
  std::string name;
  double write_bytes_per_second = 0, read_bytes_per_second = 0, latency_seconds = 0;
  Bytes bytes = 0;           // capacity
};

struct Problem {
  std::string name;
  std::string device;
  Bytes align = 1;
  std::vector<Buffer> buffers;
  std::vector<Task> tasks;   // without the optional ones: a valid order that runs each once
  std::vector<BufferId> outputs;
  std::vector<Tier> tiers;   // empty: nothing can be moved

  // The bytes a buffer counts: rounded up to `align`.
  Bytes size(BufferId b) const { return round_up(buffers[static_cast<std::size_t>(b)].bytes, align); }
};

// "" or the first rule of docs/format.md that the problem itself breaks, and where. Linear time, no recursion.
TIDEMARK_API std::string verify(const Problem& problem);
// Whether the task makes a new version of the buffer in its place; of any buffer.
TIDEMARK_API bool updates(const Task& task, BufferId b);
TIDEMARK_API bool updates(const Task& task);

// Throws Error(data) naming the place; the result verifies.
TIDEMARK_API Problem read_problem(std::string_view json);
TIDEMARK_API std::string write_problem(const Problem& problem);
// Stable across runs and machines; names, kinds and the device name do not count. 16 hex digits.
TIDEMARK_API std::string hash(const Problem& problem);

}  // namespace tidemark::plan
