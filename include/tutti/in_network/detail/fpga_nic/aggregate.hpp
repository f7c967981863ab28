// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/network_operation.hpp>
#include <tutti/in_network/detail/fpga_nic/commands.hpp>
#include <tutti/in_network/detail/fpga_nic/worker_set.hpp>

#include <array>
#include <cstdint>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// One version of a slot: what is known of one sequence. Its elements are `slots::data`.
struct aggregate {
  enum class state : std::uint8_t { empty, open, complete };

  aggregate::state stands = state::empty;
  network_operation operation = network_operation::none;
  bool in_rank_order = false;
  std::uint8_t workers = 0;
  std::uint8_t opener = 0;   ///< the worker that all of this is known from
  std::uint16_t count = 0;   ///< workers that have contributed
  std::uint16_t length = 0;  ///< of the elements, in bytes; 0: none yet
  std::uint32_t sequence = 0;
  std::uint32_t fingerprint = 0;
  update_terms terms{};                            ///< of an update that a worker has contributed to
  bool has_completed = false;                      ///< a sequence before this one
  std::uint32_t completed = 0;                     ///< which one
  worker_set arrived{};                            ///< the workers that have contributed
  worker_set gave{};                               ///< those of them that gave elements
  worker_set wants_no_data{};                      ///< and those that want no elements
  std::array<std::uint8_t, max_workers> member{};  ///< the one that is worker w, of those of `arrived`

  [[nodiscard]] bool is(std::uint32_t q) const noexcept { return stands != state::empty && sequence == q; }

  friend bool operator==(aggregate const&, aggregate const&) = default;
};

}  // namespace tutti::detail::fpga_nic
