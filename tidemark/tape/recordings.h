// Which recordings are alive in this process.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_set>

namespace tidemark::tape {

// Numbers of the recordings that can still be used, so that a stale Var is told from one of another tape. Never taken
// twice: a number is 31 bits, and after 2^31 resets only that distinction is lost.
class Recordings {
 public:
  std::uint32_t begin() {
    const std::lock_guard lock(mutex_);
    do last_ = (last_ + 1) & 0x7fffffff;
    while (last_ == 0 || contains(last_));
    live_.insert(last_);
    return last_;
  }
  void end(std::uint32_t number) {
    const std::lock_guard lock(mutex_);
    live_.erase(number);
  }
  bool live(std::uint32_t number) {
    const std::lock_guard lock(mutex_);
    return contains(number);
  }

 private:
  bool contains(std::uint32_t number) const { return live_.count(number) > 0; }
  std::mutex mutex_;
  std::uint32_t last_ = 0;
  std::unordered_set<std::uint32_t> live_;
};

Recordings& recordings();

}  // namespace tidemark::tape
