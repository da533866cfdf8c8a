// SPDX-License-Identifier: Apache-2.0
#include "tests/front/op_case.h"

#include <cmath>
#include <cstring>
#include <set>

#include "tidemark/base/random.h"
#include "tidemark/ops/elementwise.h"
#include "tidemark/ops/reduce.h"

namespace tidemark::testing {

double element(const Tensor& t, std::int64_t i) {
  return dispatch(t.dtype(), [&]<typename T>() -> double {
    const T v = t.data<T>()[static_cast<std::size_t>(i)];
    if constexpr (std::is_same_v<T, Bf16> || std::is_same_v<T, F16>) {
      return static_cast<float>(v);
    } else {
      return static_cast<double>(v);
    }
  });
}

Tensor with_elements(const Type& type, const std::function<double(std::int64_t)>& f) {
  auto storage = Storage::allocate(type.bytes());
  dispatch(type.dtype, [&]<typename T>() {
    auto* data = reinterpret_cast<T*>(storage->data());
    for (std::int64_t i = 0; i < type.shape.numel(); ++i) {
      if constexpr (std::is_same_v<T, Bf16> || std::is_same_v<T, F16>) {
        data[i] = T(static_cast<float>(f(i)));
      } else {
        data[i] = static_cast<T>(f(i));
      }
    }
  });
  return from_storage(type, storage);
}

bool same_bits(const Tensors& a, const Tensors& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].type() != b[i].type()) return false;
    const auto bytes = static_cast<std::size_t>(a[i].type().bytes());
    if (bytes > 0 && std::memcmp(a[i].storage()->data(), b[i].storage()->data(), bytes) != 0) return false;
  }
  return true;
}

double distance(const Tensors& a, const Tensors& b) {
  double worst = 0, scale = 1;
  for (std::size_t t = 0; t < a.size(); ++t) {
    for (std::int64_t i = 0; i < a[t].numel(); ++i) {
      const double x = element(a[t], i), y = element(b[t], i);
      if (std::isnan(x) != std::isnan(y)) return INFINITY;
      if (std::isnan(x) || x == y) continue;
      worst = std::max(worst, std::abs(x - y));
      scale = std::max(scale, std::abs(y));
    }
  }
  return worst / scale;
}

double dot(const Tensors& a, const Tensors& b) {
  double sum = 0;
  for (std::size_t t = 0; t < a.size(); ++t) {
    for (std::int64_t i = 0; i < a[t].numel(); ++i) sum += element(a[t], i) * element(b[t], i);
  }
  return sum;
}

OpCase::OpCase(const Op& op, const Sample& sample, std::uint64_t seed)
    : op_(op), sample_(sample), seed_(seed) {
  for (std::size_t i = 0; i < sample.in.size(); ++i) {
    const auto range = i < sample.ranges.size() ? sample.ranges[i] : sample.range;
    Rng rng(seed * 131 + i);
    const bool whole = !is_float(sample.in[i].dtype);
    in_.push_back(with_elements(sample.in[i], [&](std::int64_t) {
      const double x = range[0] + (range[1] - range[0]) * rng.uniform();
      return sample.in[i].dtype == DType::boolean ? static_cast<double>(rng.below(2))
             : whole                              ? std::floor(x)
                                                  : x;
    }));
  }
  if (sample.diagonal != 0) {
    const Tensor a = in_[0];
    const std::int64_t n = a.size(-1);
    in_[0] = with_elements(a.type(), [&](std::int64_t i) {
      return element(a, i) + (i % (n * n) % (n + 1) == 0 ? sample.diagonal : 0);
    });
  }
}

bool OpCase::differentiable() const {
  if (op_.vjp == nullptr || op_.facts.zero_derivative) return false;
  // Differences need double precision on both sides.
  bool in = false, out = false;
  for (const Tensor& t : in_) in = in || t.dtype() == DType::f64;
  for (const Value& v : spec(1).out) {
    if (is_float(v.type.dtype) && v.type.dtype != DType::f64) return false;
    out = out || v.type.dtype == DType::f64;
  }
  return in && out;
}

KernelSpec OpCase::spec(int threads) const {
  KernelSpec s{.attrs = sample_.attrs, .threads = threads};
  std::vector<Type> types;
  for (const Tensor& t : in_) {
    s.in.push_back(Value{.type = t.type()});
    types.push_back(t.type());
  }
  for (const Type& t : op_.infer({op_.name, types, s.attrs, s.regions})) s.out.push_back(Value{.type = t});
  return s;
}

