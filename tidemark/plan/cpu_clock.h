// The time limit's clock: process CPU seconds, as all figures of the planner are given; or the work done, counted, where the answer may not depend on how
// fast the machine is just now.
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

inline double seconds_by(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return kClockRate * (static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec));
}
inline double process_seconds() { return seconds_by(CLOCK_PROCESS_CPUTIME_ID); }
inline double thread_seconds() { return seconds_by(CLOCK_THREAD_CPUTIME_ID); }

// While one is alive, the clock of its thread is the planner's work: what has so many seconds ends at the same point in every run. Each look at the clock
// counts; what takes much longer than others from one look to the next says how long (`worked`). Both in about the seconds that they take on a core of three
// gigahertz. One inside another begins anew; a Limit stays with the clock under which it began, which it may not outlive or take to other threads.
class WorkClock {
 public:
  // A look is about a step of search, which takes longer the more tasks there are.
  explicit WorkClock(std::size_t tasks) : look_(5e-8 + 1e-8 * static_cast<double>(tasks)), outer_(here_) {
    here_ = this;
  }
  ~WorkClock() {
    here_ = outer_;
    if (outer_ != nullptr) outer_->work(counted_ >= 0 ? counted_ : now_);
  }
  WorkClock(const WorkClock&) = delete;
  WorkClock& operator=(const WorkClock&) = delete;

  static WorkClock* here() { return here_; }
  double look() {
    now_ += look_;
    // Work that nobody counts is not to go on for ever: from here on each look takes longer than any limit.
    if (counted_ < 0 && ++looks_ % kBetweenLooks == 0 && thread_seconds() - begin_ > kMost + kSlower * now_) {
      counted_ = now_;
      look_ = kLongest;
      now_ += look_;
    }
    return now_;
  }
  double seen() const { return now_; }
  void work(double seconds) { now_ += seconds; }

 private:
  static constexpr std::int64_t kBetweenLooks = 64;
  static constexpr double kMost = 10, kSlower = 20, kLongest = 1e9;
  static inline thread_local WorkClock* here_ = nullptr;
  double look_, now_ = 0, begin_ = thread_seconds();
  double counted_ = -1;  // when that was found, else -1
  std::int64_t looks_ = 0;
  WorkClock* outer_;
};

inline double seconds_of(WorkClock* clock) { return clock != nullptr ? clock->look() : process_seconds(); }
inline double cpu_seconds() { return seconds_of(WorkClock::here()); }
// For reports: no look that counts, or who asks for progress would have another plan than who does not.
inline double seen_by(const WorkClock* clock) { return clock != nullptr ? clock->seen() : process_seconds(); }
inline double seen_seconds() { return seen_by(WorkClock::here()); }
// So many units of work were done, of so many seconds each; for a WorkClock.
inline void worked(double units, double seconds_each) {
  if (WorkClock* clock = WorkClock::here()) clock->work(units * seconds_each);
}

// A limit in seconds of CPU and in rounds of search; either may be absent.
class Limit {
 public:
  Limit(double seconds, std::int64_t rounds)
      : begin_(now()), end_(begin_ + seconds), rounds_(rounds), all_rounds_(rounds) {}
  double elapsed() const { return now() - begin_; }
  double seen() const { return seen_by(clock_) - begin_; }  // likewise, for reports
  bool time_is_up() const {
    if (stopped_ || (flag_ != nullptr && flag_->load(std::memory_order_relaxed))) return true;
    const double at = now();
    if (ask_ && at >= next_question_) {
      next_question_ = at + kBetweenQuestions;
      stopped_ = !ask_();
    }
    return stopped_ || at >= end_;
  }
  double left() const { return stopped_ ? 0 : end_ - now(); }
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
    return end_ > begin_ ? elapsed() / (end_ - begin_) : 1;
  }
  void stop() { stopped_ = true; }
  // For one of `parts` that work at the same time: the same end, its part of the rounds.
  Limit share(int parts) const {
    Limit part = *this;
    if (rounds_ >= 0) part.rounds_ = part.all_rounds_ = rounds_ / parts;
    return part;
  }
  // A share of what is left, as a limit of its own; `spend` takes the rounds that it used off.
  Limit rest(double share) const {
    Limit part = *this;
    part.begin_ = now();
    part.end_ = part.begin_ + share * (end_ - part.begin_);
    if (rounds_ >= 0)
      part.rounds_ = part.all_rounds_ = static_cast<std::int64_t>(share * static_cast<double>(rounds_));
    return part;
  }
  void spend(const Limit& part) {
    if (rounds_ >= 0) rounds_ -= part.all_rounds_ - part.rounds_;
  }
  // Time is up, too, once somebody else (a signal handler, another thread) sets the flag. May be null.
  void watch(const std::atomic<bool>* flag) { flag_ = flag; }
  // Time is up, too, once it says no; asked now and then by time_is_up. One thread.
  void ask(std::function<bool()> go_on) { ask_ = std::move(go_on); }

 private:
  double now() const { return seconds_of(clock_); }

  WorkClock* clock_ = WorkClock::here();
  double begin_, end_;
  std::int64_t rounds_, all_rounds_;
  static constexpr double kBetweenQuestions = 0.02;  // seconds
  mutable bool stopped_ = false;
  mutable double next_question_ = 0;
  std::function<bool()> ask_;
  const std::atomic<bool>* flag_ = nullptr;
};

}  // namespace tidemark::plan
