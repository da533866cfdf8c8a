// The inner loop of the tables over splits: the time of all of them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tidemark::schedule {

// min over i < n of a[i] + b[i], infinity for none; the same bits on every machine.
double least_sum(const double* a, const double* b, std::int64_t n);

}  // namespace tidemark::schedule
