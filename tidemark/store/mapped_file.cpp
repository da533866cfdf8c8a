// SPDX-License-Identifier: Apache-2.0
#include "tidemark/store/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

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

int MappedFile::copy(std::byte* to, const std::byte* from, Bytes bytes, bool out) {
  // The kernel copies within the process and says where a page is not to be had.
  const pid_t self = getpid();
  for (Bytes done = 0; done < bytes;) {
    const auto rest = static_cast<std::size_t>(bytes - done);
    const iovec target{to + done, rest}, source{const_cast<std::byte*>(from) + done, rest};
    const ssize_t n = out ? process_vm_writev(self, &source, 1, &target, 1, 0)
                          : process_vm_readv(self, &target, 1, &source, 1, 0);
    if (n < 0 && (errno == ENOSYS || errno == EPERM)) {
      std::memcpy(to + done, from + done, rest);
      return 0;
    }
    if (n <= 0) return EIO;
    done += n;
  }
  return 0;
}

void MappedFile::leave(const std::byte* data, Bytes bytes) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto before = reinterpret_cast<std::uintptr_t>(data) % page;  // from the beginning of the first page
  madvise(const_cast<std::byte*>(data) - before, before + static_cast<std::size_t>(bytes), MADV_DONTNEED);
}

}  // namespace tidemark
