// Attributes of a node: a few named constants (axes, strides, a rate), kept sorted so that equal ones compare
// equal.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tidemark/ir/shape.h"

namespace tidemark {

// A constant array inside a graph. Shared, never changed.
struct Literal {
  Type type;
  std::shared_ptr<const std::vector<std::byte>> bytes;
  bool operator==(const Literal& other) const { return type == other.type && *bytes == *other.bytes; }
};

using Attr = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, Literal>;

class TIDEMARK_API Attrs {
 public:
  Attrs() = default;
  Attrs(std::initializer_list<std::pair<std::string, Attr>> items);

  Attrs& set(std::string_view name, Attr value);
  const Attr* find(std::string_view name) const;
  // These throw Error(internal) where the attribute is missing or of another kind.
  std::int64_t integer(std::string_view name) const;
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  double number(std::string_view name) const;
  double number(std::string_view name, double otherwise) const;
  const std::string& text(std::string_view name) const;
  const std::vector<std::int64_t>& integers(std::string_view name) const;
  const Literal& literal(std::string_view name) const;
  DType dtype(std::string_view name = "dtype") const { return static_cast<DType>(integer(name)); }
  bool flag(std::string_view name) const { return integer(name, 0) != 0; }

  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  bool empty() const { return items_.empty(); }
  bool operator==(const Attrs&) const = default;

 private:
  std::vector<std::pair<std::string, Attr>> items_;
};

}  // namespace tidemark
