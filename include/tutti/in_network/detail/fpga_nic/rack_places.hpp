// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/detail/fpga_nic/commands.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// Where contributions of members in racks are kept until they are added in order, rack by rack. Of a rack that has no
/// more members than are added in rank order each has a block of its own; of a larger one, whose contributions are
/// added as they come, all have one.
class rack_places {
 public:
  rack_places() = default;
  /// @param racks by member, below `max_racks`; empty: there are none
  explicit rack_places(std::vector<std::uint8_t> const& racks) {
    std::vector<std::uint8_t> first(max_racks, none);
    for (std::uint8_t const rack : racks) {
      bool const shares = std::ranges::count(racks, rack) > std::ptrdiff_t{max_workers_in_order};
      if (!shares || first[rack] == none) {
        first[rack] = blocks_++;
      }
      members_.push_back({rack, first[rack], shares});
    }
  }

  [[nodiscard]] bool empty() const noexcept { return members_.empty(); }
  [[nodiscard]] std::size_t members() const noexcept { return members_.size(); }
  /// How many blocks there are.
  [[nodiscard]] unsigned blocks() const noexcept { return blocks_; }
  [[nodiscard]] unsigned rack(std::uint8_t member) const noexcept { return members_[member].rack; }
  [[nodiscard]] unsigned block(std::uint8_t member) const noexcept { return members_[member].block; }
  /// Whether that block is of all members of its rack.
  [[nodiscard]] bool shares(std::uint8_t member) const noexcept { return members_[member].shares; }

  friend bool operator==(rack_places const&, rack_places const&) = default;

 private:
  static constexpr std::uint8_t none = UINT8_MAX;

  struct place {
    std::uint8_t rack;
    std::uint8_t block;
    bool shares;

    friend bool operator==(place const&, place const&) = default;
  };
  std::vector<place> members_;
  std::uint8_t blocks_ = 0;
};

}  // namespace tutti::detail::fpga_nic
