// SPDX-License-Identifier: Apache-2.0
#include "tidemark/tape/trace.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "tidemark/base/error.h"
#include "tidemark/tape/step_number.h"

namespace tidemark::tape {
namespace {

thread_local Tracer* tracer = nullptr;

std::uint64_t bits_of(double x) { return std::bit_cast<std::uint64_t>(x); }

template <typename R>
R computed(Code code, R a, R b, R c) {
  switch (code) {
    case Code::input:
      return a;
    case Code::add:
      return a + b;
    case Code::sub:
      return a - b;
    case Code::mul:
      return a * b;
    case Code::div:
      return a / b;
    case Code::pow:
      return scalar::pow(a, b);
    case Code::neg:
      return -a;
    case Code::fabs:
      return std::fabs(a);
    case Code::sqrt:
      return scalar::sqrt(a);
    case Code::exp:
      return scalar::exp(a);
    case Code::expm1:
      return scalar::expm1(a);
    case Code::log:
      return scalar::log(a);
    case Code::log1p:
      return scalar::log1p(a);
    case Code::sin:
      return scalar::sin(a);
    case Code::cos:
      return scalar::cos(a);
    case Code::tan:
      return scalar::tan(a);
    case Code::tanh:
      return scalar::tanh(a);
    case Code::erf:
      return scalar::erf(a);
    case Code::sigmoid:
      return scalar::sigmoid(a);
    case Code::less:
      return a < b ? 1 : 0;
    case Code::less_equal:
      return a <= b ? 1 : 0;
    case Code::equal:
      return a == b ? 1 : 0;
    case Code::logical_and:
      return a != 0 && b != 0 ? 1 : 0;
    case Code::logical_or:
      return a != 0 || b != 0 ? 1 : 0;
    case Code::logical_not:
      return a == 0 ? 1 : 0;
    case Code::select:
      return a != 0 ? b : c;
  }
  return 0;
}
// As numbers of the trace are computed; comparisons are exact in either precision.
double computed(bool single, Code code, double a, double b = 0, double c = 0) {
  if (!single || (code >= Code::less && code <= Code::equal)) return computed<double>(code, a, b, c);
  return computed<float>(code, static_cast<float>(a), static_cast<float>(b), static_cast<float>(c));
}

// Finaliser of MurmurHash3 (Appleby, 2011).
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ x >> 33) * 0xFF51AFD7ED558CCDull;
  x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53ull;
  return x ^ x >> 33;
}
// What an operand is in a fingerprint: the operation that made it, or a constant.
std::uint64_t mark(const Sym& x) { return x.id != 0 ? x.id : mix(bits_of(x.value) + 0x9E3779B97F4A7C15ull); }

}  // namespace

void no_op(const char* name) {
  fail(Error::Kind::unsupported, "[trace] {} vs the functions that a Graph has; leave the step to the tape",
       name);
}

std::int64_t StepFact::answer_for(std::int64_t step) const {
  const std::int64_t number = step + shift;
  switch (kind) {
    case Kind::remainder:
      return number % operand;
    case Kind::quotient:
      return number / operand;
    case Kind::less:
      return number < operand ? 1 : 0;
    case Kind::equal:
      return number == operand ? 1 : 0;
  }
  return 0;
}

bool Trace::operator==(const Trace& other) const {
  const auto same = [](double a, double b) { return bits_of(a) == bits_of(b); };
  return single == other.single && nodes == other.nodes && inputs == other.inputs &&
         outputs == other.outputs && guards == other.guards && facts == other.facts &&
         std::equal(constants.begin(), constants.end(), other.constants.begin(), other.constants.end(), same);
}

bool Trace::run(const std::vector<double>& numbers, std::vector<double>& results) const {
  std::vector<double> values(nodes.size());
  std::size_t input = 0;
  const auto at = [&](Ref r) { return r.is_constant() ? constants[r.index()] : values[r.index()]; };
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node& n = nodes[i];
    if (n.code == Code::input)
      values[i] = numbers[input++];
    else
      values[i] =
          computed(single, n.code, at(n.in[0]), n.count > 1 ? at(n.in[1]) : 0, n.count > 2 ? at(n.in[2]) : 0);
  }
  results.clear();
  for (const Output& o : outputs)
    for (const Ref r : o.numbers) results.push_back(at(r));
  return std::all_of(guards.begin(), guards.end(),
                     [&](const Guard& g) { return (at(g.truth) != 0) == g.expected; });
}

