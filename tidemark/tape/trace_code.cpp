// SPDX-License-Identifier: Apache-2.0
#include "tidemark/tape/trace_code.h"

#include <algorithm>
#include <new>

#include "tidemark/base/error.h"

namespace tidemark::tape {
namespace {

constexpr std::align_val_t kAlign{64};

}  // namespace

TracePaths::~TracePaths() { ::operator delete(workspace_, kAlign); }

bool TracePaths::run(std::size_t kind, std::span<const double* const> inputs,
                     std::span<double* const> outputs) {
  auto& codes = codes_[kind];
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (!codes[i]->run(inputs, outputs, workspace_)) continue;
    if (i > 0)
      std::rotate(codes.begin(), codes.begin() + static_cast<std::ptrdiff_t>(i),
                  codes.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    return true;
  }
  return false;
}

int TracePaths::size() const {
  std::size_t n = 0;
  for (const auto& codes : codes_) n += codes.size();
  return static_cast<int>(n);
}

void TracePaths::resize(Bytes bytes) {
  ::operator delete(workspace_, kAlign);
  workspace_ = nullptr;
  workspace_ = static_cast<std::byte*>(::operator new(static_cast<std::size_t>(bytes), kAlign));
  workspace_bytes_ = bytes;
}

void TracePaths::freeze() {
  Bytes needed = 0;
  for (const auto& codes : codes_)
    for (const auto& code : codes) needed = std::max(needed, code->workspace());
  const Bytes wanted = round_up(needed + needed / 8 + 4_KiB, 64);
  if (size() > 0 && wanted > workspace_bytes_) resize(wanted);
  frozen_ = true;
}

bool TracePaths::refuse(std::string why) {
  refused_ = std::move(why);
  return false;
}

bool TracePaths::add(std::size_t kind, const std::function<Trace()>& record) {
  if (closed_) return false;
  if (codes_[kind].size() >= static_cast<std::size_t>(most_))
    return refuse(fmt::format("more than {} paths", most_));
  std::unique_ptr<TraceCode> code;
  try {
    code = compiler_(record());
  } catch (const Error& e) {
    if (e.kind() != Error::Kind::unsupported && e.kind() != Error::Kind::device) throw;
    closed_ = true;  // what cannot be compiled once is not tried at every step
    return refuse(e.what());
  }
  if (code->workspace() > workspace_bytes_) {
    if (frozen_)
      return refuse(fmt::format("a path with {} of workspace vs {} planned for",
                                format_bytes(code->workspace()), format_bytes(workspace_bytes_)));
    resize(code->workspace());
  }
  codes_[kind].insert(codes_[kind].begin(), std::move(code));
  return true;
}

}  // namespace tidemark::tape
