// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/operation.hpp>
#include <tutti/in_network/detail/fpga_nic/commands.hpp>
#include <tutti/in_network/detail/fpga_nic/worker_set.hpp>

#include <array>
#include <cstdint>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// One version of a slot: the state of one sequence. Its elements are in `slot_table::data`.
struct aggregate {
  enum class state : std::uint8_t { empty, open, complete };

  aggregate::state progress = state::empty;
  network_operation operation = network_operation::none;
  bool in_rank_order = false;
  std::uint8_t workers = 0;
  std::uint8_t opener = 0;   ///< the worker whose packet set operation, order and fingerprint
  std::uint16_t count = 0;   ///< workers that have contributed
  std::uint16_t length = 0;  ///< bytes of the elements; 0: none yet
  std::uint32_t sequence = 0;
  std::uint32_t fingerprint = 0;
  update_terms terms{};                            ///< terms of an update; set by each contribution
  bool has_completed = false;                      ///< an earlier sequence was completed in this version
  std::uint32_t completed_sequence = 0;            ///< the sequence of that result
  worker_set contributors{};                       ///< workers that have contributed
  worker_set element_contributors{};               ///< workers that have contributed elements
  worker_set wants_no_data{};                      ///< workers that have contributed and want no elements
  std::array<std::uint8_t, max_workers> member{};  ///< by worker, for those of `contributors`: its member number

  [[nodiscard]] bool has_sequence(std::uint32_t q) const noexcept { return progress != state::empty && sequence == q; }

  friend bool operator==(aggregate const&, aggregate const&) = default;
};

}  // namespace tutti::detail::fpga_nic