Tracer::Tracer(Writes writes, bool single) : hashes_(writes == Writes::fingerprint), before_(tracer) {
  trace_.single = single;
  tracer = this;
}
Tracer::~Tracer() { tracer = before_; }

Tracer& Tracer::current() {
  if (tracer == nullptr)
    fail(Error::Kind::usage, "[trace] a symbol vs no trace being written on this thread");
  return *tracer;
}

double Tracer::apply(Code code, double a, double b) const { return computed(trace_.single, code, a, b); }

std::size_t Tracer::Hash::operator()(const Trace::Node& n) const {
  std::uint64_t h = static_cast<std::uint64_t>(n.code);
  for (const Ref& r : n.in)
    h = (h ^ (r.index() + (r.is_constant() ? 1ull << 40 : 0))) * 0x9E3779B97F4A7C15ull;
  return static_cast<std::size_t>(h ^ h >> 29);
}

std::uint64_t Tracer::hash(Code code, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15ull;
  std::uint64_t h = (a + static_cast<std::uint64_t>(code)) * kOdd;
  h = ((h ^ h >> 32) + b) * kOdd;
  h = mix((h ^ h >> 32) + c);
  sum_ = (sum_ ^ h) * kOdd;
  sum_ ^= sum_ >> 32;
  return h != 0 ? h : 1;
}

Ref Tracer::ref(double value, std::uint64_t id) {
  if (id != 0) return Ref::node(static_cast<std::uint32_t>(id - 1));
  const auto [found, fresh] =
      constants_.try_emplace(bits_of(value), static_cast<std::uint32_t>(trace_.constants.size()));
  if (fresh) trace_.constants.push_back(value);
  return Ref::constant(found->second);
}

std::uint64_t Tracer::add(const Trace::Node& node, bool never_minus_zero) {
  const auto [found, fresh] = known_.try_emplace(node, static_cast<std::uint32_t>(trace_.nodes.size()));
  if (fresh) {
    if (trace_.nodes.size() >= (1u << 30))
      fail(Error::Kind::unsupported, "[trace] more than 2^30 operations; leave the step to the tape");
    trace_.nodes.push_back(node);
    never_minus_zero_.push_back(never_minus_zero);
  }
  return found->second + std::uint64_t{1};
}

bool Tracer::never_minus_zero(const Sym& x) const {
  return x.id == 0 ? bits_of(x.value) != bits_of(-0.0) : never_minus_zero_[x.id - 1];
}

std::vector<Sym> Tracer::inputs(const std::string& name, const std::vector<double>& values,
                                bool never_minus_zero) {
  if (hashes_) {
    std::vector<Sym> result;
    for (const double v : values) result.emplace_back(v, hash(Code::input, ++inputs_));
    return result;
  }
  trace_.inputs.push_back(
      {name, static_cast<std::uint32_t>(trace_.nodes.size()), static_cast<std::uint32_t>(values.size())});
  std::vector<Sym> result;
  for (const double v : values) {
    trace_.nodes.push_back({});
    never_minus_zero_.push_back(never_minus_zero);
    result.emplace_back(v, trace_.nodes.size());
  }
  return result;
}

void Tracer::output(const std::string& name, const std::vector<Sym>& numbers) {
  if (hashes_) {
    for (const Sym& s : numbers) hash(Code::input, mark(s));
    return;
  }
  Trace::Output output{name, {}};
  for (const Sym& s : numbers) output.numbers.push_back(ref(s.value, s.id));
  trace_.outputs.push_back(std::move(output));
}

Sym Tracer::unary(Code code, const Sym& x) {
  const double value = apply(code, x.value);
  if (x.id == 0) return value;
  if (hashes_) return {value, hash(code, x.id)};
  if (code == Code::neg) {
    const Trace::Node& of = trace_.nodes[x.id - 1];
    if (of.code == Code::neg) return {value, of.in[0].index() + std::uint64_t{1}};
  }
  const bool never = code == Code::fabs || code == Code::exp || code == Code::cos || code == Code::sigmoid;
  return {value, add({code, 1, {ref(x.value, x.id)}}, never)};
}

