// Trace: what a step of plain C++ does to its numbers, as a list of operations that can be run again, turned into a Graph and
// compiled (compile/trace_graph.h). `Sym` is the scalar that writes one. A tape over it records partials that are symbols
// themselves, and its sweep writes the adjoint: operation for operation what a tape of doubles, or of floats (`Sym32`), computes, so that bits agree.
// Comparisons that the code asks about become guards: the trace holds for numbers that answer them alike.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include <type_traits>

#include "tidemark/base/api.h"
#include "tidemark/tape/math.h"

namespace tidemark::tape {

// Each as base/scalar.h or C++ has it; `select` is in[0] ? in[1] : in[2]. Those from `less` to `logical_not` are truth values.
enum class Code : std::uint8_t {
  input,
  add,
  sub,
  mul,
  div,
  pow,
  neg,
  fabs,
  sqrt,
  exp,
  expm1,
  log,
  log1p,
  sin,
  cos,
  tan,
  tanh,
  erf,
  sigmoid,
  less,
  less_equal,
  equal,
  logical_and,
  logical_or,
  logical_not,
  select
};

// An operand: a node by its number, or a constant.
class Ref {
 public:
  Ref() = default;
  static Ref node(std::uint32_t i) { return Ref(i); }
  static Ref constant(std::uint32_t i) { return Ref(i | kConstant); }
  bool is_constant() const { return (bits_ & kConstant) != 0; }
  std::uint32_t index() const { return bits_ & ~kConstant; }
  bool operator==(const Ref&) const = default;

 private:
  static constexpr std::uint32_t kConstant = 1u << 31;
  explicit Ref(std::uint32_t bits) : bits_(bits) {}
  std::uint32_t bits_ = 0;
};

// What a trace takes for granted of the number of its step (step_number.h), which is that of the step where it was written plus `shift`.
struct TIDEMARK_API StepFact {
  enum class Kind : std::uint8_t { remainder, quotient, less, equal } kind = Kind::equal;
  std::int64_t shift = 0, operand = 0, answer = 0;
  bool holds(std::int64_t step) const { return answer_for(step) == answer; }
  std::int64_t answer_for(std::int64_t step) const;
  bool operator==(const StepFact&) const = default;
};

struct TIDEMARK_API Trace {
  struct Node {
    Code code = Code::input;
    std::uint8_t count = 0;  // operands
    Ref in[3];
    bool operator==(const Node&) const = default;
  };
  struct Input {
    std::string name;
    std::uint32_t first = 0, count = 0;  // nodes in a row
    bool operator==(const Input&) const = default;
  };
  struct Output {
    std::string name;
    std::vector<Ref> numbers;
    bool operator==(const Output&) const = default;
  };
  struct Guard {
    Ref truth;
    bool expected = true;
    bool operator==(const Guard&) const = default;
  };
  bool single = false;      // numbers are floats: every operation rounds to one
  std::vector<Node> nodes;  // a node reads only earlier ones
  std::vector<double> constants;
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  std::vector<Guard> guards;
  std::vector<StepFact> facts;

  // Bitwise, so that a NaN equals itself.
  bool operator==(const Trace& other) const;
  // Results for numbers of the inputs, one after the other, in `results`; false where a guard fails, and then nothing is said about them.
  // The reference for whatever is made of a trace.
  bool run(const std::vector<double>& numbers, std::vector<double>& results) const;
};

template <typename R>
struct SymOf;
using Sym = SymOf<double>;
using Sym32 = SymOf<float>;

// The answer to a comparison: used as a bool it becomes a guard, given to `choose` a selection.
struct TIDEMARK_API Decision {
  bool value = false;
  std::uint64_t id = 0;
  operator bool() const;  // NOLINT: implicit by design
};
TIDEMARK_API Decision operator||(const Decision& a, const Decision& b);
TIDEMARK_API Decision operator!(const Decision& a);
inline Decision operator||(bool a, const Decision& b) { return Decision{a, 0} || b; }

// Functions that a Graph has too; the others are refused with Error(unsupported), and whoever asked for a trace takes the tape.
#define TIDEMARK_TRACED(X) \
  X(fabs) X(sqrt) X(exp) X(expm1) X(log) X(log1p) X(sin) X(cos) X(tan) X(tanh) X(erf) X(sigmoid)
#define TIDEMARK_UNTRACED(X) \
  X(exp2)                    \
  X(log2)                    \
  X(log10)                   \
  X(cbrt) X(asin) X(acos) X(atan) X(sinh) X(cosh) X(asinh) X(acosh) X(atanh) X(erfc) X(tgamma) X(lgamma)
// Says which it is.
[[noreturn]] TIDEMARK_API void no_op(const char* name);

// What symbols do, in the trace being written on this thread.
namespace traced {
TIDEMARK_API Sym unary(Code code, const Sym& x);
TIDEMARK_API Sym binary(Code code, const Sym& a, const Sym& b);
TIDEMARK_API Decision compare(Code code, const Sym& a, const Sym& b);
TIDEMARK_API Sym select(const Decision& condition, const Sym& a, const Sym& b);
TIDEMARK_API void add_product(Sym& to, const Sym& partial, const Sym& adjoint);
// Plain numbers: guarded by the interval in which they are what they are.
TIDEMARK_API double floor(const Sym& x);
TIDEMARK_API double ceil(const Sym& x);
TIDEMARK_API double trunc(const Sym& x);
TIDEMARK_API double round(const Sym& x);
TIDEMARK_API double nearbyint(const Sym& x);
TIDEMARK_API bool isfinite(const Sym& x);
TIDEMARK_API bool isinf(const Sym& x);
TIDEMARK_API bool signbit(const Sym& x);
}  // namespace traced

// A number of type R and the operation that made it; one without is a constant.
template <typename R>
struct SymOf {
  double value = 0;      // one that R has
  std::uint64_t id = 0;  // node number + 1; 0: a constant

