// Where a compiled step copies buffers to and from: a tier's memory or file with its two streams, one out and one in, each a thread
// that carries copies out one after the other. The executor starts copies and waits for them; neither allocates.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "tidemark/store/tier_file.h"

namespace tidemark {

// A tier as the user gives it. Rates of 0 are measured when a function is compiled.
struct TierSpec {
  std::string name;
  Bytes bytes = 0;     // capacity
  std::string folder;  // "": in memory
  double write_bytes_per_second = 0, read_bytes_per_second = 0, latency_seconds = 0;
  bool use_ring = true;  // io_uring where there is one
  FileFault fault;       // for tests
  // Arguments that live there, by patterns over their names (`*` and `?`): fetched for their uses, written back when updated.
  std::vector<std::string> holds;

  bool can_fail() const { return !folder.empty(); }
};
TIDEMARK_API TierSpec host(Bytes bytes);
TIDEMARK_API TierSpec disk(std::string folder, Bytes bytes);

// The rates of this machine by copying a few MiB out and in: `spec` with the zero rates filled in.
TIDEMARK_API TierSpec measured(TierSpec spec);

class TIDEMARK_API TierStore {
 public:
  // Room for `bytes` and for `slots` copies; a slot holds what was copied out last under that number.
  TierStore(const TierSpec& spec, Bytes bytes, int slots);
  ~TierStore();
  TierStore(const TierStore&) = delete;
  TierStore& operator=(const TierStore&) = delete;

  // Copies start in the order given, in each direction. A slot has one copy under way at a time.
  void write(int slot, Bytes offset, const std::byte* from, Bytes bytes);
  void read(int slot, std::byte* to);
  // Between other memory than the tier's own: for what the caller keeps there.
  void copy(int slot, bool out, std::byte* to, const std::byte* from, Bytes bytes);
  // Until the slot's copy is done; throws Error(io) naming `what` where it failed: disk full, cut short, bad checksum.
  void wait(int slot, const char* what);
  // Until nothing is under way, whatever came of it: before memory that is being copied goes.
  void drain();

  Bytes bytes() const { return bytes_; }
  const char* method() const;  // "memcpy", "io_uring" or "pread"

 private:
  struct Slot {
    Bytes offset = 0, bytes = 0;
    std::byte* to = nullptr;
    const std::byte* from = nullptr;
    std::uint64_t sum = 0;
    bool busy = false, outside = false, bad_sum = false;
    int outcome = 0;
  };
  struct Stream {
    std::thread thread;
    std::unique_ptr<FileStream> file;
    std::condition_variable work;
    std::vector<int> queue;  // a ring
    std::size_t first = 0, count = 0;
  };
  void start(Stream& stream, int slot);
  void serve(Stream& stream, bool out);
  void carry_out(FileStream* file, bool out, Slot& slot);
  void finish();

  std::string name_;
  FileFault fault_;
  Bytes bytes_ = 0;
  std::byte* memory_ = nullptr;
  std::unique_ptr<TierFile> file_;
  std::vector<Slot> slots_;
  std::mutex mutex_;
  std::condition_variable done_;
  bool stop_ = false;
  Stream out_, in_;
};

}  // namespace tidemark
