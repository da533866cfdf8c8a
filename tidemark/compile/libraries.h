// What libraries keep on the heap inside a step. A step of ours allocates nothing, so what the heap holds more after it than before is
// theirs. Looked at by Compiled::run around the first steps, then ever more seldom.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "tidemark/base/api.h"
#include "tidemark/base/bytes.h"

namespace tidemark {

// As the C library counts it; what other threads of the program allocate meanwhile counts too.
struct LibraryMemory {
  bool known = false;  // false: this C library does not tell
  int steps = 0;       // that were looked at
  Bytes first = 0;     // what the first of them left on the heap: libraries that set themselves up
  // What the others left there in all: flat from step to step where it stays below a few KiB, since small pieces that were given back
  // lie in malloc's caches for threads, which its books count as given out.
  Bytes later = 0;
};

// Bytes that malloc has given out and not got back; empty where the C library does not tell.
TIDEMARK_API std::optional<Bytes> heap_in_use();

class TIDEMARK_API HeapWatch {
 public:
  // Around a step. `quiet`: nothing else of ours allocates meanwhile.
  void before(bool quiet);
  void after();
  const LibraryMemory& found() const { return found_; }

 private:
  LibraryMemory found_;
  std::int64_t steps_ = 0;
  std::optional<Bytes> before_;
};

}  // namespace tidemark
