// Trace: what a step of plain C++ does to its numbers, as a list of operations that can be run again, turned into a Graph and
// compiled (compile/trace_graph.h). `Sym` is the scalar that writes one. A tape over it records partials that are symbols
// themselves, and its sweep writes the adjoint: operation for operation what a tape of doubles computes, so that bits agree.
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

class Tracer;

// A number and the operation that made it; one without is a constant.
struct TIDEMARK_API Sym {
  double value = 0;
  std::uint64_t id = 0;  // node number + 1; 0: a constant

  Sym() = default;
  template <typename T>
    requires std::is_arithmetic_v<T>
  Sym(const T& v) : value(static_cast<double>(v)) {}  // NOLINT: implicit by design
  Sym(double v, std::uint64_t i) : value(v), id(i) {}
  const Sym& symbolic() const { return *this; }
};

// The answer to a comparison: used as a bool it becomes a guard, given to `choose` a selection.
struct TIDEMARK_API Decision {
  bool value = false;
  std::uint64_t id = 0;
  operator bool() const;  // NOLINT: implicit by design
};

// Writes a Trace while it lives; Syms on this thread go there. Operations of the same operands are written once. For a fingerprint nothing
// is kept: a hash of all operations in their order, with their operands, constants, decisions and facts, tells whether code
// would write the trace that it wrote before, at a small part of the cost.
class TIDEMARK_API Tracer {
 public:
  enum class Writes : std::uint8_t { trace, fingerprint };
  explicit Tracer(Writes writes = Writes::trace);
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

  bool hashes_;
  std::uint64_t sum_ = 0, inputs_ = 0;
  Trace trace_;
  std::vector<bool> never_minus_zero_;  // by node
  std::unordered_map<Trace::Node, std::uint32_t, Hash> known_;
  std::unordered_map<std::uint64_t, std::uint32_t> constants_;  // by their bits
  std::unordered_map<std::uint64_t, bool> guarded_;             // decisions
  Tracer* before_;
};

TIDEMARK_API Sym operator+(const Sym& a, const Sym& b);
TIDEMARK_API Sym operator-(const Sym& a, const Sym& b);
TIDEMARK_API Sym operator*(const Sym& a, const Sym& b);
TIDEMARK_API Sym operator/(const Sym& a, const Sym& b);
TIDEMARK_API Sym operator-(const Sym& x);
inline Sym& operator+=(Sym& a, const Sym& b) { return a = a + b; }

TIDEMARK_API Decision operator<(const Sym& a, const Sym& b);
TIDEMARK_API Decision operator<=(const Sym& a, const Sym& b);
TIDEMARK_API Decision operator>(const Sym& a, const Sym& b);
TIDEMARK_API Decision operator>=(const Sym& a, const Sym& b);
TIDEMARK_API Decision operator==(const Sym& a, const Sym& b);
TIDEMARK_API Decision operator!=(const Sym& a, const Sym& b);
TIDEMARK_API Decision operator||(const Decision& a, const Decision& b);
TIDEMARK_API Decision operator!(const Decision& a);
inline Decision operator||(bool a, const Decision& b) { return Decision{a, 0} || b; }
TIDEMARK_API Sym choose(const Decision& condition, const Sym& a, const Sym& b);
TIDEMARK_API void add_product(Sym& to, const Sym& partial, const Sym& adjoint);

// Says which it is.
[[noreturn]] TIDEMARK_API void no_op(const char* name);
// Functions that a Graph has too; the others are refused with Error(unsupported), and whoever asked for a trace takes the tape.
#define TIDEMARK_TRACED(X) \
  X(fabs) X(sqrt) X(exp) X(expm1) X(log) X(log1p) X(sin) X(cos) X(tan) X(tanh) X(erf) X(sigmoid)
#define TIDEMARK_UNTRACED(X) \
  X(exp2)                    \
  X(log2)                    \
  X(log10)                   \
  X(cbrt) X(asin) X(acos) X(atan) X(sinh) X(cosh) X(asinh) X(acosh) X(atanh) X(erfc) X(tgamma) X(lgamma)
#define TIDEMARK_DECLARE(name) TIDEMARK_API Sym name(const Sym& x);
TIDEMARK_TRACED(TIDEMARK_DECLARE)
TIDEMARK_UNTRACED(TIDEMARK_DECLARE)
#undef TIDEMARK_DECLARE
TIDEMARK_API Sym pow(const Sym& a, const Sym& b);
TIDEMARK_API Sym atan2(const Sym& a, const Sym& b);
TIDEMARK_API Sym hypot(const Sym& a, const Sym& b);
TIDEMARK_API Sym fmod(const Sym& a, const Sym& b);
TIDEMARK_API Sym remainder(const Sym& a, const Sym& b);

// Plain numbers: guarded by the interval in which they are what they are.
TIDEMARK_API double floor(const Sym& x);
TIDEMARK_API double ceil(const Sym& x);
TIDEMARK_API double trunc(const Sym& x);
TIDEMARK_API double round(const Sym& x);
TIDEMARK_API double nearbyint(const Sym& x);
inline double rint(const Sym& x) { return nearbyint(x); }
inline long lround(const Sym& x) { return static_cast<long>(round(x)); }
TIDEMARK_API bool isfinite(const Sym& x);
TIDEMARK_API bool isinf(const Sym& x);
TIDEMARK_API bool isnan(const Sym& x);
TIDEMARK_API bool signbit(const Sym& x);

}  // namespace tidemark::tape
