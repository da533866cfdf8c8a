// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/compiled.h"

#include <algorithm>
#include <cstring>

#include "tidemark/compile/loops.h"
#include "tidemark/emit/emit.h"
#include "tidemark/compile/planning.h"
#include "tidemark/front/eager.h"

namespace tidemark {

Budget Budget::minimum() {
  Budget b;
  b.kind = Kind::minimum;
  return b;
}

std::shared_ptr<const DeviceProfile> profile_for(const CompileOptions& options, const Device& device) {
  const int threads = device.threads();
  if (!options.profile) return std::make_shared<const DeviceProfile>(cpu_profile(threads));
  if (options.profile->device.starts_with("cpu") && options.profile->threads != threads) {
    fail(Error::Kind::usage, "[compile] the profile is of {} threads vs {} of the device; measure one with tidemark profile --model-threads {}",
         options.profile->threads, threads, threads);
  }
  return options.profile;
}

Compiled::Compiled(Graph graph, const CompileOptions& given, std::shared_ptr<Device> device)
    : device_(std::move(device)) {
  CompileOptions options = given;
  profile_ = profile_for(options, *device_);
  pose_options_ = PoseOptions{.threads = device_->threads(), .profile = profile_.get(), .name = options.name, .regions = std::make_shared<RegionCache>()};
  graph = fit_loops(optimise(std::move(graph), options.passes), options.memory, pose_options_, options.time_limit);
  posed_ = pose(std::move(graph), pose_options_);
  plan_ = make_plan(posed_.problem, options);
  program_ = std::make_shared<const Program>(lower(posed_.problem, plan_, posed_.binding));
  if (options.native) {
    const auto kernel = load_native(emit_program(posed_.binding, *program_, pose_options_, true), program_->arena_bytes, {.cache = options.native_cache});
    program_ = std::make_shared<const Program>(native_program(*program_, kernel));
  }
  residents_.resize(program_->residents.size());
  updated_by_.assign(this->graph().inputs.size(), -1);
  for (const auto& [in, out] : this->graph().updates) updated_by_[static_cast<std::size_t>(in)] = out;
  lent_.resize(this->graph().outputs.size());
}

std::string Compiled::emitted() const {
  return emit_program(posed_.binding, lower(posed_.problem, plan_, posed_.binding), pose_options_, false);
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
    resident += round_up(t.type().bytes(), problem().align);
  }
  // Planning allocates nothing: the arena comes with the first run.
  if (!executor_) {
    const Bytes before = device_->allocated();
    executor_ = std::make_unique<Executor>(program_, device_);
    arena_measured_ = device_->allocated() - before;
  }
  executor_->run(residents_, timeline);
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

std::string Compiled::explain(std::string_view pattern) const {
  const std::vector<Explanation> found = tidemark::explain(posed_, plan_, pattern);
  if (found.empty()) fail(Error::Kind::usage, "[explain] no value of {} is called '{}'; '*' lists them all", problem().name, pattern);
  std::string out;
  for (const Explanation& e : found) out += e.text + "\n";
  if (!marginal_) marginal_ = what_more_buys(problem(), plan_, 1_GiB, 1);
  return out + to_string(*marginal_) + "\n";
}

std::vector<plan::FrontierPoint> Compiled::frontier(int points, double time_limit) const {
  return plan::frontier(problem(), {.points = points, .solve = {.time_limit = time_limit / std::max(points, 1)}});
}

plan::SmallestPeak Compiled::smallest(double time_limit) const { return plan::smallest_peak(problem(), {.time_limit = time_limit}); }

}  // namespace tidemark