  SymOf() = default;
  template <typename T>
    requires std::is_arithmetic_v<T>
  SymOf(const T& v) : value(static_cast<double>(static_cast<R>(v))) {}  // NOLINT: implicit by design
  SymOf(double v, std::uint64_t i) : value(v), id(i) {}
  const SymOf& symbolic() const { return *this; }
  Sym wide() const { return {value, id}; }
  static SymOf from(const Sym& x) { return {x.value, x.id}; }

#define TIDEMARK_OPERATOR(op, code)                              \
  friend SymOf operator op(const SymOf& a, const SymOf& b) {     \
    return from(traced::binary(Code::code, a.wide(), b.wide())); \
  }
  TIDEMARK_OPERATOR(+, add)
  TIDEMARK_OPERATOR(-, sub)
  TIDEMARK_OPERATOR(*, mul)
  TIDEMARK_OPERATOR(/, div)
#undef TIDEMARK_OPERATOR
  friend SymOf operator-(const SymOf& x) { return from(traced::unary(Code::neg, x.wide())); }
  friend SymOf& operator+=(SymOf& a, const SymOf& b) { return a = a + b; }

  // A plain number keeps the precision that C++ compares it in: a float beside a double is one.
  template <typename T>
  static Sym beside(const T& v) {
    return {static_cast<double>(static_cast<std::common_type_t<R, T>>(v)), 0};
  }
#define TIDEMARK_COMPARISON(op, code, a, b)                     \
  friend Decision operator op(const SymOf& x, const SymOf& y) { \
    const Sym l = x.wide(), r = y.wide();                       \
    return traced::compare(Code::code, a, b);                   \
  }                                                             \
  template <typename T>                                         \
    requires std::is_arithmetic_v<T>                            \
  friend Decision operator op(const SymOf& x, const T& y) {     \
    const Sym l = x.wide(), r = beside(y);                      \
    return traced::compare(Code::code, a, b);                   \
  }                                                             \
  template <typename T>                                         \
    requires std::is_arithmetic_v<T>                            \
  friend Decision operator op(const T& x, const SymOf& y) {     \
    const Sym l = beside(x), r = y.wide();                      \
    return traced::compare(Code::code, a, b);                   \
  }
  TIDEMARK_COMPARISON(<, less, l, r)
  TIDEMARK_COMPARISON(<=, less_equal, l, r)
  TIDEMARK_COMPARISON(>, less, r, l)
  TIDEMARK_COMPARISON(>=, less_equal, r, l)
  TIDEMARK_COMPARISON(==, equal, l, r)
#undef TIDEMARK_COMPARISON
  friend Decision operator!=(const SymOf& a, const SymOf& b) { return !(a == b); }
  template <typename T>
    requires std::is_arithmetic_v<T>
  friend Decision operator!=(const SymOf& a, const T& b) {
    return !(a == b);
  }
  template <typename T>
    requires std::is_arithmetic_v<T>
  friend Decision operator!=(const T& a, const SymOf& b) {
    return !(a == b);
  }
  friend SymOf choose(const Decision& condition, const SymOf& a, const SymOf& b) {
    return from(traced::select(condition, a.wide(), b.wide()));
  }
  friend void add_product(SymOf& to, const SymOf& partial, const SymOf& adjoint) {
    Sym sum = to.wide();
    traced::add_product(sum, partial.wide(), adjoint.wide());
    to = from(sum);
  }

#define TIDEMARK_FUNCTION(name) \
  friend SymOf name(const SymOf& x) { return from(traced::unary(Code::name, x.wide())); }
  TIDEMARK_TRACED(TIDEMARK_FUNCTION)
#undef TIDEMARK_FUNCTION
  // Of a constant they are constants; of a symbol there is no op.
#define TIDEMARK_FUNCTION(name)                       \
  friend SymOf name(const SymOf& x) {                 \
    if (x.id != 0) no_op(#name);                      \
    return SymOf(std::name(static_cast<R>(x.value))); \
  }
  TIDEMARK_UNTRACED(TIDEMARK_FUNCTION)
#undef TIDEMARK_FUNCTION
#define TIDEMARK_FUNCTION(name)                                                \
  friend SymOf name(const SymOf& a, const SymOf& b) {                          \
    if (a.id != 0 || b.id != 0) no_op(#name);                                  \
    return SymOf(std::name(static_cast<R>(a.value), static_cast<R>(b.value))); \
  }
  TIDEMARK_FUNCTION(atan2)
  TIDEMARK_FUNCTION(hypot)
  TIDEMARK_FUNCTION(fmod)
  TIDEMARK_FUNCTION(remainder)
#undef TIDEMARK_FUNCTION
  friend SymOf pow(const SymOf& a, const SymOf& b) {
    return from(traced::binary(Code::pow, a.wide(), b.wide()));
  }
#define TIDEMARK_FUNCTION(name) \
  friend R name(const SymOf& x) { return static_cast<R>(traced::name(x.wide())); }
  TIDEMARK_FUNCTION(floor)
  TIDEMARK_FUNCTION(ceil)
  TIDEMARK_FUNCTION(trunc)
  TIDEMARK_FUNCTION(round)
  TIDEMARK_FUNCTION(nearbyint)
#undef TIDEMARK_FUNCTION
  friend R rint(const SymOf& x) { return nearbyint(x); }
  friend long lround(const SymOf& x) { return static_cast<long>(round(x)); }
  friend bool isnan(const SymOf& x) { return x != x; }
  friend bool isfinite(const SymOf& x) { return traced::isfinite(x.wide()); }
  friend bool isinf(const SymOf& x) { return traced::isinf(x.wide()); }
  friend bool signbit(const SymOf& x) { return traced::signbit(x.wide()); }
};

// Writes a Trace while it lives; Syms on this thread go there. Operations of the same operands are written once. For a fingerprint nothing
// is kept: a hash of all operations in their order, with their operands, constants, decisions and facts, tells whether code
// would write the trace that it wrote before, at a small part of the cost. `single`: symbols are Sym32.
class TIDEMARK_API Tracer {
 public:
  enum class Writes : std::uint8_t { trace, fingerprint };
  explicit Tracer(Writes writes = Writes::trace, bool single = false);
  ~Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  // `never_minus_zero`: what the caller knows of the numbers, such as of adjoints, which are sums that begin with 0.
  std::vector<Sym> inputs(const std::string& name, const std::vector<double>& values, bool never_minus_zero);
  void output(const std::string& name, const std::vector<Sym>& numbers);
  void fact(const StepFact& fact);
  Trace finish() { return std::move(trace_); }
  std::uint64_t fingerprint() const { return sum_; }

  static Tracer& current();
  Sym unary(Code code, const Sym& x);
  Sym binary(Code code, const Sym& a, const Sym& b);
  Decision compare(Code code, const Sym& a, const Sym& b);
  Decision logic(Code code, const Decision& a, const Decision& b);
  Sym select(const Decision& condition, const Sym& a, const Sym& b);
  void guard(const Decision& decision);
  bool never_minus_zero(const Sym& x) const;

 private:
  struct Hash {
    std::size_t operator()(const Trace::Node& n) const;
  };
  Ref ref(double value, std::uint64_t id);
  std::uint64_t add(const Trace::Node& node, bool never_minus_zero);
  // Of an operation, for the fingerprint; never 0.
  std::uint64_t hash(Code code, std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0);

  double apply(Code code, double a, double b = 0) const;

  bool hashes_;
  std::uint64_t sum_ = 0, inputs_ = 0;
  Trace trace_;
  std::vector<bool> never_minus_zero_;  // by node
  std::unordered_map<Trace::Node, std::uint32_t, Hash> known_;
  std::unordered_map<std::uint64_t, std::uint32_t> constants_;  // by their bits
  std::unordered_map<std::uint64_t, bool> guarded_;             // decisions
  Tracer* before_;
};

}  // namespace tidemark::tape
