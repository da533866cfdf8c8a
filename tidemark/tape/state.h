// The state of a loop, whatever its type: numbers, vectors and arrays of them, and aggregates of these are walked through
// field by field. Other classes give their fields by a function `fields_of(state)` in their own namespace that returns
// std::tie(...) of them, for const and for non-const states.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <span>
#include <tuple>
#include <type_traits>
#include <vector>

#include "tidemark/base/bytes.h"
#include "tidemark/base/error.h"
#include "tidemark/tape/tape.h"

namespace tidemark::tape {

namespace fields {

struct Any {
  template <typename T>
  operator T() const;
};
template <typename T, typename... A>
consteval int count() {
  if constexpr (requires { T{A{}..., Any{}}; })
    return count<T, A..., Any>();
  else
    return static_cast<int>(sizeof...(A));
}

template <typename T>
auto tie(T& x) {
  using Plain = std::remove_const_t<T>;
  if constexpr (requires { fields_of(x); }) {
    return fields_of(x);
  } else {
    static_assert(std::is_aggregate_v<Plain>, "a state is an aggregate, or has a function fields_of(state)");
    constexpr int n = count<Plain>();
    static_assert(n <= 8,
                  "a state of more than eight fields: group some in a struct, or give fields_of(state)");
    if constexpr (n == 0) {
      return std::tie();
    } else if constexpr (n == 1) {
      auto& [a] = x;
      return std::tie(a);
    } else if constexpr (n == 2) {
      auto& [a, b] = x;
      return std::tie(a, b);
    } else if constexpr (n == 3) {
      auto& [a, b, c] = x;
      return std::tie(a, b, c);
    } else if constexpr (n == 4) {
      auto& [a, b, c, d] = x;
      return std::tie(a, b, c, d);
    } else if constexpr (n == 5) {
      auto& [a, b, c, d, e] = x;
      return std::tie(a, b, c, d, e);
    } else if constexpr (n == 6) {
      auto& [a, b, c, d, e, f] = x;
      return std::tie(a, b, c, d, e, f);
    } else if constexpr (n == 7) {
      auto& [a, b, c, d, e, f, g] = x;
      return std::tie(a, b, c, d, e, f, g);
    } else {
      auto& [a, b, c, d, e, f, g, h] = x;
      return std::tie(a, b, c, d, e, f, g, h);
    }
  }
}

template <typename T>
concept Range = requires(T& x) {
  x.begin();
  x.end();
  x.size();
};
template <typename T>
concept Number = std::is_arithmetic_v<T> || std::is_enum_v<T> || IsActive<T>::value || IsNumber<T>::value;

template <typename T>
concept Resizable = requires(T& x) { x.resize(1); };
// A visitor that also wants the sizes of ranges that have one says so by a member type `takes_sizes`.
struct Size {
  std::uint64_t size;
};
template <typename F>
concept TakesSizes = requires { typename std::remove_cvref_t<F>::takes_sizes; };

template <typename T>
constexpr bool is_flat_range() {
  if constexpr (Range<const T>)
    return (std::is_arithmetic_v<std::remove_cvref_t<decltype(*std::declval<const T&>().begin())>> ||
            IsNumber<std::remove_cvref_t<decltype(*std::declval<const T&>().begin())>>::value) &&
           requires(const T& x) { x.data(); };
  else
    return false;
}

// Calls f with every number, in order.
template <typename T, typename F>
void each(T& x, F&& f) {
  using Plain = std::remove_const_t<T>;
  if constexpr (Number<Plain>) {
    f(x);
  } else if constexpr (Range<T>) {
    if constexpr (Resizable<Plain> && TakesSizes<F>) f(Size{x.size()});
    for (auto& item : x) each(item, f);
  } else {
    std::apply([&](auto&... field) { (each(field, f), ...); }, tie(x));
  }
}

// Calls f with every number of `a` and the one at its place in `b`, which takes on the sizes of `a`; with whole ranges of numbers where f has a
// `whole` for them.
template <typename A, typename B, typename F>
void each_pair(const A& a, B& b, F&& f) {
  if constexpr (Number<A>) {
    f(a, b);
  } else if constexpr (Range<const A>) {
    if constexpr (Resizable<A> && TakesSizes<F>) f(Size{a.size()});
    if constexpr (Resizable<B>) b.resize(a.size());
    if constexpr (is_flat_range<A>() && requires { f.whole(a, b); }) {
      f.whole(a, b);
    } else {
      auto other = b.begin();
      for (const auto& item : a) each_pair(item, *other++, f);
    }
  } else {
    auto from = tie(a);
    auto to = tie(b);
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (each_pair(std::get<I>(from), std::get<I>(to), f), ...);
    }(std::make_index_sequence<std::tuple_size_v<decltype(from)>>());
  }
}

// Snapshots: the bytes of every number; a range that can be resized has its size in front.
template <typename T>
Bytes bytes(const T& x) {
  if constexpr (Number<T>) {
    return sizeof(T);
  } else if constexpr (Range<const T>) {
    Bytes sum = Resizable<T> ? sizeof(std::uint64_t) : 0;
    if constexpr (is_flat_range<T>())
      sum += static_cast<Bytes>(x.size() * sizeof(*x.data()));
    else
      for (const auto& item : x) sum += bytes(item);
    return sum;
  } else {
    return std::apply([](const auto&... field) { return (Bytes{0} + ... + bytes(field)); }, tie(x));
  }
}
template <typename T>
std::byte* write(const T& x, std::byte* to) {
  if constexpr (Number<T>) {
    std::memcpy(to, &x, sizeof(T));
    return to + sizeof(T);
  } else if constexpr (Range<const T>) {
    if constexpr (Resizable<T>) {
      const std::uint64_t size = x.size();
      to = write(size, to);
    }
    if constexpr (is_flat_range<T>()) {
      if (x.size() > 0) std::memcpy(to, x.data(), x.size() * sizeof(*x.data()));
      return to + x.size() * sizeof(*x.data());
    } else {
      for (const auto& item : x) to = write(item, to);
      return to;
    }
  } else {
    std::apply([&](const auto&... field) { ((to = write(field, to)), ...); }, tie(x));
    return to;
  }
}
template <typename T>
void save(const T& x, std::vector<std::byte>& to) {
  to.resize(static_cast<std::size_t>(bytes(x)));
  write(x, to.data());
}
template <typename T>
const std::byte* read(T& x, const std::byte* from) {
  if constexpr (Number<T>) {
    std::memcpy(&x, from, sizeof(T));
    return from + sizeof(T);
  } else if constexpr (Range<T>) {
    if constexpr (Resizable<T>) {
      std::uint64_t size = 0;
      from = read(size, from);
      x.resize(size);
    }
    if constexpr (is_flat_range<T>()) {
      if (x.size() > 0) std::memcpy(x.data(), from, x.size() * sizeof(*x.data()));
      return from + x.size() * sizeof(*x.data());
    } else {
      for (auto& item : x) from = read(item, from);
      return from;
    }
  } else {
    std::apply([&](auto&... field) { ((from = read(field, from)), ...); }, tie(x));
    return from;
  }
}

// Whether these are the bytes of x, but for NaNs, which have many.
template <typename T>
bool is(const T& x, const std::vector<std::byte>& saved) {
  if (static_cast<std::size_t>(bytes(x)) != saved.size()) return false;
  T other = x;
  read(other, saved.data());
  bool same = true;
  each_pair(x, other, [&](const auto& a, const auto& b) {
    using Field = std::remove_cvref_t<decltype(a)>;
    if constexpr (std::is_floating_point_v<Field> || IsNumber<Field>::value)
      if (a != a && b != b) return;  // NOLINT(misc-redundant-expression): only a NaN differs from itself
    same = same && std::memcmp(&a, &b, sizeof a) == 0;
  });
  return same;
}

}  // namespace fields

