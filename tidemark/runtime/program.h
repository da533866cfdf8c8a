// Program: a Plan made ready to run. Every operand is an offset in the arena or the place of a resident
// buffer; the executor follows the list and decides nothing.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tidemark/base/api.h"
#include "tidemark/base/bytes.h"
#include "tidemark/plan/plan.h"
#include "tidemark/runtime/binding.h"

namespace tidemark {

// Where an operand lies.
struct Place {
  std::int32_t resident = -1;  // index into Program::residents, or -1: in the arena
  Bytes offset = 0;            // from the start of the arena or of the resident buffer
  Bytes bytes = 0;
  std::int32_t buffer = -1;    // of the Problem, -1: a workspace
};

struct Instr {
  // Copies start in the background: `evict` reads its one input, `fetch` fills its one output, `wait` is for either.
  enum class Kind : std::uint8_t { run, evict, fetch, wait };
  Kind kind = Kind::run;
  const Kernel* kernel = nullptr;
  std::int32_t task = -1;        // of the Problem, for the timeline and the report; -1 for copies
  std::int32_t tier = -1, slot = -1;  // of copies: in Program::tiers
  std::int32_t first_place = 0;  // in Program::places: inputs, then outputs, then the workspace
  std::int32_t inputs = 0, outputs = 0;
  // What it writes is what every other maker of it writes, bit for bit: not an update, and no lossy method.
  bool repeats = true;
  Bytes live = 0;  // bytes live while it runs, resident ones included
};

// A tier as a program uses it: where each copy lies.
struct ProgramTier {
  struct Slot {
    Bytes offset = 0, bytes = 0;
    plan::BufferId buffer = -1;
    std::int32_t input = -1;  // in Program::residents: the caller keeps it there, and it has no offset
  };
  std::string name;
  std::vector<Slot> slots;
  Bytes bytes = 0;  // of the tier's own memory or file
  Bytes held = 0;   // what the caller keeps there
};

struct Program {
  std::vector<Instr> instrs;
  std::vector<Place> places;
  Bytes arena_bytes = 0;
  std::vector<plan::BufferId> residents;  // buffers the caller provides, in the order of the graph's inputs
  std::vector<ProgramTier> tiers;         // those of the problem
  std::vector<Bytes> resident_bytes;
  std::vector<Place> outputs;  // of the graph, in its order
  std::vector<std::shared_ptr<const Kernel>> kernels;
  std::vector<std::string> task_names;    // one an instruction: of its task, or of the buffer copied
  Bytes peak = 0;  // resident + arena
};

// The plan must have an arena and pass check(); throws Error(internal) otherwise.
TIDEMARK_API Program lower(const plan::Problem& problem, const plan::Plan& plan, const Binding& binding);

}  // namespace tidemark
