// The time limit's clock: process CPU seconds, as all figures of the planner are given.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>
#include <functional>
#include <utility>

namespace tidemark::plan {

// Sanitizers slow code down: there, a limit of a second means what plain code does in about a second.
#if defined(__SANITIZE_THREAD__)
inline constexpr double kClockRate = 1.0 / 12;
#elif defined(__SANITIZE_ADDRESS__)
inline constexpr double kClockRate = 1.0 / 4;
#else
inline constexpr double kClockRate = 1;
#endif

inline double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return kClockRate * (static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec));
}

// A limit in seconds of CPU and in rounds of search; either may be absent.
class Limit {
 public:
  Limit(double seconds, std::int64_t rounds)
      : begin_(cpu_seconds()), end_(begin_ + seconds), rounds_(rounds), all_rounds_(rounds) {}
  double elapsed() const { return cpu_seconds() - begin_; }
  bool time_is_up() const {
    if (stopped_ || (flag_ != nullptr && flag_->load(std::memory_order_relaxed))) return true;
    const double now = cpu_seconds();
    if (ask_ && now >= next_question_) {
      next_question_ = now + kBetweenQuestions;
      stopped_ = !ask_();
    }
    return stopped_ || now >= end_;
  }
  double left() const { return stopped_ ? 0 : end_ - cpu_seconds(); }
  // One round of search spent; false when none is left.
  bool spend_round() {
    if (rounds_ == 0) return false;
    if (rounds_ > 0) --rounds_;
    return true;
  }
  // How much of the search is behind: by rounds where they are counted, so that what depends on it is the same on every machine.
  double fraction() const {
    if (all_rounds_ >= 0)
      return all_rounds_ == 0 ? 1 : 1 - static_cast<double>(rounds_) / static_cast<double>(all_rounds_);
    return elapsed() / (end_ - begin_);
  }
  void stop() { stopped_ = true; }
  // For one of `parts` that work at the same time: the same end, its part of the rounds.
  Limit share(int parts) const {
    Limit part = *this;
    if (rounds_ >= 0) part.rounds_ = part.all_rounds_ = rounds_ / parts;
    return part;
  }
  // Time is up, too, once somebody else (a signal handler, another thread) sets the flag. May be null.
  void watch(const std::atomic<bool>* flag) { flag_ = flag; }
  // Time is up, too, once it says no; asked now and then by time_is_up. One thread.
  void ask(std::function<bool()> go_on) { ask_ = std::move(go_on); }

 private:
  double begin_, end_;
  std::int64_t rounds_, all_rounds_;
  static constexpr double kBetweenQuestions = 0.02;  // seconds
  mutable bool stopped_ = false;
  mutable double next_question_ = 0;
  std::function<bool()> ask_;
  const std::atomic<bool>* flag_ = nullptr;
};

}  // namespace tidemark::plan
