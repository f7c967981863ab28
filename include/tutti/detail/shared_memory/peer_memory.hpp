// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/owner.hpp>
#include <tutti/extend/types.hpp>

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <sys/uio.h>
#include <unistd.h>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// Reads the memory of other processes of this host without their help, by process_vm_readv ("cross-memory attach").
/// Many containers forbid it, and so does Linux's Yama unless one process descends from the other
/// (/proc/sys/kernel/yama/ptrace_scope).
class peer_memory {
 public:
  /// Returns the text by which peers test if they can read this process: its number, and the address of a unique word.
  [[nodiscard]] TUTTI_COLD std::string offer(std::string_view unique) {
    unique.copy(token_, sizeof token_);
    return std::to_string(::getpid()) + ":" + std::to_string(reinterpret_cast<std::uintptr_t>(token_)) + ":" +
           std::string(token_, sizeof token_);
  }

  /// True if this process can read all processes that made these offers.
  template <class Offers>
  [[nodiscard]] TUTTI_COLD bool can_read(Offers const& offers) {
    peers_ = owned_array<::pid_t>(offers.size());
    bool is_readable = true;
    for (rank_type r = 0; r < offers.size(); ++r) {
      std::string_view rest = offers[r];
      peers_[r] = static_cast<::pid_t>(parse_number(rest));
      std::uintptr_t const token_address = parse_number(rest);
      char word[sizeof token_];
      is_readable = is_readable && rest.size() == sizeof word &&
                    copy(r, token_address, reinterpret_cast<std::byte*>(word), sizeof word) &&
                    std::memcmp(word, rest.data(), sizeof word) == 0;
    }
    return is_readable;
  }

  /// Copies from another rank's memory. Returns false with an errno if it cannot read all of it.
  [[nodiscard]] bool copy(rank_type owner, std::uintptr_t address, std::byte* target,
                          std::size_t bytes) const noexcept {
    while (bytes != 0) {
      ::iovec const local{target, bytes};
      ::iovec const remote{reinterpret_cast<void*>(address), bytes};
      ::ssize_t const read_bytes = ::process_vm_readv(peers_[owner], &local, 1, &remote, 1, 0);
      if (read_bytes <= 0) {
        return false;
      }
      target += read_bytes;
      address += static_cast<std::uintptr_t>(read_bytes);
      bytes -= static_cast<std::size_t>(read_bytes);
    }
    return true;
  }

 private:
  /// Reads the digits up to the next colon.
  static std::uintptr_t parse_number(std::string_view& rest) noexcept {
    std::uintptr_t value = 0;
    while (!rest.empty() && rest.front() >= '0' && rest.front() <= '9') {
      value = value * 10 + static_cast<std::uintptr_t>(rest.front() - '0');
      rest.remove_prefix(1);
    }
    rest.remove_prefix(rest.empty() ? 0 : 1);
    return value;
  }

  char token_[16] = {};
  owned_array<::pid_t> peers_;
};

}  // namespace tutti::detail::shared_memory
