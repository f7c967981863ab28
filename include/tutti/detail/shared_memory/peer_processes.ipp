// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/number_text.hpp>
#include <tutti/detail/core/cancellation.hpp>
#include <tutti/detail/core/node_identity.hpp>
#include <tutti/detail/shared_memory/peer_processes.hpp>

#include <unistd.h>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

TUTTI_DECL std::string peer_processes::offer() {
  std::string text = std::to_string(::getpid()) + '@';
  for (char const c : file_identity("/proc/self/ns/pid")) {
    text += c == ' ' ? '+' : c;
  }
  return text;
}

TUTTI_DECL void peer_processes::open(std::vector<std::string_view> const& offers) {
  constexpr long pidfd_open = 434;  // on every architecture; older headers lack it
  std::string const own_offer = offer();
  auto const namespace_of = [](std::string_view text) { return text.substr(text.find('@') + 1); };
  files_ = owned_array<descriptor>(offers.size());
  for (rank_type r = 0; r < offers.size(); ++r) {
    std::string_view const text = offers[r];
    ::pid_t process = 0;
    // A number of another namespace means another process here.
    if (namespace_of(text) == namespace_of(own_offer) && !namespace_of(own_offer).empty() &&
        read_number(text.substr(0, text.find('@')), process)) {
      files_[r] = descriptor([&] { return static_cast<int>(::syscall(pidfd_open, process, 0)); });
    }
  }
}

TUTTI_DECL bool peer_processes::has_ended(rank_type r) const noexcept {
  cancellation_shield const while_asking;
  pollfd entry{files_[r].get(), POLLIN, 0};
  return entry.fd >= 0 && ::poll(&entry, 1, 0) == 1 && (entry.revents & POLLIN) != 0;
}

}  // namespace tutti::detail::shared_memory
