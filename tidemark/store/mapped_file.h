// Memory that lies in a file: for state that lives on disk between the steps of a compiled function. Made in a given folder, unlinked at
// once; its room is taken when it is made, so that writing to it does not fail for want of it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tidemark/base/api.h"
#include "tidemark/base/bytes.h"

namespace tidemark {

class TIDEMARK_API MappedFile {
 public:
  // Throws Error(io) naming the folder: no such folder, disk full.
  MappedFile(const std::string& folder, Bytes bytes);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::byte* data() const { return data_; }
  // Copies between memory and such a file. Returns 0, or EIO where the medium does not give a page or take one: an ordinary copy would
  // end the process by SIGBUS.
  static int copy(std::byte* to, const std::byte* from, Bytes bytes);
  // Pages of such a file that lie in [data, data + bytes) and were used leave the process; the file has them.
  static void leave(const std::byte* data, Bytes bytes);

 private:
  std::byte* data_ = nullptr;
  Bytes bytes_ = 0;
};

}  // namespace tidemark
