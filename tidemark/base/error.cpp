// SPDX-License-Identifier: Apache-2.0
#include "tidemark/base/error.h"

#include <cstring>

namespace tidemark {
namespace {
thread_local const ErrorContext* innermost = nullptr;
}  // namespace

ErrorContext::ErrorContext() : outer_(innermost) { innermost = this; }
ErrorContext::~ErrorContext() { innermost = outer_; }

void throw_error(Error::Kind kind, std::string message) {
  if (innermost != nullptr) message = innermost->complete(kind, std::move(message));
  throw Error(kind, message);
}

const char* name_of(Error::Kind kind) {
  switch (kind) {
    case Error::Kind::usage:
      return "usage";
    case Error::Kind::unsupported:
      return "unsupported";
    case Error::Kind::infeasible:
      return "infeasible";
    case Error::Kind::out_of_memory:
      return "out_of_memory";
    case Error::Kind::data:
      return "data";
    case Error::Kind::io:
      return "io";
    case Error::Kind::device:
      return "device";
    case Error::Kind::internal:
      return "internal";
  }
  return "unknown";
}

void check_failed(const char* condition, const char* file, int line, const std::string& message) {
  const char* slash = std::strrchr(file, '/');
  fail(Error::Kind::internal, "[internal] {} does not hold at {}:{}{}{}", condition, slash ? slash + 1 : file,
       line, message.empty() ? "" : ": ", message);
}

}  // namespace tidemark
