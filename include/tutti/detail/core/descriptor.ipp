// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/cancellation.hpp>
#include <tutti/detail/core/descriptor.hpp>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace tutti::inline v0_1_0::detail::inline core {

TUTTI_DECL void descriptor::reset() noexcept {
  if (int const old = release(); old >= 0) {
    int const kept = errno;
    uncancelled const while_closing;
    ::close(old);  // never retried: on Linux the descriptor is gone even after EINTR
    errno = kept;
  }
}

TUTTI_DECL void descriptor::own(int fd) noexcept {
  fd_ = fd;
  if (fd >= 0 && fd <= STDERR_FILENO) [[unlikely]] {
    fd_ = ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int const kept = errno;
    ::close(fd);
    errno = kept;
  }
  inheritance::refuse(fd_);
}

TUTTI_DECL std::pair<descriptor, descriptor> stream_pair() noexcept {
  int ends[2] = {-1, -1};
  standard_numbers const occupied;
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) {
    return {};
  }
  std::pair<descriptor, descriptor> both([&] { return ends[0]; }, [&] { return ends[1]; });
  if (!both.first || !both.second) {  // no number above 2 was left
    int const kept = errno;
    both = std::pair<descriptor, descriptor>();
    errno = kept;
  }
  return both;
}

TUTTI_DECL std::string describe_errno(int code) {
  char text[128] = {};
  struct pick {  // strerror_r has two forms, of POSIX and of GNU
    static char const* of(char const* result, char const*) { return result; }
    static char const* of(int, char const* buffer) { return buffer; }
  };
  return pick::of(::strerror_r(code, text, sizeof text), text);
}

TUTTI_DECL bool out_of_resources(int code) noexcept {
  return code == EMFILE || code == ENFILE || code == ENOBUFS || code == ENOMEM;
}

TUTTI_DECL std::string_view remedy_of(int code, std::string_view otherwise) noexcept {
  switch (code) {
    case EMFILE:
      return "allow this process more descriptors (ulimit -n)";
    case ENFILE:
      return "allow the system more open files (sysctl fs.file-max)";
    case ENOMEM:
    case ENOBUFS:
      return "free some memory, or allow this process more (ulimit -v)";
    case EADDRNOTAVAIL:
    case ECONNREFUSED:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENETDOWN:
    case ENETUNREACH:
    case ETIMEDOUT:
      return "name the interface that leads to the other ranks with TUTTI_INTERFACE or tcp_options::network_interface, "
             "and let no firewall block their connections";
    default:
      return otherwise;
  }
}

TUTTI_DECL std::string advise_on_errno(int code, std::string_view otherwise) {
  std::string_view const remedy = remedy_of(code, otherwise);
  return describe_errno(code).append(remedy.empty() ? "" : "; ").append(remedy);
}

TUTTI_DECL int poll_timeout(time_point deadline) noexcept {
  constexpr long long per_ms = 1'000'000;
  long long const left = (deadline - steady_now()).count();
  long long const ms = left <= 0 ? 0 : (left - 1) / per_ms + 1;
  return static_cast<int>(ms < 1'000'000 ? ms : 1'000'000);
}

TUTTI_DECL int poll_until(pollfd* set, std::size_t size, time_point deadline) noexcept {
  for (;;) {
    int const ready = ::poll(set, size, poll_timeout(deadline));
    if (ready > 0 || (ready < 0 && errno != EINTR)) {
      return ready;
    }
    if (steady_now() >= deadline) {
      return 0;
    }
  }
}

TUTTI_DECL int poll_until(std::span<pollfd> set, time_point deadline) noexcept {
  return poll_until(set.data(), set.size(), deadline);
}

TUTTI_DECL bool wait_ready(int fd, int events, time_point deadline) noexcept {
  pollfd one{fd, static_cast<short>(events), 0};
  return poll_until(&one, 1, deadline) != 0;
}

