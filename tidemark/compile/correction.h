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

class TIDEMARK_API Correction {
 public:
  struct Options {
    double tolerance = 0.05;  // of the total, either way
    int most = 3;             // corrections; a machine that is busy with other work is never predicted well
    bool cores_only = false;  // a task takes the lesser of wall and CPU time: nothing waits, so the rest is other programs'
  };
  struct Replanned {
    Posed posed;
    DeviceProfile profile;
    Planned planned;
  };
  // Seconds of each task, 0 for those that did not run; called on another thread. Asks `stop` now and then.
  using Replan = std::function<Replanned(std::vector<double> seconds, const std::function<bool()>& stop)>;

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
  // For tests and for people who would rather wait: until the thread has ended.
  void wait();

 private:
  void learn();

  static constexpr std::size_t kRuns = 3;
  Replan replan_;
  Options options_;
  std::size_t tasks_;
  int runs_ = 0;  // under this plan
  std::array<double, kRuns> last_{};
  bool recording_ = false;
  std::vector<Timeline> timelines_;
  std::size_t recorded_ = 0;
  int corrections_ = 0;
  bool working_ = false;  // from when the thread starts until its plan is taken
  std::thread worker_;
  std::atomic<bool> stop_{false}, done_{false};
  std::optional<Replanned> result_;
};

// Seconds of each task from recorded runs: the median over all its runs, the time between two tasks counted to the second, by CPU
// time where that was recorded and is less. 0: did not run.
TIDEMARK_API std::vector<double> seconds_of_tasks(std::span<const Timeline> timelines, std::size_t tasks);

// Puts measured seconds into the problem and, as points, into the profile; tasks that did not run get what the corrected profile
// says of them.
TIDEMARK_API void correct(Posed& posed, DeviceProfile& profile, std::span<const double> seconds, int threads);

}  // namespace tidemark
