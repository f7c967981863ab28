// SPDX-License-Identifier: Apache-2.0
#include "tap_interface.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdexcept>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

[[noreturn]] void fail(std::string const& problem, std::string const& advice) {
  throw std::runtime_error(problem + ": " + tutti::detail::describe_errno(errno) + "; " + advice);
}

constexpr char const* needs_root = "run this as root, or in a namespace of its own (unshare --map-root-user --net)";

ifreq request_for(std::string const& name) {
  ifreq r{};
  std::memcpy(r.ifr_name, name.data(), name.size());
  return r;
}

void set(int fd, unsigned long request, ifreq& r, std::string const& name, char const* property) {
  if (::ioctl(fd, request, &r) != 0) {
    fail("cannot set the " + std::string(property) + " of " + name, needs_root);
  }
}

void set_address(int fd, unsigned long request, std::string const& name, std::uint32_t address, char const* property) {
  ifreq r = request_for(name);
  sockaddr_in socket_address{};
  socket_address.sin_family = AF_INET;
  socket_address.sin_addr.s_addr = htonl(address);
  std::memcpy(&r.ifr_addr, &socket_address, sizeof socket_address);
  set(fd, request, r, name, property);
}

}  // namespace

tap_interface::tap_interface(std::string const& name, std::uint32_t address, unsigned prefix, unsigned queue) {
  if (name.empty() || name.size() >= IFNAMSIZ) {
    throw std::runtime_error("--name " + name + ": the name of an interface has 1 to 15 characters");
  }
  device_ = tutti::detail::descriptor([] { return ::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC); });
  if (!device_) {
    fail("cannot open /dev/net/tun, by which interfaces are made",
         "load the module (modprobe tun); in a container, allow the device (--device /dev/net/tun)");
  }
  ifreq r = request_for(name);
  r.ifr_flags = IFF_TAP | IFF_NO_PI;
  if (::ioctl(device_.get(), TUNSETIFF, &r) != 0) {
    fail("cannot make the interface " + name,
         errno == EBUSY ? "another program has it: choose another --name" : needs_root);
  }
  tutti::detail::descriptor const control_socket([] { return ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0); });
  if (!control_socket) {
    fail("cannot make a socket", "too many files may be open");
  }
  r.ifr_qlen = static_cast<int>(queue);
  set(control_socket.get(), SIOCSIFTXQLEN, r, name, "queue");
  set_address(control_socket.get(), SIOCSIFADDR, name, address, "address");
  set_address(control_socket.get(), SIOCSIFNETMASK, name, prefix == 0 ? 0 : ~std::uint32_t{0} << (32 - prefix), "mask");
  r.ifr_flags = IFF_UP | IFF_RUNNING;
  set(control_socket.get(), SIOCSIFFLAGS, r, name, "state");
}

std::span<std::byte const> tap_interface::take(std::span<std::byte> room) noexcept {
  ssize_t const n = ::read(device_.get(), room.data(), room.size());
  return room.first(n > 0 ? static_cast<std::size_t>(n) : 0);
}

bool tap_interface::give(std::span<std::byte const> frame) noexcept {
  return ::write(device_.get(), frame.data(), frame.size()) == static_cast<ssize_t>(frame.size());
}
