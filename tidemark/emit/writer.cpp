// SPDX-License-Identifier: Apache-2.0
#include "tidemark/emit/writer.h"

#include <cmath>

namespace tidemark::emitting {

std::string plus(const std::string& base, Bytes offset) {
  return offset == 0 ? base : fmt::format("{} + {}", base, offset);
}

void refuse(const Node& node, const std::string& why) {
  const std::string where = to_string(node.loc);
  fail(Error::Kind::unsupported, "[emit] {}{}: {}", node.op->name, where.empty() ? "" : " (" + where + ")",
       why);
}

std::string type_name(const Node& node, DType dtype) {
  switch (dtype) {
    case DType::f64:
      return "double";
    case DType::f32:
      return "float";
    case DType::i64:
      return "std::int64_t";
    case DType::i32:
      return "std::int32_t";
    case DType::u8:
    case DType::boolean:
      return "std::uint8_t";
    default:
      refuse(node, fmt::format("{} has no type of its own in C++; cast it", name_of(dtype)));
  }
}

std::string number(double value) {
  if (std::isnan(value)) return "std::numeric_limits<double>::quiet_NaN()";
  if (std::isinf(value)) return value > 0 ? "HUGE_VAL" : "-HUGE_VAL";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string declare(const Node& node, const Value& value, const std::string& name, const std::string& address,
                    bool constant) {
  const std::string type = fmt::format("{}{}*", constant ? "const " : "", type_name(node, value.type.dtype));
  return fmt::format("auto* {} = ({})({});", name, type, address);
}

void declare_operands(const Task& t, std::string& out) {
  for (std::size_t o = 0; o < t.out.size(); ++o)
    out += "    " + declare(t.node, t.output(o), fmt::format("y{}", o), t.out[o], false) + "\n";
  for (std::size_t i = 0; i < t.in.size(); ++i)
    out += "    " + declare(t.node, t.input(i), fmt::format("x{}", i), t.in[i], true) + "\n";
}

Loops merged(const std::vector<std::int64_t>& sizes, const std::vector<std::vector<std::int64_t>>& strides) {
  Loops l;
  l.strides.resize(strides.size());
  for (std::size_t a = 0; a < sizes.size(); ++a) {
    if (sizes[a] == 1) continue;
    bool joins = !l.sizes.empty();
    for (std::size_t k = 0; k < strides.size(); ++k)
      joins = joins && l.strides[k].back() == strides[k][a] * sizes[a];
    if (joins) {
      l.sizes.back() *= sizes[a];
      for (std::size_t k = 0; k < strides.size(); ++k) l.strides[k].back() = strides[k][a];
    } else {
      l.sizes.push_back(sizes[a]);
      for (std::size_t k = 0; k < strides.size(); ++k) l.strides[k].push_back(strides[k][a]);
    }
  }
  return l;
}

std::string index_of(const Loops& l, std::size_t operand, std::int64_t offset) {
  std::string text = offset != 0 ? std::to_string(offset) : "";
  for (std::size_t a = 0; a < l.sizes.size(); ++a) {
    const std::int64_t s = l.strides[operand][a];
    if (s == 0) continue;
    text += fmt::format("{}i{}{}", text.empty() ? "" : " + ", a, s == 1 ? "" : fmt::format(" * {}", s));
  }
  return text.empty() ? "0" : text;
}

std::string nest(const Loops& l, const std::string& indent, const std::string& body) {
  std::string text, inner = indent;
  for (std::size_t a = 0; a < l.sizes.size(); ++a) {
    if (a + 1 == l.sizes.size()) text += "#pragma GCC ivdep\n";
    text += fmt::format("{}for (std::int64_t i{} = 0; i{} < {}; ++i{}) {{\n", inner, a, a, l.sizes[a], a);
    inner += "  ";
  }
  std::size_t begin = 0;
  while (begin < body.size()) {
    const std::size_t end = body.find('\n', begin);
    text += inner + body.substr(begin, end - begin) + "\n";
    begin = end == std::string::npos ? body.size() : end + 1;
  }
  for (std::size_t a = l.sizes.size(); a-- > 0;) {
    inner.resize(inner.size() - 2);
    text += inner + "}\n";
  }
  return text;
}

}  // namespace tidemark::emitting
