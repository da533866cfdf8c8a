// SPDX-License-Identifier: Apache-2.0
#include "tidemark/base/text.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "tidemark/base/error.h"

namespace tidemark {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t at = 0;;) {
    const std::size_t next = text.find(separator, at);
    parts.emplace_back(text.substr(at, next == std::string_view::npos ? next : next - at));
    if (next == std::string_view::npos) return parts;
    at = next + 1;
  }
}

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

bool glob_match(std::string_view pattern, std::string_view text) {
  // The last '*' seen is the only one worth backing up to.
  std::size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p, ++t;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

namespace {
struct Close {
  void operator()(std::FILE* f) const { std::fclose(f); }
};
using File = std::unique_ptr<std::FILE, Close>;
}  // namespace

std::string format_seconds(double seconds) {
  // Costs may be in relative units: large ones are written as they are.
  if (seconds == 0 || seconds >= 1) return fmt::format("{:.6g} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.4g} ms", seconds * 1e3);
  return fmt::format("{:.4g} us", seconds * 1e6);
}

std::string read_file(const std::string& path) {
  const File file(std::fopen(path.c_str(), "rb"));
  if (!file) fail(Error::Kind::io, "[read] cannot open {}: {}", path, std::strerror(errno));
  std::string contents;
  std::string chunk(1 << 16, '\0');
  while (const std::size_t n = std::fread(chunk.data(), 1, chunk.size(), file.get()))
    contents.append(chunk, 0, n);
  if (std::ferror(file.get())) fail(Error::Kind::io, "[read] cannot read {}: {}", path, std::strerror(errno));
  return contents;
}

namespace {

// Empty, for whoever else writes the same file waits until this one is closed: two that write into one would publish a mixture. What a
// writer that was killed has left is written over. Where a file system knows no locks, it goes on without.
std::FILE* open_alone(const std::string& path) {
  for (;;) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0) return nullptr;
    while (::flock(file, LOCK_EX) != 0 && errno == EINTR) {
    }
    struct stat mine {
    }, there{};
    // Renamed or removed by the one before: what is opened is another's by now.
    const bool same = ::fstat(file, &mine) == 0 && ::stat(path.c_str(), &there) == 0 &&
                      mine.st_ino == there.st_ino && mine.st_dev == there.st_dev;
    std::FILE* stream = same && ::ftruncate(file, 0) == 0 ? ::fdopen(file, "wb") : nullptr;
    if (stream != nullptr) return stream;
    const int reason = errno;
    ::close(file);
    errno = reason;
    if (same) return nullptr;
  }
}

}  // namespace

void write_file(const std::string& given, std::string_view contents) {
  // A link is followed; a device or pipe is written to, never replaced.
  std::string path = given;
  if (char* resolved = ::realpath(given.c_str(), nullptr)) {
    path = resolved;
    std::free(resolved);
  }
  struct stat about {};
  const bool special =
      ::stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode);
  const std::string partial = special ? path : path + ".partial";
  File file;
  const auto refuse = [&] {
    const int reason = errno;
    if (file && !special) ::unlink(partial.c_str());
    fail(Error::Kind::io, "[write] cannot write {}: {}", path, std::strerror(reason));
  };
  file.reset(special ? std::fopen(partial.c_str(), "wb") : open_alone(partial));
  if (!file) refuse();
  if (std::fwrite(contents.data(), 1, contents.size(), file.get()) != contents.size()) refuse();
  if (std::fflush(file.get()) != 0) refuse();
  if (!special && std::rename(partial.c_str(), path.c_str()) != 0) refuse();
}

}  // namespace tidemark
