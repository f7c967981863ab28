// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/detail/fpga_nic/block_requests.hpp>
#include <tutti/in_network/detail/fpga_nic/local_weights.hpp>
#include <tutti/in_network/detail/udp/packet.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// One rank's requests about the weights that a device holds, apart from updates: rank 0 stores blocks that the
/// device lacks, and other ranks pull blocks.
class weight_exchange {
 public:
  local_weights rank_weights;
  block_requests requests;

  /// Starts stores of the blocks that the device is not known to have; rank 0 only.
  void begin_stores() {
    device_versions_.resize((std::max)(device_versions_.size(), rank_weights.blocks()), unknown);
    requests.begin(rank_weights.blocks());
    for (std::uint32_t k = 0; k != rank_weights.blocks(); ++k) {
      if (device_versions_[k] == rank_weights.version() || device_versions_[k] == no_room) {
        requests.finish(k);
      }
    }
  }
  /// Starts pulls of all weights. @pre whole blocks
  void begin_pulls(std::span<std::byte> target) {
    target_ = target;
    rank_weights.set_weights(target);
    requests.begin(rank_weights.blocks());
  }

  /// Records that the device has this version of block k; rank 0 only.
  void note_version(std::uint32_t k, std::uint32_t version) noexcept { note(k, version); }
  /// Records that the device has no memory for block k.
  void note_no_room(std::uint32_t k) noexcept { note(k, no_room); }
  /// Records that the device may lack block k.
  void forget(std::uint32_t k) noexcept {
    if (k < device_versions_.size() && device_versions_[k] != no_room) {
      device_versions_[k] = unknown;
    }
  }
  /// Forgets everything about the device: it may be another one.
  void forget_all() noexcept {
    std::ranges::fill(device_versions_, unknown);
    std::ranges::fill(refusals_, std::uint8_t{0});
  }

  /// Records that the device has refused an update of block k, and returns true if the update should be tried again.
  /// Rank 0 may just be storing the block, which looks old to ranks that are ahead. A block that is refused
  /// repeatedly does not fit.
  [[nodiscard]] bool is_refused(std::uint32_t k) {
    refusals_.resize((std::max)(refusals_.size(), rank_weights.blocks()));
    if (k >= refusals_.size() || refusals_[k] == max_refusals) {
      return false;
    }
    return ++refusals_[k] % 2 == 1;
  }
  /// Records that the device has updated block k.
  void is_updated(std::uint32_t k, std::uint32_t version) noexcept {
    note_version(k, version);
    if (k < refusals_.size()) {
      refusals_[k] = 0;
    }
  }

  /// Handles a pulled block.
  void take(std::uint32_t k, std::uint32_t version, std::span<std::byte const> weights) noexcept {
    if (version == rank_weights.version() && std::size_t{k} < target_.size() / block_bytes) {
      std::memcpy(target_.data() + std::size_t{k} * block_bytes, weights.data(), block_bytes);
      requests.finish(k);
    }
  }
  /// Ends all requests.
  void end() noexcept {
    target_ = {};
    requests.begin(0);
  }

 private:
  static constexpr std::int64_t unknown = -1;
  static constexpr std::int64_t no_room = -2;
  static constexpr std::uint8_t max_refusals = 16;

  void note(std::uint32_t k, std::int64_t version) noexcept {
    if (k < device_versions_.size()) {
      device_versions_[k] = version;
    }
  }

  std::span<std::byte> target_;
  std::vector<std::int64_t> device_versions_;  ///< at rank 0, by block: the version that the device has
  std::vector<std::uint8_t> refusals_;         ///< by block: refusals since its last update by the device
};

}  // namespace tutti::detail::fpga_nic
