// What the page's script reads, as JSON: figures, and the columns of the story and the fates.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tidemark/report/explain.h"
#include "tidemark/report/report.h"

namespace tidemark {

std::string page_data(const Told& told, const ReportOptions& options);

}  // namespace tidemark
