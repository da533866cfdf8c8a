// Parameter structs: plain aggregates of Tensors, nested, in vectors, arrays, optionals and tuples, visited
// field by field with their names ("blocks.3.attn.wq"). grad, compile and the optimizers take any of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tidemark/ir/tensor.h"

namespace tidemark {
namespace detail {

template <typename T>
inline constexpr bool is_optional = false;
template <typename T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <typename T>
inline constexpr bool is_sequence = false;
template <typename T, typename A>
inline constexpr bool is_sequence<std::vector<T, A>> = true;
template <typename T, std::size_t n>
inline constexpr bool is_sequence<std::array<T, n>> = true;
template <typename T>
inline constexpr bool is_tuple = false;
template <typename... T>
inline constexpr bool is_tuple<std::tuple<T...>> = true;
template <typename A, typename B>
inline constexpr bool is_tuple<std::pair<A, B>> = true;

// Stand-ins for field initialisers, never called. optional<T> could be made from anything that T can, which
// would be ambiguous with Any itself: it has a stand-in of its own.
struct Any {
  template <typename T>
  operator T() const {  // NOLINT: implicit by design
    __builtin_unreachable();
  }
};
struct AnyOptional {
  template <typename T>
  operator std::optional<T>() const {  // NOLINT
    __builtin_unreachable();
  }
};

// The number of fields: how many stand-ins the braces of T take.
template <typename T, typename... Init>
constexpr std::size_t count_fields() {
  if constexpr (requires { T{Init{}..., Any{}}; })
    return count_fields<T, Init..., Any>();
  else if constexpr (requires { T{Init{}..., AnyOptional{}}; })
    return count_fields<T, Init..., AnyOptional>();
  else
    return sizeof...(Init);
}

template <typename T>
concept Fields = std::is_aggregate_v<T> && std::is_class_v<T> && !is_sequence<T>;

inline constexpr std::size_t kMaxFields = 24;

// call(fields of `object`…). More than kMaxFields: group some of them in a struct.
template <typename T, typename F>
constexpr decltype(auto) with_fields(T& object, F&& call) {
  constexpr std::size_t fields = count_fields<std::remove_const_t<T>>();
  static_assert(fields <= kMaxFields,
                "too many fields in one struct: group some of them in a struct of their own");
  // clang-format off
  if constexpr (fields == 0) { return call(); }
  else if constexpr (fields == 1) { auto& [a] = object; return call(a); }
  else if constexpr (fields == 2) { auto& [a, b] = object; return call(a, b); }
  else if constexpr (fields == 3) { auto& [a, b, c] = object; return call(a, b, c); }
  else if constexpr (fields == 4) { auto& [a, b, c, d] = object; return call(a, b, c, d); }
  else if constexpr (fields == 5) { auto& [a, b, c, d, e] = object; return call(a, b, c, d, e); }
  else if constexpr (fields == 6) { auto& [a, b, c, d, e, f] = object; return call(a, b, c, d, e, f); }
  else if constexpr (fields == 7) { auto& [a, b, c, d, e, f, g] = object; return call(a, b, c, d, e, f, g); }
  else if constexpr (fields == 8) { auto& [a, b, c, d, e, f, g, h] = object; return call(a, b, c, d, e, f, g, h); }
  else if constexpr (fields == 9) { auto& [a, b, c, d, e, f, g, h, i] = object; return call(a, b, c, d, e, f, g, h, i); }
  else if constexpr (fields == 10) { auto& [a, b, c, d, e, f, g, h, i, j] = object; return call(a, b, c, d, e, f, g, h, i, j); }
  else if constexpr (fields == 11) { auto& [a, b, c, d, e, f, g, h, i, j, k] = object; return call(a, b, c, d, e, f, g, h, i, j, k); }
  else if constexpr (fields == 12) { auto& [a, b, c, d, e, f, g, h, i, j, k, l] = object; return call(a, b, c, d, e, f, g, h, i, j, k, l); }
  else if constexpr (fields == 13) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = object; return call(a, b, c, d, e, f, g, h, i, j, k, l, m); }
  else if constexpr (fields == 14) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = object; return call(a, b, c, d, e, f, g, h, i, j, k, l, m, n); }
  else if constexpr (fields == 15) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = object; return call(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o); }
  else if constexpr (fields == 16) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = object; return call(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p); }
  else if constexpr (fields == 17) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q] = object; return call(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q); }
  else if constexpr (fields == 18) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r] = object; return call(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r); }
  else if constexpr (fields == 19) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s] = object; return call(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s); }
  else if constexpr (fields == 20) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t] = object; return call(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t); }
  else if constexpr (fields == 21) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u] = object; return call(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u); }
  else if constexpr (fields == 22) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v] = object; return call(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v); }
  else if constexpr (fields == 23) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w] = object; return call(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w); }
  else if constexpr (fields == 24) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x] = object; return call(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x); }
  // clang-format on
}

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-var-template"
#pragma clang diagnostic ignored "-Wundefined-internal"
#endif
// A field's name, read from how the compiler prints its address inside an object that exists by declaration
// only. The wrapper makes the address a template argument for Clang 16 too.
template <typename T>
struct Declared {
  const T value;
  static const Declared object;
};
template <typename Pointer>
struct Address {
  Pointer pointer;
};
template <typename Pointer>
Address(Pointer) -> Address<Pointer>;
template <Address address>
consteval auto printed_field() {
  const std::string_view text = __PRETTY_FUNCTION__;
  const std::size_t end = text.find_last_not_of("])};") + 1;
  const std::size_t begin = text.find_last_of(":.", end - 1) + 1;
  return text.substr(begin, end - begin);
}
template <typename T>
consteval auto field_addresses() {
  return with_fields(Declared<T>::object.value,
                     [](const auto&... fields) { return std::make_tuple(Address{&fields}...); });
}
template <typename T>
constexpr auto field_names() {
  return []<std::size_t... i>(std::index_sequence<i...>) {
    return std::array<std::string_view, sizeof...(i)>{printed_field<std::get<i>(field_addresses<T>())>()...};
  }(std::make_index_sequence<count_fields<T>()>());
}
#if defined(__clang__)
#pragma clang diagnostic pop
#endif

