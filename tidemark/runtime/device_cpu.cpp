// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "tidemark/base/error.h"
#include "tidemark/base/parallel.h"
#include "tidemark/runtime/device.h"

namespace tidemark {
namespace {

class Cpu final : public Device, public std::enable_shared_from_this<Cpu> {
 public:
  explicit Cpu(int threads) : threads_(threads > 0 ? threads : hardware_threads()) {}
  std::string name() const override { return "cpu"; }
  int threads() const override { return threads_; }
  Bytes allocated() const override { return now_; }
  Bytes peak() const override { return peak_; }

  std::shared_ptr<std::byte> allocate(Bytes bytes) override {
    const Bytes page = sysconf(_SC_PAGESIZE);
    // The arena ends exactly at the guard page, up to the alignment of its start:
    //   [ mapped, unused | arena: bytes, rounded up to 64 | guard ]
    const Bytes used = round_up(std::max<Bytes>(bytes, 1), 64);
    const Bytes mapped = round_up(used, page);
    void* base = mmap(nullptr, static_cast<std::size_t>(mapped + page), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
      fail(Error::Kind::out_of_memory, "[cpu] the system refused an arena of {}", format_bytes(bytes));
    auto* first = static_cast<std::byte*>(base);
    if (mprotect(first + mapped, static_cast<std::size_t>(page), PROT_NONE) != 0) {
      munmap(base, static_cast<std::size_t>(mapped + page));
      fail(Error::Kind::device, "[cpu] cannot protect the page behind the arena");
    }
    if (mapped >= 4_MiB) madvise(base, static_cast<std::size_t>(mapped), MADV_HUGEPAGE);
    const Bytes now = now_ += bytes;
    Bytes most = peak_;
    while (most < now && !peak_.compare_exchange_weak(most, now)) {
    }
    auto self = shared_from_this();
    return {first + (mapped - used), [self, base, mapped, page, bytes](std::byte*) {
              munmap(base, static_cast<std::size_t>(mapped + page));
              self->now_ -= bytes;
            }};
  }

  void launch(const Instr& instr, std::span<const Place>, const Operands& operands) override {
    instr.kernel->run(operands);
  }

 private:
  int threads_;
  std::atomic<Bytes> now_{0}, peak_{0};
};

class Null final : public Device {
 public:
  Null(std::shared_ptr<Account> account, int threads) : account_(std::move(account)), threads_(threads) {}
  std::string name() const override { return "null"; }
  bool computes() const override { return false; }
  int threads() const override { return threads_; }
  Bytes allocated() const override { return peak_; }
  Bytes peak() const override { return peak_; }
  // Addresses without memory behind them: never read, only counted.
  std::shared_ptr<std::byte> allocate(Bytes bytes) override {
    peak_ = std::max(peak_, bytes);
    return {reinterpret_cast<std::byte*>(kBase), [](std::byte*) {}};  // NOLINT(performance-no-int-to-ptr)
  }
  void launch(const Instr& instr, std::span<const Place> places, const Operands&) override {
    ++account_->launches;
    for (const Place& p : places) {
      if (p.resident < 0)
        account_->arena_high_water = std::max(account_->arena_high_water, p.offset + p.bytes);
    }
    account_->most_live = std::max(account_->most_live, instr.live);
  }
  static constexpr std::uintptr_t kBase = 64;

 private:
  std::shared_ptr<Account> account_;
  int threads_;
  Bytes peak_ = 0;
};

}  // namespace

std::shared_ptr<Device> cpu(const CpuOptions& options) { return std::make_shared<Cpu>(options.threads); }

std::shared_ptr<Device> null_device(std::shared_ptr<Account> account, int threads) {
  return std::make_shared<Null>(std::move(account), threads);
}

}  // namespace tidemark
