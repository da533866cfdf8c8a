// SPDX-License-Identifier: Apache-2.0
#include "tidemark/compile/arena.h"

namespace tidemark {

void SharedArena::take_back() {
  for (std::weak_ptr<Storage>& weak : lent) {
    if (const auto held = weak.lock()) held->detach();
    weak.reset();
  }
}

void SharedArena::release() {
  take_back();
  for (Compiled* user : users) user->executor_.reset();
  memory.reset();
  bytes = measured = 0;
}

void SharedArena::hold(Bytes wanted, Bytes most) {
  if (memory && bytes >= wanted && bytes <= most) return;
  release();
  const Bytes before = device->allocated();
  memory = device->allocate(wanted);
  bytes = wanted;
  measured = device->allocated() - before;
}

}  // namespace tidemark
