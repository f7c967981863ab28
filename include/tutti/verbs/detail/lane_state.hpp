// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/verbs/detail/message_head.hpp>
#include <tutti/verbs/detail/registrar.hpp>
#include <tutti/verbs/detail/remote_reader.hpp>

#include <cstddef>
#include <cstdint>

namespace tutti::inline v0_1_0::detail::verbs {

/// This rank's memory for the result of a loan, until the peer has written it.
struct return_buffer {
  std::byte* place = nullptr;
  std::size_t bytes = 0;
  std::uint32_t check = 0;
  lease memory_lease{};
};

/// A place in the peer's memory that may be written once.
struct loan {
  return_place at{};
  std::uint64_t bytes = 0;   ///< 0: no loan
  std::uint32_t number = 0;  ///< number of the flow
};

/// Sending end of a lane.
struct outgoing {
  std::uint64_t number = 0;  ///< messages sent
  std::uint64_t released_count = 0;
  std::uint64_t last_long = 0;  ///< number of the last message that the peer reads in place
  lease leases[slot_count];     ///< registrations of such messages
  return_buffer expected_result;

  [[nodiscard]] bool has_room() const noexcept { return number - released_count < slot_count; }
  /// True if the peer has yet to read a message, or to return a loan.
  [[nodiscard]] bool is_in_use() const noexcept {
    return last_long > released_count || expected_result.place != nullptr;
  }
  /// Takes the total number of messages that the peer has released. False if it exceeds the number sent.
  [[nodiscard]] bool take_released(std::uint16_t total) noexcept {
    for (auto newly_released = static_cast<std::uint16_t>(total - released_count); newly_released != 0;
         --newly_released) {
      if (released_count == number) {
        return false;
      }
      leases[released_count++ % slot_count].reset();
    }
    return true;
  }
  void reclaim() noexcept {
    for (lease& registration : leases) {
      registration.reset();
    }
    expected_result = {};
  }
};

/// A message that has not been released.
struct arrival {
  std::uint32_t slot;
  std::uint32_t bytes;  ///< without the head
  bool is_result;       ///< result of a loan: the bytes are in the return buffer, and no head came
};

/// Receiving end of a lane.
struct incoming {
  arrival slot[slot_count];  ///< a ring of the messages that have not been released
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::uint32_t released_count = 0;
  std::uint32_t returned_credits = 0;
  bool credit_pending = false;
  loan peer_loan;
  remote_reader reader;

  [[nodiscard]] arrival const& oldest() const noexcept { return slot[first % slot_count]; }
  /// @pre count != slot_count
  void add(arrival const& message) noexcept { slot[(first + count++) % slot_count] = message; }
};

}  // namespace tutti::detail::verbs
