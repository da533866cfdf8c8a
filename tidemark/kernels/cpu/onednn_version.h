// Which oneDNN runs under our kernels: part of the key of what was measured or cached.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tidemark/base/api.h"

namespace tidemark::kernels {

TIDEMARK_API std::string onednn_version();  // "3.2.0", or "" in builds without it

}  // namespace tidemark::kernels