// Makes `to` the same state on Vars: numbers that are Vars there become inputs of the tape, one after the other; others are
// copied.
template <typename Real, typename Plain, typename Taped>
void lift(BasicTape<Real>& tape, const Plain& from, Taped& to) {
  fields::each_pair(from, to, [&](const auto& a, auto& b) {
    using A = std::remove_cvref_t<decltype(a)>;
    if constexpr (!IsActive<std::remove_cvref_t<decltype(b)>>::value)
      b = a;
    else if constexpr (IsNumber<A>::value)
      b = tape.input(a.value);
    else
      b = tape.input(static_cast<Real>(a));
  });
}
// The values of a state on Vars; or a plain state on passive ones.
template <typename Taped, typename Plain>
void lower(const Taped& from, Plain& to) {
  fields::each_pair(from, to, [](const auto& a, auto& b) {
    using A = std::remove_cvref_t<decltype(a)>;
    if constexpr (IsActive<A>::value)
      b = a.value();
    else if constexpr (IsNumber<A>::value && IsActive<std::remove_cvref_t<decltype(b)>>::value)
      b = a.value;
    else
      b = a;
  });
}
// Between a state on plain numbers and one on those that steps run on (number.h).
template <typename From, typename To>
void convert(const From& from, To& to) {
  if constexpr (std::same_as<From, To>)
    to = from;
  else
    fields::each_pair(from, to, [](const auto& a, auto& b) {
      if constexpr (IsNumber<std::remove_cvref_t<decltype(a)>>::value)
        b = a.value;
      else
        b = a;
    });
}
// Calls f with its Vars, in the order in which lift makes them inputs.
template <typename Taped, typename F>
void each_var(Taped& state, F&& f) {
  fields::each(state, [&](auto& x) {
    if constexpr (IsActive<std::remove_cvref_t<decltype(x)>>::value) f(x);
  });
}

// What a state is besides the numbers that are Vars in its taped form: the fields that are no T, as bytes, so that every type keeps every
// bit; and its sizes, where asked for.
class Rest {
 public:
  Rest() = default;
  template <typename Taped>
  explicit Rest(const Taped& state) {
    fields::each(state, Writer{bytes_});
  }
  template <typename Taped>
  static Rest with_sizes(const Taped& state) {
    Rest rest;
    fields::each(state, SizedWriter{{rest.bytes_}});
    return rest;
  }
  // Puts the fields back into a plain state; `like` has its taped form. Not for one with sizes.
  template <typename Taped, typename Plain>
  void restore(const Taped& like, Plain& to) const {
    const std::byte* from = bytes_.data();
    fields::each_pair(like, to, [&](const auto& a, auto& b) {
      if constexpr (!IsActive<std::remove_cvref_t<decltype(a)>>::value) from = fields::read(b, from);
    });
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }
  bool operator==(const Rest&) const = default;

 private:
  struct Writer {
    std::vector<std::byte>& to;
    template <typename T>
    void operator()(const T& x) const {
      if constexpr (!IsActive<T>::value) put(x);
    }
    template <typename T>
    void put(const T& x) const {
      const auto* from = reinterpret_cast<const std::byte*>(&x);
      to.insert(to.end(), from, from + sizeof(T));
    }
  };
  struct SizedWriter : Writer {
    using takes_sizes = void;
    using Writer::operator();
    void operator()(fields::Size x) const { put(x.size); }
  };
  std::vector<std::byte> bytes_;
};

}  // namespace tidemark::tape
