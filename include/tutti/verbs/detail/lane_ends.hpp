// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/verbs/detail/message_head.hpp>
#include <tutti/verbs/detail/pull.hpp>
#include <tutti/verbs/detail/registrar.hpp>

#include <cstddef>
#include <cstdint>

namespace tutti::inline v0_1_0::detail::verbs {

/// Of this rank's memory, for what a peer gives back.
struct room {
  std::byte* place = nullptr;
  std::size_t bytes = 0;
  std::uint32_t check = 0;
  lease registered{};
};

/// Room at the peer.
struct loan {
  lent_room at{};
  std::uint64_t bytes = 0;   ///< 0: there is none
  std::uint32_t number = 0;  ///< of the flow
};

/// What has been sent on a lane.
struct outgoing {
  std::uint64_t number = 0;  ///< of messages sent
  std::uint64_t released = 0;
  std::uint64_t last_in_place = 0;  ///< the last message that is read where it lies
  lease in_place[slot_count];       ///< the memory of such messages
  room back;

  [[nodiscard]] bool has_room() const noexcept { return number - released < slot_count; }
  /// Whether the peer has yet to read one, or to give one back.
  [[nodiscard]] bool is_in_use() const noexcept { return last_in_place > released || back.place != nullptr; }
  /// How many the peer has released, counted from the first. False: more than there are.
  [[nodiscard]] bool take_released(std::uint16_t all) noexcept {
    for (auto more = static_cast<std::uint16_t>(all - released); more != 0; --more) {
      if (released == number) {
        return false;
      }
      in_place[released++ % slot_count].reset();
    }
    return true;
  }
  void take_back() noexcept {
    for (lease& l : in_place) {
      l.reset();
    }
    back = {};
  }
};

/// A message that has not been released.
struct arrival {
  std::uint32_t slot;
  std::uint32_t bytes;  ///< behind the head
  bool is_back;         ///< it has no head: the peer has written to the room that it was lent
};

/// What has come on a lane.
struct incoming {
  arrival slot[slot_count];  ///< where the messages are that have not been released
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::uint32_t released = 0;
  std::uint32_t told = 0;
  bool owes = false;
  loan lent;
  pull reading;

  [[nodiscard]] arrival const& oldest() const noexcept { return slot[first % slot_count]; }
  /// @pre count != slots
  void add(arrival const& a) noexcept { slot[(first + count++) % slot_count] = a; }
};

}  // namespace tutti::detail::verbs
