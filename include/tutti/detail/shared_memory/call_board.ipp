// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/message.hpp>
#include <tutti/detail/shared_memory/call_board.hpp>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

TUTTI_DECL std::string call_board::describe(std::uint32_t check) const {
  call what;
  std::uint32_t number = 0;
  std::uint32_t its_check = 0;
  for (call_record const& r : records) {
    if (r.read(what, number, its_check) && its_check == check) {
      return message({tutti::describe(what), " in flow ", number});
    }
  }
  return "a call that it has left since";
}

TUTTI_DECL bool call_board::differs(std::uint32_t number, std::uint32_t mine, std::uint32_t& theirs) const {
  call what;
  std::uint32_t its_number = 0;
  for (call_record const& r : records) {
    if (r.read(what, its_number, theirs) && what.kind != operation_kind::none && its_number == number &&
        theirs != mine) {
      return true;
    }
  }
  return false;
}

}  // namespace tutti::detail::shared_memory
