// A Plan as something to look at: one HTML file without network access, or a trace for Perfetto. Everything in it is
// derived from the Problem and the Plan by carrying the steps out.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "tidemark/plan/plan.h"
#include "tidemark/report/labels.h"

namespace tidemark {

struct FrontierPoint {
  Bytes budget = 0, peak = 0;
  double seconds = 0, seconds_bound = 0;
};

struct ReportOptions {
  std::string title;                        // "": the problem's name
  std::span<const FrontierPoint> frontier;  // drawn with this plan's point, where given
  const plan::Plan* other = nullptr;  // a second plan of the same problem: what differs, and its profile
  const Labels* labels = nullptr;     // types and lines of the buffers, where they are known
};

TIDEMARK_API std::string html_report(const plan::Problem& problem, const plan::Plan& plan,
                                     const ReportOptions& options = {});
// The JSON of chrome://tracing and Perfetto: a slice for each run and copy, a counter of live bytes.
TIDEMARK_API std::string perfetto_trace(const plan::Problem& problem, const plan::Plan& plan);

}  // namespace tidemark
