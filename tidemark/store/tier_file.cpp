// SPDX-License-Identifier: Apache-2.0
#include "tidemark/store/tier_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tidemark/base/error.h"

#ifdef TIDEMARK_WITH_URING
#include <liburing.h>
#endif

namespace tidemark {
namespace {

class PlainStream final : public FileStream {
 public:
  explicit PlainStream(int fd) : fd_(fd) {}
  const char* name() const override { return "pread"; }

  int write(const std::byte* data, Bytes bytes, Bytes offset) override {
    while (bytes > 0) {
      const ssize_t n = pwrite(fd_, data, static_cast<std::size_t>(bytes), offset);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno;
      if (n == 0) return kShortCopy;
      data += n, offset += n, bytes -= n;
    }
    return 0;
  }
  int read(std::byte* data, Bytes bytes, Bytes offset) override {
    while (bytes > 0) {
      const ssize_t n = pread(fd_, data, static_cast<std::size_t>(bytes), offset);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno;
      if (n == 0) return kShortCopy;  // the file ends here
      data += n, offset += n, bytes -= n;
    }
    return 0;
  }

 private:
  int fd_;
};

#ifdef TIDEMARK_WITH_URING
// Several pieces of one copy under way at a time.
class RingStream final : public FileStream {
 public:
  static std::unique_ptr<FileStream> make(int fd) {
    auto stream = std::unique_ptr<RingStream>(new RingStream(fd));
    return stream->ready_ ? std::move(stream) : nullptr;
  }
  ~RingStream() override {
    if (ready_) io_uring_queue_exit(&ring_);
  }
  const char* name() const override { return "io_uring"; }
  int write(const std::byte* data, Bytes bytes, Bytes offset) override {
    return copy(true, const_cast<std::byte*>(data), bytes, offset);
  }
  int read(std::byte* data, Bytes bytes, Bytes offset) override { return copy(false, data, bytes, offset); }

 private:
  static constexpr int kDepth = 8;
  static constexpr Bytes kPiece = 1_MiB;
  struct Piece {
    std::byte* data = nullptr;
    Bytes bytes = 0, offset = 0;
    bool busy = false;
  };

  explicit RingStream(int fd) : fd_(fd) { ready_ = io_uring_queue_init(kDepth, &ring_, 0) == 0; }

  // Handed to the kernel with the next wait.
  void enqueue(int slot, bool out) {
    const Piece& p = pieces_[slot];
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    if (out) {
      io_uring_prep_write(entry, fd_, p.data, static_cast<unsigned>(p.bytes),
                          static_cast<std::uint64_t>(p.offset));
    } else {
      io_uring_prep_read(entry, fd_, p.data, static_cast<unsigned>(p.bytes),
                         static_cast<std::uint64_t>(p.offset));
    }
    io_uring_sqe_set_data64(entry, static_cast<std::uint64_t>(slot));
  }

  int copy(bool out, std::byte* data, Bytes bytes, Bytes offset) {
    if (broken_ != 0) return broken_;
    int under_way = 0, outcome = 0;
    while (bytes > 0 || under_way > 0) {
      for (int slot = 0; slot < kDepth && bytes > 0 && outcome == 0; ++slot) {
        if (pieces_[slot].busy) continue;
        const Bytes n = std::min(bytes, kPiece);
        pieces_[slot] = {data, n, offset, true};
        data += n, offset += n, bytes -= n;
        enqueue(slot, out);
        ++under_way;
      }
      if (under_way == 0) break;
      // What the kernel did not take is still in the ring, and handed over the next time.
      io_uring_cqe* done = nullptr;
      const int waited = io_uring_submit_and_wait(&ring_, 1);
      if (waited < 0 && waited != -EINTR && waited != -EAGAIN && waited != -EBUSY) return broken_ = -waited;
      if (io_uring_peek_cqe(&ring_, &done) != 0) continue;
      const int slot = static_cast<int>(io_uring_cqe_get_data64(done));
      const int result = done->res;
      io_uring_cqe_seen(&ring_, done);
      Piece& p = pieces_[slot];
      if (result == -EINTR || result == -EAGAIN) {
        enqueue(slot, out);
        continue;
      }
      if (result > 0 && result < p.bytes && outcome == 0) {
        p.data += result, p.offset += result, p.bytes -= result;
        enqueue(slot, out);
        continue;
      }
      if (result <= 0 && outcome == 0) outcome = result == 0 ? kShortCopy : -result;
      p.busy = false;
      --under_way;
    }
    return outcome;
  }

  int fd_;
  io_uring ring_{};
  bool ready_ = false;
  int broken_ =
      0;  // errno of a ring that takes nothing any more: nobody knows what of its pieces is under way
  Piece pieces_[kDepth];
};
#endif

}  // namespace

TierFile::TierFile(const std::string& folder, Bytes bytes) {
  std::string path = folder + "/tidemark-tier-XXXXXX";
  fd_ = mkostemp(path.data(), O_CLOEXEC);
  if (fd_ < 0) {
    fail(Error::Kind::io, "[tier] cannot make a file in '{}': {}; name a folder that can be written", folder,
         std::strerror(errno));
  }
  unlink(path.c_str());
  // The size alone: blocks come with the first writes, so that a full disk shows as an error of a copy.
  if (ftruncate(fd_, bytes) != 0) {
    const int error = errno;
    close(fd_);
    fail(Error::Kind::io, "[tier] '{}' has no room for a file of {}: {}", folder, format_bytes(bytes),
         std::strerror(error));
  }
}

TierFile::~TierFile() {
  if (fd_ >= 0) close(fd_);
}

std::unique_ptr<FileStream> TierFile::stream(bool use_ring) const {
#ifdef TIDEMARK_WITH_URING
  // A kernel may have it switched off.
  if (use_ring) {
    if (auto ring = RingStream::make(fd_)) return ring;
  }
#else
  (void)use_ring;
#endif
  return std::make_unique<PlainStream>(fd_);
}

}  // namespace tidemark
