// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <fcntl.h>
#include <sched.h>
#include <stdexcept>
#include <string>
#include <unistd.h>

namespace tutti::support {

/// Two hosts on this machine, network namespaces joined by a cable. They have only the addresses that the system
/// assigns, and are removed with this object. A thread that enters one stays in it.
class network_spaces {
 public:
  /// The reason why this machine cannot make hosts; "" if they can.
  [[nodiscard]] static std::string obstacle() {
    network_spaces const probe;
    return probe.complaint_;
  }

  network_spaces() : prefix_("tuttitest" + std::to_string(::getpid()) + "-") {
    for (int host : {0, 1}) {
      run("ip netns add " + name(host));
    }
    run("ip -n " + name(0) + " link add " + port(0) + " type veth peer name " + port(1) + " netns " + name(1));
    for (int host : {0, 1}) {
      configure(host, "link set lo up");
      configure(host, "link set " + port(host) + " up");
    }
  }
  network_spaces(network_spaces const&) = delete;
  network_spaces& operator=(network_spaces const&) = delete;
  ~network_spaces() {
    for (int host : {0, 1}) {
      std::string const command = "ip netns del " + name(host) + " 2> /dev/null";
      [[maybe_unused]] int const status = std::system(command.c_str());
    }
  }

  /// The name of the cable's interface on a host. Each host has another name for it.
  [[nodiscard]] static std::string port(int host) { return host == 0 ? "left0" : "right7"; }

  /// Gives a host's ip(8) a command, such as "link set lo down".
  void configure(int host, std::string const& command) { run("ip -n " + name(host) + " " + command); }
  /// Gives the ends of the cable the addresses 1 and 2 of an IPv6 network, without duplicate detection.
  void give_addresses() {
    for (int host : {0, 1}) {
      configure(host, "addr add fd00::" + std::to_string(host + 1) + "/64 dev " + port(host) + " nodad");
    }
  }
  /// Moves this process into a host.
  void enter(int host) const {
    std::string const path = "/run/netns/" + name(host);
    int const file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0 || ::setns(file, CLONE_NEWNET) != 0) {
      throw std::runtime_error("cannot enter " + path);
    }
    ::close(file);
  }
  /// The first command that ip(8) refused.
  [[nodiscard]] std::string const& complaint() const noexcept { return complaint_; }

 private:
  [[nodiscard]] std::string name(int host) const { return prefix_ + std::to_string(host); }
  void run(std::string const& command) {
    if (complaint_.empty() && std::system((command + " 2> /dev/null").c_str()) != 0) {
      complaint_ = "'" + command + "' fails: are you root, and is ip(8) there?";
    }
  }

  std::string prefix_;
  std::string complaint_;
};

}  // namespace tutti::support
