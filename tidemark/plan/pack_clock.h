// The clock of the time limits. Internal to pack.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ctime>

namespace tidemark::plan::packing {

inline double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace tidemark::plan::packing
