// Elementwise ops, reductions and row kernels against memcpy: bytes read and written per second of CPU time.
//   bench_elementwise [MiB per array [part of a name]]
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>

#include "tidemark/base/parallel.h"
#include "tidemark/ir/builder.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/fused.h"
#include "tidemark/ops/reduce.h"
#include "tidemark/ops/table.h"

namespace {

using namespace tidemark;

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

double median(int threads, const std::function<void()>& f) {
  std::vector<double> seconds;
  f();
  for (int i = 0; i < 9; ++i) {
    const double start = cpu_seconds();
    f();
    seconds.push_back((cpu_seconds() - start) / threads);
  }
  std::nth_element(seconds.begin(), seconds.begin() + 4, seconds.end());
  return seconds[4];
}

struct Case {
  const char* name;
  const Op* op;
  std::vector<Type> in;
  Attrs attrs;
  std::vector<Graph> regions;
};

double rate(const Case& c, int threads) {
  KernelSpec spec{.attrs = c.attrs, .regions = c.regions, .threads = threads};
  std::vector<std::shared_ptr<Storage>> storage;
  std::vector<const void*> in;
  std::vector<void*> out;
  Bytes bytes = 0;
  for (const Type& t : c.in) {
    storage.push_back(Storage::allocate(t.bytes()));
    auto* x = reinterpret_cast<float*>(storage.back()->data());
    for (std::int64_t i = 0; i < t.shape.numel(); ++i) x[i] = 0.25f + static_cast<float>(i % 97) / 97.0f;
    in.push_back(x);
    spec.in.push_back(Value{.type = t});
    bytes += t.bytes();
  }
  for (const Type& t : c.op->infer({c.op->name, c.in, c.attrs, c.regions})) {
    storage.push_back(Storage::allocate(t.bytes()));
    std::memset(storage.back()->data(), 0, static_cast<std::size_t>(t.bytes()));
    out.push_back(storage.back()->data());
    spec.out.push_back(Value{.type = t});
    bytes += t.bytes();
  }
  const auto kernel = prepare(*c.op, spec);
  const auto workspace = Storage::allocate(kernel->workspace());
  const double s =
      median(threads, [&] { kernel->run({.in = in, .out = out, .workspace = workspace->data()}); });
  return static_cast<double>(bytes) / s;
}

Graph adamw(const Type& type) {
  const auto b = Builder::make();
  const Tensor p = b->input(type), g = b->input(type), m = b->input(type), v = b->input(type);
  const Tensor keep = b->input({{}, DType::f32}), first = b->input({{}, DType::f32}),
               second = b->input({{}, DType::f32});
  const Tensor m2 = m * 0.9 + g * 0.1, v2 = v * 0.999 + square(g) * 0.001;
  const Tensor p2 = p * keep - first * m2 / (sqrt(v2) * second + 1e-8);
  const Tensor outs[] = {p2, m2, v2};
  return b->finish(outs);
}

Graph bias_gelu_sum(const Type& type) {
  const auto b = Builder::make();
  const Tensor x = b->input(type), row = b->input({{type.shape[-1]}, DType::f32});
  const Tensor outs[] = {sum(gelu(x + row), {0})};
  return b->finish(outs);
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t mebibytes = argc > 1 ? std::atoll(argv[1]) : 64;
  const std::int64_t columns = 768, rows = mebibytes * (1 << 20) / 4 / columns;
  const Type x{{rows, columns}, DType::f32}, v{{columns}, DType::f32}, s{{rows}, DType::f32},
      one{{}, DType::f32};
  const Attrs epsilon{{"epsilon", 1e-5}};
  const auto axes = [](std::int64_t a) { return Attrs{{"axes", std::vector<std::int64_t>{a}}}; };
  const std::vector<Case> cases{
      {"add", find_op("add"), {x, x}, {}, {}},
      {"add row", find_op("add"), {x, v}, {}, {}},
      {"exp", find_op("exp"), {x}, {}, {}},
      {"tanh", find_op("tanh"), {x}, {}, {}},
      {"gelu", find_op("gelu"), {x}, {}, {}},
      {"gelu_tanh", find_op("gelu_tanh"), {x}, {}, {}},
      {"sin", find_op("sin"), {x}, {}, {}},
      {"adamw, fused", &fused_op, {x, x, x, x, one, one, one}, {}, {adamw(x)}},
      {"bias + gelu + sum, fused", &fused_fold_op, {x, v}, {}, {bias_gelu_sum(x)}},
      {"sum of rows", find_op("sum"), {x}, axes(1), {}},
      {"sum of columns", find_op("sum"), {x}, axes(0), {}},
      {"layer_norm", find_op("layer_norm"), {x, v, v}, epsilon, {}},
      {"layer_norm_backward", find_op("layer_norm_backward"), {x, x, v, s, s}, {}, {}},
      {"softmax", find_op("softmax"), {x}, {}, {}},
      {"softmax_backward", find_op("softmax_backward"), {x, x}, {}, {}},
  };
  fmt::print("{:28} {:>10} {:>10}   GB/s of CPU time, arrays of {} MiB\n", "", "1 thread", "2 threads",
             mebibytes);
  const auto from = Storage::allocate(x.bytes()), to = Storage::allocate(x.bytes());
  std::memset(from->data(), 1, static_cast<std::size_t>(x.bytes()));
  std::memset(to->data(), 1, static_cast<std::size_t>(x.bytes()));
  std::array<double, 2> copy{};
  for (const int threads : {1, 2}) {
    const double seconds = median(threads, [&] {
      parallel_for(threads, x.bytes(), 1 << 18, [&](std::int64_t a, std::int64_t b) {
        std::memcpy(to->data() + a, from->data() + a, static_cast<std::size_t>(b - a));
      });
    });
    copy[static_cast<std::size_t>(threads - 1)] = 2 * static_cast<double>(x.bytes()) / seconds;
  }
  fmt::print("{:28} {:10.1f} {:10.1f}\n", "memcpy", copy[0] * 1e-9, copy[1] * 1e-9);
  for (const Case& c : cases) {
    if (argc > 2 && std::string(c.name).find(argv[2]) == std::string::npos) continue;
    const double r1 = rate(c, 1), r2 = rate(c, 2);
    fmt::print("{:28} {:10.1f} {:10.1f}   {:.2f} {:.2f} of memcpy\n", c.name, r1 * 1e-9, r2 * 1e-9,
               r1 / copy[0], r2 / copy[1]);
  }
}
