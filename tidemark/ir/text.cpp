// The text form of a Graph. A line for each value that comes in, a line for each node:
//
//   graph {
//     input %0 f32(8,16) "x"
//     %2 f32(8,4) "h" = matmul(%0, %1) {k: 3, scale: 0.5, axes: [0,1], how: "near"}  # gpt.cpp:88
//     %3 f32(4,8){1,4} alias %2 "t" = permute(%2) {axes: [1,0]}
//     return %3
//     update 0 0
//   }
//
// Regions follow the attributes, each a graph of its own.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "tidemark/base/json.h"
#include "tidemark/base/text.h"
#include "tidemark/ir/op.h"

namespace tidemark {
namespace {

std::string quoted(std::string_view text) {
  JsonWriter w;
  w.value(text);
  return w.take();
}

std::string number(double x) {
  if (std::isnan(x)) return "nan";
  if (std::isinf(x)) return x > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", x);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string value_head(const Graph& g, ValueId id) {
  const Value& v = g.value(id);
  std::string text = fmt::format("%{} {}{}", id, to_string(v.type), to_string(v.layout));
  if (v.alias_of >= 0) text += fmt::format(" alias %{}", v.alias_of);
  if (!v.name.empty()) text += " " + quoted(v.name);
  return text;
}

std::string attr_text(const Attr& attr) {
  struct Write {
    std::string operator()(std::int64_t x) const { return std::to_string(x); }
    std::string operator()(double x) const { return number(x); }
    std::string operator()(const std::string& x) const { return quoted(x); }
    std::string operator()(const std::vector<std::int64_t>& x) const { return "[" + join(x, ",") + "]"; }
    std::string operator()(const Literal& x) const {
      std::string text = "<" + to_string(x.type) + " ";
      for (const std::byte b : *x.bytes) text += fmt::format("{:02x}", static_cast<unsigned>(b));
      return text + ">";
    }
  };
  return std::visit(Write{}, attr);
}

void write(const Graph& g, const std::string& indent, std::string& out) {
  out += "graph {\n";
  const std::string inner = indent + "  ";
  for (const ValueId v : g.inputs) out += inner + "input " + value_head(g, v) + "\n";
  for (const Node& n : g.nodes) {
    out += inner;
    for (std::size_t i = 0; i < n.out.size(); ++i) out += (i > 0 ? ", " : "") + value_head(g, n.out[i]);
    out += fmt::format(" = {}(", n.op->name);
    for (std::size_t i = 0; i < n.in.size(); ++i) out += fmt::format("{}%{}", i > 0 ? ", " : "", n.in[i]);
    out += ")";
    if (!n.attrs.empty()) {
      out += " {";
      bool first = true;
      for (const auto& [name, attr] : n.attrs) {
        out += fmt::format("{}{}: {}", first ? "" : ", ", name, attr_text(attr));
        first = false;
      }
      out += "}";
    }
    for (const Graph& region : n.regions) {
      out += " ";
      write(region, inner, out);
    }
    const std::string loc = to_string(n.loc);
    if (!loc.empty()) out += "  # " + loc;
    out += "\n";
  }
  out += inner + "return";
  for (std::size_t i = 0; i < g.outputs.size(); ++i) out += fmt::format("{} %{}", i > 0 ? "," : "", g.outputs[i]);
  out += "\n";
  for (const auto& [in, o] : g.updates) out += fmt::format("{}update {} {}\n", inner, in, o);
  out += indent + "}";
}

// Reads one token after the other; every error names the line.
class Reader {
 public:
  Reader(std::string_view text, FindOp find) : text_(text), find_(find) {}

