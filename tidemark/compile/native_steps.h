// Compilers for traced steps (tape/compiled_step.h): trace → Graph → plan → C++ → the system's compiler. The same bits as the tape.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/compile/trace_graph.h"
#include "tidemark/tape/compiled_step.h"

namespace tidemark {

struct NativeSteps {
  std::string cache;  // where compiled files are kept; "": a folder of this user's in /tmp
  TraceGraphOptions graph;
};
TIDEMARK_API tape::TraceCompiler native_steps(const NativeSteps& options = {});

}  // namespace tidemark
