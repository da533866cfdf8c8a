// SPDX-License-Identifier: Apache-2.0
#include "tidemark/runtime/profiler.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <set>

namespace tidemark {
namespace {

double clock_of(clockid_t id) {
  timespec t{};
  clock_gettime(id, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}
double now() { return clock_of(CLOCK_MONOTONIC); }

// From the element that the pointer is at to the last one that strides reach.
Bytes extent(const Value& v) {
  if (!v.layout.blocked.empty()) return v.layout.blocked_bytes;
  if (v.type.shape.numel() == 0) return 0;
  const std::vector<std::int64_t> strides = strides_of(v.type.shape, v.layout);
  std::int64_t last = 0;
  for (std::size_t a = 0; a < strides.size(); ++a) last += strides[a] * (v.type.shape.sizes()[a] - 1);
  return (last + 1) * size_of(v.type.dtype);
}

// Ordinary numbers: no denormals, no infinities; integers below `below`, as indices must be.
void fill(std::byte* at, Bytes bytes, DType dtype, std::int64_t below) {
  if (bytes == 0) return;
  const Bytes n = std::min<Bytes>(bytes / size_of(dtype), 1 << 14);
  dispatch(dtype, [&]<typename T>() {
    T* to = reinterpret_cast<T*>(at);
    for (Bytes i = 0; i < n; ++i) {
      if constexpr (std::is_same_v<T, Bf16> || std::is_same_v<T, F16>) {
        to[i] = T(0.25f + 0.125f * static_cast<float>(i % 7));
      } else if constexpr (std::is_floating_point_v<T>) {
        to[i] = static_cast<T>(0.25 + 0.125 * static_cast<double>(i % 7));
      } else if constexpr (std::is_same_v<T, bool>) {
        to[i] = i % 3 == 0;
      } else {
        to[i] = static_cast<T>(below > 0 ? i * 7919 % below : 0);
      }
    }
  });
  // The rest repeats it.
  for (Bytes done = n * size_of(dtype); done < bytes;) {
    const Bytes more = std::min(done, bytes - done);
    std::memcpy(at + done, at, static_cast<std::size_t>(more));
    done += more;
  }
}

}  // namespace

Profiler::Profiler(std::shared_ptr<Device> device, const ProfilerOptions& options)
    : device_(std::move(device)), options_(options) {}

// The next stretch of the arena, which wraps around.
std::byte* Profiler::room(Bytes bytes) {
  const Bytes wanted = std::max(options_.scratch, bytes);
  if (arena_bytes_ < wanted) {
    arena_.reset();
    arena_ = device_->allocate(wanted);
    arena_bytes_ = wanted;
    next_ = 0;
    std::memset(arena_.get(), 0,
                static_cast<std::size_t>(wanted));  // pages are there before anything is timed
  }
  if (next_ + bytes > arena_bytes_) next_ = 0;
  std::byte* at = arena_.get() + next_;
  next_ += bytes;
  return at;
}

// What was written last is what the caches hold: reads a stretch elsewhere, as the tasks in between do in a step.
void Profiler::push_out(Bytes bytes) const {
  const Bytes length = arena_bytes_ / 4;
  const Bytes begin = next_ + length <= arena_bytes_ ? next_ : 0;
  if (begin < next_ && begin + length > next_ - bytes)
    return;  // operands that fill the arena push themselves out
  const volatile std::byte* far = arena_.get() + begin;
  for (Bytes b = 0; b < length; b += 64) static_cast<void>(far[b]);
}

Measured Profiler::time(const Op& op, const KernelSpec& spec, const Kernel& kernel) {
  constexpr Bytes kAlign = 64;
  Bytes bytes = round_up(kernel.workspace(), kAlign);
  std::int64_t below = 0;  // sizes of what integers could index
  for (const Value& v : spec.in) {
    bytes += round_up(extent(v), kAlign);
    if (is_float(v.type.dtype) && v.type.shape.rank() > 0) below = std::max(below, v.type.shape[0]);
  }
  for (const Value& v : spec.out) bytes += round_up(extent(v), kAlign);
  std::vector<const void*> in(spec.in.size());
  std::vector<void*> out(spec.out.size());
  const auto place = [&](std::int64_t limit) {
    std::byte* at = room(bytes);
    const auto take = [&](Bytes n) {
      std::byte* here = at;
      at += round_up(n, kAlign);
      return here;
    };
    for (std::size_t i = 0; i < in.size(); ++i) {
      const Bytes n = extent(spec.in[i]);
      std::byte* here = take(n);
      if (spec.in[i].layout.blocked.empty()) fill(here, n, spec.in[i].type.dtype, limit);
      in[i] = here;
    }
    for (std::size_t o = 0; o < out.size(); ++o) out[o] = take(extent(spec.out[o]));
    return take(kernel.workspace());
  };
  Measured measured = timed([&] {
    void* workspace = place(below);
    push_out(bytes);
    return workspace;
  }, [&](void* workspace) {
    try {
      kernel.run({in, out, workspace});
    } catch (const Error&) {
      if (below <= 0) throw;
      below = 0;  // an index of ours was out of range: all zeros never are
      return false;
    }
    return true;
  });
  measured.op = op_key(op, spec);
  measured.cost = cost_of(op, spec);
  return measured;
}

Measured Profiler::time(const std::function<void()>& run) {
  room(0);
  return timed([&] {
    push_out(0);
    return nullptr;
  }, [&](void*) {
    run();
    return true;
  });
}

// `run` false: it has to be prepared otherwise, and what was timed so far does not count.
Measured Profiler::timed(const std::function<void*()>& prepare, const std::function<bool(void*)>& run) const {
  std::vector<double> times;
  const double begun = now();
  for (int repeat = 0; repeat <= std::max(options_.repeats, 3); ++repeat) {
    void* workspace = prepare();
    const double before = now(), worked_before = clock_of(CLOCK_PROCESS_CPUTIME_ID);
    if (!run(workspace)) {
      times.clear();
      repeat = -1;
      continue;
    }
    // Kernels wait for nothing: where the wall clock is ahead of the work done, other programs had the cores.
    const double seconds = std::min(now() - before, clock_of(CLOCK_PROCESS_CPUTIME_ID) - worked_before);
    // The first run is the warm-up.
    if (repeat > 0) times.push_back(seconds);
    if (times.size() >= 3 && now() - begun > options_.seconds) break;
  }
  std::sort(times.begin(), times.end());
  return {.seconds = std::max(times[times.size() / 2], 1e-9), .runs = static_cast<std::int64_t>(times.size())};
}

KernelSpec spec_of(const Graph& graph, const Node& node, int threads) {
  KernelSpec spec{.attrs = node.attrs, .regions = node.regions, .threads = threads};
  for (const ValueId v : node.in) spec.in.push_back(graph.value(v));
  for (const ValueId v : node.out) spec.out.push_back(graph.value(v));
  return spec;
}

std::int64_t measure(DeviceProfile& profile, const Binding& binding, Profiler& profiler, int threads,
                     bool again, const std::function<bool(const ProfileProgress&)>& progress) {
  struct Job {
    std::string key;
    std::size_t task;
  };
  std::vector<Job> jobs;
  std::set<std::string> seen;
  for (std::size_t t = 0; t < binding.node_of_task.size(); ++t) {
    if (binding.node_of_task[t] < 0) continue;
    const Node& node = binding.graph.nodes[static_cast<std::size_t>(binding.node_of_task[t])];
    std::string key = point_key(*node.op, spec_of(binding.graph, node, threads));
    if ((again || profile.points.count(key) == 0) && seen.insert(key).second)
      jobs.push_back({std::move(key), t});
  }
  std::int64_t done = 0;
  for (const Job& job : jobs) {
    if (progress && !progress({done, static_cast<std::int64_t>(jobs.size()), job.key})) break;
    const Node& node = binding.graph.nodes[static_cast<std::size_t>(binding.node_of_task[job.task])];
    try {
      profile.points[job.key] =
          profiler.time(*node.op, spec_of(binding.graph, node, threads), *binding.kernel_of_task[job.task]);
    } catch (const Error&) {
      // Contents that the op refuses (a matrix that is not definite): its roofline has to do.
    }
    ++done;
  }
  if (done > 0) fit_rooflines(profile);
  return done;
}

}  // namespace tidemark