  Graph graph(int depth = 0) {
    if (depth > 64) refuse("regions nest too deeply");
    expect("graph");
    expect("{");
    Graph g;
    for (;;) {
      if (accept("input")) {
        g.inputs.push_back(head(g));
      } else if (accept("return")) {
        if (peek() == '%') {
          do g.outputs.push_back(value_id());
          while (accept(","));
        }
        while (accept("update")) {
          const auto in = static_cast<int>(integer());
          g.updates.emplace_back(in, static_cast<int>(integer()));
        }
        expect("}");
        for (const ValueId v : g.outputs) known(g, v);
        return g;
      } else {
        node(g, depth);
      }
    }
  }
  void end() {
    skip();
    if (at_ < text_.size()) refuse("text follows the graph");
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    std::size_t line = 1;
    for (std::size_t i = 0; i < at_ && i < text_.size(); ++i) line += text_[i] == '\n';
    fail(Error::Kind::data, "[graph] line {}: {}", line, what);
  }
  void skip() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
        ++at_;
      } else if (c == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else {
        return;
      }
    }
  }
  char peek() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  static bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
  bool accept(std::string_view token) {
    skip();
    if (text_.substr(at_, token.size()) != token) return false;
    const std::size_t after = at_ + token.size();
    if (is_word(token.back()) && after < text_.size() && is_word(text_[after])) return false;
    at_ = after;
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) refuse(fmt::format("'{}' expected", token));
  }
  std::string word() {
    skip();
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    if (begin == at_) refuse("a name expected");
    return std::string(text_.substr(begin, at_ - begin));
  }
  std::int64_t integer() {
    skip();
    std::int64_t x = 0;
    const auto [rest, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), x);
    if (error != std::errc()) refuse("an integer expected");
    at_ = static_cast<std::size_t>(rest - text_.data());
    return x;
  }
  ValueId value_id() {
    expect("%");
    const std::int64_t id = integer();
    if (id < 0 || id > (1 << 30)) refuse(fmt::format("value %{} is out of range", id));
    return static_cast<ValueId>(id);
  }
  std::vector<std::int64_t> integers(char close) {
    std::vector<std::int64_t> list;
    if (peek() != close) {
      do list.push_back(integer());
      while (accept(","));
    }
    expect(std::string_view(&close, 1));
    return list;
  }
  std::string string() {
    expect("\"");
    std::string out;
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      char c = text_[at_];
      if (c == '\\' && at_ + 1 < text_.size()) {
        c = text_[++at_];
        if (c == 'u') {
          unsigned code = 0;
          if (at_ + 4 >= text_.size()) refuse("a string ends early");
          std::from_chars(text_.data() + at_ + 1, text_.data() + at_ + 5, code, 16);
          at_ += 4;
          c = static_cast<char>(code);
        } else {
          c = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
        }
      }
      out += c;
    }
    expect("\"");
    return out;
  }
  Type type() {
    const std::string dtype = word();
    Type t;
    try {
      t.dtype = dtype_named(dtype);
      expect("(");
      t.shape = Shape(integers(')'));
    } catch (const Error& e) {
      if (e.kind() == Error::Kind::data) throw;
      refuse(e.what());
    }
    return t;
  }
  Layout layout() {
    Layout l;
    if (at_ >= text_.size() || text_[at_] != '{') return l;
    ++at_;
    const char c = peek();
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      l.blocked = word();
      expect(":");
      l.blocked_bytes = integer();
    } else {
      if (c != '+' && c != '}') {
        do l.strides.push_back(integer());
        while (accept(","));
      }
      if (accept("+")) l.offset = integer();
    }
    expect("}");
    return l;
  }
  void known(const Graph& g, ValueId v) {
    if (v >= static_cast<ValueId>(g.values.size())) refuse(fmt::format("%{} is not known", v));
  }
  ValueId head(Graph& g) {
    const ValueId id = value_id();
    // Ids may stand in any order, so that what passes leave behind can be written as it is.
    if (static_cast<std::size_t>(id) > 4 * text_.size()) refuse(fmt::format("value %{} is out of range", id));
    if (id >= static_cast<ValueId>(g.values.size())) g.values.resize(static_cast<std::size_t>(id) + 1);
    Value v{.type = type()};
    v.layout = layout();
    if (accept("alias")) v.alias_of = value_id();
    if (peek() == '"') v.name = string();
    g.value(id) = std::move(v);
    return id;
  }
  Attr attr() {
    const char c = peek();
    if (c == '"') return string();
    if (accept("[")) return integers(']');
    if (accept("<")) {
      Literal l{.type = type()};
      std::vector<std::byte> bytes;
      for (skip(); at_ + 1 < text_.size() && text_[at_] != '>'; at_ += 2) {
        unsigned b = 0;
        if (std::from_chars(text_.data() + at_, text_.data() + at_ + 2, b, 16).ec != std::errc()) refuse("bytes in hexadecimal expected");
        bytes.push_back(static_cast<std::byte>(b));
      }
      expect(">");
      if (static_cast<Bytes>(bytes.size()) != l.type.bytes()) refuse("a literal has the wrong number of bytes");
      l.bytes = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
      return l;
    }
    if (accept("nan")) return std::nan("");
    if (accept("inf")) return HUGE_VAL;
    if (accept("-inf")) return -HUGE_VAL;
    const std::size_t end = std::min(text_.size(), text_.find_first_not_of("+-.0123456789eE", at_));
    const std::string_view digits = text_.substr(at_, end - at_);
    if (digits.find_first_of(".e") == std::string_view::npos) return integer();
    double x = 0;
    const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), x);
    if (error != std::errc()) refuse("an attribute's value expected");
    at_ = static_cast<std::size_t>(rest - text_.data());
    return x;
  }
  void node(Graph& g, int depth) {
    Node n;
    if (peek() == '%') {
      do n.out.push_back(head(g));
      while (accept(","));
    }
    expect("=");
    const std::string name = word();
    n.op = find_(name);
    if (n.op == nullptr) refuse(fmt::format("no op is called '{}'", name));
    expect("(");
    if (peek() != ')') {
      do {
        n.in.push_back(value_id());
        known(g, n.in.back());
      } while (accept(","));
    }
    expect(")");
    if (accept("{")) {
      do {
        const std::string attr_name = word();
        expect(":");
        n.attrs.set(attr_name, attr());
      } while (accept(","));
      expect("}");
    }
    while (peek() == 'g' && text_.substr(at_, 5) == "graph") n.regions.push_back(graph(depth + 1));
    g.nodes.push_back(std::move(n));
  }

  std::string_view text_;
  FindOp find_;
  std::size_t at_ = 0;
};

