// The codec "zstd": of every 64 Ki elements the first bytes, then the second ones and so on, each plane by zstd. Signs and exponents
// of floats repeat, their low bits do not: about 0.84 of the bytes for what looks normal, so the slot is seven eighths.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/cpu/entropy.h"

#ifdef TIDEMARK_WITH_ZSTD

#define ZSTD_STATIC_LINKING_ONLY  // contexts in memory that is given
#include <zstd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "tidemark/base/parallel.h"

namespace tidemark::kernels {
namespace {

constexpr std::int64_t kElements = 1 << 16, kPlanes = 4;
constexpr int kLevel = 1;

struct Blocks {
  std::int64_t n;
  std::int64_t count() const { return (n + kElements - 1) / kElements; }
  std::int64_t elements(std::int64_t block) const { return std::min(kElements, n - block * kElements); }
  // Four lengths, then the planes.
  static Bytes slot(std::int64_t elements) { return round_up(kPlanes * 4 + elements * 7 / 2, 64); }
  Bytes offset(std::int64_t block) const { return block * slot(kElements); }
  Bytes bytes() const { return n == 0 ? 0 : offset(count() - 1) + slot(elements(count() - 1)); }
};

// Each thread goes through every so manieth block with a context and a plane of its own: which thread does which changes nothing.
template <typename F>
void for_blocks(const Blocks& blocks, int threads, void* workspace, Bytes each, F&& f) {
  parallel_for(threads, threads, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t lane = begin; lane < end; ++lane) {
      std::byte* own = static_cast<std::byte*>(workspace) + lane * each;
      for (std::int64_t b = lane; b < blocks.count(); b += threads) f(b, own);
    }
  });
}

class Encode final : public Kernel {
 public:
  Encode(Blocks blocks, int threads) : Kernel(threads * each()), blocks_(blocks), threads_(threads) {}
  bool can_overflow() const override { return true; }
  bool overflowed() const override { return overflowed_; }

  void run(const Operands& o) const override {
    overflowed_ = false;
    const auto* x = o.input<std::uint8_t>(0);
    for_blocks(blocks_, threads_, o.workspace, each(), [&](std::int64_t b, std::byte* own) {
      const std::int64_t n = blocks_.elements(b);
      auto* slot = o.output<std::byte>(0) + blocks_.offset(b);
      std::uint32_t lengths[kPlanes];
      std::byte *to = slot + sizeof lengths, *const end = slot + Blocks::slot(n);
      ZSTD_CCtx* context = ZSTD_initStaticCCtx(own + kElements, ZSTD_estimateCCtxSize(kLevel));
      for (std::int64_t plane = 0; plane < kPlanes; ++plane) {
        const std::uint8_t* from = x + b * kElements * kPlanes + plane;
        for (std::int64_t i = 0; i < n; ++i) own[i] = static_cast<std::byte>(from[i * kPlanes]);
        const std::size_t length = ZSTD_compressCCtx(context, to, static_cast<std::size_t>(end - to), own,
                                                     static_cast<std::size_t>(n), kLevel);
        if (ZSTD_isError(length)) {
          overflowed_ = true;  // the only error there is here: no room
          return;
        }
        lengths[plane] = static_cast<std::uint32_t>(length);
        to += length;
      }
      std::memcpy(slot, lengths, sizeof lengths);
    });
  }

 private:
  static Bytes each() { return round_up(kElements + static_cast<Bytes>(ZSTD_estimateCCtxSize(kLevel)), 64); }
  Blocks blocks_;
  int threads_;
  mutable std::atomic<bool> overflowed_{false};
};

}  // namespace

std::optional<Codec> zstd_codec(std::int64_t n, int threads) {
  const Blocks blocks{n};
  Codec c{.slot = blocks.bytes(), .lossy = false, .encode_flops = 100, .decode_flops = 30};
  c.encode = std::make_unique<Encode>(blocks, threads);
  const Bytes each = round_up(kElements + static_cast<Bytes>(ZSTD_estimateDCtxSize()), 64);
  c.decode = make_kernel(threads * each, [=](const Operands& o) {
    auto* y = o.output<std::byte>(0);
    for_blocks(blocks, threads, o.workspace, each, [&](std::int64_t b, std::byte* own) {
      const std::int64_t elements = blocks.elements(b);
      const auto* slot = o.input<std::byte>(0) + blocks.offset(b);
      std::uint32_t lengths[kPlanes];
      std::memcpy(lengths, slot, sizeof lengths);
      const std::byte* from = slot + sizeof lengths;
      ZSTD_DCtx* context = ZSTD_initStaticDCtx(own + kElements, ZSTD_estimateDCtxSize());
      for (std::int64_t plane = 0; plane < kPlanes; ++plane) {
        ZSTD_decompressDCtx(context, own, static_cast<std::size_t>(elements), from, lengths[plane]);
        from += lengths[plane];
        std::byte* to = y + b * kElements * kPlanes + plane;
        for (std::int64_t i = 0; i < elements; ++i) to[i * kPlanes] = own[i];
      }
    });
  });
  return c;
}

}  // namespace tidemark::kernels

#else

namespace tidemark::kernels {
std::optional<Codec> zstd_codec(std::int64_t, int) { return std::nullopt; }
}  // namespace tidemark::kernels

#endif
