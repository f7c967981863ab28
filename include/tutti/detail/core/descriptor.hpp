// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/inheritance.hpp>
#include <tutti/detail/core/standard_numbers.hpp>
#include <tutti/extend/time.hpp>

#include <cerrno>
#include <concepts>
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

namespace tutti::inline v0_1_0::detail::inline core {

/// Owns a file descriptor. Moves, does not copy; closes at the end. It belongs to the process that made it: a forked
/// child does not inherit it, and has none in its place. `release` gives it up as one that a child does inherit.
///
/// Its number is never 0, 1 or 2, not even for an instant, also where the program has closed the standard streams: what
/// the program prints must not get into a socket or into shared memory. So there is one way to make a descriptor, from
/// the call that makes it: `descriptor file([&] { return ::open(path, flags); })`. test/project/include_table checks
/// that no other code makes one.
class descriptor {
 public:
  descriptor() noexcept = default;
  /// Owns the number that `make()` returns, while the numbers 0 to 2 are occupied. None, and errno, if that is
  /// negative.
  template <class Make>
    requires requires(Make const& make) {
      { make() } -> std::same_as<int>;
    }
  explicit descriptor(Make const& make) noexcept {
    standard_numbers const occupied;
    own(make());
  }
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

  /// Closes the descriptor (errno stays as it was).
  TUTTI_DECL void reset() noexcept;

 private:
  /// Owns `fd`. If that is 0 to 2, as after the program has closed a stream during the call, owns a duplicate above 2.
  TUTTI_DECL void own(int fd) noexcept;

  int fd_ = -1;
  std::uint32_t owner_ = inheritance::generation();  ///< the process that has it open
};

/// Returns the two ends of a local connection; none, and errno, if they cannot be made.
[[nodiscard]] TUTTI_DECL std::pair<descriptor, descriptor> stream_pair() noexcept;

/// "Connection refused", for a message to a human.
[[nodiscard]] TUTTI_DECL std::string describe_errno(int code);

/// Advice to a user about an errno: the one place that knows.
/// @param otherwise what to do about an errno of which nothing is known here; empty: nothing is said
[[nodiscard]] TUTTI_DECL std::string_view remedy_of(int code, std::string_view otherwise = {}) noexcept;

/// Both: "Too many open files; allow this process more descriptors (ulimit -n)".
[[nodiscard]] TUTTI_DECL std::string advise_on_errno(int code, std::string_view otherwise = {});

/// True if a call failed for want of descriptors or memory.
[[nodiscard]] TUTTI_DECL bool out_of_resources(int code) noexcept;

/// What poll(2) is to wait, in ms, until `deadline`: rounded up, so that it does not spin at the end.
[[nodiscard]] TUTTI_DECL int poll_timeout(time_point deadline) noexcept;

/// poll(2) that goes on after a signal. Returns how many descriptors are ready, 0 at the deadline.
TUTTI_DECL int poll_until(pollfd* set, std::size_t size, time_point deadline) noexcept;
TUTTI_DECL int poll_until(std::span<pollfd> set, time_point deadline) noexcept;

/// Waits for POLLIN, POLLOUT or both on one descriptor. False at the deadline. An error or a hang-up
/// counts as ready: the read or write that follows says which.
TUTTI_DECL bool wait_ready(int fd, int events, time_point deadline) noexcept;

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
TUTTI_DECL moved read_some(int fd, std::span<std::byte> to) noexcept;

/// Writes what fits to a socket. Raises no SIGPIPE. Never waits.
TUTTI_DECL moved write_some(int fd, std::span<std::byte const> from) noexcept;

/// Reads all of `to` from a socket: `done`, `closed` or `late`.
TUTTI_DECL io read_all(int fd, std::span<std::byte> to, time_point deadline) noexcept;

/// Writes all of `from` to a socket: `done`, `closed` or `late`.
TUTTI_DECL io write_all(int fd, std::span<std::byte const> from, time_point deadline) noexcept;

/// Writes all of `from` to a file. Returns 0, or the errno of the failure. Beyond the limit of file sizes (ulimit -f)
/// that is EFBIG: the process gets no SIGXFSZ.
[[nodiscard]] TUTTI_DECL int write_file(int fd, std::span<std::byte const> from) noexcept;

/// Makes or replaces a file. Returns 0, or the errno of the failure.
[[nodiscard]] TUTTI_DECL int replace_file(std::string const& path, std::string_view text);

/// "File too large; ...", for a message to a human: why a file could not be written, and what to do.
[[nodiscard]] TUTTI_DECL std::string describe_write_error(int code);

template <class Byte = std::byte const>
[[nodiscard]] std::span<Byte> bytes_of(std::string_view text) noexcept {
  return {reinterpret_cast<Byte*>(text.data()), text.size()};
}

}  // namespace tutti::detail::core

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/core/descriptor.ipp>
#endif
