// SPDX-License-Identifier: Apache-2.0
#include "tidemark/store/tier_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <numeric>

#include "tidemark/base/error.h"
#include "tidemark/store/checksum.h"

namespace tidemark {
namespace {

std::vector<std::byte> pattern(Bytes n, int seed) {
  std::vector<std::byte> data(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<std::byte>((i * 31 + i / 257 + static_cast<std::size_t>(seed)) & 0xff);
  return data;
}

std::string error_of(TierStore& store, int slot) {
  try {
    store.wait(slot, "h");
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::io);
    return e.what();
  }
  return "";
}

TEST(TierStore, GivesBackWhatWasCopiedOut) {
  for (TierSpec spec : {host(64_MiB), disk(TIDEMARK_BINARY_DIR, 64_MiB),
                        TierSpec{.name = "d", .folder = TIDEMARK_BINARY_DIR, .use_ring = false}}) {
    const Bytes sizes[] = {0, 1, 4096, 3 * 1024 * 1024 + 17, 20 * 1024 * 1024};
    TierStore store(spec, 32_MiB, 5);
    Bytes offset = 0;
    std::vector<std::vector<std::byte>> data;
    for (int i = 0; i < 5; ++i) data.push_back(pattern(sizes[i], i));
    for (int i = 0; i < 5; ++i) {
      store.write(i, offset, data[static_cast<std::size_t>(i)].data(), sizes[i]);
      offset += sizes[i];
    }
    for (int i = 0; i < 5; ++i) store.wait(i, "x");
    for (int i = 5; i-- > 0;) {
      std::vector<std::byte> back(static_cast<std::size_t>(sizes[i]));
      store.read(i, back.data());
      store.wait(i, "x");
      EXPECT_EQ(back, data[static_cast<std::size_t>(i)]) << store.method() << " size " << sizes[i];
    }
  }
}

TEST(TierStore, NamesAFullDisk) {
  TierSpec spec = disk(TIDEMARK_BINARY_DIR, 1_MiB);
  spec.fault = [](FileOp op, std::byte*, Bytes) { return op == FileOp::write ? ENOSPC : 0; };
  TierStore store(spec, 4096, 1);
  const auto data = pattern(4096, 0);
  store.write(0, 0, data.data(), 4096);
  EXPECT_NE(error_of(store, 0).find("No space left"), std::string::npos);
}

TEST(TierStore, SeesAShortReadAndAWrongBit) {
  int fault = 0;
  TierSpec spec = disk(TIDEMARK_BINARY_DIR, 1_MiB);
  spec.fault = [&](FileOp op, std::byte* data, Bytes n) {
    if (op == FileOp::write || fault == 0) return 0;
    if (fault == 1) return kShortCopy;
    data[n / 2] ^= std::byte{4};
    return 0;
  };
  TierStore store(spec, 4096, 1);
  const auto data = pattern(4096, 0);
  std::vector<std::byte> back(4096);
  store.write(0, 0, data.data(), 4096);
  store.wait(0, "h");
  fault = 1;
  store.read(0, back.data());
  EXPECT_NE(error_of(store, 0).find("fewer than"), std::string::npos);
  fault = 2;
  store.read(0, back.data());
  EXPECT_NE(error_of(store, 0).find("checksum"), std::string::npos);
  fault = 0;
  store.read(0, back.data());
  EXPECT_EQ(error_of(store, 0), "");
  EXPECT_EQ(back, data);
}

TEST(TierStore, AFileThatIsCutShortIsSeen) {
  for (const bool ring : {true, false}) {
    TierFile file(TIDEMARK_BINARY_DIR, 100);
    const auto stream = file.stream(ring);
    std::vector<std::byte> back(4096);
    EXPECT_EQ(stream->read(back.data(), 4096, 0), kShortCopy) << stream->name();
  }
}

// What the caller keeps on disk is mapped; a page that the medium does not give is an error, not the end of the process.
TEST(TierStore, AMappedFileThatIsCutShortIsSeen) {
  constexpr Bytes kBytes = 64 * 4096;
  std::string path = std::string(TIDEMARK_BINARY_DIR) + "/cut-mapping-XXXXXX";
  const int fd = mkstemp(path.data());
  ASSERT_GE(fd, 0);
  unlink(path.c_str());
  ASSERT_EQ(ftruncate(fd, kBytes), 0);
  auto* mapped = static_cast<std::byte*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  ASSERT_NE(mapped, MAP_FAILED);
  std::vector<std::byte> data = pattern(kBytes, 5), back(data.size());
  TierStore store(disk(TIDEMARK_BINARY_DIR, 1_MiB), 0, 1);
  store.copy(0, true, mapped, data.data(), kBytes);
  EXPECT_EQ(error_of(store, 0), "");
  store.copy(0, false, back.data(), mapped, kBytes);
  EXPECT_EQ(error_of(store, 0), "");
  EXPECT_EQ(back, data);
  ASSERT_EQ(ftruncate(fd, kBytes / 2), 0);
  store.copy(0, false, back.data(), mapped, kBytes);
  EXPECT_NE(error_of(store, 0).find("copying 'h'"), std::string::npos);
  store.copy(0, true, mapped, data.data(), kBytes);
  EXPECT_NE(error_of(store, 0).find(std::strerror(EIO)), std::string::npos);
  store.copy(0, true, mapped, data.data(), kBytes / 2);
  EXPECT_EQ(error_of(store, 0), "") << "a slot works on";
  munmap(mapped, kBytes);
  close(fd);
}

TEST(TierStore, RefusesAFolderThatIsNotThere) {
  EXPECT_THROW(TierStore(disk("/no/such/folder", 4096), 4096, 1), Error);
}

TEST(TierStore, RatesAreMeasuredWhereNoneAreGiven) {
  const TierSpec spec = measured(host(1_MiB));
  EXPECT_GT(spec.write_bytes_per_second, 0);
  EXPECT_GT(spec.read_bytes_per_second, 0);
  TierSpec given = host(1_MiB);
  given.write_bytes_per_second = given.read_bytes_per_second = 5;
  EXPECT_EQ(measured(given).read_bytes_per_second, 5);
}

TEST(Checksum, EveryByteCounts) {
  auto data = pattern(1000, 0);
  for (const Bytes n : {Bytes{0}, Bytes{1}, Bytes{31}, Bytes{32}, Bytes{1000}}) {
    const std::uint64_t sum = checksum(data.data(), n);
    for (Bytes i = 0; i < n; ++i) {
      data[static_cast<std::size_t>(i)] ^= std::byte{1};
      EXPECT_NE(checksum(data.data(), n), sum);
      data[static_cast<std::size_t>(i)] ^= std::byte{1};
    }
  }
}

// As on a disk with so little room.
class LargestFile {
 public:
  explicit LargestFile(rlim_t bytes) : on_excess_(signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~LargestFile() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, on_excess_);
  }

