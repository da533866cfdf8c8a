// The op reference, docs/ops.md, from the op table.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tidemark::cli {

std::string op_reference();

}  // namespace tidemark::cli
