// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ops/elementwise.h"

#include "tidemark/base/scalar.h"
#include "tidemark/ir/cut.h"
#include "tidemark/kernels/cpu/elementwise.h"
#include "tidemark/kernels/cpu/fused.h"
#include "tidemark/kernels/ref/elementwise.h"
#include "tidemark/ops/infer.h"
#include "tidemark/ops/inverse.h"
#include "tidemark/ops/table.h"
#include "tidemark/ops/views.h"

namespace tidemark {
namespace {

using kernels::tiles::add;
namespace tiles = kernels::tiles;
using Tile = TileFunction (*)(DType);
using Infer = std::vector<Type> (*)(const InferArgs&);
using Range = std::array<double, 2>;

std::vector<Type> float_unary(const InferArgs& a) {
  require_float(a, 0);
  return {a.in[0]};
}
std::vector<Type> number_unary(const InferArgs& a) {
  require_number(a, 0);
  return {a.in[0]};
}
std::vector<Type> any_unary(const InferArgs& a) { return {a.in[0]}; }
std::vector<Type> bool_unary(const InferArgs& a) {
  require_dtype(a, 0, DType::boolean);
  return {a.in[0]};
}
std::vector<Type> number_binary(const InferArgs& a) {
  require_same_dtype(a, 0, 1);
  require_number(a, 0);
  return {{broadcast(a.op, a.in[0].shape, a.in[1].shape), a.in[0].dtype}};
}
std::vector<Type> float_binary(const InferArgs& a) {
  require_float(a, 0);
  return number_binary(a);
}
std::vector<Type> comparison(const InferArgs& a) {
  require_same_dtype(a, 0, 1);
  return {{broadcast(a.op, a.in[0].shape, a.in[1].shape), DType::boolean}};
}
std::vector<Type> bool_binary(const InferArgs& a) {
  require_dtype(a, 0, DType::boolean);
  return comparison(a);
}

template <Tile T, std::vector<double> (*Params)(const Attrs&) = nullptr>
std::unique_ptr<Kernel> map_kernel(const KernelSpec& s) {
  if constexpr (Params == nullptr)
    return kernels::map(s, T, {});
  else
    return kernels::map(s, T, Params(s.attrs));
}
template <Tile T, std::vector<double> (*Params)(const Attrs&) = nullptr>
std::unique_ptr<Kernel> map_reference(const KernelSpec& s) {
  if constexpr (Params == nullptr)
    return kernels::map_reference(s, T, {});
  else
    return kernels::map_reference(s, T, Params(s.attrs));
}

// Odd sizes reach past the last whole vector; a scalar and nothing at all are cases too.
template <std::size_t Inputs>
std::vector<Sample> float_samples(Range range) {
  std::vector<Sample> samples;
  for (const Shape& shape : {Shape{37}, Shape{3, 5}, Shape{}, Shape{0, 4}}) {
    samples.push_back({.in = std::vector<Type>(Inputs, {shape, DType::f64}), .range = range});
  }
  if constexpr (Inputs == 2) {
    samples.push_back({.in = {{{4, 1, 3}, DType::f64}, {{5, 1}, DType::f64}}, .range = range});
    samples.push_back({.in = {{{3}, DType::f64}, {{2, 3}, DType::f64}}, .range = range});
  }
  return samples;
}

template <Tile T>
constexpr Op elementwise(const char* name, const char* doc, Infer infer, const char* cpp) {
  return {.name = name,
          .doc = doc,
          .infer = infer,
          .kernel = map_kernel<T>,
          .reference = map_reference<T>,
          .accepts = kernels::accepts_strides,
          .tile = T,
          .cpp = cpp};
}

// y = f(x): `D` gives f'(x) times a seed, which serves both modes.
template <Tile T, int Low = -2, int High = 2, typename D>
constexpr Op unary(const char* name, const char* doc, Infer infer, const char* cpp, D) {
  Op op = elementwise<T>(name, doc, infer, cpp);
  op.vjp = [](const Rule& r) { return Tensors{D{}(r, r.ct())}; };
  op.jvp = [](const Rule& r) { return Tensors{D{}(r, r.dx())}; };
  op.facts.in_place = {{0, 0}};
  op.samples = [] { return float_samples<1>({Low, High}); };
  return op;
}
template <Tile T>
constexpr Op flat_unary(const char* name, const char* doc, Infer infer, const char* cpp) {
  Op op = elementwise<T>(name, doc, infer, cpp);
  op.facts = {.zero_derivative = true, .in_place = {{0, 0}}};
  op.samples = [] { return float_samples<1>({-2, 2}); };
  return op;
}

// y = f(a, b): `A` and `B` give the partial derivatives times a seed.
template <Tile T, int Low = -2, int High = 2, typename A, typename B>
constexpr Op binary(const char* name, const char* doc, Infer infer, const char* cpp, A, B) {
  Op op = elementwise<T>(name, doc, infer, cpp);
  op.vjp = [](const Rule& r) {
    Tensors g(2);
    if (r.needs(0)) g[0] = A{}(r, r.ct());
    if (r.needs(1)) g[1] = B{}(r, r.ct());
    return g;
  };
  op.jvp = [](const Rule& r) {
    if (!r.has_dx(1)) return Tensors{A{}(r, r.dx(0))};
    if (!r.has_dx(0)) return Tensors{B{}(r, r.dx(1))};
    return Tensors{A{}(r, r.dx(0)) + B{}(r, r.dx(1))};
  };
  op.facts.in_place = {{0, 0}, {1, 0}};
  op.samples = [] { return float_samples<2>({Low, High}); };
  return op;
}
template <Tile T>
constexpr Op compare(const char* name, const char* doc, const char* cpp) {
  Op op = elementwise<T>(name, doc, comparison, cpp);
  op.facts.zero_derivative = true;
  op.samples = [] { return float_samples<2>({-2, 2}); };
  return op;
}

// The dtype of a number is that of the tensor beside it; it becomes a value of shape ().
struct Pair2 {
  Tensor a, b;
  Where where;
};
Tensor as_tensor(const char* op, const Operand& x, const Tensor& like) {
  if (!x.is_number) return x.tensor;
  const DType d = like.dtype();
  const auto fits = [&]<typename T>() {
    return x.number == static_cast<double>(formulas::to_integer<T>(x.number));
  };
  const bool exact = d == DType::i64   ? fits.template operator()<std::int64_t>()
                     : d == DType::i32 ? fits.template operator()<std::int32_t>()
                     : d == DType::u8  ? fits.template operator()<std::uint8_t>()
                                       : is_float(d) || x.number == 0 || x.number == 1;
  if (!exact)
    fail(Error::Kind::usage, "[{}] the number {} vs a tensor of {}; cast it first", op, x.number, name_of(d));
  return full_beside(like, Type{{}, d}, x.number, x.where);
}
Pair2 both(const char* op, const Operand& a, const Operand& b) {
  if (a.is_number && b.is_number) fail(Error::Kind::usage, "[{}] neither argument is a tensor", op);
  return {as_tensor(op, a, b.tensor), as_tensor(op, b, a.tensor), a.where};
}
Tensor apply2(const Op& op, const Operand& x, const Operand& y) {
  const Called called(op.name, x.where);
  const auto [a, b, where] = both(op.name, x, y);
  return apply1(op, {a, b}, {}, where);
}
Tensor masked(const Tensor& condition, const Tensor& x) { return where(condition, x, 0.0); }

constexpr auto kSeed = [](const Rule&, const Tensor& d) { return d; };

constinit const Op add_op = binary<tiles::add>("add", "a + b.", number_binary, "{0} + {1}", kSeed, kSeed);
constinit const Op sub_op = binary<tiles::sub>("sub", "a - b.", number_binary, "{0} - {1}", kSeed,
                                               [](const Rule&, const Tensor& d) { return -d; });
constinit const Op mul_op = binary<tiles::mul>(
    "mul", "a * b.", number_binary, "{0} * {1}", [](const Rule& r, const Tensor& d) { return d * r.x(1); },
    [](const Rule& r, const Tensor& d) { return d * r.x(0); });
constinit const Op div_op = binary<tiles::div, 1, 2>(
    "div", "a / b; integers towards zero, and 0 where b is 0.", number_binary, "{0} / {1}",
    [](const Rule& r, const Tensor& d) { return d / r.x(1); },
    [](const Rule& r, const Tensor& d) { return -(d * r.y() / r.x(1)); });
constinit const Op pow_op = binary<tiles::pow, 1, 2>(
    "pow", "a to the power b.", float_binary, "tidemark::scalar::pow({0}, {1})",
    // 0 where b is 0, even for a = 0, whose power -1 is infinite.
    [](const Rule& r, const Tensor& d) {
      return masked(not_equal(r.x(1), 0), d * r.x(1) * pow(r.x(0), r.x(1) - 1));
    },
    [](const Rule& r, const Tensor& d) {
      const Tensor& a = r.x(0);
      return d * r.y() * log(where(a > 0, a, 1));
    });
// Equal arguments: the gradient goes to the first.
constinit const Op minimum_op = binary<tiles::minimum>(
    "minimum", "The lesser of a and b; NaN wins.", number_binary, "tidemark::scalar::minimum({0}, {1})",
    [](const Rule& r, const Tensor& d) { return masked(r.x(0) <= r.x(1), d); },
    [](const Rule& r, const Tensor& d) { return masked(r.x(0) > r.x(1), d); });
constinit const Op maximum_op = binary<tiles::maximum>(
    "maximum", "The greater of a and b; NaN wins.", number_binary, "tidemark::scalar::maximum({0}, {1})",
    [](const Rule& r, const Tensor& d) { return masked(r.x(0) >= r.x(1), d); },
    [](const Rule& r, const Tensor& d) { return masked(r.x(0) < r.x(1), d); });

constinit const Op equal_op = compare<tiles::equal>("equal", "Whether a == b.", "{0} == {1}");
constinit const Op not_equal_op = compare<tiles::not_equal>("not_equal", "Whether a != b.", "{0} != {1}");
constinit const Op less_op = compare<tiles::less>("less", "Whether a < b.", "{0} < {1}");
constinit const Op less_equal_op = compare<tiles::less_equal>("less_equal", "Whether a <= b.", "{0} <= {1}");

template <std::size_t Inputs>
std::vector<Sample> bool_samples() {
  std::vector<Sample> samples;
  for (const Shape& shape : {Shape{37}, Shape{3, 5}, Shape{}, Shape{0}})
    samples.push_back({.in = std::vector<Type>(Inputs, {shape, DType::boolean}), .range = {0, 1}});
  return samples;
}
template <Tile T, std::size_t Inputs>
constexpr Op logical(const char* name, const char* doc, Infer infer, const char* cpp) {
  Op op = elementwise<T>(name, doc, infer, cpp);
  op.facts = {.zero_derivative = true, .in_place = {{0, 0}}};
  op.samples = bool_samples<Inputs>;
  return op;
}
constinit const Op logical_and_op =
    logical<tiles::logical_and, 2>("logical_and", "a and b.", bool_binary, "{0} & {1}");
constinit const Op logical_or_op =
    logical<tiles::logical_or, 2>("logical_or", "a or b.", bool_binary, "{0} | {1}");
constinit const Op logical_not_op =
    logical<tiles::logical_not, 1>("logical_not", "not a.", bool_unary, "!{0}");

constinit const Op where_op = [] {
  Op op = elementwise<tiles::where>(
      "where", "a where the condition holds, else b.",
      [](const InferArgs& a) -> std::vector<Type> {
        require_dtype(a, 0, DType::boolean);
        require_same_dtype(a, 1, 2);
        return {
            {broadcast(a.op, a.in[0].shape, broadcast(a.op, a.in[1].shape, a.in[2].shape)), a.in[1].dtype}};
      },
      "{0} ? {1} : {2}");
  op.vjp = [](const Rule& r) {
    Tensors g(3);
    if (r.needs(1)) g[1] = where(r.x(0), r.ct(), 0);
    if (r.needs(2)) g[2] = where(r.x(0), full_beside(r.ct(), {{}, r.ct().dtype()}, 0), r.ct());
    return g;
  };
  op.jvp = [](const Rule& r) { return Tensors{where(r.x(0), r.dx(1), r.dx(2))}; };
  op.facts.in_place = {{1, 0}, {2, 0}};
  op.samples = [] {
    std::vector<Sample> samples;
    for (const Shape& s : {Shape{37}, Shape{3, 5}, Shape{}, Shape{0}})
      samples.push_back({.in = {{s, DType::boolean}, {s, DType::f64}, {s, DType::f64}}});
    samples.push_back({.in = {{{3, 1}, DType::boolean}, {{4}, DType::f64}, {{}, DType::f64}}});
    return samples;
  };
  return op;
}();

std::vector<double> clamp_params(const Attrs& a) { return {a.number("low"), a.number("high")}; }
constinit const Op clamp_op = [] {
  const auto inside = [](const Rule& r, const Tensor& d) {
    const Tensor& x = r.x();
    return masked(logical_and(x >= r.attrs().number("low"), x <= r.attrs().number("high")), d);
  };
  Op op = unary<tiles::clamp>("clamp", "x, not below low nor above high.", number_unary, "", inside);
  op.kernel = map_kernel<tiles::clamp, clamp_params>;
  op.reference = map_reference<tiles::clamp, clamp_params>;
  op.tile_params = clamp_params;
  op.samples = [] {
    std::vector<Sample> samples = float_samples<1>({-2, 2});
    for (Sample& s : samples) s.attrs = {{"low", -0.7}, {"high", 1.1}};
    return samples;
  };
  return op;
}();

constinit const Op neg_op =
    unary<tiles::neg>("neg", "-x.", number_unary, "-{0}", [](const Rule&, const Tensor& d) { return -d; });
constinit const Op abs_op = unary<tiles::abs>("abs", "|x|.", number_unary, "tidemark::scalar::abs({0})",
                                              [](const Rule& r, const Tensor& d) { return d * sign(r.x()); });
constinit const Op sign_op =
    flat_unary<tiles::sign>("sign", "-1, 0 or 1.", number_unary, "tidemark::scalar::sign({0})");
constinit const Op square_op =
    unary<tiles::square>("square", "x * x.", number_unary, "tidemark::scalar::square({0})",
                         [](const Rule& r, const Tensor& d) { return d * (2 * r.x()); });
constinit const Op sqrt_op =
    unary<tiles::sqrt, 1, 3>("sqrt", "The square root.", float_unary, "tidemark::scalar::sqrt({0})",
                             [](const Rule& r, const Tensor& d) { return 0.5 * d / r.y(); });
constinit const Op rsqrt_op = unary<tiles::rsqrt, 1, 3>(
    "rsqrt", "1 / sqrt(x).", float_unary, "tidemark::scalar::rsqrt({0})",
    [](const Rule& r, const Tensor& d) { return -0.5 * d * (r.y() * square(r.y())); });
constinit const Op exp_op =
    unary<tiles::exp>("exp", "e to the power x.", float_unary, "tidemark::scalar::exp({0})",
                      [](const Rule& r, const Tensor& d) { return d * r.y(); });
constinit const Op expm1_op =
    unary<tiles::expm1>("expm1", "exp(x) - 1, exact near 0.", float_unary, "tidemark::scalar::expm1({0})",
                        [](const Rule& r, const Tensor& d) { return d * (r.y() + 1); });
constinit const Op log_op =
    unary<tiles::log, 1, 3>("log", "The natural logarithm.", float_unary, "tidemark::scalar::log({0})",
                            [](const Rule& r, const Tensor& d) { return d / r.x(); });
constinit const Op log1p_op = unary<tiles::log1p, 0, 2>(
    "log1p", "log(1 + x), exact near 0.", float_unary, "tidemark::scalar::log1p({0})",
    [](const Rule& r, const Tensor& d) { return d / (1 + r.x()); });
constinit const Op sin_op = unary<tiles::sin>("sin", "The sine.", float_unary, "tidemark::scalar::sin({0})",
                                              [](const Rule& r, const Tensor& d) { return d * cos(r.x()); });
constinit const Op cos_op =
    unary<tiles::cos>("cos", "The cosine.", float_unary, "tidemark::scalar::cos({0})",
                      [](const Rule& r, const Tensor& d) { return -(d * sin(r.x())); });
constinit const Op tan_op =
    unary<tiles::tan, -1, 1>("tan", "The tangent.", float_unary, "tidemark::scalar::tan({0})",
                             [](const Rule& r, const Tensor& d) { return d * (1 + square(r.y())); });
// Written in y, not x, so that x can be freed as soon as y exists.
constinit const Op tanh_op =
    unary<tiles::tanh>("tanh", "The hyperbolic tangent.", float_unary, "tidemark::scalar::tanh({0})",
                       [](const Rule& r, const Tensor& d) { return d * (1 - square(r.y())); });
constinit const Op sigmoid_op =
    unary<tiles::sigmoid>("sigmoid", "1 / (1 + exp(-x)).", float_unary, "tidemark::scalar::sigmoid({0})",
                          [](const Rule& r, const Tensor& d) { return d * (r.y() * (1 - r.y())); });
constinit const Op erf_op =
    unary<tiles::erf>("erf", "The error function.", float_unary, "tidemark::scalar::erf({0})",
                      [](const Rule& r, const Tensor& d) {
                        return d * (1.1283791670955125739 * exp(-square(r.x())));  // 2 / sqrt(pi)
                      });
constinit const Op relu_op =
    unary<tiles::relu>("relu", "max(x, 0).", number_unary, "tidemark::scalar::relu({0})",
                       [](const Rule& r, const Tensor& d) { return masked(r.y() > 0, d); });
// The derivatives of gelu are ops of their own, one pass instead of a chain of a dozen.
constinit const Op gelu_slope_op =
    unary<tiles::gelu_slope>("gelu_slope", "The derivative of gelu.", float_unary,
                             "tidemark::scalar::gelu_slope({0})", [](const Rule& r, const Tensor& d) {
                               const Tensor x2 = square(r.x());
                               return d * (0.39894228040143267794 * exp(-0.5 * x2) * (2 - x2));
                             });
constinit const Op gelu_op = unary<tiles::gelu>(
    "gelu", "x times the normal distribution function of x.", float_unary, "tidemark::scalar::gelu({0})",
    [](const Rule& r, const Tensor& d) { return d * apply1(gelu_slope_op, {r.x()}, {}, Where::current()); });
constinit const Op gelu_tanh_slope_op = unary<tiles::gelu_tanh_slope>(
    "gelu_tanh_slope", "The derivative of gelu_tanh.", float_unary, "tidemark::scalar::gelu_tanh_slope({0})",
    // With v = 2 u of scalar::gelu_tanh and s = sigmoid(v), the slope is s + x s (1 - s) v'.
    [](const Rule& r, const Tensor& d) {
      const Tensor& x = r.x();
      constexpr double kScale = 1.5957691216057307117, kCubic = 0.044715;
      const Tensor x2 = square(x);
      const Tensor s = sigmoid(kScale * (x * (1 + kCubic * x2)));
      const Tensor v1 = kScale + (3 * kScale * kCubic) * x2, v2 = (6 * kScale * kCubic) * x;
      return d * (s * (1 - s) * (2 * v1 + x * (v2 + (1 - 2 * s) * square(v1))));
    });
constinit const Op gelu_tanh_op =
    unary<tiles::gelu_tanh>("gelu_tanh", "gelu by its tanh approximation.", float_unary,
                            "tidemark::scalar::gelu_tanh({0})", [](const Rule& r, const Tensor& d) {
                              return d * apply1(gelu_tanh_slope_op, {r.x()}, {}, Where::current());
                            });
constinit const Op silu_op =
    unary<tiles::silu>("silu", "x * sigmoid(x).", float_unary, "tidemark::scalar::silu({0})",
                       [](const Rule& r, const Tensor& d) {
                         const Tensor s = sigmoid(r.x());
                         return d * (s * (1 + r.x() * (1 - s)));
                       });
constinit const Op softplus_op =
    unary<tiles::softplus>("softplus", "log(1 + exp(x)).", float_unary, "tidemark::scalar::softplus({0})",
                           [](const Rule& r, const Tensor& d) { return d * sigmoid(r.x()); });
constinit const Op floor_op = flat_unary<tiles::floor>("floor", "The greatest integer not above x.",
                                                       float_unary, "tidemark::scalar::floor({0})");
constinit const Op round_op = flat_unary<tiles::round>("round", "The nearest integer, halves to even.",
                                                       float_unary, "tidemark::scalar::round({0})");
constinit const Op stop_gradient_op =
    flat_unary<tiles::copy>("stop_gradient", "x, with no gradient through it.", any_unary, "{0}");

std::vector<double> cast_params(const Attrs& a) { return {static_cast<double>(a.integer("dtype"))}; }
constinit const Op cast_op = [] {
  Op op = elementwise<tiles::cast>(
      "cast", "x in another dtype; floats to integers towards zero, beyond them the nearest, NaN as 0.",
      [](const InferArgs& a) -> std::vector<Type> {
        return {{a.in[0].shape, a.attrs.dtype()}};
      },
      "");
  op.kernel = map_kernel<tiles::cast, cast_params>;
  op.reference = map_reference<tiles::cast, cast_params>;
  op.tile_params = cast_params;
  op.vjp = [](const Rule& r) {
    return Tensors{is_float(r.x().dtype()) && r.has_ct() ? cast(r.ct(), r.x().dtype()) : Tensor{}};
  };
  op.jvp = [](const Rule& r) {
    return Tensors{is_float(r.y().dtype()) ? cast(r.dx(), r.y().dtype()) : Tensor{}};
  };
  op.samples = [] {
    std::vector<Sample> samples;
    for (const DType d : {DType::f64, DType::i32})
      samples.push_back({.in = {{{37}, DType::f64}}, .attrs = {{"dtype", static_cast<std::int64_t>(d)}}});
    samples.push_back(
        {.in = {{{3}, DType::i64}}, .attrs = {{"dtype", static_cast<std::int64_t>(DType::f64)}}});
    return samples;
  };
  return op;
}();

std::vector<double> full_params(const Attrs& a) { return {a.number("value")}; }
constinit const Op full_op = [] {
  Op op = elementwise<tiles::full>(
      "full", "An array of one number.",
      [](const InferArgs& a) -> std::vector<Type> {
        return {{Shape(a.attrs.integers("shape")), a.attrs.dtype()}};
      },
      "");
  op.cut = [](const CutArgs& a) -> std::optional<Cut> { return Cut{{}, {a.wanted}, cut_shape(a, a.wanted)}; };
  op.kernel = map_kernel<tiles::full, full_params>;
  op.reference = map_reference<tiles::full, full_params>;
  op.tile_params = full_params;
  op.facts.zero_derivative = true;
  op.samples = [] {
    std::vector<Sample> samples;
    for (const std::vector<std::int64_t>& s : {std::vector<std::int64_t>{}, {37}, {2, 0}})
      samples.push_back({.attrs = {{"shape", s}, {"dtype", std::int64_t{0}}, {"value", 2.5}}});
    return samples;
  };
  return op;
}();

}  // namespace

Tensor operator+(const Operand& a, const Operand& b) { return apply2(add_op, a, b); }
Tensor operator-(const Operand& a, const Operand& b) { return apply2(sub_op, a, b); }
Tensor operator*(const Operand& a, const Operand& b) { return apply2(mul_op, a, b); }
Tensor operator/(const Operand& a, const Operand& b) { return apply2(div_op, a, b); }
Tensor minimum(const Operand& a, const Operand& b) { return apply2(minimum_op, a, b); }
Tensor maximum(const Operand& a, const Operand& b) { return apply2(maximum_op, a, b); }
Tensor& operator+=(Tensor& a, const Operand& b) { return a = Operand(a, b.where) + b; }
Tensor& operator-=(Tensor& a, const Operand& b) { return a = Operand(a, b.where) - b; }
Tensor& operator*=(Tensor& a, const Operand& b) { return a = Operand(a, b.where) * b; }
Tensor& operator/=(Tensor& a, const Operand& b) { return a = Operand(a, b.where) / b; }

Tensor pow(const Operand& a, const Operand& b) {
  if (!a.is_number && b.is_number) {  // exact, and much cheaper
    const Tensor& x = a.tensor;
    if (b.number == 1) return x;
    if (b.number == 2) return square(x, a.where);
    if (b.number == 3) return apply1(mul_op, {square(x, a.where), x}, {}, a.where);
    if (b.number == 0.5) return sqrt(x, a.where);
    if (b.number == -0.5) return rsqrt(x, a.where);
  }
  return apply2(pow_op, a, b);
}

Tensor equal(const Operand& a, const Operand& b) { return apply2(equal_op, a, b); }
Tensor not_equal(const Operand& a, const Operand& b) { return apply2(not_equal_op, a, b); }
Tensor operator<(const Operand& a, const Operand& b) { return apply2(less_op, a, b); }
Tensor operator<=(const Operand& a, const Operand& b) { return apply2(less_equal_op, a, b); }
Tensor operator>(const Operand& a, const Operand& b) { return apply2(less_op, b, a); }
Tensor operator>=(const Operand& a, const Operand& b) { return apply2(less_equal_op, b, a); }
Tensor logical_and(const Tensor& a, const Tensor& b, Where where) {
  return apply1(logical_and_op, {a, b}, {}, where);
}
Tensor logical_or(const Tensor& a, const Tensor& b, Where where) {
  return apply1(logical_or_op, {a, b}, {}, where);
}
Tensor logical_not(const Tensor& a, Where where) { return apply1(logical_not_op, {a}, {}, where); }

Tensor where(const Tensor& condition, const Operand& x, const Operand& y) {
  const Called called("where", x.where);
  const auto [a, b, at] = both("where", x, y);
  return apply1(where_op, {condition, a, b}, {}, at);
}
Tensor clamp(const Tensor& x, double low, double high, Where where) {
  return apply1(clamp_op, {x}, {{"low", low}, {"high", high}}, where);
}

Tensor operator-(const Operand& x) { return apply1(neg_op, {x.tensor}, {}, x.where); }
Tensor abs(const Tensor& x, Where where) { return apply1(abs_op, {x}, {}, where); }
Tensor sign(const Tensor& x, Where where) { return apply1(sign_op, {x}, {}, where); }
Tensor square(const Tensor& x, Where where) { return apply1(square_op, {x}, {}, where); }
Tensor sqrt(const Tensor& x, Where where) { return apply1(sqrt_op, {x}, {}, where); }
Tensor rsqrt(const Tensor& x, Where where) { return apply1(rsqrt_op, {x}, {}, where); }
Tensor exp(const Tensor& x, Where where) { return apply1(exp_op, {x}, {}, where); }
Tensor expm1(const Tensor& x, Where where) { return apply1(expm1_op, {x}, {}, where); }
Tensor log(const Tensor& x, Where where) { return apply1(log_op, {x}, {}, where); }
Tensor log1p(const Tensor& x, Where where) { return apply1(log1p_op, {x}, {}, where); }
Tensor sin(const Tensor& x, Where where) { return apply1(sin_op, {x}, {}, where); }
Tensor cos(const Tensor& x, Where where) { return apply1(cos_op, {x}, {}, where); }
Tensor tan(const Tensor& x, Where where) { return apply1(tan_op, {x}, {}, where); }
Tensor tanh(const Tensor& x, Where where) { return apply1(tanh_op, {x}, {}, where); }
Tensor sigmoid(const Tensor& x, Where where) { return apply1(sigmoid_op, {x}, {}, where); }
Tensor erf(const Tensor& x, Where where) { return apply1(erf_op, {x}, {}, where); }
Tensor relu(const Tensor& x, Where where) { return apply1(relu_op, {x}, {}, where); }
Tensor gelu(const Tensor& x, Where where) { return apply1(gelu_op, {x}, {}, where); }
Tensor gelu_tanh(const Tensor& x, Where where) { return apply1(gelu_tanh_op, {x}, {}, where); }
Tensor silu(const Tensor& x, Where where) { return apply1(silu_op, {x}, {}, where); }
Tensor softplus(const Tensor& x, Where where) { return apply1(softplus_op, {x}, {}, where); }
Tensor floor(const Tensor& x, Where where) { return apply1(floor_op, {x}, {}, where); }
Tensor round(const Tensor& x, Where where) { return apply1(round_op, {x}, {}, where); }
Tensor stop_gradient(const Tensor& x, Where where) { return apply1(stop_gradient_op, {x}, {}, where); }
Tensor cast(const Tensor& x, DType dtype, Where where) {
  if (x.dtype() == dtype) return x;
  return apply1(cast_op, {x}, {{"dtype", static_cast<std::int64_t>(dtype)}}, where);
}

Tensor full_beside(const Tensor& x, const Type& type, double value, Where where) {
  return apply_beside(
      x, full_op,
      {{"shape", type.shape.sizes()}, {"dtype", static_cast<std::int64_t>(type.dtype)}, {"value", value}},
      where);
}
Tensor full_like(const Tensor& x, double value, Where where) {
  return full_beside(x, x.type(), value, where);
}
Tensor zeros_like(const Tensor& x, Where where) { return full_beside(x, x.type(), 0, where); }
Tensor ones_like(const Tensor& x, Where where) { return full_beside(x, x.type(), 1, where); }

bool has_inverse(const Op& op) {
  static const Op* const ops[] = {&add_op, &sub_op,   &mul_op,  &div_op,  &neg_op,     &exp_op,     &expm1_op,
                                  &log_op, &log1p_op, &sqrt_op, &tanh_op, &sigmoid_op, &softplus_op};
  return std::find(std::begin(ops), std::end(ops), &op) != std::end(ops);
}

Tensor inverse(const Op& op, std::size_t which, const Tensor& y, const Tensors& in) {
  const Tensor other = in.size() == 2 ? in[1 - which] : Tensor{};
  if (&op == &add_op) return y - other;
  if (&op == &sub_op) return which == 0 ? y + other : other - y;
  if (&op == &mul_op) return y / other;
  if (&op == &div_op) return which == 0 ? y * other : other / y;
  if (&op == &neg_op) return -y;
  if (&op == &exp_op) return log(y);
  if (&op == &expm1_op) return log1p(y);
  if (&op == &log_op) return exp(y);
  if (&op == &log1p_op) return expm1(y);
  if (&op == &sqrt_op) return square(y);
  if (&op == &tanh_op) return 0.5 * log((1 + y) / (1 - y));
  if (&op == &sigmoid_op) return log(y / (1 - y));
  if (&op == &softplus_op) return y + log(-expm1(-y));
  return {};
}

OpList elementwise_ops() {
  static const Op* const ops[] = {&add_op,           &sub_op,
                                  &mul_op,           &div_op,
                                  &pow_op,           &minimum_op,
                                  &maximum_op,       &equal_op,
                                  &not_equal_op,     &less_op,
                                  &less_equal_op,    &logical_and_op,
                                  &logical_or_op,    &logical_not_op,
                                  &where_op,         &clamp_op,
                                  &neg_op,           &abs_op,
                                  &sign_op,          &square_op,
                                  &sqrt_op,          &rsqrt_op,
                                  &exp_op,           &expm1_op,
                                  &log_op,           &log1p_op,
                                  &sin_op,           &cos_op,
                                  &tan_op,           &tanh_op,
                                  &sigmoid_op,       &erf_op,
                                  &relu_op,          &gelu_op,
                                  &gelu_tanh_op,     &silu_op,
                                  &gelu_slope_op,    &gelu_tanh_slope_op,
                                  &softplus_op,      &floor_op,
                                  &round_op,         &cast_op,
                                  &stop_gradient_op, &full_op};
  return ops;
}

}  // namespace tidemark
