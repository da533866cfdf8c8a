// Texts that emitted files begin with: base/scalar.h as it is, emit/prelude.txt, and where they are used emit/networks.txt and
// schedule/online_states.h.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tidemark::emitting {

extern const char* const kScalarFormulas;
extern const char* const kPrelude;
extern const char* const kNetworks;
extern const char* const kOnlineStates;

}  // namespace tidemark::emitting
