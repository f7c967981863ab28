// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/descriptor.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

/// A network interface of this host whose frames this program receives and sends. It vanishes with the program.
class tap_interface {
 public:
  /// `address` and `prefix`: the host's own at this interface. `queue`: frames that wait for this program; more are
  /// lost.
  tap_interface(std::string const& name, std::uint32_t address, unsigned prefix, unsigned queue);

  [[nodiscard]] int descriptor() const noexcept { return device_.get(); }

  /// The next frame, or an empty span.
  [[nodiscard]] std::span<std::byte const> take(std::span<std::byte> room) noexcept;
  /// False if the system refused the frame.
  bool give(std::span<std::byte const> frame) noexcept;

 private:
  tutti::detail::descriptor device_;
};
