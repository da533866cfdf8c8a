// A lower bound on the live peak of every plan, with its certificate: which values must be live together when
// some task first runs, and why. docs/proofs.md argues its validity. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/plan/certificate.h"

namespace tidemark::plan {

struct PeakBound {
  Bytes bytes = 0;     // no plan has a lower live peak
  TaskId moment = -1;  // when this task first runs; -1: at the end, with all outputs live
  // What must be live there beside the resident buffers: read, written, needed later and impossible to make
  // again.
  std::vector<BufferId> reads, writes, kept;
  Certificate::Leaf leaf;  // its rows, in bytes
};

// `effort`: how many moments are looked at with a cut, `also` among them; all are looked at without.
TIDEMARK_API PeakBound peak_bound(const Values& values, int effort = 64, TaskId also = -1);

// One sentence for people: where, and which buffers. `budget`: which stands beside it, if any.
TIDEMARK_API std::string explain(const Values& values, const PeakBound& peak, Bytes budget = -1);

// The proof of a plan file from either or both of its parts. `seconds`: the cases, in the order of their tree.
TIDEMARK_API std::string proof_json(std::span<const Certificate> seconds, const PeakBound* peak);

}  // namespace tidemark::plan
