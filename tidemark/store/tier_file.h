// The file behind a disk tier: made in a given folder, unlinked at once, so that nothing is left behind however the
// process ends. Reads and writes by io_uring where the library and the kernel have it, else by pread and pwrite.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "tidemark/base/api.h"
#include "tidemark/base/bytes.h"

namespace tidemark {

enum class FileOp { write, read };
inline constexpr int kShortCopy = -1;  // fewer bytes than asked for, and no error

// For tests: called with each whole copy before a write and behind a read, whose bytes it may change. What it returns
// stands for the outcome: 0, an errno, or kShortCopy.
using FileFault = std::function<int(FileOp op, std::byte* data, Bytes bytes)>;

// Two instances may work on one file at a time, one that writes and one that reads.
class TIDEMARK_API FileStream {
 public:
  virtual ~FileStream() = default;
  // 0, an errno, or kShortCopy. Allocates nothing.
  virtual int write(const std::byte* data, Bytes bytes, Bytes offset) = 0;
  virtual int read(std::byte* data, Bytes bytes, Bytes offset) = 0;
  virtual const char* name() const = 0;  // "io_uring" or "pread"
};

class TIDEMARK_API TierFile {
 public:
  // Throws Error(io) naming the folder.
  explicit TierFile(const std::string& folder, Bytes bytes);
  ~TierFile();
  TierFile(const TierFile&) = delete;
  TierFile& operator=(const TierFile&) = delete;
  // `use_ring` false: pread and pwrite at any rate.
  std::unique_ptr<FileStream> stream(bool use_ring = true) const;

 private:
  int fd_ = -1;
};

}  // namespace tidemark
