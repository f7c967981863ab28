// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/fpga_nic.hpp>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <poll.h>
#include <span>
#include <stdexcept>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace tutti::support {

/// A switch that is a process, at a UDP port of this host.
class switch_process {
 public:
  explicit switch_process(tutti::detail::udp::seal const& seal = {}) : seal_(seal) {
    int ends[2] = {-1, -1};
    if (::pipe(ends) != 0) {
      throw std::system_error(errno, std::generic_category(), "pipe");
    }
    child_ = ::fork();
    if (child_ == 0) {
      serve(ends[1]);
    }
    ::close(ends[1]);
    bool const serves = ::read(ends[0], &number_, sizeof number_) == sizeof number_;
    ::close(ends[0]);
    if (!serves) {
      throw std::runtime_error("the switch has not begun");
    }
  }
  switch_process(switch_process const&) = delete;
  switch_process& operator=(switch_process const&) = delete;
  ~switch_process() {
    kill();
    ::waitpid(child_, nullptr, 0);
  }

  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(number_); }
  /// Makes the switch lose its state, receive nothing for a quarter of a second, and start again.
  void crash() const { ::kill(child_, SIGUSR1); }
  /// Ends the switch for good.
  void kill() const { ::kill(child_, SIGKILL); }

 private:
  [[noreturn]] void serve(int report_pipe) {
    namespace nic = tutti::detail::fpga_nic;
    using namespace std::chrono_literals;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    static volatile std::sig_atomic_t crash_flag = 0;
    ::signal(SIGUSR1, [](int) { crash_flag = 1; });
    nic::udp_port port(tutti::detail::net::resolve("127.0.0.1", 0).front());
    port.use(seal_);
    std::uint16_t const number = tutti::detail::net::local_address(port.descriptor()).port();
    if (::write(report_pipe, &number, sizeof number) != sizeof number) {
      ::_exit(1);
    }
    for (;;) {
      nic::summing_switch<nic::endpoint> device({.guard = nic::secret_key{}}, seal_);
      for (crash_flag = 0; crash_flag == 0;) {
        pollfd entry{port.descriptor(), POLLIN, 0};
        ::poll(&entry, 1, 10);
        while (port.drain([&](nic::endpoint const& sender, std::span<std::byte const> bytes, bool is_congested) {
          device.take(sender, bytes, is_congested, tutti::steady_now(),
                      [&](nic::endpoint const& receiver, nic::header const& h, std::span<std::byte const> payload) {
                        port.send(receiver, h, payload);
                      });
        }) != 0) {
          port.flush();
        }
      }
      for (auto const end = tutti::steady_now() + 250ms; tutti::steady_now() < end;) {
        port.drain([](auto&&...) {});
        ::poll(nullptr, 0, 1);
      }
    }
  }

  tutti::detail::udp::seal seal_;
  pid_t child_ = -1;
  std::uint16_t number_ = 0;
};

}  // namespace tutti::support
