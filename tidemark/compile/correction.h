// Predictions checked: each run of a compiled program is compared with what its plan said; when that is off, a few runs are timed task
// by task, and the program is planned again on a thread of its own. The caller takes the new plan at a later step boundary.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <thread>

#include "tidemark/compile/planning.h"
#include "tidemark/runtime/executor.h"

namespace tidemark {

// What a task took each time it ran in a step, and how often it did.
struct TaskTime {
  double seconds = 0;
  int runs = 0;
};

class TIDEMARK_API Correction {
 public:
  struct Options {
    double tolerance = 0.03;  // of the total, either way
    int most = 3;             // corrections; a machine that is busy with other work is never predicted well
    bool cores_only = false;  // a task takes the lesser of wall and CPU time: nothing waits, so the rest is other programs'
  };
  struct Replanned {
    Posed posed;
    DeviceProfile profile;
    Planned planned;
  };
  struct Learned {
    std::vector<TaskTime> times;
    double seconds = 0;  // of a step
    bool last = false;   // no correction follows: what is taken now should have been measured, not put together
  };
  // Called on another thread. Asks `stop` now and then.
  using Replan = std::function<Replanned(Learned learned, const std::function<bool()>& stop)>;

  Correction(std::size_t tasks, Replan replan, Options options);
  Correction(std::size_t tasks, Replan replan) : Correction(tasks, std::move(replan), Options{}) {}
  ~Correction();  // waits for the thread, which stops early

  // Before a run: what it is to be recorded in, or null. `instrs`: of the program that runs.
  Timeline* record(std::size_t instrs);
  // After a run that took so long. Allocates nothing unless the prediction is off.
  void ran(double seconds, double predicted);
  // Between runs: the new plan, when it is there. A replan that failed leaves everything as it is.
  std::optional<Replanned> take();

  double measured() const;  // the median of the last runs, 0 before there are enough
  int corrections() const { return corrections_; }
  bool busy() const { return working_; }
  bool recording() const { return recording_; }
  // For tests and for people who would rather wait: until the thread has ended.
  void wait();

 private:
  bool agrees(double seconds, double with) const;
  void end_window(double predicted);
  void learn(double seconds);

  static constexpr std::size_t kRuns = 5;
  static constexpr int kWindows = 4;
  Replan replan_;
  Options options_;
  std::size_t tasks_;
  int runs_ = 0;  // under this plan
  std::array<double, kRuns> last_{};
  // While recording, runs are timed task by task and as a whole in turn: reading clocks takes time, and so does a task that was
  // disturbed, which medians of single tasks leave out and a step does not.
  // Other programs' work comes in phases longer than a few steps: what is learned from has to agree with the runs before it.
  bool recording_ = false;
  std::size_t turn_ = 0;
  int window_ = 0;
  double before_ = 0;  // the median of the window before
  std::vector<Timeline> timelines_;
  std::array<double, kRuns> totals_{};
  int corrections_ = 0;
  bool working_ = false;  // from when the thread starts until its plan is taken
  std::thread worker_;
  std::atomic<bool> stop_{false}, done_{false};
  std::optional<Replanned> result_;
};

// From recorded runs of one program: the median over them at each place in it, and of a task that runs at several places the mean.
// The time between two tasks is counted to the second, by CPU time where that was recorded and is less. `total` > 0: what a step
// takes; all are scaled so that they add up to it.
TIDEMARK_API std::vector<TaskTime> times_of_tasks(std::span<const Timeline> timelines, std::size_t tasks, double total = 0);

// Puts measured seconds into the problem and, as points, into the profile; tasks that did not run get what the corrected profile
// says of them.
TIDEMARK_API void correct(Posed& posed, DeviceProfile& profile, std::span<const TaskTime> times, int threads);

// The running plan with the problem's seconds as they are now, where `next`, another plan of that problem, is not worth leaving it
// for: it does not save so large a part of its time. What the running one takes was measured; what another takes is put together from tasks that ran elsewhere, so it has to be
// better by more than such sums are off.
inline constexpr double kLeastGain = 0.03;
TIDEMARK_API std::optional<plan::Plan> stay_with(const plan::Problem& problem, const plan::Plan& running,
                                                 const plan::Plan& next, double least_gain = kLeastGain);

}  // namespace tidemark
