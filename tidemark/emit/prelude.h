// Texts that emitted files begin with: base/scalar.h as it is, emit/prelude.txt, and emit/networks.txt where it is used.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tidemark::emitting {

extern const char* const kScalarFormulas;
extern const char* const kPrelude;
extern const char* const kNetworks;

}  // namespace tidemark::emitting
