// What the passes that look for makers share: the uses of buffers in the order of the list, costs, and what they found.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/compile/makers.h"
#include "tidemark/compile/task_list.h"
#include "tidemark/runtime/codec_profile.h"

namespace tidemark {

class MakerPass {
 public:
  MakerPass(Posed& posed, const MakerOptions& options);

  // Required tasks that read or write the buffer, in the order of the list.
  const std::vector<plan::TaskId>& uses(plan::BufferId b) const { return uses_[static_cast<std::size_t>(b)]; }
  // The last of them before `t`, or -1.
  plan::TaskId use_before(plan::BufferId b, plan::TaskId t) const;
  // How many use it from `t` on.
  int uses_from(plan::BufferId b, plan::TaskId t) const;
  // The first task from `t` on that updates it. What a maker reads must be of the version that the task it stands for read.
  plan::TaskId next_update(plan::BufferId b, plan::TaskId t) const { return updates_.next(b, t); }
  // The one required task that makes it, if it can be made again; -1: none.
  plan::TaskId maker(plan::BufferId b) const { return maker_[static_cast<std::size_t>(b)]; }
  // Whether enough happens between the two for what is kept meanwhile to be worth a thought.
  bool is_gap(plan::TaskId from, plan::TaskId to) const;
  double seconds_between(plan::TaskId from, plan::TaskId to) const;
  // Always there, and never updated.
  bool is_constant(plan::BufferId b) const;
  // Made in the step, not lent to the caller, of one version.
  bool is_passing(plan::BufferId b) const;
  double seconds(const Op& op, const KernelSpec& spec) const { return estimate(*profile_, op, spec).seconds; }
  double seconds(const CodecKey& key, const Cost& cost) const { return estimate_codec(*profile_, key, cost).seconds; }
  double seconds(Bytes moved) const;

  // Buffers that were there before the pass; ids behind them are its own.
  plan::BufferId known_buffers() const { return static_cast<plan::BufferId>(uses_.size()); }
  plan::BufferId add_buffer(std::string name, Bytes bytes, const char* kind);
  // A task for insert_tasks; `instead_of` and `before` by present ids. Returns its number among the new ones.
  std::size_t add_task(NewTask task);
  // `run` of the maker are numbers of new tasks until finish().
  void add(Maker maker) { makers_.push_back(std::move(maker)); }
  std::vector<Maker> finish();

  Posed& posed;
  const MakerOptions& options;

 private:
  const DeviceProfile* profile_;
  DeviceProfile own_profile_;
  std::vector<std::vector<plan::TaskId>> uses_;
  std::vector<plan::TaskId> maker_;
  Updates updates_;
  std::vector<char> output_;
  std::vector<double> until_;  // seconds of the list before each task
  std::vector<NewTask> tasks_;
  std::vector<Maker> makers_;
};

// Calls f(task, node) for every required task of a node that may run again.
template <typename F>
void for_each_node_task(MakerPass& pass, F&& f) {
  const std::size_t tasks = pass.posed.problem.tasks.size();  // f may add some
  for (std::size_t t = 0; t < tasks; ++t) {
    const plan::Task& task = pass.posed.problem.tasks[t];
    const std::int32_t n = pass.posed.binding.node_of_task[t];
    if (!task.optional && !task.once && n >= 0)
      f(static_cast<plan::TaskId>(t), pass.posed.binding.graph.nodes[static_cast<std::size_t>(n)]);
  }
}

void find_factors(MakerPass& pass);      // masks and derivative factors
void find_in_consumer(MakerPass& pass);  // cheap chains made inside the kernel that reads them
void find_codecs(MakerPass& pass);
// x from y = x + f and the like; by the user's word without its rounding residual.
inline constexpr const char* kPlainInverse = "inverse";
void find_inverses(MakerPass& pass);

}  // namespace tidemark
