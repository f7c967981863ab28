// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>

#include <source_location>

namespace tutti::inline v0_1_0::detail {

TUTTI_DECL void refuse(std::source_location location, char const* text) {
  throw precondition_error(text, location);
}

TUTTI_DECL void refuse(std::source_location location, message_parts parts) {
  throw precondition_error(message(parts), location);
}

}  // namespace tutti::detail
