// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/inheritance.hpp>
#include <tutti/time.hpp>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <span>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace tutti::detail {

/// Owns a file descriptor. Moves, does not copy; closes at the end. It belongs to the process that made it: a forked
/// child does not inherit it, and has none in its place. `release` gives it up as one that a child does inherit.
class descriptor {
 public:
  descriptor() noexcept = default;
  explicit descriptor(int fd) noexcept : fd_(fd) { inheritance::refuse(fd); }
  descriptor(descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)), owner_(other.owner_) {}
  descriptor& operator=(descriptor&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
      owner_ = other.owner_;
    }
    return *this;
  }
  ~descriptor() { reset(); }

  [[nodiscard]] int get() const noexcept { return owner_ == inheritance::generation() ? fd_ : -1; }
  [[nodiscard]] explicit operator bool() const noexcept { return get() >= 0; }
  [[nodiscard]] int release() noexcept {
    int const fd = get();
    inheritance::allow(fd);
    fd_ = -1;
    return fd;
  }

  /// Closes the descriptor (errno stays as it was) and owns `fd` instead.
  void reset(int fd = -1) noexcept {
    if (int const old = release(); old >= 0) {
      int const kept = errno;
      ::close(old);  // never retried: on Linux the descriptor is gone even after EINTR
      errno = kept;
    }
    fd_ = fd;
    owner_ = inheritance::generation();
    inheritance::refuse(fd);
  }

 private:
  int fd_ = -1;
  std::uint32_t owner_ = inheritance::generation();  ///< the process that has it open
};

/// "Connection refused", for a message to a human.
[[nodiscard]] inline std::string describe_errno(int code) {
  char text[128] = {};
  struct pick {  // there are two strerror_r, of POSIX and of GNU
    static char const* of(char const* result, char const*) { return result; }
    static char const* of(int, char const* buffer) { return buffer; }
  };
  return pick::of(::strerror_r(code, text, sizeof text), text);
}

/// What poll(2) is to wait, in ms, until `deadline`: rounded up, so that it does not spin at the end.
[[nodiscard]] inline int poll_timeout(time_point deadline) noexcept {
  constexpr long long per_ms = 1'000'000;
  long long const left = (deadline - steady_now()).count();
  long long const ms = left <= 0 ? 0 : (left - 1) / per_ms + 1;
  return static_cast<int>(ms < 1'000'000 ? ms : 1'000'000);
}

/// poll(2) that goes on after a signal. Returns how many descriptors are ready, 0 at the deadline.
inline int poll_until(pollfd* set, std::size_t size, time_point deadline) noexcept {
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

inline int poll_until(std::span<pollfd> set, time_point deadline) noexcept {
  return poll_until(set.data(), set.size(), deadline);
}

/// Waits for POLLIN, POLLOUT or both on one descriptor. False at the deadline. An error or a hang-up
/// counts as ready: the read or write that follows says which.
inline bool wait_ready(int fd, int events, time_point deadline) noexcept {
  pollfd one{fd, static_cast<short>(events), 0};
  return poll_until(&one, 1, deadline) != 0;
}

/// How a read or write went.
enum class io {
  open,    ///< as far as it could go; try again when ready
  done,    ///< all of it
  closed,  ///< the other end closed, reset or died; errno is 0 at an orderly end
  late,    ///< the deadline passed
};

struct moved {
  std::size_t bytes = 0;
  io state = io::open;
};

/// Reads what is there from a non-blocking socket. `closed` at its end and on an error. Never waits.
inline moved read_some(int fd, std::span<std::byte> to) noexcept {
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
      m.state = errno == EAGAIN || errno == EWOULDBLOCK ? io::open : io::closed;
      return m;
    }
  }
  m.state = io::done;
  return m;
}

/// Writes what fits to a socket. Raises no SIGPIPE. Never waits.
inline moved write_some(int fd, std::span<std::byte const> from) noexcept {
  moved m;
  while (m.bytes < from.size()) {
    ssize_t const put = ::send(fd, from.data() + m.bytes, from.size() - m.bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (put >= 0) {
      m.bytes += static_cast<std::size_t>(put);
    } else if (errno != EINTR) {
      m.state = errno == EAGAIN || errno == EWOULDBLOCK ? io::open : io::closed;
      return m;
    }
  }
  m.state = io::done;
  return m;
}

/// Reads all of `to` from a socket: `done`, `closed` or `late`.
template <class = void>
io read_all(int fd, std::span<std::byte> to, time_point deadline) noexcept {
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

/// Writes all of `from` to a socket: `done`, `closed` or `late`.
template <class = void>
io write_all(int fd, std::span<std::byte const> from, time_point deadline) noexcept {
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

template <class Byte = std::byte const>
[[nodiscard]] std::span<Byte> bytes_of(std::string_view text) noexcept {
  return {reinterpret_cast<Byte*>(text.data()), text.size()};
}

}  // namespace tutti::detail
