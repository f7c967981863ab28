// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/cancellation.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/core/owner.hpp>
#include <tutti/detail/shared_memory/shared_file.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/types.hpp>

#include <array>
#include <cerrno>
#include <cstring>
#include <linux/filter.h>
#include <netinet/in.h>
#include <sched.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/un.h>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// Wakes processes of one host. Each has a datagram socket that the others reach by name. The names are in Linux's
/// abstract namespace: a killed process leaves nothing behind, and a missing name tells that its owner is gone.
///
/// Every user of the host can read the names. So a bell has a password, which its peers learn when they meet. A socket
/// filter drops other messages before they are queued: no program without the password wakes a rank or fills its queue.
///
/// A program of another user may have learned the password where ranks meet without a secret. Only the system knows the
/// sender: it adds the sender's user to each message, and files and refusals count only from this process's own user
/// and from root. A user that this process's user namespace does not map appears as the system's overflow user, 65534,
/// which is another one; only a process that itself appears as 65534 cannot tell such users from its own.
class datagram_doorbells {
 public:
  /// Opens this rank's bell. Returns its name and password, for `connect`.
  /// @throws error(failure::join)
  [[nodiscard]] TUTTI_COLD std::string open(std::string_view name) {
    std::string const text = unique_text();
    text.copy(password_.data(), password_.size());
    bell_ = socket();
    if (bell_) {
      admit_only(password_);  // before the name exists
    }
    sockaddr_un const own_address = address_of(name);
    if (!bell_ || !asks_for_senders() ||
        ::bind(bell_.get(), reinterpret_cast<sockaddr const*>(&own_address), length(name)) != 0) {
      throw error(failure::join, "cannot open the local socket that wakes this rank: " + advise_on_errno(errno));
    }
    return std::string(name) + '/' + text;
  }

  /// Takes the addresses of all ranks. @throws error(failure::join) if one cannot be reached
  template <class Addresses>
  TUTTI_COLD void connect(Addresses const& addresses) {
    probe_ = socket();
    if (!probe_) {
      throw error(failure::join, "cannot open a local socket to wake other ranks: " + advise_on_errno(errno));
    }
    peers_ = owned_array<peer>(addresses.size());
    for (std::size_t r = 0; r < addresses.size(); ++r) {
      std::string_view const address = addresses[r];
      std::size_t const slash = address.rfind('/');
      std::string_view const name = address.substr(0, slash);
      if (slash == address.npos || name.size() > longest_name || address.size() - slash - 1 != sizeof(password)) {
        throw error(failure::join, "rank " + std::to_string(r) + " has published '" +
                                       std::string(address.substr(0, 80)) +
                                       "', which is not a local socket of shared_memory: all ranks must have the same "
                                       "transport, and one version of tutti")
            .set_ranks(no_rank, {static_cast<rank_type>(r)});
      }
      peers_[r] = {address_of(name), length(name), {}};
      address.copy(peers_[r].secret.data(), sizeof(password), slash + 1);
      if (probe(static_cast<rank_type>(r)) != 0) {
        throw error(failure::join, "rank " + std::to_string(r) + " cannot be reached over a local socket (" +
                                       describe_errno(errno) +
                                       "); start the ranks in one network namespace, or use tcp")
            .set_ranks(no_rank, {static_cast<rank_type>(r)});
      }
    }
  }

  [[nodiscard]] int own_descriptor() const noexcept { return bell_.get(); }

  void ring(rank_type r) const noexcept {
    // Fails if the peer is gone, or has a full queue of rings, where one more makes no difference.
    password const& secret = peers_[r].secret;
    ::sendto(bell_.get(), secret.data(), secret.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
             reinterpret_cast<sockaddr const*>(&peers_[r].name), peers_[r].length);
  }
  /// True if the process of another rank still has its bell. Cost: a system call.
  [[nodiscard]] bool reaches(rank_type r) const noexcept { return probe(r) == 0 || errno != ECONNREFUSED; }