 private:
  rlimit before_{};
  void (*on_excess_)(int);
};

TEST(TierStore, RatesAreMeasuredWithTheRoomThereIs) {
  const LargestFile limit(256 * 1024);
  const TierSpec spec = measured(disk(TIDEMARK_BINARY_DIR, 1_GiB));
  EXPECT_GT(spec.write_bytes_per_second, 0);
  EXPECT_GT(spec.read_bytes_per_second, 0);
}

TEST(TierStore, WithoutAnyRoomTheFolderIsNamed) {
  const LargestFile limit(100);
  try {
    measured(disk(TIDEMARK_BINARY_DIR, 1_GiB));
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::Kind::io);
    EXPECT_NE(std::string(e.what()).find(TIDEMARK_BINARY_DIR), std::string::npos) << e.what();
  }
}

TEST(TierStore, ErrorsOfCopiesNameTheFolder) {
  TierSpec spec = disk(TIDEMARK_BINARY_DIR, 1_MiB);
  spec.fault = [](FileOp, std::byte*, Bytes) { return ENOSPC; };
  TierStore store(spec, 4096, 1);
  const std::vector<std::byte> data = pattern(100, 1);
  store.write(0, 0, data.data(), 100);
  EXPECT_NE(error_of(store, 0).find("with 'disk' in '" TIDEMARK_BINARY_DIR "' failed"), std::string::npos);
}

}  // namespace
}  // namespace tidemark