Tensors OpCase::call(const Tensors& in) const {
  if (in.empty()) return default_evaluator()->record(op_, {}, sample_.attrs, {}, Where::current());
  return apply(op_, in, sample_.attrs, Where::current());
}

Tensors OpCase::run(const KernelSpec& s, Kind kind) const {
  const auto kernel = kind(op_, s);
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  Tensors results;
  for (const Tensor& t : in_) inputs.push_back(t.storage()->data());
  for (const Value& v : s.out) {
    results.push_back(from_storage(v.type, Storage::allocate(v.type.bytes())));
    if (v.type.bytes() > 0)
      std::memset(results.back().storage()->data(), 0xA5, static_cast<std::size_t>(v.type.bytes()));
    outputs.push_back(results.back().storage()->data());
  }
  const auto workspace = Storage::allocate(kernel->workspace());
  kernel->run({inputs, outputs, workspace->data()});
  return results;
}

Tensors OpCase::random_like(const Tensors& like, std::uint64_t salt) const {
  Tensors result;
  for (std::size_t i = 0; i < like.size(); ++i) {
    Rng rng(seed_ * 977 + salt * 31 + i);
    result.push_back(with_elements(like[i].type(), [&](std::int64_t) { return 2 * rng.uniform() - 1; }));
  }
  return result;
}

Tensors OpCase::floats(const Tensors& all) const {
  Tensors result;
  for (const Tensor& t : all) {
    if (is_float(t.dtype())) result.push_back(t);
  }
  return result;
}

Tensors OpCase::with_floats(const Tensors& floats) const {
  Tensors result = in_;
  std::size_t next = 0;
  for (Tensor& t : result) {
    if (is_float(t.dtype())) t = floats[next++];
  }
  return result;
}

Tensors OpCase::outputs_of(const Tensors& float_inputs) const {
  return floats(call(with_floats(float_inputs)));
}

std::string OpCase::shapes_agree() const {
  const Tensors out = call(in_);
  const KernelSpec s = spec(1);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i].type() != s.out[i].type)
      return fmt::format("output {} is {} vs {}", i, to_string(out[i].type()), to_string(s.out[i].type));
  }
  return "";
}

std::string OpCase::vjp_matches_jvp() const {
  const auto f = [&](const Tensors& x) { return outputs_of(x); };
  const Tensors x = floats(in_);
  const Tensors dx = random_like(x, 1);
  const auto [y, dy] = jvp(f, x, dx);
  const Tensors ct = random_like(y, 2);
  const Tensors gx = vjp(f, x).second(ct);
  const double a = dot(ct, dy), b = dot(gx, dx);
  return std::abs(a - b) <= 1e-9 * sample_.tolerance * (1 + std::abs(a) + std::abs(b))
             ? ""
             : fmt::format("<ct, J dx> = {} vs <J^T ct, dx> = {}", a, b);
}

namespace {
Tensors moved(const Tensors& x, const Tensors& dx, double h) {
  Tensors result;
  for (std::size_t t = 0; t < x.size(); ++t) {
    result.push_back(
        with_elements(x[t].type(), [&](std::int64_t i) { return element(x[t], i) + h * element(dx[t], i); }));
  }
  return result;
}
Tensors difference(const Tensors& high, const Tensors& low, double width) {
  Tensors result;
  for (std::size_t t = 0; t < high.size(); ++t) {
    result.push_back(with_elements(
        high[t].type(), [&](std::int64_t i) { return (element(high[t], i) - element(low[t], i)) / width; }));
  }
  return result;
}
}  // namespace

std::string OpCase::jvp_matches_differences() const {
  const auto f = [&](const Tensors& x) { return outputs_of(x); };
  const Tensors x = floats(in_);
  const Tensors dx = random_like(x, 3);
  const Tensors dy = jvp(f, x, dx).second;
  const double h = 1e-5;
  const double d = distance(dy, difference(f(moved(x, dx, h)), f(moved(x, dx, -h)), 2 * h));
  return d <= 1e-6 * sample_.tolerance ? "" : fmt::format("jvp differs from central differences by {}", d);
}

