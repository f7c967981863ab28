// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/message.hpp>
#include <tutti/detail/shared_memory/call_board.hpp>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

TUTTI_DECL std::string call_board::describe(std::uint32_t check) const {
  call value;
  std::uint32_t number = 0;
  std::uint32_t found_check = 0;
  for (call_record const& record : records) {
    if (record.read(value, number, found_check) && found_check == check) {
      return message({tutti::describe(value), " (number ", number, ")"});
    }
  }
  return "a call that has ended since";
}

TUTTI_DECL bool call_board::differs(std::uint32_t number, std::uint32_t own_check, std::uint32_t& peer_check) const {
  call value;
  std::uint32_t found_number = 0;
  for (call_record const& record : records) {
    if (record.read(value, found_number, peer_check) && value.kind != operation_kind::none && found_number == number &&
        peer_check != own_check) {
      return true;
    }
  }
  return false;
}

}  // namespace tutti::detail::shared_memory
