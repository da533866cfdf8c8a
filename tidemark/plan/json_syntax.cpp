// SPDX-License-Identifier: Apache-2.0
#include "tidemark/plan/json_syntax.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "tidemark/base/error.h"
#include "tidemark/plan/json_read.h"

namespace tidemark::plan {
namespace {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  // The grammar of RFC 8259, with the open brackets on a stack of our own.
  const char* run() {
    do {
      if (const char* wrong = value()) return wrong;
      // After a value: close what ends here, then go on to the next value of what is still open.
      for (skip(); !open_.empty(); skip()) {
        if (take(open_.back() == '{' ? '}' : ']')) {
          open_.pop_back();
          continue;
        }
        if (!take(',')) return open_.back() == '{' ? "expected ',' or '}'" : "expected ',' or ']'";
        skip();
        if (open_.back() == '{') {
          if (const char* wrong = key()) return wrong;
        }
        break;
      }
    } while (!open_.empty());
    return at_ == text_.size() ? nullptr : "more after the end of the document";
  }
  std::size_t place() const { return at_; }

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void skip() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }

  // One value; an object or a list that is not empty is opened, up to its first value.
  const char* value() {
    for (;;) {
      skip();
      const char c = peek();
      if (c == '{' || c == '[') {
        ++at_;
        skip();
        if (take(c == '{' ? '}' : ']')) return nullptr;
        open_.push_back(c);
        if (c == '{') {
          if (const char* wrong = key()) return wrong;
        }
        continue;
      }
      if (c == '"') return string();
      if (c == '-' || (c >= '0' && c <= '9')) return number();
      for (const std::string_view word : {"true", "false", "null"}) {
        if (text_.substr(at_, word.size()) != word) continue;
        at_ += word.size();
        return nullptr;
      }
      return at_ == text_.size() ? "ends where a value should begin" : "expected a value";
    }
  }

  const char* key() {
    skip();
    if (peek() != '"') return "expected a field's name in quotes";
    if (const char* wrong = string()) return wrong;
    skip();
    return take(':') ? nullptr : "expected ':'";
  }

  const char* string() {
    ++at_;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (static_cast<unsigned char>(c) < 0x20) return "a control character in a string";
      ++at_;
      if (c == '"') return nullptr;
      if (c == '\\') {
        if (std::string_view("\"\\/bfnrtu").find(peek()) == std::string_view::npos || at_ == text_.size())
          return "an unknown escape in a string";
        ++at_;
      }
    }
    return "a string without its end";
  }

  bool digits() {
    const std::size_t begin = at_;
    while (peek() >= '0' && peek() <= '9') ++at_;
    return at_ > begin;
  }
  const char* number() {
    take('-');
    if (!take('0') && !digits()) return "expected a digit";
    if (peek() >= '0' && peek() <= '9') return "a number that begins with 0";
    if (take('.') && !digits()) return "expected a digit";
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      if (!digits()) return "expected a digit";
    }
    return nullptr;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<char> open_;
};

}  // namespace

std::string json_error(std::string_view text) {
  Scanner scanner(text);
  const char* wrong = scanner.run();
  if (wrong == nullptr) return {};
  const std::string_view before = text.substr(0, scanner.place());
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t line_begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return fmt::format("line {}, column {}: {}", line, before.size() - line_begin + 1, wrong);
}

std::string not_of_format(std::string_view text, std::string_view format) {
  try {
    const json::Document document("file", text);
    std::string_view said;
    if (document.root()["format"].get(said) == simdjson::SUCCESS && said == format) return {};
    return fmt::format("no \"format\": \"{}\"", format);
  } catch (const Error& e) {
    return e.what();
  }
}

}  // namespace tidemark::plan