inline std::string joined(const std::string& prefix, std::string_view name) {
  std::string path = prefix;
  if (!path.empty()) path += '.';
  path += name;
  return path;
}

// `const` of A is passed on to the tensors. Names are made only for those who ask: a step passes over its arguments in every call.
template <typename A, typename F>
void visit_tensors(A& a, const std::string& name, F& f) {
  using T = std::remove_const_t<A>;
  constexpr bool named = std::is_invocable_v<F&, const std::string&,
                                             std::conditional_t<std::is_const_v<A>, const Tensor&, Tensor&>>;
  const auto inner = [&](const auto& part) {
    if constexpr (!named)
      return std::string();
    else if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(part)>>)
      return joined(name, std::to_string(part));
    else
      return joined(name, part);
  };
  if constexpr (std::is_same_v<T, Tensor>) {
    if (!a.defined()) return;
    if constexpr (named)
      f(name, a);
    else
      f(a);
  } else if constexpr (is_optional<T>) {
    if (a) visit_tensors(*a, name, f);
  } else if constexpr (is_sequence<T>) {
    std::size_t i = 0;
    for (auto& element : a) visit_tensors(element, inner(i++), f);
  } else if constexpr (is_tuple<T>) {
    std::apply(
        [&](auto&... elements) {
          std::size_t i = 0;
          (visit_tensors(elements, inner(i++), f), ...);
        },
        a);
  } else if constexpr (Fields<T>) {
    static constexpr auto names = field_names<T>();
    with_fields(a, [&](auto&... fields) {
      std::size_t i = 0;
      (visit_tensors(fields, inner(names[i++]), f), ...);
    });
  }
  // Anything else (sizes, rates, text) is no tensor and stays what it is.
}

}  // namespace detail