TUTTI_DECL moved read_some(int fd, std::span<std::byte> to) noexcept {
  moved m;
  while (m.bytes < to.size()) {
    ssize_t const got = ::recv(fd, to.data() + m.bytes, to.size() - m.bytes, MSG_DONTWAIT);
    if (got > 0) {
      m.bytes += static_cast<std::size_t>(got);
    } else if (got == 0) {
      errno = 0;
      m.state = io::closed;
      return m;
    } else if (errno != EINTR) {
      m.state = errno == EAGAIN ? io::open : io::closed;
      return m;
    }
  }
  m.state = io::done;
  return m;
}

TUTTI_DECL moved write_some(int fd, std::span<std::byte const> from) noexcept {
  moved m;
  while (m.bytes < from.size()) {
    ssize_t const put = ::send(fd, from.data() + m.bytes, from.size() - m.bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (put >= 0) {
      m.bytes += static_cast<std::size_t>(put);
    } else if (errno != EINTR) {
      m.state = errno == EAGAIN ? io::open : io::closed;
      return m;
    }
  }
  m.state = io::done;
  return m;
}

TUTTI_DECL io read_all(int fd, std::span<std::byte> to, time_point deadline) noexcept {
  for (;;) {
    moved const m = read_some(fd, to);
    if (m.state != io::open) {
      return m.state;
    }
    to = to.subspan(m.bytes);
    if (!wait_ready(fd, POLLIN, deadline)) {
      return io::late;
    }
  }
}

TUTTI_DECL io write_all(int fd, std::span<std::byte const> from, time_point deadline) noexcept {
  for (;;) {
    moved const m = write_some(fd, from);
    if (m.state != io::open) {
      return m.state;
    }
    from = from.subspan(m.bytes);
    if (!wait_ready(fd, POLLOUT, deadline)) {
      return io::late;
    }
  }
}

/// Blocks SIGXFSZ, the signal of a write beyond the limit of file sizes, for this thread. Other threads and the
/// program's handler are unaffected.
class without_sigxfsz {
 public:
  without_sigxfsz() noexcept {
    ::sigemptyset(&signal_);
    ::sigaddset(&signal_, SIGXFSZ);
    sigset_t pending;
    ::sigpending(&pending);
    was_pending_ = ::sigismember(&pending, SIGXFSZ) == 1;
    ::pthread_sigmask(SIG_BLOCK, &signal_, &mask_);
  }
  without_sigxfsz(without_sigxfsz const&) = delete;
  without_sigxfsz& operator=(without_sigxfsz const&) = delete;
  ~without_sigxfsz() {
    int const kept = errno;
    timespec const now{};
    while (!was_pending_ && ::sigtimedwait(&signal_, nullptr, &now) < 0 && errno == EINTR) {
    }
    ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
    errno = kept;
  }

 private:
  sigset_t signal_;
  sigset_t mask_;
  bool was_pending_;
};

TUTTI_DECL int write_file(int fd, std::span<std::byte const> from) noexcept {
  without_sigxfsz const quiet;
  while (!from.empty()) {
    constexpr std::size_t most = std::size_t{1} << 30;  // Linux writes no more than 2 GiB at once
    ssize_t const put = ::write(fd, from.data(), from.size() < most ? from.size() : most);
    if (put > 0) {
      from = from.subspan(static_cast<std::size_t>(put));
    } else if (put == 0 || errno != EINTR) {
      return put == 0 ? ENOSPC : errno;
    }
  }
  return 0;
}

TUTTI_DECL int replace_file(std::string const& path, std::string_view text) {
  descriptor file([&] { return ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666); });
  if (!file) {
    return errno;
  }
  int const code = write_file(file.get(), bytes_of(text));
  return code != 0 || ::close(file.release()) == 0 ? code : errno;  // NFS may report a full disk only now
}

TUTTI_DECL std::string describe_write_error(int code) {
  return describe_errno(code) +
         (code == ENOSPC || code == EDQUOT ? "; make room there"
          : code == EFBIG ? "; it is larger than the file system or the limit of file sizes (ulimit -f) allows"
                          : "");
}

}  // namespace tutti::detail::core
