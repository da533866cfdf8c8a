// Where a text stops being JSON: simdjson says that it is not, this says where. Used for messages alone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "tidemark/base/api.h"

namespace tidemark::plan {

// "" or what is wrong first, as "line 3, column 14: expected a value". Linear, no recursion.
TIDEMARK_API std::string json_error(std::string_view text);

// "" if it is JSON that we can read and whose `format` is this one, else why not: a file of another kind is not an
// invalid one of this kind.
TIDEMARK_API std::string not_of_format(std::string_view text, std::string_view format);

}  // namespace tidemark::plan
