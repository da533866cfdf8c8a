// SPDX-License-Identifier: Apache-2.0
#include "tidemark/store/safetensors.h"

#include <fcntl.h>
#include <simdjson.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>

#include "tidemark/base/error.h"
#include "tidemark/base/json.h"

namespace tidemark {
namespace {

constexpr Bytes kMostHeader = 100'000'000;  // what the format allows

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

Bytes element_bytes(std::string_view dtype) {
  if (dtype == "F64" || dtype == "I64" || dtype == "U64") return 8;
  if (dtype == "F32" || dtype == "I32" || dtype == "U32") return 4;
  if (dtype == "F16" || dtype == "BF16" || dtype == "I16" || dtype == "U16") return 2;
  if (dtype == "U8" || dtype == "I8" || dtype == "BOOL" || dtype == "F8_E4M3" || dtype == "F8_E5M2") return 1;
  return 0;
}

bool write_all(int fd, const void* data, Bytes bytes) {
  const auto* at = static_cast<const char*>(data);
  while (bytes > 0) {
    // The kernel takes at most 2 GiB a call.
    const ssize_t n = ::write(fd, at, static_cast<std::size_t>(std::min<Bytes>(bytes, Bytes{1} << 30)));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    bytes -= n;
  }
  return true;
}

bool read_all(int fd, void* data, Bytes bytes, Bytes offset) {
  auto* at = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t n =
        ::pread(fd, at, static_cast<std::size_t>(std::min<Bytes>(bytes, Bytes{1} << 30)), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    at += n;
    offset += n;
    bytes -= n;
  }
  return true;
}

std::string header_of(const std::vector<SafeTensor>& tensors, const SafeMetadata& metadata) {
  JsonWriter w;
  w.begin_object();
  if (!metadata.empty()) {
    w.key("__metadata__").begin_object();
    for (const auto& [name, text] : metadata) w.field(name, std::string_view(text));
    w.end_object();
  }
  Bytes at = 0;
  for (const SafeTensor& t : tensors) {
    w.key(t.name).begin_object().field("dtype", std::string_view(t.dtype)).key("shape").begin_array();
    for (const std::int64_t n : t.shape) w.value(n);
    w.end_array().key("data_offsets").begin_array().value(at).value(at + t.bytes).end_array().end_object();
    at += t.bytes;
  }
  std::string header = w.end_object().take();
  header.resize(static_cast<std::size_t>(round_up(static_cast<Bytes>(header.size()), 8)), ' ');
  return header;
}

}  // namespace

void write_safetensors(const std::string& given, const std::vector<SafeTensor>& tensors,
                       const SafeMetadata& metadata) {
  // A link is followed; what is no plain file is not replaced by one.
  std::string path = given;
  if (char* resolved = ::realpath(given.c_str(), nullptr)) {
    path = resolved;
    std::free(resolved);
  }
  struct stat there {};
  if (::stat(path.c_str(), &there) == 0 && !S_ISREG(there.st_mode))
    fail(Error::Kind::io, "[safetensors] {} is no plain file; name one", given);
  const std::string header = header_of(tensors, metadata);
  const std::string partial = path + ".partial";
  const auto refuse = [&] {
    const int reason = errno;
    ::unlink(partial.c_str());
    fail(Error::Kind::io, "[safetensors] cannot write {}: {}", path, std::strerror(reason));
  };
  {
    const Descriptor file(::open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (file.get() < 0) refuse();
    unsigned char length[8];
    for (int i = 0; i < 8; ++i)
      length[i] = static_cast<unsigned char>(static_cast<std::uint64_t>(header.size()) >> (8 * i));
    if (!write_all(file.get(), length, 8) ||
        !write_all(file.get(), header.data(), static_cast<Bytes>(header.size())))
      refuse();
    for (const SafeTensor& t : tensors) {
      if (!write_all(file.get(), t.data, t.bytes)) refuse();
    }
    // Before the rename: else a crash of the machine could leave the new name on an empty file.
    if (::fsync(file.get()) != 0) refuse();
  }
  if (std::rename(partial.c_str(), path.c_str()) != 0) refuse();
}

SafetensorsFile::SafetensorsFile(const std::string& path) : path_(path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) fail(Error::Kind::io, "[safetensors] cannot read {}: {}", path, std::strerror(errno));
  struct stat about {};
  if (::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode))
    fail(Error::Kind::io, "[safetensors] {}: not a plain file", path);
  const auto bad = [&](const std::string& what) {
    fail(Error::Kind::data, "[safetensors] {}: {}", path, what);
  };
  unsigned char length[8];
  if (about.st_size < 8 || !read_all(file.get(), length, 8, 0)) bad("too short for a header");
  std::uint64_t header_bytes = 0;
  for (int i = 0; i < 8; ++i) header_bytes |= static_cast<std::uint64_t>(length[i]) << (8 * i);
  if (header_bytes > static_cast<std::uint64_t>(std::min<Bytes>(kMostHeader, about.st_size - 8)))
    bad(fmt::format("a header of {} bytes in a file of {}; truncated, or not a safetensors file",
                    header_bytes, about.st_size));
  const Bytes data_at = 8 + static_cast<Bytes>(header_bytes), data_bytes = about.st_size - data_at;
  std::string header(static_cast<std::size_t>(header_bytes), '\0');
  if (!read_all(file.get(), header.data(), static_cast<Bytes>(header_bytes), 8))
    bad("cannot read the header");

