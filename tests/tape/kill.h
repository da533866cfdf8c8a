// Loops in processes that kill themselves, and go on in others.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tests/tape/flow.h"
#include "tidemark/base/random.h"

namespace tidemark::killing {

namespace fs = std::filesystem;

class Folder {
 public:
  explicit Folder(const std::string& name)
      : path_(fs::temp_directory_path() / (name + std::to_string(::getpid()))) {
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~Folder() { fs::remove_all(path_); }
  std::string path() const { return path_.string(); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path_), fs::directory_iterator{}));
  }

 private:
  fs::path path_;
};

// `run(step)` is a gradient of 80 steps such as `base`, and `expected` what it must give.
template <typename Step, typename Run>
void kill_and_resume(const Step& base, const Run& run, const std::vector<double>& expected, int rounds,
                     std::int64_t longest_fuse, std::uint64_t seed) {
  Rng rng(seed);
  int killed = 0, resumed = 0;
  for (int round = 0; round < rounds; ++round) {
    for (int tries = 0;; ++tries) {
      // The child dies by its own hand, SIGKILL, after a random number of steps; the last try is let through.
      const std::int64_t fuse = tries < 4 ? 1 + rng.below(longest_fuse) : 1'000'000;
      const pid_t child = ::fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        std::int64_t steps = 0;
        const auto step = [&](auto& s, const auto& p, auto i) {
          if (++steps > fuse) ::kill(::getpid(), SIGKILL);
          if constexpr (requires { base(s, p, i); })
            base(s, p, i);
          else
            base(s, p);
        };
        std::optional<decltype(run(step))> result;
        try {
          result = run(step);
        } catch (const std::exception& e) {
          std::fprintf(stderr, "%s\n", e.what());
          ::_exit(5);
        }
        const auto& g = *result;
        if (flow::numbers_of(g) != expected || g.report.steps != 80) ::_exit(1);
        if (g.report.peak != g.report.measured_peak || g.report.peak > g.report.budget) ::_exit(3);
        if (g.report.forward_steps != g.report.measured_forward_steps) ::_exit(4);
        ::_exit(g.report.resumed_at >= 0 ? 2 : 0);
      }
      int status = 0;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      if (WIFSIGNALED(status)) {
        ASSERT_EQ(WTERMSIG(status), SIGKILL);
        ++killed;
        continue;
      }
      ASSERT_TRUE(WIFEXITED(status));
      ASSERT_NE(WEXITSTATUS(status), 1) << "other bits after " << tries << " kills";
      ASSERT_NE(WEXITSTATUS(status), 3) << "another peak than predicted after " << tries << " kills";
      ASSERT_NE(WEXITSTATUS(status), 4) << "other steps than predicted after " << tries << " kills";
      ASSERT_NE(WEXITSTATUS(status), 5) << "an error after " << tries << " kills";
      resumed += WEXITSTATUS(status) == 2;
      break;
    }
  }
  EXPECT_GE(killed, rounds);
  EXPECT_GT(resumed, 0);
}

}  // namespace tidemark::killing