std::string OpCase::second_derivatives_match() const {
  const Tensors weights = random_like(floats(call(in_)), 4);
  const auto g = grad([&](const Tensors& x) {
    const Tensors y = outputs_of(x);
    Tensor total = full_beside(y[0], Type{Shape{}, y[0].dtype()}, 0);
    for (std::size_t i = 0; i < y.size(); ++i) total = total + sum(y[i] * weights[i]);
    return total;
  });
  const Tensors x = floats(in_);
  const Tensors dx = random_like(x, 5);
  const double h = 1e-5;
  const Tensors expected = difference(g(moved(x, dx, h)), g(moved(x, dx, -h)), 2 * h);
  const Tensors forward_over_reverse = jvp(g, x, dx).second;
  double d = distance(forward_over_reverse, expected);
  if (d > 2e-5 * sample_.tolerance)
    return fmt::format("forward over reverse differs from differences of the gradient by {}", d);
  // The Hessian is symmetric, so reverse over reverse must give the same product.
  const Tensors reverse_over_reverse = vjp(g, x).second(dx);
  d = distance(reverse_over_reverse, expected);
  return d <= 2e-5 * sample_.tolerance
             ? ""
             : fmt::format("reverse over reverse differs from differences of the gradient by {}", d);
}

std::string OpCase::in_place_is_bitwise_equal() const {
  const KernelSpec s = spec(2);
  const Tensors expected = run(s, prepare);
  for (const auto& [i, o] : op_.facts.in_place) {
    if (i >= static_cast<int>(s.in.size()) || o >= static_cast<int>(s.out.size())) continue;
    const Type& from = s.in[static_cast<std::size_t>(i)].type;
    const Type& to = s.out[static_cast<std::size_t>(o)].type;
    if (from.shape != to.shape || size_of(from.dtype) != size_of(to.dtype)) continue;
    const auto kernel = prepare(op_, s);
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    Tensors results;
    for (const Tensor& t : in_) inputs.push_back(t.storage()->data());
    for (const Value& v : s.out) {
      results.push_back(from_storage(v.type, Storage::allocate(v.type.bytes())));
      outputs.push_back(results.back().storage()->data());
    }
    const auto bytes = static_cast<std::size_t>(from.bytes());
    if (bytes > 0)
      std::memcpy(outputs[static_cast<std::size_t>(o)], inputs[static_cast<std::size_t>(i)], bytes);
    inputs[static_cast<std::size_t>(i)] = outputs[static_cast<std::size_t>(o)];
    const auto workspace = Storage::allocate(kernel->workspace());
    kernel->run({inputs, outputs, workspace->data()});
    if (!same_bits(results, expected))
      return fmt::format("input {} taken over by output {} gives other bits", i, o);
  }
  return "";
}

std::string OpCase::repeats_bitwise() const {
  for (const int threads : {1, 2, 3}) {
    const Tensors once = run(spec(threads), prepare);
    for (int again = 0; again < 2; ++again)
      if (!same_bits(once, run(spec(threads), prepare)))
        return fmt::format("a second run on {} threads gives other bits", threads);
  }
  return "";
}

std::string OpCase::fast_agrees_with_reference() const {
  if (op_.kernel == nullptr || op_.reference == nullptr) return "";
  const double d = distance(run(spec(2), prepare), run(spec(1), prepare_reference));
  return d <= 1e-9 ? "" : fmt::format("the fast kernel differs from the plain one by {}", d);
}

namespace {
// These refuse bf16 and f16: functions before them cast, or they take statistics in f32 beside narrow arrays.
bool knows_wide_types_only(std::string_view op) {
  static const std::set<std::string_view> all{
      "cholesky", "cross_entropy_backward", "fft", "layer_norm_backward", "rms_norm_backward",
      "solve",    "triangular_solve"};
  return all.contains(op);
}
}  // namespace

