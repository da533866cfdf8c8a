// Device: who provides the arena and runs kernels. cpu computes; null only keeps account, so that a 100 GB
// step can be planned and checked on a laptop.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "tidemark/runtime/program.h"

namespace tidemark {

class TIDEMARK_API Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;
  virtual int threads() const = 0;
  virtual bool computes() const { return true; }  // false: keeps account only, of copies too
  // One arena per call; 64-byte aligned. Freed when the result goes.
  virtual std::shared_ptr<std::byte> allocate(Bytes bytes) = 0;
  virtual void launch(const Instr& instr, std::span<const Place> places, const Operands& operands) = 0;
  // Bytes in its arenas now, and the most there ever were: counted by the device, not taken from a plan.
  virtual Bytes allocated() const = 0;
  virtual Bytes peak() const = 0;
};

struct CpuOptions {
  int threads = 0;  // 0: all hardware threads
};
// Arenas end at a page without access: a write past the end is caught where it happens.
TIDEMARK_API std::shared_ptr<Device> cpu(const CpuOptions& options = {});

// What a program touched, address by address.
struct Account {
  Bytes arena_high_water = 0;  // the highest end of an operand
  Bytes most_live = 0;         // by the instructions' own count
  std::int64_t launches = 0;
};
TIDEMARK_API std::shared_ptr<Device> null_device(std::shared_ptr<Account> account, int threads = 1);

}  // namespace tidemark
