// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/owned.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/extend/types.hpp>
#include <tutti/simulation/extend/simulated_network.hpp>

#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline simulation {

struct aggregated_flow;

/// A rank's side of a flow: the number of its call in `simulated_world`, and the flow's number.
struct simulated_opening {
  std::uint32_t call = UINT32_MAX;
  std::uint32_t number = 0;
  friend bool operator==(simulated_opening, simulated_opening) = default;
};

/// A message between two members of a simulated world.
struct simulated_message {
  enum class progress : std::uint8_t {
    under_way,
    arrived,
    never_sent,  ///< lost because its sender died before it left
  };

  std::uint32_t next = 0;       ///< link in the queue of its edge, or in the free list
  rank_type sender = 0;         ///< sending rank; no_rank: the aggregator
  rank_type receiver = 0;       ///< receiving rank; no_rank: the aggregator
  std::uint32_t at_switch = 0;  ///< the switch that its head has reached
  std::uint32_t attempts = 0;
  progress stage = progress::under_way;
  simulated_opening opening{};
  aggregated_flow* contributes_to = nullptr;  ///< the flow of a message to an aggregator
  rank_type worker = no_rank;                 ///< number of the sender among the workers of that flow
  picoseconds tail{};                         ///< arrival time of the last byte at `at_switch`
  std::size_t bytes = 0;
  std::size_t capacity = 0;  ///< size of `contents`, which is reused
  owned_array<std::byte> contents{};

  void store(std::span<std::byte const> source) {
    if (capacity < source.size()) {
      contents = owned_array<std::byte>(source.size());
      capacity = source.size();
    }
    if (!source.empty()) {
      std::memcpy(contents.get(), source.data(), source.size());
    }
  }
};

/// Pool of messages under way, by number. Dropped messages are reused together with their memory.
class simulated_messages {
 public:
  [[nodiscard]] simulated_message& operator[](std::uint32_t id) noexcept { return messages_[id]; }
  [[nodiscard]] simulated_message const& operator[](std::uint32_t id) const noexcept { return messages_[id]; }

  [[nodiscard]] std::uint32_t make() {
    if (free_list_ == no_message) {
      messages_.emplace_back();
      return static_cast<std::uint32_t>(messages_.size() - 1);
    }
    simulated_message& m = messages_[free_list_];
    m.attempts = 0;
    m.contributes_to = nullptr;
    m.stage = simulated_message::progress::under_way;
    return std::exchange(free_list_, m.next);
  }

  void drop(std::uint32_t id) noexcept {
    messages_[id].next = free_list_;
    free_list_ = id;
  }

 private:
  static constexpr std::uint32_t no_message = UINT32_MAX;

  std::vector<simulated_message> messages_;
  std::uint32_t free_list_ = no_message;
};

}  // namespace tutti::detail::simulation
