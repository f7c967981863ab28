// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <faults/board.hpp>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <map>
#include <net/if.h>
#include <poll.h>
#include <random>
#include <sched.h>
#include <span>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>

namespace tutti::faults {

/// Two hosts on this machine, network namespaces without names, joined by a cable that loses, repeats, delays and
/// corrupts IP packets: each host has a TUN interface, and a process carries the packets. Made by a process that has
/// one thread; takes root.
class cable {
 public:
  static constexpr char const* interface = "tutti0";

  cable() {
    int const home = ::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    for (std::size_t host = 0; host < 2 && complaint_.empty(); ++host) {
      if (::unshare(CLONE_NEWNET) != 0) {
        complaint_ = "no network namespaces: are you root?";
        break;
      }
      spaces_[host] = ::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
      tunnels_[host] = ::open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
      ifreq request{};
      std::strcpy(request.ifr_name, interface);
      request.ifr_flags = IFF_TUN | IFF_NO_PI;
      std::string const set_up = "ip link set lo up && ip addr add 10.78.0." + std::to_string(host + 1) +
                                 "/24 dev tutti0 && ip link set tutti0 up";
      if (::ioctl(tunnels_[host], TUNSETIFF, &request) != 0 || std::system(set_up.c_str()) != 0) {
        complaint_ = "no TUN interface, or no ip(8)";
      }
    }
    if (::setns(home, CLONE_NEWNET) != 0 && complaint_.empty()) {
      complaint_ = "no way back from a network namespace";
    }
    ::close(home);
  }
  cable(cable const&) = delete;
  cable& operator=(cable const&) = delete;
  ~cable() {
    for (std::size_t host = 0; host < 2; ++host) {
      ::close(spaces_[host]);
      ::close(tunnels_[host]);
    }
  }

  /// The reason why this machine has no such cable, or "".
  [[nodiscard]] std::string const& complaint() const noexcept { return complaint_; }

  /// Moves this process into a host.
  void enter(std::size_t host) const {
    if (::setns(spaces_[host], CLONE_NEWNET) != 0) {
      std::abort();
    }
  }

  /// Carries packets until the trial is over. If `is_pulled`, none after `delay` from the first operations on.
  void run(board const& state, rank_type ranks, bool is_pulled, duration delay, std::uint64_t seed) {
    std::mt19937_64 dice(seed);
    auto const percent = [&](unsigned limit) { return static_cast<unsigned>(dice() % (limit + 1)); };
    unsigned const loss = percent(4);
    unsigned const repetition = percent(10);
    unsigned const corruption = percent(4);
    unsigned const lateness = percent(20);
    std::array<std::multimap<time_point, std::string>, 2> packets;
    time_point pull_time = (time_point::max)();
    while (!state.is_over) {
      pollfd set[2] = {{tunnels_[0], POLLIN, 0}, {tunnels_[1], POLLIN, 0}};
      ::poll(set, 2, 1);
      time_point const now = steady_now();
      if (is_pulled && pull_time == (time_point::max)()) {
        pull_time = state.is_under_way(ranks) ? now + delay : pull_time;
      }
      for (std::size_t host = 0; host < 2; ++host) {
        char bytes[2048];
        for (ssize_t size = 0; (size = ::read(tunnels_[host], bytes, sizeof bytes)) > 0;) {
          auto const packet = std::span(bytes).first(static_cast<std::size_t>(size));
          if (now >= pull_time || percent(99) < loss) {
            continue;
          }
          if (percent(99) < corruption) {  // one bit: the checksums of IP and TCP find it
            char& c = packet[dice() % packet.size()];
            c = static_cast<char>(c ^ 1 << dice() % 8);
          }
          for (int copies = percent(99) < repetition ? 2 : 1; copies > 0; --copies) {
            bool const is_late = percent(99) < lateness;
            packets[host].emplace(now + (is_late ? std::chrono::microseconds(dice() % 5000) : duration{}),
                                  std::string(packet.data(), packet.size()));
          }
        }
        auto& queue = packets[host];
        for (; !queue.empty() && queue.begin()->first <= now; queue.erase(queue.begin())) {
          std::string const& packet = queue.begin()->second;
          [[maybe_unused]] ssize_t const size = ::write(tunnels_[1 - host], packet.data(), packet.size());
        }
      }
    }
  }

 private:
  int spaces_[2] = {-1, -1};
  int tunnels_[2] = {-1, -1};
  std::string complaint_;
};

}  // namespace tutti::faults
