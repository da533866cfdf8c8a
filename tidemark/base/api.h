// What is visible outside the library.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#define TIDEMARK_API __attribute__((visibility("default")))
