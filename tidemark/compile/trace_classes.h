// Which scalars of a trace are elements of one array: classes of operations with the same code whose operands are of the same
// classes. A class reads only classes before it, so that each can be computed at once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/tape/trace.h"

namespace tidemark {

// Sums that add one term after the other: a long chain of additions that is no element of anything wide.
struct TraceFold {
  tape::Ref first;
  std::vector<tape::Ref> terms;
};

struct TraceClass {
  tape::Code code = tape::Code::input;
  std::vector<std::uint32_t> members;  // nodes, by the places of what they read
  std::int32_t input = -1;             // of the trace, where the code is `input`
  std::int32_t fold = -1;              // index into folds, where the only member is the end of one
};

struct TraceClasses {
  std::vector<TraceClass> classes;
  std::vector<TraceFold> folds;
  std::vector<std::int32_t> class_of;   // by node; -1: nobody reads it, or it lies inside a fold
  std::vector<std::uint32_t> place_of;  // by node: its place among the members
};

TraceClasses classify(const tape::Trace& trace);

}  // namespace tidemark
