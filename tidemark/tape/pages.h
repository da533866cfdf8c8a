// Memory straight from the system, on huge pages where they are to be had and touched beforehand, so that neither
// recording nor the sweep meets a page for the first time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "tidemark/base/api.h"
#include "tidemark/base/bytes.h"

namespace tidemark::tape {

class TIDEMARK_API Pages {
 public:
  Pages() = default;
  // Zeroed; at least one page. Throws Error(out_of_memory).
  explicit Pages(Bytes bytes);
  // What `bytes` take.
  static Bytes rounded(Bytes bytes);
  ~Pages();
  Pages(Pages&& other) noexcept;
  Pages& operator=(Pages&& other) noexcept;

  std::byte* data() const { return data_; }
  Bytes bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  Bytes bytes_ = 0;
};

}  // namespace tidemark::tape
