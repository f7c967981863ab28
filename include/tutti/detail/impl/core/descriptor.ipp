// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/descriptor.hpp>

#include <cstring>

namespace tutti::inline v0_1_0::detail {

TUTTI_DECL void descriptor::reset(int fd) noexcept {
  if (int const old = release(); old >= 0) {
    int const kept = errno;
    ::close(old);  // never retried: on Linux the descriptor is gone even after EINTR
    errno = kept;
  }
  fd_ = above_standard(fd);
  owner_ = inheritance::generation();
  inheritance::refuse(fd_);
}

TUTTI_DECL int descriptor::above_standard(int fd) noexcept {
  if (fd < 0 || fd > STDERR_FILENO) [[likely]] {
    return fd;
  }
  int const above = ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  int const kept = errno;
  ::close(fd);
  errno = kept;
  return above;
}

TUTTI_DECL std::pair<descriptor, descriptor> stream_pair() noexcept {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) {
    return {};
  }
  std::pair<descriptor, descriptor> both(ends[0], ends[1]);
  if (!both.first || !both.second) {  // no number above those of the standard streams was left
    int const kept = errno;
    both = {};
    errno = kept;
  }
  return both;
}

TUTTI_DECL standard_numbers::standard_numbers() noexcept {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) {
      continue;
    }
    int const opened = ::open("/dev/null", O_RDWR | O_CLOEXEC);  // the lowest number that is free
    if (opened < 0 || opened > STDERR_FILENO) {
      ::close(opened);
      return;
    }
    occupied_[opened] = true;
  }
}

TUTTI_DECL standard_numbers::~standard_numbers() {
  int const kept = errno;
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (occupied_[fd]) {
      ::close(fd);
    }
  }
  errno = kept;
}

TUTTI_DECL std::string describe_errno(int code) {
  char text[128] = {};
  struct pick {  // there are two strerror_r, of POSIX and of GNU
    static char const* of(char const* result, char const*) { return result; }
    static char const* of(int, char const* buffer) { return buffer; }
  };
  return pick::of(::strerror_r(code, text, sizeof text), text);
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

}  // namespace tutti::detail
