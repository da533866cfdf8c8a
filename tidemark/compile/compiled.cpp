// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/compiled.h"

#include <algorithm>
#include <cstring>

#include "tidemark/compile/planning.h"
#include "tidemark/front/eager.h"

namespace tidemark {

Budget Budget::minimum() {
  Budget b;
  b.kind = Kind::minimum;
  return b;
}

Compiled::Compiled(Graph graph, const CompileOptions& options, std::shared_ptr<Device> device)
    : device_(std::move(device)) {
  graph = optimise(std::move(graph), options.passes);
  posed_ = pose(std::move(graph), {.threads = device_->threads(), .name = options.name});
  for (const TierSpec& tier : options.tiers) tiers_.push_back(measured(tier));
  verify_ = options.verify;
  Planned planned = plan_posed(posed_, options, tiers_, device_->threads(), nullptr);
  fallback_ = planned.fallback;
  plan_ = std::move(planned.plan);
  program_ = std::make_shared<const Program>(std::move(planned.program));
  residents_.resize(program_->residents.size());
  updated_by_.assign(this->graph().inputs.size(), -1);
  for (const auto& [in, out] : this->graph().updates) updated_by_[static_cast<std::size_t>(in)] = out;
  lent_.resize(this->graph().outputs.size());
}

Tensors Compiled::run(const Tensors& arguments, std::span<const char> given_up, Timeline* timeline) {
  const Graph& g = graph();
  std::vector<std::shared_ptr<Storage>> storages(arguments.size());
  TIDEMARK_CHECK(arguments.size() == g.inputs.size(), "{} inputs given, {} wanted", arguments.size(),
                 g.inputs.size());
  for (std::weak_ptr<Storage>& weak : lent_) {
    if (const auto held = weak.lock()) held->detach();
    weak.reset();
  }
  Bytes resident = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Tensor& t = arguments[i];
    if (t.type() != g.type(g.inputs[i])) {
      fail(Error::Kind::usage, "[compiled] argument {} ({}) is {} vs {} when it was traced", i, g.value(g.inputs[i]).name,
           to_string(t.type()), to_string(g.type(g.inputs[i])));
    }
    if (!t.concrete()) fail(Error::Kind::usage, "[compiled] argument {} ({}) has no contents", i, g.value(g.inputs[i]).name);
    storages[i] = t.storage();
    if (updated_by_[i] >= 0) {
      const bool ours = i < given_up.size() && given_up[i] && t.held_by_at_most(2, 2);
      if (!ours) {
        storages[i] = Storage::allocate(t.type().bytes());
        if (t.type().bytes() > 0) std::memcpy(storages[i]->data(), t.storage()->data(), static_cast<std::size_t>(t.type().bytes()));
      }
    }
    residents_[i] = storages[i]->data();
    const plan::Buffer& buffer = problem().buffers[static_cast<std::size_t>(program_->residents[i])];
    if (buffer.resident) resident += round_up(t.type().bytes(), problem().align);
  }
  // Planning allocates nothing: the arena comes with the first run.
  if (!executor_) {
    const Bytes before = device_->allocated();
    executor_ = std::make_unique<Executor>(program_, device_, nullptr, tiers_);
    if (verify_) executor_->verify_repeats();
    arena_measured_ = device_->allocated() - before;
  }
  if (!executor_->run(residents_, timeline)) {
    // What a codec made did not fit its slot. Nothing has been updated: the step starts over under the plan without codecs.
    notes_.push_back(fmt::format("'{}' did not fit its slot; the step started over without codecs that can overflow, {:.3g} s a step instead of {:.3g}",
                                 executor_->overflowed(), fallback_->plan.seconds, plan_.seconds));
    executor_.reset();
    plan_ = fallback_->plan;
    program_ = std::make_shared<const Program>(fallback_->program);
    fallback_.reset();
    storages.clear();
    return run(arguments, given_up, timeline);
  }
  measured_ = resident + arena_measured_;
  Tensors outputs;
  outputs.reserve(g.outputs.size());
  for (std::size_t o = 0; o < g.outputs.size(); ++o) {
    const Place& place = program_->outputs[o];
    const Type& type = g.type(g.outputs[o]);
    if (place.resident >= 0) {
      outputs.push_back(from_storage(type, storages[static_cast<std::size_t>(place.resident)]));
    } else {
      // Two results in one buffer hold one storage, so that neither is overwritten under the other.
      std::shared_ptr<Storage> storage;
      for (std::size_t p = 0; p < o && !storage; ++p) {
        if (program_->outputs[p].resident < 0 && program_->outputs[p].offset == place.offset) storage = outputs[p].storage();
      }
      if (!storage) storage = Storage::lend(executor_->output(o, residents_), type.bytes(), executor_->arena());
      lent_[o] = storage;
      outputs.push_back(from_storage(type, std::move(storage)));
    }
  }
  return outputs;
}

Account Compiled::account() const {
  const auto account = std::make_shared<Account>();
  Executor executor(program_, null_device(account, device_->threads()));
  const std::vector<void*> nothing(program_->residents.size(), nullptr);
  executor.run(nothing);
  return *account;
}

Timeline Compiled::timeline() const {
  Timeline t;
  t.entries.resize(program_->instrs.size());
  return t;
}

std::vector<Bytes> Compiled::tiers_measured() const {
  std::vector<Bytes> bytes;
  for (std::size_t k = 0; k < program_->tiers.size(); ++k) bytes.push_back(program_->tiers[k].held + (executor_ ? executor_->tier_bytes(k) : 0));
  return bytes;
}

std::vector<MemoryRow> Compiled::memory() const {
  Bytes state = 0, inputs = 0;
  const Graph& g = graph();
  for (std::size_t i = 0; i < g.inputs.size(); ++i) {
    if (!problem().buffers[static_cast<std::size_t>(program_->residents[i])].resident) continue;
    (updated_by_[i] >= 0 ? state : inputs) += round_up(g.type(g.inputs[i]).bytes(), problem().align);
  }
  // The arena at its fullest moment: workspace of that task, outputs among what is live, the rest
  // activations.
  Bytes most = 0, workspace = 0;
  for (const Instr& i : program_->instrs) {
    if (i.live > most) most = i.live, workspace = i.task < 0 ? 0 : problem().tasks[static_cast<std::size_t>(i.task)].workspace;
  }
  const Bytes live = std::max<Bytes>(0, most - state - inputs);
  return {{"state (parameters, optimizer)", state},
          {"inputs", inputs},
          {"activations and gradients at the peak", live - workspace},
          {"workspace at the peak", workspace},
          {"between buffers", program_->arena_bytes - live}};
}

}  // namespace tidemark
