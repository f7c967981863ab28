// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/core/node_identity.hpp>
#include <tutti/detail/core/owned.hpp>
#include <tutti/types.hpp>

#include <cstdlib>
#include <string>
#include <unistd.h>

namespace tutti::detail {

/// Tells of the processes of this host which ones have ended, whatever their children still hold, and whether or not
/// they have been buried: a descriptor of each process (pidfd_open, Linux 5.3), which no later process of the same
/// number can be taken for. One that is stopped has not ended.
template <class = void>
class basic_peer_processes {
 public:
  /// By which peers find this process: "number@namespace".
  [[nodiscard]] static std::string offer() {
    std::string text = std::to_string(::getpid()) + '@';
    for (char const c : file_identity("/proc/self/ns/pid")) {
      text += c == ' ' ? '+' : c;
    }
    return text;
  }

  /// Opens those that made these offers. They were the right ones if each of them is heard of afterwards.
  template <class Offers>
  void open(Offers const& offers) {
    std::string const mine = offer();
    auto const in = [](auto const& text) { return text.substr(text.find('@') + 1); };
    files_ = owned_array<descriptor>(offers.size());
    for (rank_type r = 0; r < offers.size(); ++r) {
      std::string const text(offers[r]);
      if (in(text) == in(mine) && !in(mine).empty()) {  // numbers of another namespace mean other processes here
        files_[r].reset(open(static_cast<::pid_t>(std::strtol(text.c_str(), nullptr, 10))));
      }
    }
  }

  /// Whether it will be known when a process has ended.
  [[nodiscard]] bool knows(rank_type r) const noexcept { return static_cast<bool>(files_[r]); }
  /// Whether it is known that the process of rank r has ended. Cost: a system call.
  [[nodiscard]] bool ended(rank_type r) const noexcept {
    pollfd one{files_[r].get(), POLLIN, 0};
    return one.fd >= 0 && ::poll(&one, 1, 0) == 1 && (one.revents & POLLIN) != 0;
  }

 private:
  static int open(::pid_t process) noexcept {
    constexpr long pidfd_open = 434;  // on every architecture; older headers do not name it
    return static_cast<int>(::syscall(pidfd_open, process, 0));
  }

  owned_array<descriptor> files_;
};

using peer_processes = basic_peer_processes<>;

}  // namespace tutti::detail
