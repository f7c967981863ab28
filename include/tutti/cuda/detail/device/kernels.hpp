// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/detail/device/block_link.hpp>
#include <tutti/cuda/detail/device/fused.hpp>
#include <tutti/cuda/detail/device/interpreter.hpp>

#include <cstdint>

namespace tutti::inline v0_1_0::detail::device {

/// A kernel that runs an operation by its steps, cut into parts. Trivially copyable, like `direct_kernel`.
///
/// Members of user-defined types come last (compilers.md: Places of members).
template <class Payload>
struct steps_kernel {
  device::board board;
  device::operation operation;
  std::uint32_t groups;
  std::uint32_t parts;  ///< at least `groups`; a group runs several in turn
  Payload payload;

  template <thread_group G>
  constexpr bool run(G const& g, std::uint32_t group) const {
    for (std::uint32_t part = group; part < parts; part += groups) {
      if (!interpreter(g, board, group, part, parts, operation, payload).run()) {
        return false;
      }
    }
    return true;
  }
};

/// A kernel that runs an allreduce by `direct` without steps.
template <tutti::reduction R, rank_type N>
struct direct_kernel {
  device::board board;
  device::operation operation;
  std::uint32_t groups;
  std::uint32_t parts;  ///< at least `groups`; a group runs several in turn
  bool in_one_hop;
  R reduction;

  template <thread_group G>
  constexpr bool run(G const& g, std::uint32_t group) const {
    for (std::uint32_t part = group; part < parts; part += groups) {
      fused_allreduce<G, R, N> const allreduce(g, board, group, part, parts, operation, reduction);
      if (!(in_one_hop ? allreduce.in_one_hop() : allreduce.in_one_pass())) {
        return false;
      }
    }
    return true;
  }
};

/// Runs a kernel in one thread group.
template <thread_group G, class Kernel>
constexpr void run_group(G const& g, Kernel const& kernel, std::uint32_t group) {
  block_link<G> const link(g, kernel.board, group);
  bool const good = link.enter() && kernel.run(g, group);
  if (!good && link.is_first() && g.load_acquire(kernel.board.failed_operation) == 0) {
    g.store_release(kernel.board.failed_operation, kernel.operation.number);
  }
  link.leave();
}

}  // namespace tutti::detail::device
