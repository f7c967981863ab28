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

struct helped_flow;

/// A flow as its rank opened it: a call, by the number it has here, and its own number.
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
    gone,  ///< its sender died before it left
  };

  std::uint32_t next = 0;  ///< on its edge, or among those that are not in use
  rank_type from = 0;      ///< no_rank: a helper
  rank_type to = 0;        ///< the same
  std::uint32_t on = 0;    ///< the switch that its head has come to
  std::uint32_t attempts = 0;
  progress stage = progress::under_way;
  simulated_opening says{};
  helped_flow* contributes_to = nullptr;  ///< if it goes to a helper: what it is for,
  rank_type worker = no_rank;             ///< and the place of its sender there
  picoseconds tail{};                     ///< when its last byte comes there
  std::size_t bytes = 0;
  std::size_t capacity = 0;  ///< of the contents
  owned_array<std::byte> contents{};

  void keep(std::span<std::byte const> what) {
    if (capacity < what.size()) {
      contents = owned_array<std::byte>(what.size());
      capacity = what.size();
    }
    if (!what.empty()) {
      std::memcpy(contents.get(), what.data(), what.size());
    }
  }
};

/// All messages that are under way, by number. Those that have been dropped are used again, with their
/// memory.
class simulated_messages {
 public:
  [[nodiscard]] simulated_message& operator[](std::uint32_t id) noexcept { return all_[id]; }
  [[nodiscard]] simulated_message const& operator[](std::uint32_t id) const noexcept { return all_[id]; }

  [[nodiscard]] std::uint32_t make() {
    if (idle_ == none) {
      all_.emplace_back();
      return static_cast<std::uint32_t>(all_.size() - 1);
    }
    simulated_message& m = all_[idle_];
    m.attempts = 0;
    m.contributes_to = nullptr;
    m.stage = simulated_message::progress::under_way;
    return std::exchange(idle_, m.next);
  }

  void drop(std::uint32_t id) noexcept {
    all_[id].next = idle_;
    idle_ = id;
  }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;

  std::vector<simulated_message> all_;
  std::uint32_t idle_ = none;
};

}  // namespace tutti::detail::simulation
