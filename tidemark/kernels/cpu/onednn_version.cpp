// SPDX-License-Identifier: Apache-2.0
#include "tidemark/kernels/cpu/onednn_version.h"

#ifdef TIDEMARK_WITH_ONEDNN
#include <dnnl.h>
#include <fmt/core.h>
#endif

namespace tidemark::kernels {

std::string onednn_version() {
#ifdef TIDEMARK_WITH_ONEDNN
  const dnnl_version_t* v = dnnl_version();
  return fmt::format("{}.{}.{}", v->major, v->minor, v->patch);
#else
  return "";
#endif
}

}  // namespace tidemark::kernels
