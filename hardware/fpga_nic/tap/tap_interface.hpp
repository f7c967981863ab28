// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/descriptor.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

/// A network interface of this host whose frames this program gets and gives. It is gone when the program is.
class tap_interface {
 public:
  /// `address` and `prefix`: the host's own at this interface. `queue`: frames that wait for this program; what comes
  /// then is lost.
  /// @throws std::runtime_error that says why not, and what to do
  tap_interface(std::string const& name, std::uint32_t address, unsigned prefix, unsigned queue);

  [[nodiscard]] int descriptor() const noexcept { return device_.get(); }

  /// The next frame, or nothing.
  [[nodiscard]] std::span<std::byte const> take(std::span<std::byte> room) noexcept;
  /// False: the system did not take it.
  bool give(std::span<std::byte const> frame) noexcept;

 private:
  tutti::detail::descriptor device_;
};
