// SPDX-License-Identifier: Apache-2.0
#include "tidemark/tape/loop_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "tidemark/base/error.h"
#include "tidemark/store/checksum.h"

namespace tidemark::tape {
namespace {

struct Header {
  char magic[8] = {'T', 'M', 'L', 'O', 'O', 'P', '0', '2'};
  std::int64_t steps = 0;
  std::uint64_t given = 0;
  std::int64_t number = 0;  // the step of a state, the steps left of progress, all steps of splits
  std::int64_t bytes = 0;
  std::uint64_t sum = 0;  // of the contents, and of all above
};

std::uint64_t sum_of(Header header, std::span<const std::byte> contents) {
  header.sum = checksum(contents.data(), static_cast<Bytes>(contents.size()));
  return checksum(&header, sizeof(Header));
}

class File {
 public:
  File(const std::string& path, int flags) : fd_(::open(path.c_str(), flags | O_CLOEXEC, 0644)) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd() const { return fd_; }

 private:
  int fd_;
};

bool write_all(int fd, const void* data, std::size_t bytes) {
  const auto* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t n = ::write(fd, from, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    from += n;
    bytes -= static_cast<std::size_t>(n);
  }
  return true;
}

// How many bytes there were.
std::size_t read_all(int fd, void* data, std::size_t bytes) {
  auto* to = static_cast<char*>(data);
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t n = ::read(fd, to + done, bytes - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

[[noreturn]] void damaged(const std::string& path, const char* how) {
  fail(Error::Kind::data, "[checkpointed] {} is {}; remove it and start again: what it held is made again",
       path, how);
}

}  // namespace

LoopFiles::LoopFiles(std::string folder, const LoopIdentity& identity)
    : folder_(std::move(folder)), identity_(identity) {
  struct stat info {};
  if (::stat(folder_.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))
    fail(Error::Kind::io, "[checkpointed] {} is no folder; make it first", folder_);
}

std::string LoopFiles::state_path(std::int64_t step) const {
  return fmt::format("{}/state-{}.tidemark", folder_, step);
}
std::string LoopFiles::progress_path() const { return folder_ + "/progress.tidemark"; }

void LoopFiles::write(const std::string& path, std::int64_t number,
                      std::span<const std::byte> contents) const {
  Header header;
  header.steps = identity_.steps;
  header.given = identity_.given;
  header.number = number;
  header.bytes = static_cast<std::int64_t>(contents.size());
  header.sum = sum_of(header, contents);
  const std::string beside = path + ".new";
  const auto give_up = [&](int error) {
    ::unlink(beside.c_str());
    fail(Error::Kind::io, "[checkpointed] cannot write {}: {}", path, std::strerror(error));
  };
  {
    const File file(beside, O_WRONLY | O_CREAT | O_TRUNC);
    if (file.fd() < 0) give_up(errno);
    if (!write_all(file.fd(), &header, sizeof header) ||
        !write_all(file.fd(), contents.data(), contents.size()))
      give_up(errno);
    if (::fdatasync(file.fd()) != 0) give_up(errno);
  }
  if (::rename(beside.c_str(), path.c_str()) != 0) give_up(errno);
}

std::optional<std::vector<std::byte>> LoopFiles::read(const std::string& path, std::int64_t& number) const {
  const File file(path, O_RDONLY);
  if (file.fd() < 0) {
    if (errno == ENOENT) return std::nullopt;
    fail(Error::Kind::io, "[checkpointed] cannot read {}: {}", path, std::strerror(errno));
  }
  Header header;
  if (read_all(file.fd(), &header, sizeof header) != sizeof header) damaged(path, "cut short");
  if (std::memcmp(header.magic, Header().magic, sizeof header.magic) != 0) damaged(path, "no file of a loop");
  struct stat info {};
  if (::fstat(file.fd(), &info) != 0 || header.bytes < 0) damaged(path, "damaged (its header)");
  if (info.st_size != header.bytes + static_cast<std::int64_t>(sizeof header)) damaged(path, "cut short");
  std::vector<std::byte> contents(static_cast<std::size_t>(header.bytes));
  if (read_all(file.fd(), contents.data(), contents.size()) != contents.size()) damaged(path, "cut short");
  if (sum_of(header, contents) != header.sum) damaged(path, "damaged (its checksum differs)");
  if (LoopIdentity{header.steps, header.given} != identity_)
    fail(Error::Kind::data,
         "[checkpointed] {} is of a loop of {} steps from another state, or with other parameters, vs this "
         "one of {} steps; give each "
         "loop its folder",
         path, header.steps, identity_.steps);
  number = header.number;
  return contents;
}

std::optional<std::vector<std::byte>> LoopFiles::read_state(std::int64_t step) const {
  std::int64_t number = 0;
  auto state = read(state_path(step), number);
  if (state && number != step) damaged(state_path(step), "damaged (it holds another step)");
  return state;
}
bool LoopFiles::has_state(std::int64_t step) const { return ::access(state_path(step).c_str(), F_OK) == 0; }
void LoopFiles::write_state(std::int64_t step, std::span<const std::byte> state) const {
  write(state_path(step), step, state);
}
void LoopFiles::remove_state(std::int64_t step) const { ::unlink(state_path(step).c_str()); }

std::set<std::int64_t> LoopFiles::states() const {
  namespace fs = std::filesystem;
  std::error_code ignored;  // a folder that cannot be read has none
  std::set<std::int64_t> ours;
  for (auto it = fs::directory_iterator(folder_, ignored); !ignored && it != fs::directory_iterator();
       it.increment(ignored)) {
    const File file(it->path(), O_RDONLY);
    Header header;
    if (file.fd() >= 0 && read_all(file.fd(), &header, sizeof header) == sizeof header &&
        std::memcmp(header.magic, Header().magic, sizeof header.magic) == 0 &&
        LoopIdentity{header.steps, header.given} == identity_ && it->path() == state_path(header.number))
      ours.insert(header.number);
  }
  return ours;
}
void LoopFiles::remove_states() const {
  for (const std::int64_t step : states()) remove_state(step);
}

namespace {
// In front of the adjoint.
struct ProgressHeader {
  std::int64_t steps = 0;
  std::uint64_t state = 0, has_state = 0;
};
}  // namespace

std::optional<LoopFiles::Progress> LoopFiles::read_progress() const {
  Progress progress;
  auto contents = read(progress_path(), progress.left);
  if (!contents) return std::nullopt;
  ProgressHeader header;
  if (contents->size() < sizeof header) damaged(progress_path(), "damaged (its header)");
  std::memcpy(&header, contents->data(), sizeof header);
  progress.steps = header.steps;
  if (header.has_state != 0) progress.state = header.state;
  progress.adjoint.assign(contents->begin() + sizeof header, contents->end());
  return progress;
}
void LoopFiles::write_progress(const Progress& progress) const {
  const ProgressHeader header{progress.steps, progress.state.value_or(0),
                              progress.state.has_value() ? 1u : 0u};
  std::vector<std::byte> contents(sizeof header);
  std::memcpy(contents.data(), &header, sizeof header);
  contents.insert(contents.end(), progress.adjoint.begin(), progress.adjoint.end());
  write(progress_path(), progress.left, contents);
}
void LoopFiles::remove_progress() const { ::unlink(progress_path().c_str()); }

std::string LoopFiles::splits_path() const { return folder_ + "/splits.tidemark"; }
std::optional<std::vector<std::int64_t>> LoopFiles::read_splits() const {
  std::int64_t number = 0;
  const auto contents = read(splits_path(), number);
  if (!contents) return std::nullopt;
  std::vector<std::int64_t> splits(contents->size() / sizeof(std::int64_t));
  if (!splits.empty()) std::memcpy(splits.data(), contents->data(), splits.size() * sizeof(std::int64_t));
  return splits;
}
void LoopFiles::write_splits(std::span<const std::int64_t> splits) const {
  write(splits_path(), identity_.steps, std::as_bytes(splits));
}
void LoopFiles::remove_splits() const { ::unlink(splits_path().c_str()); }

}  // namespace tidemark::tape