// Calls f(name, tensor) or f(tensor) for each defined tensor, in the order of the fields.
template <typename A, typename F>
void for_each_tensor(A& aggregate, F&& f) {
  detail::visit_tensors(aggregate, "", f);
}

// Writes down all of an aggregate but its tensors: numbers, text, sizes, which tensors and optionals are there. Two of one type that
// read alike trace alike: every part has a known length, or says where it ends.
template <typename A>
void describe_rest(const A& a, std::string& out) {
  if constexpr (std::is_same_v<A, Tensor>) {
    out += a.defined() ? 'T' : '-';
  } else if constexpr (detail::is_optional<A>) {
    out += a ? '+' : '-';
    if (a) describe_rest(*a, out);
  } else if constexpr (std::is_same_v<A, long double>) {
    out += fmt::format("{:a}:", a);  // has bytes that mean nothing
  } else if constexpr (std::is_arithmetic_v<A> || std::is_enum_v<A>) {
    out.append(reinterpret_cast<const char*>(&a), sizeof(a));
  } else if constexpr (std::is_convertible_v<const A&, std::string_view>) {
    const std::string_view text = a;
    out += std::to_string(text.size()) + ':';
    out += text;
  } else if constexpr (detail::is_sequence<A>) {
    out += std::to_string(a.size()) + ':';
    for (const auto& element : a) describe_rest(element, out);
  } else if constexpr (detail::is_tuple<A>) {
    std::apply([&](const auto&... elements) { (describe_rest(elements, out), ...); }, a);
  } else {
    static_assert(detail::Fields<A>, "an argument of a compiled function holds Tensors, numbers, text, or structs and sequences of these");
    out += '{';
    detail::with_fields(a, [&](const auto&... fields) { (describe_rest(fields, out), ...); });
  }
}

template <typename A>
Tensors flatten(const A& aggregate) {
  Tensors tensors;
  for_each_tensor(aggregate, [&](const Tensor& t) { tensors.push_back(t); });
  return tensors;
}

template <typename A>
std::vector<std::string> tensor_names(const A& aggregate) {
  std::vector<std::string> names;
  for_each_tensor(aggregate, [&](const std::string& name, const Tensor&) { names.push_back(name); });
  return names;
}

// `like` with its tensors, in order, replaced by `tensors`. Throws Error(usage) where their number differs.
template <typename A>
A unflatten(const A& like, std::span<const Tensor> tensors) {
  A result = like;
  std::size_t i = 0;
  for_each_tensor(result, [&](Tensor& t) {
    if (i < tensors.size()) t = tensors[i];
    ++i;
  });
  if (i != tensors.size()) fail(Error::Kind::usage, "[unflatten] {} tensors vs {} given", i, tensors.size());
  return result;
}

// f(tensor) or f(name, tensor) for each.
template <typename A, typename F>
A map_tensors(const A& aggregate, F&& f) {
  A result = aggregate;
  for_each_tensor(result, [&](const std::string& name, Tensor& t) {
    if constexpr (std::is_invocable_v<F&, const std::string&, const Tensor&>)
      t = f(name, std::as_const(t));
    else
      t = f(std::as_const(t));
  });
  return result;
}

// f(a, b) for the tensors of two aggregates of one structure: parameters and their gradients.
template <typename A, typename F>
A zip_tensors(const A& a, const A& b, F&& f) {
  const Tensors others = flatten(b);
  std::size_t i = 0;
  A result =
      map_tensors(a, [&](const Tensor& t) { return i < others.size() ? f(t, others[i++]) : (++i, t); });
  if (i != others.size())
    fail(Error::Kind::usage, "[zip_tensors] {} tensors vs {}", flatten(a).size(), others.size());
  return result;
}

template <typename A>
std::int64_t count_parameters(const A& aggregate) {
  std::int64_t n = 0;
  for_each_tensor(aggregate, [&](const Tensor& t) { n += t.numel(); });
  return n;
}

}  // namespace tidemark
