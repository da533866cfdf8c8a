// SPDX-License-Identifier: Apache-2.0
#include "tidemark/ir/attrs.h"

#include <algorithm>

namespace tidemark {

Attrs::Attrs(std::initializer_list<std::pair<std::string, Attr>> items) {
  for (const auto& [name, value] : items) set(name, value);
}

Attrs& Attrs::set(std::string_view name, Attr value) {
  const auto at = std::lower_bound(items_.begin(), items_.end(), name,
                                   [](const auto& item, std::string_view n) { return item.first < n; });
  if (at != items_.end() && at->first == name) {
    at->second = std::move(value);
  } else {
    items_.emplace(at, std::string(name), std::move(value));
  }
  return *this;
}

const Attr* Attrs::find(std::string_view name) const {
  for (const auto& [n, value] : items_) {
    if (n == name) return &value;
  }
  return nullptr;
}

namespace {
template <typename T>
const T& get(const Attrs& attrs, std::string_view name) {
  const Attr* attr = attrs.find(name);
  TIDEMARK_CHECK(attr != nullptr, "attribute '{}' is missing", name);
  const T* value = std::get_if<T>(attr);
  TIDEMARK_CHECK(value != nullptr, "attribute '{}' is of another kind", name);
  return *value;
}
}  // namespace

std::int64_t Attrs::integer(std::string_view name) const { return get<std::int64_t>(*this, name); }
std::int64_t Attrs::integer(std::string_view name, std::int64_t otherwise) const {
  return find(name) ? integer(name) : otherwise;
}
double Attrs::number(std::string_view name) const { return get<double>(*this, name); }
double Attrs::number(std::string_view name, double otherwise) const {
  return find(name) ? number(name) : otherwise;
}
const std::string& Attrs::text(std::string_view name) const { return get<std::string>(*this, name); }
const std::vector<std::int64_t>& Attrs::integers(std::string_view name) const {
  return get<std::vector<std::int64_t>>(*this, name);
}
const Literal& Attrs::literal(std::string_view name) const { return get<Literal>(*this, name); }

}  // namespace tidemark