// Only what leaves every bit as it would be: x * 1, x - 0, and x + 0 where x is never minus zero.
Sym Tracer::binary(Code code, const Sym& a, const Sym& b) {
  const double value = apply(code, a.value, b.value);
  if (a.id == 0 && b.id == 0) return value;
  if (hashes_) return {value, hash(code, mark(a), mark(b))};
  const auto is = [](const Sym& x, double v) { return x.id == 0 && bits_of(x.value) == bits_of(v); };
  switch (code) {
    case Code::add:
      if (is(a, -0.0) || (is(a, 0.0) && never_minus_zero(b))) return b;
      if (is(b, -0.0) || (is(b, 0.0) && never_minus_zero(a))) return a;
      break;
    case Code::sub:
      if (is(b, 0.0)) return a;
      break;
    case Code::mul:
      if (is(a, 1.0)) return b;
      if (is(b, 1.0)) return a;
      break;
    case Code::div:
      if (is(b, 1.0)) return a;
      break;
    default:
      break;
  }
  const bool never = (code == Code::add && (never_minus_zero(a) || never_minus_zero(b))) ||
                     (code == Code::mul && a.id == b.id && a.id != 0);
  return {value, add({code, 2, {ref(a.value, a.id), ref(b.value, b.id)}}, never)};
}

namespace {

// The float that floats compare with as with x: no float lies between the two. `up`: x itself may be on the lower side.
double float_beside(double x, bool up) {
  if (std::isnan(x)) return x;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  auto y = static_cast<float>(std::clamp(x, -3.5e38, 3.5e38));
  if (up && y < x) y = std::nextafter(y, kInfinity);
  if (!up && y > x) y = std::nextafter(y, -kInfinity);
  return y;
}

}  // namespace

Decision Tracer::compare(Code code, const Sym& l, const Sym& r) {
  const bool value = apply(code, l.value, r.value) != 0;
  if (l.id == 0 && r.id == 0) return {value, 0};
  Sym a = l, b = r;
  if (trace_.single) {
    // x < c: c goes up; x <= c: down; and the other way round where c is on the left.
    if (code == Code::equal) {
      for (const Sym& c : {a, b})
        if (c.id == 0 && static_cast<double>(static_cast<float>(c.value)) != c.value && !std::isnan(c.value))
          return {false, 0};
    } else {
      if (a.id == 0) a.value = float_beside(a.value, code == Code::less_equal);
      if (b.id == 0) b.value = float_beside(b.value, code == Code::less);
    }
  }
  if (hashes_) return {value, hash(code, mark(a), mark(b))};
  return {value, add({code, 2, {ref(a.value, a.id), ref(b.value, b.id)}}, true)};
}

Decision Tracer::logic(Code code, const Decision& a, const Decision& b) {
  if (code == Code::logical_not) {
    if (a.id == 0) return {!a.value, 0};
    if (hashes_) return {!a.value, hash(code, a.id)};
    return {!a.value, add({code, 1, {ref(0, a.id)}}, true)};
  }
  const bool stops = code == Code::logical_or;  // what one side alone decides
  if (a.id == 0) return a.value == stops ? Decision{stops, 0} : b;
  if (b.id == 0) return b.value == stops ? Decision{stops, 0} : a;
  if (hashes_) return {apply(code, a.value, b.value) != 0, hash(code, a.id, b.id)};
  return {apply(code, a.value, b.value) != 0, add({code, 2, {ref(0, a.id), ref(0, b.id)}}, true)};
}

Sym Tracer::select(const Decision& condition, const Sym& a, const Sym& b) {
  if (condition.id == 0) return condition.value ? a : b;
  if (a.id == b.id && bits_of(a.value) == bits_of(b.value)) return a;
  if (hashes_)
    return {condition.value ? a.value : b.value, hash(Code::select, condition.id, mark(a), mark(b))};
  return {condition.value ? a.value : b.value,
          add({Code::select, 3, {ref(0, condition.id), ref(a.value, a.id), ref(b.value, b.id)}},
              never_minus_zero(a) && never_minus_zero(b))};
}

void Tracer::fact(const StepFact& fact) {
  if (hashes_)
    hash(Code::input, static_cast<std::uint64_t>(fact.kind),
         mix(static_cast<std::uint64_t>(fact.shift)) + static_cast<std::uint64_t>(fact.operand),
         static_cast<std::uint64_t>(fact.answer));
  else if (std::find(trace_.facts.begin(), trace_.facts.end(), fact) == trace_.facts.end())
    trace_.facts.push_back(fact);
}