  simdjson::dom::parser parser;
  simdjson::dom::object top;
  if (parser.parse(header).get(top) != simdjson::SUCCESS) bad("the header is not a JSON object");
  Bytes covered = 0;
  for (const auto& [key, value] : top) {
    const std::string name(key);
    simdjson::dom::object fields;
    if (value.get(fields) != simdjson::SUCCESS) bad(fmt::format("'{}' is not an object", name));
    if (name == "__metadata__") {
      for (const auto& [k, v] : fields) {
        std::string_view text;
        if (v.get(text) != simdjson::SUCCESS)
          bad(fmt::format("metadata '{}' is not a string", std::string(k)));
        metadata_.emplace(std::string(k), std::string(text));
      }
      continue;
    }
    std::string_view dtype;
    simdjson::dom::array shape, offsets;
    if (fields["dtype"].get(dtype) != simdjson::SUCCESS || fields["shape"].get(shape) != simdjson::SUCCESS ||
        fields["data_offsets"].get(offsets) != simdjson::SUCCESS)
      bad(fmt::format("tensor '{}' lacks dtype, shape or data_offsets", name));
    SafeTensor t{.name = name, .dtype = std::string(dtype)};
    Bytes size = element_bytes(dtype);
    if (size == 0) bad(fmt::format("tensor '{}' has the unknown dtype '{}'", name, dtype));
    for (const simdjson::dom::element e : shape) {
      std::int64_t n = -1;
      if (e.get(n) != simdjson::SUCCESS || n < 0)
        bad(fmt::format("tensor '{}' has a shape that is none", name));
      if (n > 0 && size > std::numeric_limits<Bytes>::max() / n)
        bad(fmt::format("tensor '{}' is beyond any memory", name));
      size *= n;
      t.shape.push_back(n);
    }
    std::int64_t begin = -1, end = -1;
    if (offsets.size() != 2 || offsets.at(0).get(begin) != simdjson::SUCCESS ||
        offsets.at(1).get(end) != simdjson::SUCCESS || begin < 0 || end < begin || end > data_bytes ||
        end - begin != size)
      bad(fmt::format("tensor '{}' has {} bytes at [{}, {}) of {}; truncated?", name, size, begin, end,
                      data_bytes));
    t.bytes = size;
    t.offset = data_at + begin;
    if (!index_.emplace(name, tensors_.size()).second) bad(fmt::format("tensor '{}' is there twice", name));
    tensors_.push_back(std::move(t));
    covered += size;
  }
  std::vector<const SafeTensor*> order;
  for (const SafeTensor& t : tensors_) order.push_back(&t);
  std::sort(order.begin(), order.end(), [](const SafeTensor* a, const SafeTensor* b) {
    return std::pair(a->offset, a->bytes) < std::pair(b->offset, b->bytes);
  });
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (order[i]->offset < order[i - 1]->offset + order[i - 1]->bytes)
      bad(fmt::format("tensors '{}' and '{}' overlap", order[i - 1]->name, order[i]->name));
  }
  if (covered != data_bytes)
    bad(fmt::format("the tensors have {} bytes vs {} in the file", covered, data_bytes));
}

const SafeTensor* SafetensorsFile::find(const std::string& name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

void SafetensorsFile::read(const SafeTensor& tensor, void* into) const {
  const Descriptor file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0 || !read_all(file.get(), into, tensor.bytes, tensor.offset))
    fail(Error::Kind::io, "[safetensors] cannot read '{}' of {}", tensor.name, path_);
}

}  // namespace tidemark
