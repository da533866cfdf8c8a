// Packing instances as files: the CSV of google/minimalloc, `id,lower,upper,size` with half-open lifetimes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tidemark/plan/pack.h"

namespace tidemark::plan {

struct PackInstance {
  std::vector<std::string> ids;
  std::vector<Interval> intervals;
};

// Columns in any order, others are ignored. Throws Error(data) naming the line.
TIDEMARK_API PackInstance read_pack_csv(std::string_view text);
// The same columns and `offset`.
TIDEMARK_API std::string write_pack_csv(const PackInstance& instance, const Packing& packing);

}  // namespace tidemark::plan