StepNumber::operator std::int64_t() const {
  fail(Error::Kind::unsupported,
       "[compiled] a step that takes its number as an integer vs code recorded once; take it as `auto i` and "
       "use i % k, i / k, i < k, i == k or T(i), or leave it out");
}
StepNumber::operator Sym() const {
  return shift_ == 0 ? symbol_ : symbol_ + Sym(static_cast<double>(shift_));
}
StepNumber::operator Sym32() const {
  if (shift_ != 0)
    fail(Error::Kind::unsupported,
         "[compiled] the number of a step plus {} as a float vs sums that floats round; write T(i) + T({}), "
         "or leave the step to the tape",
         shift_, shift_);
  return Sym32::from(symbol_);
}
std::int64_t StepNumber::ask(StepFact::Kind kind, std::int64_t operand) const {
  if (operand == 0 && (kind == StepFact::Kind::remainder || kind == StepFact::Kind::quotient))
    fail(Error::Kind::usage, "[compiled] the number of a step divided by 0");
  StepFact fact{kind, shift_, operand, 0};
  fact.answer = fact.answer_for(value_);
  Tracer::current().fact(fact);
  return fact.answer;
}

void Tracer::guard(const Decision& decision) {
  if (hashes_) {
    hash(Code::input, decision.id, std::uint64_t{decision.value});
    return;
  }
  if (decision.id == 0 || !guarded_.try_emplace(decision.id, decision.value).second) return;
  trace_.guards.push_back({ref(0, decision.id), decision.value});
}

Decision::operator bool() const {
  if (id != 0) Tracer::current().guard(*this);
  return value;
}

Decision operator||(const Decision& a, const Decision& b) {
  return Tracer::current().logic(Code::logical_or, a, b);
}
Decision operator!(const Decision& a) { return Tracer::current().logic(Code::logical_not, a, a); }

namespace traced {

Sym unary(Code code, const Sym& x) { return Tracer::current().unary(code, x); }
Sym binary(Code code, const Sym& a, const Sym& b) { return Tracer::current().binary(code, a, b); }
Decision compare(Code code, const Sym& a, const Sym& b) { return Tracer::current().compare(code, a, b); }
Sym select(const Decision& condition, const Sym& a, const Sym& b) {
  return Tracer::current().select(condition, a, b);
}

// The sweep's `to += partial * adjoint, unless the adjoint is zero`: adding minus zero changes nothing, and no finite multiple of
// a zero changes a sum that is not minus zero.
void add_product(Sym& to, const Sym& partial, const Sym& adjoint) {
  const Sym product = partial * adjoint;
  const bool finite = partial.id == 0 && std::isfinite(partial.value);
  if (finite && Tracer::current().never_minus_zero(to))
    to = to + product;
  else
    to = to + choose(adjoint == Sym(0.0), Sym(-0.0), product);
}

namespace {

// `closed` ends belong to the interval.
double within(const Sym& x, double result, double low, bool low_closed, double high, bool high_closed) {
  if (x.id == 0) return result;
  if (!std::isfinite(x.value)) no_op("rounding a number that is not finite");
  static_cast<void>(static_cast<bool>(low_closed ? Sym(low) <= x : Sym(low) < x));
  static_cast<void>(static_cast<bool>(high_closed ? x <= Sym(high) : x < Sym(high)));
  return result;
}

}  // namespace

double floor(const Sym& x) {
  const double r = std::floor(x.value);
  return within(x, r, r, true, r + 1, false);
}
double ceil(const Sym& x) {
  const double r = std::ceil(x.value);
  return within(x, r, r - 1, false, r, true);
}
double trunc(const Sym& x) {
  const double r = std::trunc(x.value);
  return within(x, r, r > 0 ? r : r - 1, r > 0, r < 0 ? r : r + 1, r < 0);
}
double round(const Sym& x) {
  const double r = std::round(x.value);
  return within(x, r, r - 0.5, r > 0, r + 0.5, r < 0);
}
double nearbyint(const Sym& x) {
  const double r = std::nearbyint(x.value);
  const bool even = std::fmod(r, 2) == 0;
  return within(x, r, r - 0.5, even, r + 0.5, even);
}
bool isfinite(const Sym& x) { return fabs(x) <= Sym(std::numeric_limits<double>::max()); }
bool isinf(const Sym& x) { return fabs(x) == Sym(std::numeric_limits<double>::infinity()); }
bool signbit(const Sym& x) {
  if (x.id == 0) return std::signbit(x.value);
  if (x.value == 0 || std::isnan(x.value)) no_op("the sign of a number that is neither below nor above zero");
  if (x.value < 0) return static_cast<bool>(x < Sym(0.0));
  static_cast<void>(static_cast<bool>(Sym(0.0) < x));
  return false;
}

}  // namespace traced
}  // namespace tidemark::tape
