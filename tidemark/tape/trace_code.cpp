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

void TracePaths::begin() {
  frozen_ = false;
  for (Path& path : paths_) path.checked = false;
}

TracePaths::Path* TracePaths::run(std::int64_t step, std::span<const void* const> inputs,
                                  std::span<void* const> outputs) {
  for (auto path = paths_.begin(); path != paths_.end(); ++path) {
    if (!std::all_of(path->facts.begin(), path->facts.end(),
                     [&](const StepFact& f) { return f.holds(step); }) ||
        !path->code->run(inputs, outputs, workspace_))
      continue;
    std::rotate(paths_.begin(), path, path + 1);
    return &paths_.front();
  }
  return nullptr;
}

void TracePaths::drop(const Path& path) { paths_.erase(paths_.begin() + (&path - paths_.data())); }

void TracePaths::resize(Bytes bytes) {
  ::operator delete(workspace_, kAlign);
  workspace_ = nullptr;
  workspace_ = static_cast<std::byte*>(::operator new(static_cast<std::size_t>(bytes), kAlign));
  workspace_bytes_ = bytes;
}

void TracePaths::freeze() {
  Bytes needed = 0;
  for (const Path& path : paths_) needed = std::max(needed, path.code->workspace());
  const Bytes wanted = round_up(needed + needed / 8 + 4_KiB, 64);
  if (size() > 0 && wanted > workspace_bytes_) resize(wanted);
  frozen_ = true;
}

bool TracePaths::refuse(std::string why) {
  refused_ = std::move(why);
  return false;
}

bool TracePaths::add(const std::function<TracedStep()>& record) {
  if (closed_) return false;
  if (size() >= most_) return refuse(fmt::format("more than {} paths", most_));
  Path path;
  try {
    TracedStep recorded = record();
    path.code = compiler_(recorded.trace);
    path.facts = std::move(recorded.trace.facts);
    path.fingerprint = recorded.fingerprint;
  } catch (const Error& e) {
    if (e.kind() != Error::Kind::unsupported && e.kind() != Error::Kind::device) throw;
    closed_ = true;  // what cannot be compiled once is not tried at every step
    return refuse(e.what());
  }
  if (const Bytes needed = path.code->workspace(); needed > workspace_bytes_) {
    if (frozen_)
      return refuse(fmt::format("a path with {} of workspace vs {} planned for", format_bytes(needed),
                                format_bytes(workspace_bytes_)));
    resize(needed);
  }
  path.checked = true;
  paths_.insert(paths_.begin(), std::move(path));
  return true;
}

}  // namespace tidemark::tape
