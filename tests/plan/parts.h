// Long tests in parts, each a test of its own, so that `ctest -j` and gtest's sharding spread them over cores.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>

namespace tidemark::plan {

// Seeds [0, count) split evenly: registers the tests `<suite>.<name>_Part00of32_Slow` and so on, each of which calls
// `run(first, last)`.
inline bool register_parts(const char* suite, const char* name, std::uint64_t count, int parts,
                           void (*run)(std::uint64_t first, std::uint64_t last)) {
  class Part : public testing::Test {
   public:
    Part(std::uint64_t first, std::uint64_t last, void (*run)(std::uint64_t, std::uint64_t))
        : first_(first), last_(last), run_(run) {}
    void TestBody() override { run_(first_, last_); }

   private:
    std::uint64_t first_, last_;
    void (*run_)(std::uint64_t, std::uint64_t);
  };
  for (int part = 0; part < parts; ++part) {
    const auto at = [&](int k) {
      return count * static_cast<std::uint64_t>(k) / static_cast<std::uint64_t>(parts);
    };
    testing::RegisterTest(suite, fmt::format("{}_Part{:02}of{}_Slow", name, part, parts).c_str(), nullptr,
                          nullptr, __FILE__, __LINE__,
                          [first = at(part), last = at(part + 1), run]() -> testing::Test* {
                            return new Part(first, last, run);
                          });
  }
  return true;
}

}  // namespace tidemark::plan
