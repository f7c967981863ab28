// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/untouched_memory.hpp>
#include <tutti/detail/reduction/kernel.hpp>
#include <tutti/in_network/detail/fpga_nic/block.hpp>
#include <tutti/in_network/detail/fpga_nic/commands.hpp>
#include <tutti/in_network/detail/fpga_nic/weight_step.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// The weights that a device holds for a job: blocks with versions. Blocks may be missing.
class device_weights {
 public:
  /// Memory of one block.
  static constexpr std::size_t bytes_per_block = sizeof(block) + 2 * sizeof(std::uint32_t);

  [[nodiscard]] std::size_t bytes() const noexcept { return blocks_.size() * bytes_per_block; }
  /// Number of keys with memory: all keys below it.
  [[nodiscard]] std::size_t room() const noexcept { return blocks_.size(); }
  /// Allocates memory for this number of keys. @pre not fewer than before
  void make_room(std::size_t keys) {
    blocks_.resize(keys);
    states_.resize(keys);
  }

  [[nodiscard]] bool has(std::uint32_t k) const noexcept { return k < states_.size() && states_[k].is_there; }
  [[nodiscard]] bool has(std::uint32_t k, std::uint32_t version) const noexcept {
    return has(k) && states_[k].version == version;
  }
  /// @pre has(k)
  [[nodiscard]] std::uint32_t version(std::uint32_t k) const noexcept { return states_[k].version; }
  /// @pre has(k)
  [[nodiscard]] std::span<std::byte const> data(std::uint32_t k) const noexcept { return blocks_[k].bytes; }

  /// Stores a block, unless a later version is here. @pre k < room()
  bool store(std::uint32_t k, std::uint32_t version, std::span<std::byte const> weights) noexcept {
    state& s = states_[k];
    if (s.is_there && static_cast<std::int32_t>(version - s.version) < 0) {
      return false;
    }
    s = {version, 1};
    blocks_[k].copy(weights);
    return true;
  }

  /// Updates a block by the sum of its gradients, and overwrites that with the new weights. @pre has(t.key,
  /// t.version)
  void update(update_terms const& t, block& gradients) noexcept {
    block& weights = blocks_[t.key];
    auto* const gradient_values = reinterpret_cast<float*>(gradients.bytes.data());
    detail::run(weight_step(t), block_bytes / sizeof(float), gradient_values,
                reinterpret_cast<float const*>(weights.bytes.data()), static_cast<float const*>(gradient_values));
    weights = gradients;
    ++states_[t.key].version;
  }

  friend bool operator==(device_weights const&, device_weights const&) = default;

 private:
  struct state {
    std::uint32_t version = 0;
    std::uint32_t is_there = 0;

    friend bool operator==(state const&, state const&) = default;
  };

  std::vector<block, untouched_memory<block>> blocks_;
  std::vector<state> states_;
};

}  // namespace tutti::detail::fpga_nic
