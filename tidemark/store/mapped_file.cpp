// SPDX-License-Identifier: Apache-2.0
#include "tidemark/store/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tidemark/base/error.h"

namespace tidemark {

MappedFile::MappedFile(const std::string& folder, Bytes bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  std::string path = folder + "/tidemark-state-XXXXXX";
  const int fd = mkstemp(path.data());
  if (fd < 0) fail(Error::Kind::io, "[tier] no file in '{}': {}", folder, std::strerror(errno));
  unlink(path.c_str());
  int refused = EINTR;
  while (refused == EINTR) refused = posix_fallocate(fd, 0, bytes);
  void* data = refused == 0
                   ? mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
                   : MAP_FAILED;
  const int why = refused != 0 ? refused : errno;
  close(fd);  // the mapping holds the file
  if (data == MAP_FAILED)
    fail(Error::Kind::io, "[tier] {} of state in '{}': {}", format_bytes(bytes), folder, std::strerror(why));
  data_ = static_cast<std::byte*>(data);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(data_, static_cast<std::size_t>(bytes_));
}

int MappedFile::copy(std::byte* to, const std::byte* from, Bytes bytes) {
  // By way of a pipe: the kernel, which copies in and out of it, says where a page is not to be had.
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return errno;
  constexpr Bytes kPart = 64_KiB;  // as much as an empty pipe takes at once
  const auto moved = [](auto call) {
    ssize_t n = call();
    while (n < 0 && errno == EINTR) n = call();
    return n;
  };
  bool all = true;
  for (Bytes done = 0; all && done < bytes;) {
    const auto part = static_cast<std::size_t>(std::min(kPart, bytes - done));
    ssize_t in = moved([&] { return write(ends[1], from + done, part); });
    all = in > 0;
    while (all && in > 0) {
      const ssize_t out = moved([&] { return read(ends[0], to + done, static_cast<std::size_t>(in)); });
      all = out > 0;
      in -= out;
      done += out;
    }
  }
  close(ends[0]);
  close(ends[1]);
  return all ? 0 : EIO;
}

void MappedFile::leave(const std::byte* data, Bytes bytes) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto before = reinterpret_cast<std::uintptr_t>(data) % page;  // from the beginning of the first page
  madvise(const_cast<std::byte*>(data) - before, before + static_cast<std::size_t>(bytes), MADV_DONTNEED);
}

}  // namespace tidemark
