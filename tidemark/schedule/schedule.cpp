// SPDX-License-Identifier: Apache-2.0
#include "tidemark/schedule/schedule.h"

#include "tidemark/base/error.h"

namespace tidemark::schedule {

void Schedule::finish(std::int64_t steps) {
  fail(Error::Kind::usage, "[schedule] finish({}) of a schedule made for a known number of steps", steps);
}

const char* name_of(Action::Kind kind) {
  switch (kind) {
    case Action::Kind::advance:
      return "advance";
    case Action::Kind::reverse:
      return "reverse";
    case Action::Kind::save:
      return "save";
    case Action::Kind::restore:
      return "restore";
    case Action::Kind::discard:
      return "discard";
    case Action::Kind::done:
      return "done";
  }
  return "?";
}

}  // namespace tidemark::schedule
