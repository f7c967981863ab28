// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/detail/fpga_nic/commands.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// Memory layout of contributions that wait to be added in order, rack by rack. In a rack of at most
/// `max_workers_in_order` members each member has a block; in a larger rack, which adds in order of arrival, all
/// members share one.
class rack_layout {
 public:
  rack_layout() = default;
  /// @param racks by member, below `max_racks`; empty: no racks
  explicit rack_layout(std::vector<std::uint8_t> const& racks) {
    std::vector<std::uint8_t> first_block(max_racks, unset);
    for (std::uint8_t const rack : racks) {
      bool const shares = std::ranges::count(racks, rack) > std::ptrdiff_t{max_workers_in_order};
      if (!shares || first_block[rack] == unset) {
        first_block[rack] = blocks_++;
      }
      members_.push_back({rack, first_block[rack], shares});
    }
  }

  [[nodiscard]] bool empty() const noexcept { return members_.empty(); }
  [[nodiscard]] std::size_t members() const noexcept { return members_.size(); }
  [[nodiscard]] unsigned blocks() const noexcept { return blocks_; }
  [[nodiscard]] unsigned rack(std::uint8_t member) const noexcept { return members_[member].rack; }
  [[nodiscard]] unsigned block(std::uint8_t member) const noexcept { return members_[member].block; }
  /// True if the block is shared by all members of the rack.
  [[nodiscard]] bool shares(std::uint8_t member) const noexcept { return members_[member].shares; }

  friend bool operator==(rack_layout const&, rack_layout const&) = default;

 private:
  static constexpr std::uint8_t unset = UINT8_MAX;

  struct assignment {
    std::uint8_t rack;
    std::uint8_t block;
    bool shares;

    friend bool operator==(assignment const&, assignment const&) = default;
  };
  std::vector<assignment> members_;
  std::uint8_t blocks_ = 0;
};

}  // namespace tutti::detail::fpga_nic