  /// Sends a file to rank r, which gets a descriptor of its own. Returns false with an errno on failure.
  ///
  /// The kernel charges a message to its sender until it is taken, so only some hundred files can wait: this call waits
  /// for room, until the deadline.
  [[nodiscard]] bool hand(rank_type r, int file, time_point deadline) const noexcept {
    datagram p;
    p.text = peers_[r].secret;
    p.message.msg_name = &peers_[r].name;
    p.message.msg_namelen = peers_[r].length;
    p.message.msg_controllen = CMSG_SPACE(sizeof file);
    cmsghdr* const head = CMSG_FIRSTHDR(&p.message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof file);
    std::memcpy(CMSG_DATA(head), &file, sizeof file);
    while (::sendmsg(bell_.get(), &p.message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
      // ETOOMANYREFS: files of this user that are under way have reached the limit of open files.
      bool const full = errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM || errno == ETOOMANYREFS;
      if (errno != EINTR && (!full || steady_now() >= deadline)) {
        return false;
      }
      pollfd entry{bell_.get(), POLLOUT, 0};
      ::poll(&entry, 1, poll_ms);
      ::sched_yield();  // poll knows none of the other limits
    }
    return true;
  }
  /// Tells rank r that it gets no file.
  void refuse(rank_type r) const noexcept { ring(r); }

  /// Takes the file that rank `sender` hands over, for which `expected(descriptor)` holds. On failure returns none,
  /// with an errno: ECANCELED if that rank refused, EMFILE or EACCES if the file cannot be taken, ECONNRESET if the
  /// rank is gone; at the deadline EPERM if messages of another user came, else ETIMEDOUT. Drops these messages, and
  /// other files.
  template <class Expected>
  [[nodiscard]] TUTTI_COLD descriptor take(rank_type sender, Expected&& expected, time_point deadline) const {
    int late_code = ETIMEDOUT;
    for (;;) {
      datagram p;
      p.message.msg_controllen = control_bytes - (CMSG_SPACE(sizeof(int)) - CMSG_LEN(sizeof(int)));  // no second file
      ssize_t size = -1;
      descriptor file([&] {
        size = ::recvmsg(bell_.get(), &p.message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        return size < 0 ? -1 : p.received_file();
      });
      if (size >= 0 && !p.is_of_own_user()) {
        late_code = EPERM;
      } else if (file) {
        if (expected(file)) {
          return file;
        }
      } else if (size >= 0) {
        bool const is_truncated = (p.message.msg_flags & MSG_CTRUNC) != 0;
        descriptor const duplicate([&] { return is_truncated ? ::fcntl(bell_.get(), F_DUPFD_CLOEXEC, 0) : -1; });
        errno = !is_truncated ? ECANCELED : duplicate ? EACCES : EMFILE;
        return {};
      }
      bool const is_reachable = size >= 0 || reaches(sender);
      if (!is_reachable || steady_now() >= deadline) {
        errno = is_reachable ? late_code : ECONNRESET;
        return {};
      }
      if (size < 0) {
        pollfd entry{bell_.get(), POLLIN, 0};
        ::poll(&entry, 1, poll_ms);
      }
    }
  }

  /// Takes up to 64 rings; a rest only makes the next sleep return at once. So a process that rings without end delays
  /// no rank.
  void clear() const noexcept {
    char ring = 0;
    for (int i = 0; i < 64 && ::recv(bell_.get(), &ring, 1, MSG_DONTWAIT) >= 0; ++i) {
    }
  }

 private:
  using password = std::array<char, 16>;
  static constexpr int poll_ms = 10;  ///< interval at which peers and deadline are checked
  static constexpr std::size_t longest_name = sizeof(sockaddr_un::sun_path) - 1;

  struct peer {
    sockaddr_un name;
    socklen_t length;
    password secret;
  };

  static constexpr std::size_t control_bytes = CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(sizeof(int));

  /// A password, and beside it one descriptor and, if received, the sender's user.
  struct datagram {
    password text{};
    iovec part{text.data(), text.size()};
    alignas(cmsghdr) char control[control_bytes] = {};
    msghdr message{};

    datagram() noexcept {
      message.msg_iov = &part;
      message.msg_iovlen = 1;
      message.msg_control = control;
    }
    datagram(datagram const&) = delete;
    datagram& operator=(datagram const&) = delete;

    /// The descriptor that came with the message, or -1.
    [[nodiscard]] int received_file() noexcept {
      int fd = -1;
      read(SCM_RIGHTS, fd);
      return fd;
    }
    /// True if this process's own user or root has sent the message.
    [[nodiscard]] bool is_of_own_user() noexcept {
      ucred sender{};
      return read(SCM_CREDENTIALS, sender) && (sender.uid == ::getuid() || sender.uid == 0);
    }

   private:
    /// Reads what the system has added to the message; false if there is none of this type.
    template <class T>
    bool read(int type, T& target) noexcept {
      for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == type && c->cmsg_len == CMSG_LEN(sizeof target)) {
          std::memcpy(&target, CMSG_DATA(c), sizeof target);
          return true;
        }
      }
      return false;
    }
  };

  /// Lets the system add the sender's user to each message. False if it refuses.
  [[nodiscard]] bool asks_for_senders() const noexcept {
    int const enable = 1;
    return ::setsockopt(bell_.get(), SOL_SOCKET, SO_PASSCRED, &enable, sizeof enable) == 0;
  }

  /// Lets the kernel drop messages without the password. A kernel without filters queues them, and strangers may fill
  /// the queue.
  void admit_only(password const& secret) const noexcept {
    constexpr std::size_t parts = sizeof(password) / sizeof(std::uint32_t);
    std::array<sock_filter, 2 * parts + 2> code{};
    for (std::size_t i = 0; i != parts; ++i) {
      std::uint32_t part = 0;
      std::memcpy(&part, secret.data() + i * sizeof part, sizeof part);
      auto const to_the_end = static_cast<std::uint8_t>(2 * (parts - 1 - i) + 1);
      code[2 * i] = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(i * sizeof part));
      code[2 * i + 1] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ntohl(part), 0, to_the_end);
    }
    code[2 * parts] = BPF_STMT(BPF_RET | BPF_K, UINT32_MAX);  // all bytes
    code[2 * parts + 1] = BPF_STMT(BPF_RET | BPF_K, 0);
    sock_fprog const program{static_cast<unsigned short>(code.size()), code.data()};
    ::setsockopt(bell_.get(), SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
  }

  [[nodiscard]] int probe(rank_type r) const noexcept {
    cancellation_shield const while_calling;
    return ::connect(probe_.get(), reinterpret_cast<sockaddr const*>(&peers_[r].name), peers_[r].length);
  }

  static descriptor socket() noexcept {
    return descriptor([] { return ::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); });
  }
  /// Returns the address of a name. A name that starts with a zero byte is no file.
  static sockaddr_un address_of(std::string_view name) noexcept {
    sockaddr_un a{};
    a.sun_family = AF_UNIX;
    name.copy(a.sun_path + 1, longest_name);
    return a;
  }
  static socklen_t length(std::string_view name) noexcept {
    return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }

  descriptor bell_;
  password password_{};
  descriptor probe_;  ///< connects to others
  owned_array<peer> peers_;
};

}  // namespace tutti::detail::shared_memory
