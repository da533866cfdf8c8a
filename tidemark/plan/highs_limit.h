// Ends a run of HiGHS when a Limit says so: by the planner's clock, or because somebody stopped the planner. HiGHS' own limit is the clock's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Its header declares a static function that it does not define.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include <interfaces/highs_c_api.h>
#pragma GCC diagnostic pop

#include "tidemark/plan/cpu_clock.h"

namespace tidemark::plan {

inline void heed_limit(void* highs, const Limit& limit) {
  const HighsCCallbackType ask = [](int, const char*, const HighsCallbackDataOut*, HighsCallbackDataIn* in,
                                    void* of) {
    worked(1, 5e-5);  // an iteration of a program of a few thousand rows
    if (in != nullptr) in->user_interrupt = static_cast<const Limit*>(of)->time_is_up() ? 1 : 0;
  };
  Highs_setCallback(highs, ask, const_cast<Limit*>(&limit));
  for (const HighsInt kind :
       {kHighsCallbackSimplexInterrupt, kHighsCallbackIpmInterrupt, kHighsCallbackMipInterrupt})
    Highs_startCallback(highs, kind);
}

}  // namespace tidemark::plan