std::string OpCase::narrow_dtypes_agree() const {
  bool any = false;
  for (const Type& t : sample_.in) any = any || t.dtype == DType::f64;
  // What is drawn need not be the same number in another dtype.
  if (!any || op_.facts.random || sample_.attrs.find("dtype") != nullptr) return "";
  for (const auto& [dtype, tolerance] :
       {std::pair{DType::f32, 2e-4}, {DType::bf16, 6e-2}, {DType::f16, 1e-2}}) {
    Tensors narrow, wide;
    for (const Tensor& t : in_) {
      const Type type{t.shape(), t.dtype() == DType::f64 ? dtype : t.dtype()};
      narrow.push_back(with_elements(type, [&](std::int64_t i) { return element(t, i); }));
      wide.push_back(with_elements(t.type(), [&](std::int64_t i) { return element(narrow.back(), i); }));
    }
    Tensors out;
    try {
      out = call(narrow);
    } catch (const Error& e) {
      if (dtype != DType::f32 && knows_wide_types_only(op_.name)) continue;
      return fmt::format("{}: {}", name_of(dtype), e.what());
    }
    const double d = distance(out, call(wide));
    if (d > tolerance * sample_.tolerance) return fmt::format("{} differs from f64 by {}", name_of(dtype), d);
    if (!differentiable()) continue;
    // The same cotangents in both, so that all that differs is the arithmetic of the gradient.
    const auto outputs_of = [&](const Tensors& all) {
      return [this, &all](const Tensors& x) {
        Tensors in = all;
        std::size_t next = 0;
        for (Tensor& t : in)
          if (is_float(t.dtype())) t = x[next++];
        return floats(call(in));
      };
    };
    const auto narrow_vjp = vjp(outputs_of(narrow), floats(narrow));
    const auto wide_vjp = vjp(outputs_of(wide), floats(wide));
    Tensors ct, wide_ct;
    for (const Tensor& t : random_like(narrow_vjp.first, 3)) {
      ct.push_back(t);
      const Type type = wide_vjp.first[wide_ct.size()].type();
      wide_ct.push_back(with_elements(type, [&](std::int64_t i) { return element(t, i); }));
    }
    const double g = distance(narrow_vjp.second(ct), wide_vjp.second(wide_ct));
    if (g > 4 * tolerance * sample_.tolerance)
      return fmt::format("the gradient in {} differs from f64 by {}", name_of(dtype), g);
  }
  return "";
}

std::string OpCase::view_agrees_with_copy() const {
  if (op_.view == nullptr) return "";
  const KernelSpec s = spec(1);
  const Tensors copies = call(in_);
  for (std::size_t o = 0; o < copies.size(); ++o) {
    const auto layout = op_.view(s, static_cast<int>(o));
    if (!layout) continue;
    const Tensor& copy = copies[o];
    const std::vector<std::int64_t> strides = strides_of(copy.shape(), *layout);
    for (std::int64_t i = 0; i < copy.numel(); ++i) {
      std::int64_t rest = i, at = layout->offset;
      for (int axis = copy.rank() - 1; axis >= 0; --axis) {
        at += rest % copy.size(axis) * strides[static_cast<std::size_t>(axis)];
        rest /= copy.size(axis);
      }
      if (at < 0 || at >= in_[0].numel()) return fmt::format("element {} of the view lies outside", i);
      if (element(in_[0], at) != element(copy, i))
        return fmt::format("element {} of the view differs from the copy", i);
    }
  }
  return "";
}

std::string OpCase::accepts_what_it_says() const {
  if (op_.accepts == nullptr) return "";
  const Tensors expected = run(spec(2), prepare);
  for (std::size_t i = 0; i < in_.size(); ++i) {
    if (in_[i].rank() < 2 || in_[i].numel() == 0) continue;
    // The same array with its last two axes swapped in memory.
    KernelSpec s = spec(2);
    std::vector<int> order;
    for (int a = 0; a < in_[i].rank(); ++a) order.push_back(a);
    std::swap(order[order.size() - 1], order[order.size() - 2]);
    s.in[i].layout = permuted_layout(in_[i].shape(), order);
    if (s.in[i].layout.strides.empty() || !op_.accepts(s, static_cast<int>(i))) continue;
    const std::vector<std::int64_t>& strides = s.in[i].layout.strides;
    std::vector<double> lying(static_cast<std::size_t>(in_[i].numel()));
    for (std::int64_t e = 0; e < in_[i].numel(); ++e) {
      std::int64_t rest = e, at = 0;
      for (int axis = in_[i].rank() - 1; axis >= 0; --axis) {
        at += rest % in_[i].size(axis) * strides[static_cast<std::size_t>(axis)];
        rest /= in_[i].size(axis);
      }
      lying[static_cast<std::size_t>(at)] = element(in_[i], e);
    }
    OpCase strided = *this;
    strided.in_[i] =
        with_elements(in_[i].type(), [&](std::int64_t e) { return lying[static_cast<std::size_t>(e)]; });
    const double d = distance(strided.run(s, prepare), expected);
    if (d > 1e-12) return fmt::format("input {} with strides gives a difference of {}", i, d);
  }
  return "";
}

}  // namespace tidemark::testing
