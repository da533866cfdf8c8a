// The one exception type, and the checks that throw it. Messages read `[op] fact vs fact`, plus the cure if known.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>

#include "tidemark/base/api.h"

namespace tidemark {

class TIDEMARK_API Error : public std::runtime_error {
 public:
  enum class Kind { usage, unsupported, infeasible, out_of_memory, data, io, device, internal };

  Error(Kind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

TIDEMARK_API const char* name_of(Error::Kind kind);

// What this thread is doing, for the messages of errors that come from deep inside it. The innermost one alive
// completes the message that fail() throws; it may ask the outer ones in turn.
class TIDEMARK_API ErrorContext {
 public:
  ErrorContext();
  virtual ~ErrorContext();
  ErrorContext(const ErrorContext&) = delete;
  ErrorContext& operator=(const ErrorContext&) = delete;
  virtual std::string complete(Error::Kind kind, std::string message) const = 0;

 protected:
  const ErrorContext* outer() const { return outer_; }

 private:
  const ErrorContext* outer_;
};

[[noreturn]] TIDEMARK_API void throw_error(Error::Kind kind, std::string message);

template <typename... Args>
[[noreturn]] void fail(Error::Kind kind, fmt::format_string<Args...> format, Args&&... args) {
  throw_error(kind, fmt::format(format, std::forward<Args>(args)...));
}

[[noreturn]] TIDEMARK_API void check_failed(const char* condition, const char* file, int line,
                                            const std::string& message);

}  // namespace tidemark

// An invariant of ours; always on outside kernels. Broken, it is a bug of Tidemark's, and says so.
#define TIDEMARK_CHECK(condition, ...)                                                         \
  do {                                                                                         \
    if (!(condition)) [[unlikely]]                                                             \
      ::tidemark::check_failed(#condition, __FILE__, __LINE__, ::fmt::format("" __VA_ARGS__)); \
  } while (false)
