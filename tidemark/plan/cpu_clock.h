// The time limit's clock: process CPU seconds, as all figures of the planner are given.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ctime>

namespace tidemark::plan {

inline double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// A limit in seconds of CPU and in rounds of search; either may be absent.
class Limit {
 public:
  Limit(double seconds, std::int64_t rounds) : begin_(cpu_seconds()), end_(begin_ + seconds), rounds_(rounds) {}
  double elapsed() const { return cpu_seconds() - begin_; }
  bool time_is_up() const { return stopped_ || cpu_seconds() >= end_; }
  double left() const { return stopped_ ? 0 : end_ - cpu_seconds(); }
  double total() const { return end_ - begin_; }
  // One round of search spent; false when none is left.
  bool spend_round() { return rounds_ < 0 || rounds_-- > 0; }
  bool counts_rounds() const { return rounds_ >= 0; }
  bool rounds_left() const { return rounds_ != 0; }
  void stop() { stopped_ = true; }

 private:
  double begin_, end_;
  std::int64_t rounds_;
  bool stopped_ = false;
};

}  // namespace tidemark::plan
