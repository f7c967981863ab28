// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/owner.hpp>
#include <tutti/extend/environment.hpp>
#include <tutti/extend/member.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

/// A process that waits to enter a world, and the address at which it listens for a host of that world.
struct announcement {
  static constexpr std::size_t limit = 1U << 12U;  ///< bytes; a longer one is refused unread

  std::string nonce;  ///< a value that no other announcement has
  std::string host;
  std::uint16_t port = 0;
  member process = {};

  [[nodiscard]] std::string text() const;
  /// Returns false if `bytes` are no announcement.
  [[nodiscard]] bool parse(std::string_view bytes);
};

/// A place where processes wait to enter the world of a job, and where its members find them. It outlives each member.
/// With a secret, announcements without a proof count as missing. Used by one thread at a time.
class doorway {
 public:
  doorway() noexcept = default;
  doorway(doorway const&) = delete;
  doorway& operator=(doorway const&) = delete;
  virtual ~doorway() = default;

  /// The place, for errors.
  [[nodiscard]] virtual std::string place() const = 0;

  // Functions of a member.

  /// The processes that wait, as far as this member knows now. Waits for nothing.
  /// @throws error(failure::join) if the place cannot be used
  [[nodiscard]] virtual std::vector<announcement> look() = 0;
  /// Removes what an ended process has left.
  virtual void remove(std::string const& nonce) = 0;

  // Functions of a process that waits.

  /// The address by which members reach this host.
  [[nodiscard]] virtual std::string local_host() const = 0;
  /// Lets members find this process until it withdraws or ends. To be repeated now and then, as members may end.
  /// Returns the reason if no member can find it now, else an empty text.
  [[nodiscard]] virtual std::string announce(announcement const& self) = 0;
  virtual void withdraw() noexcept = 0;
};

/// The place that the environment names: a folder (TUTTI_STORE=file:PATH), in which each process that waits writes a
/// file; else a list of hosts (TUTTI_HOSTS), where each member listens at its own entry, and a process that waits keeps
/// a connection to each.
/// @throws error(failure::join) if it names none or no job, or the folder cannot be used
[[nodiscard]] TUTTI_DECL owner<doorway> make_doorway(environment const& settings);

}  // namespace tutti::detail::bootstrap

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/bootstrap/doorway.ipp>
#endif
