// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/detail/fpga_nic/block_requests.hpp>
#include <tutti/in_network/detail/fpga_nic/own_weights.hpp>
#include <tutti/in_network/detail/udp/packet.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// What one rank does with the weights that a device holds, beside updates: rank 0 stores those that the device lacks,
/// others pull them.
class weight_exchange {
 public:
  own_weights own;
  block_requests requests;

  /// Rank 0 is to store what the device is not known to have.
  void begin_stores() {
    at_device_.resize((std::max)(at_device_.size(), own.blocks()), unknown);
    requests.begin(own.blocks());
    for (std::uint32_t k = 0; k != own.blocks(); ++k) {
      if (at_device_[k] == own.version() || at_device_[k] == no_room) {
        requests.finish(k);
      }
    }
  }
  /// The weights are to come from the device. @pre whole blocks
  void begin_pulls(std::span<std::byte> to) {
    to_ = to;
    own.hold(to);
    requests.begin(own.blocks());
  }

  /// The device has block k in that version; at rank 0.
  void know(std::uint32_t k, std::uint32_t version) noexcept { note(k, version); }
  /// It has no room for it, nor will it have any.
  void know_no_room(std::uint32_t k) noexcept { note(k, no_room); }
  /// It may not have it.
  void forget(std::uint32_t k) noexcept {
    if (k < at_device_.size() && at_device_[k] != no_room) {
      at_device_[k] = unknown;
    }
  }
  /// It may have none, and be another one, with other room.
  void forget_all() noexcept {
    std::ranges::fill(at_device_, unknown);
    std::ranges::fill(refusals_, std::uint8_t{0});
  }

  /// The device has refused an update of block k. Whether it is worth trying once more: rank 0 may just be storing the
  /// block, which ranks that are ahead of it find old. One that is refused again and again does not fit.
  [[nodiscard]] bool is_refused(std::uint32_t k) {
    refusals_.resize((std::max)(refusals_.size(), own.blocks()));
    if (k >= refusals_.size() || refusals_[k] == enough) {
      return false;
    }
    return ++refusals_[k] % 2 == 1;
  }
  /// It has updated it.
  void is_updated(std::uint32_t k, std::uint32_t version) noexcept {
    know(k, version);
    if (k < refusals_.size()) {
      refusals_[k] = 0;
    }
  }

  /// A block has come that was pulled.
  void take(std::uint32_t k, std::uint32_t version, std::span<std::byte const> weights) noexcept {
    if (version == own.version() && std::size_t{k} < to_.size() / block_bytes) {
      std::memcpy(to_.data() + std::size_t{k} * block_bytes, weights.data(), block_bytes);
      requests.finish(k);
    }
  }
  /// Nothing is waited for any more.
  void end() noexcept {
    to_ = {};
    requests.begin(0);
  }

 private:
  static constexpr std::int64_t unknown = -1;
  static constexpr std::int64_t no_room = -2;
  static constexpr std::uint8_t enough = 16;

  void note(std::uint32_t k, std::int64_t what) noexcept {
    if (k < at_device_.size()) {
      at_device_[k] = what;
    }
  }

  std::span<std::byte> to_;
  std::vector<std::int64_t> at_device_;  ///< of rank 0: the version that the device has of each block
  std::vector<std::uint8_t> refusals_;   ///< of each block since its last update by the device
};

}  // namespace tutti::detail::fpga_nic
