// Speed of the heavy kernels alone: products, convolutions and attention as the models have them, each way there is
// to do them. bench_kernels [threads] [repeats] [filter]. GFLOP/s by wall clock: best and median of the repeats; with
// one thread, CPU time, which other load on the machine does not touch.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>

#include "tidemark/ir/storage.h"
#include "tidemark/kernels/cpu/attention.h"
#include "tidemark/kernels/cpu/batch_norm.h"
#include "tidemark/kernels/cpu/conv.h"
#include "tidemark/kernels/cpu/gemm.h"
#include "tidemark/kernels/cpu/matmul.h"
#include "tidemark/kernels/cpu/strip_product.h"
#include "tidemark/kernels/strips.h"

namespace tidemark::kernels {
namespace {

int threads = 2, repeats = 15;
std::string filter;

double seconds() {
  if (threads == 1) {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::shared_ptr<Storage> filled(Bytes bytes) {
  auto s = Storage::allocate(bytes + 64);
  auto* x = reinterpret_cast<float*>(s->data());
  for (Bytes i = 0; i < bytes / 4; ++i) x[i] = 0.01f * static_cast<float>(i % 101 - 50);
  return s;
}

struct Speed {
  double best = 0, median = 0;  // GFLOP/s
};

Speed measure(const Kernel& kernel, const KernelSpec& spec, double flops) {
  std::vector<std::shared_ptr<Storage>> arrays;
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const Value& v : spec.in) in.push_back((arrays.emplace_back(filled(v.type.bytes())))->data());
  for (const Value& v : spec.out) out.push_back((arrays.emplace_back(filled(v.type.bytes())))->data());
  const auto workspace = filled(kernel.workspace());
  std::vector<double> times;
  for (int r = 0; r <= repeats; ++r) {
    const double begin = seconds();
    kernel.run({in, out, workspace->data()});
    if (r > 0) times.push_back(seconds() - begin);
  }
  std::sort(times.begin(), times.end());
  return {flops / times.front() * 1e-9, flops / times[times.size() / 2] * 1e-9};
}

void report(const std::string& what, const std::string& way, const std::unique_ptr<Kernel>& kernel,
            const KernelSpec& spec, double flops) {
  if (kernel == nullptr || (what + " " + way).find(filter) == std::string::npos) return;
  const Speed s = measure(*kernel, spec, flops);
  fmt::print("{:<44} {:<10} best {:7.1f}  median {:7.1f} GFLOP/s  workspace {}\n", what, way, s.best,
             s.median, format_bytes(kernel->workspace()));
}

Value array(const Shape& shape) { return Value{.type = {shape, DType::f32}}; }
Value last(const Shape& shape) {
  return Value{.type = {shape, DType::f32}, .layout = permuted_layout(shape, {0, 2, 3, 1})};
}

constexpr std::int64_t kFewRows = 28;  // where b may come packed, its columns a multiple of 32

void product(const char* what, std::int64_t m, std::int64_t n, std::int64_t k, bool ta, bool tb) {
  KernelSpec spec{.in = {array({m, k}), array({k, n})}, .out = {array({m, n})}, .threads = threads};
  if (ta) spec.in[0].layout.strides = {1, m};
  if (tb) spec.in[1].layout.strides = {1, k};
  const double flops = 2.0 * static_cast<double>(m * n) * static_cast<double>(k);
  const std::string name = fmt::format("{} {}x{}x{} {}{}", what, m, n, k, ta ? "t" : "n", tb ? "t" : "n");
  report(name, "chosen", matmul(spec), spec, flops);
  report(name, "onednn", onednn_matmul(product_of(spec), threads), spec, flops);
  report(name, "strips", strip_product(product_of(spec), DType::f32, threads), spec, flops);
  report(name, "ours", gemm(spec), spec, flops);
  if (m > kFewRows || tb) return;
  spec.in[1].layout = strips_layout(spec.in[1].type);
  report(name, "packed", matmul(spec), spec, flops);
}

void convolution(const char* what, std::int64_t n, std::int64_t c, std::int64_t size, std::int64_t o,
                 std::int64_t kernel, std::int64_t stride, std::int64_t groups) {
  const std::int64_t pad = kernel / 2, out = (size + 2 * pad - kernel) / stride + 1;
  const Value x = last({n, c, size, size}), y = last({n, o, out, out}),
              w = array({o, c / groups, kernel, kernel});
  const struct {
    const char* what;
    ConvResult result;
    std::vector<Value> in;
    Value out;
    std::unique_ptr<Kernel> (*fast)(const KernelSpec&);
  } directions[] = {{"fwd", ConvResult::y, {x, w}, y, conv2d},
                    {"bwd data", ConvResult::x, {y, w}, x, conv2d_backward_data},
                    {"bwd weights", ConvResult::w, {x, y}, w, conv2d_backward_weights}};
  for (const auto& d : directions) {
    const KernelSpec spec{.in = d.in,
                          .out = {d.out},
                          .attrs = {{"stride", std::vector{stride, stride}},
                                    {"padding", std::vector{pad, pad}},
                                    {"dilation", std::vector<std::int64_t>{1, 1}},
                                    {"groups", groups}},
                          .threads = threads};
    const Conv conv = conv_of(spec, d.result);
    const std::string name =
        fmt::format("{} {} {}x{} {}->{} k{} s{} g{}", what, d.what, size, size, c, o, kernel, stride, groups);
    report(name, "chosen", d.fast(spec), spec, conv.flops());
    report(name, "pointwise", pointwise_conv(conv, d.result, threads), spec, conv.flops());
    report(name, "onednn", onednn_conv(conv, d.result, threads), spec, conv.flops());
    report(name, "depthwise", depthwise_conv(conv, d.result, threads), spec, conv.flops());
    if (groups == 1) report(name, "packed", packed_conv(conv, d.result, threads), spec, conv.flops());
  }
}

void attend(const char* what, std::int64_t b, std::int64_t t, std::int64_t h, std::int64_t d, bool causal) {
  const Value q = array({b, t, h, d}), rows = array({b, t, h});
  const Attrs attrs{{"causal", std::int64_t{causal}}, {"scale", 0.125}};
  const KernelSpec forward{.in = {q, q, q}, .out = {q, rows}, .attrs = attrs, .threads = threads};
  const KernelSpec back{.in = {q, q, q, q, rows, rows}, .out = {q, q, q}, .attrs = attrs, .threads = threads};
  // Flops that are needed: half of the square where causal.
  const double square =
      2.0 * static_cast<double>(b * h * t) * static_cast<double>(t * d) * (causal ? 0.5 : 1);
  const std::string name = fmt::format("{} B{} T{} H{} D{}{}", what, b, t, h, d, causal ? " causal" : "");
  report(name + " fwd", "ours", attention(forward), forward, 2 * square);
  report(name + " bwd", "ours", attention_backward(back), back, 5 * square);
}

void normalise(const char* what, const Shape& shape) {
  const Value x = last(shape), c = array({shape[1]});
  const Attrs attrs{{"epsilon", 1e-5}};
  const KernelSpec forward{.in = {x, c, c}, .out = {x, c, c}, .attrs = attrs, .threads = threads};
  const KernelSpec back{.in = {x, x, c, c, c}, .out = {x, c, c}, .attrs = attrs, .threads = threads};
  // Bytes in place of flops: x read twice, y written; backward two arrays twice, one written.
  const auto bytes = static_cast<double>(x.type.bytes());
  const std::string name = fmt::format("{} {}", what, to_string(shape));
  report(name + " fwd (GB/s)", "ours", batch_norm(forward), forward, 3 * bytes);
  report(name + " bwd (GB/s)", "ours", batch_norm_backward(back), back, 5 * bytes);
}

void run() {
  for (const auto& [n, k] : {std::pair{2304, 768}, {768, 768}, {3072, 768}, {768, 3072}}) {
    product("gpt2 fwd", 256, n, k, false, false);
    product("gpt2 dx", 256, k, n, false, true);
    product("gpt2 dw", k, n, 256, true, false);
  }
  product("gpt2 logits", 256, 50257, 768, false, true);
  product("gpt2 dlogits", 256, 768, 50257, false, false);
  product("gpt2 dwte", 50257, 768, 256, true, false);
  product("lstm step", 20, 2592, 648, false, false);
  product("lstm dw", 650, 2600, 700, true, false);
  product("lstm decoder dw", 650, 10000, 700, true, false);
  convolution("resnet", 8, 3, 128, 64, 7, 2, 1);
  convolution("resnet", 8, 64, 32, 64, 3, 1, 1);
  convolution("resnet", 8, 64, 32, 256, 1, 1, 1);
  convolution("resnet", 8, 256, 32, 64, 1, 1, 1);
  convolution("resnet", 8, 128, 32, 128, 3, 2, 1);
  convolution("resnet", 8, 256, 32, 512, 1, 2, 1);
  convolution("resnet", 8, 128, 16, 128, 3, 1, 1);
  convolution("resnet", 8, 256, 8, 256, 3, 1, 1);
  convolution("resnet", 8, 256, 8, 1024, 1, 1, 1);
  convolution("resnet", 8, 512, 4, 512, 3, 1, 1);
  convolution("mobilenet", 8, 32, 64, 32, 3, 1, 32);
  convolution("mobilenet", 8, 96, 64, 96, 3, 2, 96);
  convolution("mobilenet", 8, 144, 32, 144, 3, 1, 144);
  convolution("mobilenet", 8, 384, 8, 384, 3, 1, 384);
  convolution("mobilenet", 8, 24, 32, 144, 1, 1, 1);
  convolution("mobilenet", 8, 144, 32, 24, 1, 1, 1);
  attend("gpt2", 1, 256, 12, 64, true);
  attend("bert", 2, 128, 12, 64, false);
  attend("long", 1, 2048, 12, 64, true);
  normalise("batch norm", {8, 64, 64, 64});
  normalise("batch norm", {8, 256, 32, 32});
}

}  // namespace
}  // namespace tidemark::kernels

int main(int argc, char** argv) {
  if (argc > 1) tidemark::kernels::threads = std::atoi(argv[1]);
  if (argc > 2) tidemark::kernels::repeats = std::max(1, std::atoi(argv[2]));
  if (argc > 3) tidemark::kernels::filter = argv[3];
  tidemark::kernels::run();
  return 0;
}
