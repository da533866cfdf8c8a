// SPDX-License-Identifier: Apache-2.0
#include "tidemark/runtime/compiled_part.h"

#include <algorithm>

namespace tidemark {

bool writes_state(const Program& program, const Instr& instr) {
  if (instr.kind == Instr::Kind::evict)
    return program.tiers[static_cast<std::size_t>(instr.tier)]
               .slots[static_cast<std::size_t>(instr.slot)]
               .input >= 0;
  if (instr.kind != Instr::Kind::run) return false;
  const auto first = program.places.begin() + instr.first_place + instr.inputs;
  return std::any_of(first, first + instr.outputs, [](const Place& p) { return p.resident >= 0; });
}

}  // namespace tidemark
