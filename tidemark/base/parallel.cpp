// A team of threads for each thread that calls: between two loops its members look for the next one for a while before they
// sleep, since the tasks of a step follow each other at once. A loop never waits for a member that has not woken: whoever
// is done takes what others have not begun, so that a core lost to another program costs one chunk, not a share.
// SPDX-License-Identifier: Apache-2.0
#include "tidemark/base/parallel.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

namespace tidemark {

int hardware_threads() {
  static const int threads = [] {
    const char* asked = std::getenv("TIDEMARK_THREADS");
    const int number = asked == nullptr ? 0 : std::atoi(asked);
    return number > 0 ? number : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }();
  return threads;
}

namespace detail {
namespace {

using I = std::int64_t;

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

// Waits until a word changes: awake for about as long as waking takes, less where that has been in vain, since then other
// programs have the cores.
class Watch {
 public:
  void until_not(int old, const std::atomic<int>& word) {
    constexpr int kPauses = 16;
    const auto begin = std::chrono::steady_clock::now();
    do {
      for (int i = 0; i < kPauses; ++i) {
        if (word.load(std::memory_order_acquire) != old) {
          patience_ = std::min(2 * patience_, kMost);
          return;
        }
        pause();
      }
    } while (std::chrono::steady_clock::now() - begin < patience_);
    patience_ = std::max(patience_ / 2, kLeast);
    word.wait(old, std::memory_order_acquire);
  }

 private:
  using Time = std::chrono::steady_clock::duration;
  static constexpr Time kLeast = std::chrono::microseconds(1), kMost = std::chrono::microseconds(30);
  Time patience_ = kMost;
};

thread_local bool in_loop = false;

class Team {
 public:
  Team() = default;
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team() {
    if (getpid() != pid_) {  // a forked child has the members' memory, and not their threads
      for (auto& m : members_) static_cast<void>(m.release());
      return;
    }
    stop_ = true;
    for (std::size_t w = 1; w < members_.size(); ++w) {
      call(*members_[w]);
      members_[w]->thread.join();
    }
  }

  void run(int threads, I n, I grain, ChunkFunction f) noexcept {
    const I chunks = (n + grain - 1) / grain;
    size_ = std::min<I>(threads, chunks);
    while (static_cast<I>(members_.size()) < size_) add_member();
    n_ = n;
    grain_ = grain;
    f_ = &f;
    // Neighbouring chunks on one thread: pages stay with the one that touched them first.
    for (I w = 0; w < size_; ++w) {
      Member& m = *members_[static_cast<std::size_t>(w)];
      m.end = chunks * (w + 1) / size_;
      m.next.store(chunks * w / size_, std::memory_order_relaxed);
    }
    left_.store(chunks, std::memory_order_relaxed);
    done_.store(0, std::memory_order_relaxed);
    gate_.store(kOpen, std::memory_order_release);
    for (I w = 1; w < size_; ++w) call(*members_[static_cast<std::size_t>(w)]);
    in_loop = true;
    work(0);
    in_loop = false;
    while (done_.load(std::memory_order_acquire) == 0) watch_.until_not(0, done_);
    // Late ones find it closed; those inside are about to leave.
    gate_.fetch_sub(kOpen, std::memory_order_acq_rel);
    while (gate_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
  }

 private:
  struct alignas(64) Member {
    std::atomic<I> next{0};  // of its chunks, to be taken
    I end = 0;
    alignas(64) std::atomic<int> calls{0};
    std::thread thread;
  };
  static constexpr int kOpen = 1 << 24;  // above any count of members

  static void call(Member& m) {
    m.calls.fetch_add(1, std::memory_order_release);
    m.calls.notify_one();
  }

  void add_member() {
    const auto w = static_cast<I>(members_.size());
    Member* const m = members_.emplace_back(std::make_unique<Member>()).get();
    if (w > 0) m->thread = std::thread([this, m, w] { serve(*m, w); });  // the first is the caller
  }

  void serve(Member& m, I w) noexcept {
    in_loop = true;
    Watch watch;
    for (int seen = 0;;) {
      watch.until_not(seen, m.calls);
      seen = m.calls.load(std::memory_order_acquire);
      if (stop_) return;
      int inside = gate_.load(std::memory_order_acquire);
      while (inside >= kOpen && !gate_.compare_exchange_weak(inside, inside + 1, std::memory_order_acq_rel)) {
      }
      if (inside < kOpen) continue;
      if (w < size_) work(w);
      gate_.fetch_sub(1, std::memory_order_acq_rel);
    }
  }

  void work(I w) noexcept {
    I ran = 0;
    for (I i = 0; i < size_; ++i) {
      Member& m = *members_[static_cast<std::size_t>((w + i) % size_)];
      for (;;) {
        const I c = m.next.fetch_add(1, std::memory_order_relaxed);
        if (c >= m.end) break;
        (*f_)(c* grain_, std::min(n_, (c + 1) * grain_));
        ++ran;
      }
    }
    if (ran > 0 && left_.fetch_sub(ran, std::memory_order_acq_rel) == ran) {
      done_.store(1, std::memory_order_release);
      done_.notify_one();
    }
  }

  std::vector<std::unique_ptr<Member>> members_;
  Watch watch_;  // the caller's
  I size_ = 0, n_ = 0, grain_ = 1;
  const ChunkFunction* f_ = nullptr;
  alignas(64) std::atomic<I> left_{0};  // chunks that have not run
  alignas(64) std::atomic<int> done_{0};
  alignas(64) std::atomic<int> gate_{0};  // kOpen while there is a loop, and the members inside
  std::atomic<bool> stop_{false};
  const pid_t pid_ = getpid();
};

}  // namespace

void run_chunks(int threads, I n, I grain, ChunkFunction f) {
  thread_local Team team;
  if (in_loop) {
    for (I begin = 0; begin < n; begin += grain) f(begin, std::min(n, begin + grain));
    return;
  }
  team.run(threads, n, grain, f);
}

}  // namespace detail
}  // namespace tidemark