std::uint64_t fnv(std::uint64_t h, std::string_view text) {
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001B3ull;
  return h;
}

std::uint64_t hash_into(std::uint64_t h, const Graph& g) {
  const auto value = [&](ValueId v) {
    h = fnv(h, fmt::format("%{} {}{}a{}", v, to_string(g.type(v)), to_string(g.value(v).layout), g.value(v).alias_of));
  };
  for (const ValueId v : g.inputs) value(v);
  for (const Node& n : g.nodes) {
    h = fnv(h, n.op->name);
    for (const ValueId v : n.in) h = fnv(h, fmt::format(",%{}", v));
    for (const ValueId v : n.out) value(v);
    for (const auto& [name, attr] : n.attrs) h = fnv(fnv(h, name), attr_text(attr));
    for (const Graph& region : n.regions) h = hash_into(fnv(h, "{"), region);
  }
  for (const ValueId v : g.outputs) h = fnv(h, fmt::format("r%{}", v));
  for (const auto& [in, out] : g.updates) h = fnv(h, fmt::format("u{},{}", in, out));
  return h;
}

}  // namespace

std::string print(const Graph& graph) {
  std::string out;
  write(graph, "", out);
  return out + "\n";
}

Graph parse(std::string_view text, FindOp find) {
  Reader reader(text, find);
  Graph g = reader.graph();
  reader.end();
  try {
    verify(g);
  } catch (const Error& e) {
    fail(Error::Kind::data, "[graph] {}", e.what());
  }
  return g;
}

std::string hash(const Graph& graph) { return fmt::format("{:016x}", hash_into(0xCBF29CE484222325ull, graph)); }

}  // namespace tidemark
