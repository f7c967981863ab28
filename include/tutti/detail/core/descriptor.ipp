// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/cancellation.hpp>
#include <tutti/detail/core/descriptor.hpp>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <sys/mman.h>

namespace tutti::inline v0_1_0::detail::inline core {

TUTTI_DECL void descriptor::reset() noexcept {
  if (int const number = release(); number >= 0) {
    int const saved_errno = errno;
    cancellation_shield const while_closing;
    ::close(number);  // never retried: on Linux the descriptor is gone even after EINTR
    errno = saved_errno;
  }
}

TUTTI_DECL void descriptor::adopt(int fd) noexcept {
  fd_ = fd;
  if (fd >= 0 && fd <= STDERR_FILENO) [[unlikely]] {
    fd_ = ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    int const saved_errno = errno;
    ::close(fd);
    errno = saved_errno;
  }
  fork_guard::add(fd_);
}

TUTTI_DECL descriptor memory_file(char const* name) noexcept {
  constexpr unsigned no_exec_seal = 8;  // MFD_NOEXEC_SEAL, unknown to kernels before 6.3
  descriptor file([&] { return ::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | no_exec_seal); });
  if (!file && errno == EINVAL) {
    file = descriptor([&] { return ::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING); });
  }
  return file;
}

TUTTI_DECL std::pair<descriptor, descriptor> stream_pair() noexcept {
  int numbers[2] = {-1, -1};
  standard_numbers const reservation;
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, numbers) != 0) {
    return {};
  }
  std::pair<descriptor, descriptor> ends([&] { return numbers[0]; }, [&] { return numbers[1]; });
  if (!ends.first || !ends.second) {  // no number above 2 was left
    int const saved_errno = errno;
    ends = std::pair<descriptor, descriptor>();
    errno = saved_errno;
  }
  return ends;
}

TUTTI_DECL std::string describe_errno(int code) {
  char text[128] = {};
  struct error_text {  // strerror_r has two forms, of POSIX and of GNU
    static char const* select(char const* result, char const*) { return result; }
    static char const* select(int, char const* buffer) { return buffer; }
  };
  return error_text::select(::strerror_r(code, text, sizeof text), text);
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
  long long const remaining = (deadline - steady_now()).count();
  long long const ms = remaining <= 0 ? 0 : (remaining - 1) / per_ms + 1;
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
  pollfd entry{fd, static_cast<short>(events), 0};
  return poll_until(&entry, 1, deadline) != 0;
}

TUTTI_DECL io_result read_some(int fd, std::span<std::byte> destination) noexcept {
  io_result result;
  while (result.bytes < destination.size()) {
    ssize_t const byte_count =
        ::recv(fd, destination.data() + result.bytes, destination.size() - result.bytes, MSG_DONTWAIT);
    if (byte_count > 0) {
      result.bytes += static_cast<std::size_t>(byte_count);
    } else if (byte_count == 0) {
      errno = 0;
      result.state = io::hangup;
      return result;
    } else if (errno != EINTR) {
      result.state = errno == EAGAIN ? io::open : io::hangup;
      return result;
    }
  }
  result.state = io::complete;
  return result;
}

TUTTI_DECL io_result write_some(int fd, std::span<std::byte const> source) noexcept {
  io_result result;
  while (result.bytes < source.size()) {
    ssize_t const byte_count =
        ::send(fd, source.data() + result.bytes, source.size() - result.bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (byte_count >= 0) {
      result.bytes += static_cast<std::size_t>(byte_count);
    } else if (errno != EINTR) {
      result.state = errno == EAGAIN ? io::open : io::hangup;
      return result;
    }
  }
  result.state = io::complete;
  return result;
}

TUTTI_DECL io read_all(int fd, std::span<std::byte> destination, time_point deadline) noexcept {
  for (;;) {
    io_result const result = read_some(fd, destination);
    if (result.state != io::open) {
      return result.state;
    }
    destination = destination.subspan(result.bytes);
    if (!wait_ready(fd, POLLIN, deadline)) {
      return io::late;
    }
  }
}

TUTTI_DECL io write_all(int fd, std::span<std::byte const> source, time_point deadline) noexcept {
  for (;;) {
    io_result const result = write_some(fd, source);
    if (result.state != io::open) {
      return result.state;
    }
    source = source.subspan(result.bytes);
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
    int const saved_errno = errno;
    timespec const now{};
    while (!was_pending_ && ::sigtimedwait(&signal_, nullptr, &now) < 0 && errno == EINTR) {
    }
    ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
    errno = saved_errno;
  }

 private:
  sigset_t signal_;
  sigset_t mask_;
  bool was_pending_;
};

TUTTI_DECL int write_file(int fd, std::span<std::byte const> source) noexcept {
  without_sigxfsz const quiet;
  while (!source.empty()) {
    constexpr std::size_t limit = std::size_t{1} << 30;  // Linux writes no more than 2 GiB at once
    ssize_t const byte_count = ::write(fd, source.data(), source.size() < limit ? source.size() : limit);
    if (byte_count > 0) {
      source = source.subspan(static_cast<std::size_t>(byte_count));
    } else if (byte_count == 0 || errno != EINTR) {
      return byte_count == 0 ? ENOSPC : errno;
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
