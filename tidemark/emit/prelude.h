// Texts that emitted files begin with: base/scalar.h as it is, and emit/prelude.txt.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tidemark::emitting {

extern const char* const kScalarFormulas;
extern const char* const kPrelude;

}  // namespace tidemark::emitting
