// Every malloc of the process, libraries included, counted while a function runs; and the bytes in use.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>

namespace tidemark {

struct Allocations {
  std::int64_t calls = 0, largest = 0;
};
Allocations count_allocations(const std::function<void()>& f);
std::int64_t bytes_in_use();

}  // namespace tidemark
