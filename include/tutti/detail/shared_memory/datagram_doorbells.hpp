// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/core/owned.hpp>
#include <tutti/error.hpp>
#include <tutti/types.hpp>

#include <cstring>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/un.h>

namespace tutti::inline v0_1_0::detail {

/// Wakes processes of one host: each has a datagram socket, which the others reach by name. The
/// names lie in Linux's abstract namespace, so nothing stays behind when a process is killed; and that a name is
/// there no more tells that its owner is gone.
class datagram_doorbells {
 public:
  /// This rank's own bell. @throws error(failure::join)
  void open(std::string_view name) {
    bell_ = socket();
    sockaddr_un const here = address_of(name);
    if (!bell_ || ::bind(bell_.get(), reinterpret_cast<sockaddr const*>(&here), length(name)) != 0) {
      throw error(failure::join, "cannot open a local socket to be woken by: " + describe_errno(errno) +
                                     "; allow this process more descriptors (ulimit -n), or use tcp");
    }
  }

  /// Learns the names of all ranks. @throws error(failure::join) if one is out of reach
  template <class Names>
  void connect(Names const& names) {
    probe_ = socket();
    if (!probe_) {
      throw error(failure::join, "cannot open a local socket to wake the others by: " + describe_errno(errno) +
                                     "; allow this process more descriptors (ulimit -n), or use tcp");
    }
    peers_ = owned_array<peer>(names.size());
    for (std::size_t r = 0; r < names.size(); ++r) {
      peers_[r] = {address_of(names[r]), length(names[r])};
      if (call(static_cast<rank_type>(r)) != 0) {
        throw error(failure::join, "rank " + std::to_string(r) + " cannot be reached over a local socket (" +
                                       describe_errno(errno) +
                                       "); start the ranks in one network namespace, or use tcp");
      }
    }
  }

  [[nodiscard]] int own() const noexcept { return bell_.get(); }

  void ring(rank_type r) const noexcept {
    // Fails when the peer is gone, or has enough rings waiting that one more makes no difference.
    char const ring = 0;
    ::sendto(bell_.get(), &ring, 1, MSG_DONTWAIT | MSG_NOSIGNAL, reinterpret_cast<sockaddr const*>(&peers_[r].name),
             peers_[r].length);
  }
  /// Whether the process of another rank still has its bell. Cost: a system call.
  [[nodiscard]] bool reaches(rank_type r) const noexcept { return call(r) == 0 || errno != ECONNREFUSED; }

  /// Gives rank r a file: it has a descriptor of its own as soon as it takes it. False, and errno says why, if not.
  [[nodiscard]] bool hand(rank_type r, int file) const noexcept {
    datagram p;
    p.message.msg_name = &peers_[r].name;
    p.message.msg_namelen = peers_[r].length;
    cmsghdr* const head = CMSG_FIRSTHDR(&p.message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof file);
    std::memcpy(CMSG_DATA(head), &file, sizeof file);
    return ::sendmsg(bell_.get(), &p.message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
  }
  /// The file that another process has given, and `expected(descriptor)` holds for; none if there is none.
  /// Any process of this host can send to a bell, so other files are let go, and no more is looked at than a bell
  /// holds at a time.
  template <class Expected>
  [[nodiscard]] descriptor take(Expected&& expected) const {
    constexpr int most_waiting = 1024;  // net.unix.max_dgram_qlen is 10 or 512
    for (int i = 0; i < most_waiting; ++i) {
      datagram p;
      p.message.msg_controllen = CMSG_LEN(sizeof(int));  // or the padding would have room for a second file
      if (::recvmsg(bell_.get(), &p.message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) < 0) {
        return {};
      }
      cmsghdr const* const head = CMSG_FIRSTHDR(&p.message);
      if (head != nullptr && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
          head->cmsg_len == CMSG_LEN(sizeof(int))) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(head), sizeof fd);
        if (descriptor file(fd); expected(file)) {
          return file;
        }
      }
    }
    return {};
  }

  /// What is left after that many rings only makes the next sleep return at once: a process that rings without end
  /// keeps no rank here.
  void silence() const noexcept {
    char ring = 0;
    for (int i = 0; i < 64 && ::recv(bell_.get(), &ring, 1, MSG_DONTWAIT) >= 0; ++i) {
    }
  }

 private:
  struct peer {
    sockaddr_un name;
    socklen_t length;
  };

  /// One byte, and beside it one descriptor.
  struct datagram {
    char byte = 0;
    iovec text{&byte, 1};
    alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};

    datagram() noexcept {
      message.msg_iov = &text;
      message.msg_iovlen = 1;
      message.msg_control = room;
      message.msg_controllen = sizeof room;
    }
    datagram(datagram const&) = delete;
    datagram& operator=(datagram const&) = delete;
  };

  [[nodiscard]] int call(rank_type r) const noexcept {
    return ::connect(probe_.get(), reinterpret_cast<sockaddr const*>(&peers_[r].name), peers_[r].length);
  }

  static descriptor socket() noexcept {
    return descriptor(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  }
  /// A name that starts with a zero byte belongs to no file.
  static sockaddr_un address_of(std::string_view name) noexcept {
    sockaddr_un a{};
    a.sun_family = AF_UNIX;
    name.substr(0, sizeof a.sun_path - 1).copy(a.sun_path + 1, sizeof a.sun_path - 1);
    return a;
  }
  static socklen_t length(std::string_view name) noexcept {
    return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }

  descriptor bell_;
  descriptor probe_;  ///< to call others with
  owned_array<peer> peers_;
};

}  // namespace tutti::detail
