// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/fork_guard.hpp>
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

/// Owns a file descriptor; movable, not copyable. It belongs to the process that made it: a forked child does not
/// inherit it, and sees an empty one. A descriptor given up by `release` is inherited.
///
/// Its number is never 0, 1 or 2, even for an instant, although the program may have closed the standard streams:
/// output must not get into a socket or shared memory. So there is one way to make a descriptor, from the call that
/// opens it: `descriptor file([&] { return ::open(path, flags); })`. test/project/include_table checks that no other
/// code opens one.
class descriptor {
 public:
  descriptor() noexcept = default;
  /// Owns the number that `make()` returns, while the numbers 0 to 2 are occupied. Empty, with errno, if that is
  /// negative.
  template <class Make>
    requires requires(Make const& make) {
      { make() } -> std::same_as<int>;
    }
  explicit descriptor(Make const& make) noexcept {
    standard_numbers const reservation;
    adopt(make());
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

  [[nodiscard]] int get() const noexcept { return owner_ == fork_guard::generation() ? fd_ : -1; }
  [[nodiscard]] explicit operator bool() const noexcept { return get() >= 0; }
  [[nodiscard]] int release() noexcept {
    int const fd = get();
    fork_guard::remove(fd);
    fd_ = -1;
    return fd;
  }

  /// Closes the descriptor; preserves errno.
  TUTTI_DECL void reset() noexcept;

 private:
  /// Owns `fd`, or a duplicate above 2 if the program closed a standard stream during the call.
  TUTTI_DECL void adopt(int fd) noexcept;

  int fd_ = -1;
  std::uint32_t owner_ = fork_guard::generation();  ///< generation of the process that opened it
};

/// Makes a file in memory (memfd), which lasts until its last descriptor and its last mapping end, and may be sealed.
/// Empty, with errno, on failure.
[[nodiscard]] TUTTI_DECL descriptor memory_file(char const* name) noexcept;

/// Returns the two ends of a local connection; empty, with errno, on failure.
[[nodiscard]] TUTTI_DECL std::pair<descriptor, descriptor> stream_pair() noexcept;

/// "Connection refused", for messages to users.
[[nodiscard]] TUTTI_DECL std::string describe_errno(int code);

/// Advice to users about an errno; the only place with such texts.
/// @param otherwise advice for an errno unknown here; may be empty
[[nodiscard]] TUTTI_DECL std::string_view remedy_of(int code, std::string_view otherwise = {}) noexcept;

/// Description and advice: "Too many open files; allow this process more descriptors (ulimit -n)".
[[nodiscard]] TUTTI_DECL std::string advise_on_errno(int code, std::string_view otherwise = {});

/// True if a call failed for lack of descriptors or memory.
[[nodiscard]] TUTTI_DECL bool out_of_resources(int code) noexcept;

/// The timeout in ms for poll(2) until `deadline`, rounded up to avoid spinning at the end.
[[nodiscard]] TUTTI_DECL int poll_timeout(time_point deadline) noexcept;

/// Calls poll(2), again after signals. Returns the number of ready descriptors, 0 at the deadline.
TUTTI_DECL int poll_until(pollfd* set, std::size_t size, time_point deadline) noexcept;
TUTTI_DECL int poll_until(std::span<pollfd> set, time_point deadline) noexcept;

/// Waits for POLLIN, POLLOUT or both on one descriptor; returns false at the deadline. An error or a hang-up counts as
/// ready: the next read or write reports it.
TUTTI_DECL bool wait_ready(int fd, int events, time_point deadline) noexcept;

/// The outcome of a read or write.
enum class io {
  open,      ///< incomplete; try again when ready
  complete,  ///< all of it
  hangup,    ///< the other end closed, reset or died; errno is 0 at an orderly end
  late,      ///< the deadline passed
};

struct io_result {
  std::size_t bytes = 0;
  io state = io::open;
};

/// Reads available bytes from a non-blocking socket. `hangup` at its end and on an error. Never waits.
TUTTI_DECL io_result read_some(int fd, std::span<std::byte> destination) noexcept;

/// Writes as many bytes as fit to a socket. Raises no SIGPIPE. Never waits.
TUTTI_DECL io_result write_some(int fd, std::span<std::byte const> source) noexcept;

/// Reads all of `destination` from a socket: `complete`, `hangup` or `late`.
TUTTI_DECL io read_all(int fd, std::span<std::byte> destination, time_point deadline) noexcept;

/// Writes all of `source` to a socket: `complete`, `hangup` or `late`.
TUTTI_DECL io write_all(int fd, std::span<std::byte const> source, time_point deadline) noexcept;

/// Writes all of `source` to a file. Returns 0, or the errno of the failure, which beyond the limit of file sizes
/// (ulimit -f) is EFBIG, without SIGXFSZ.
[[nodiscard]] TUTTI_DECL int write_file(int fd, std::span<std::byte const> source) noexcept;

/// Creates or replaces a file. Returns 0, or the errno of the failure.
[[nodiscard]] TUTTI_DECL int replace_file(std::string const& path, std::string_view text);

/// "File too large; ...", for messages to users: the reason why a file could not be written, and advice.
[[nodiscard]] TUTTI_DECL std::string describe_write_error(int code);

template <class Byte = std::byte const>
[[nodiscard]] std::span<Byte> bytes_of(std::string_view text) noexcept {
  return {reinterpret_cast<Byte*>(text.data()), text.size()};
}

}  // namespace tutti::detail::core

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/core/descriptor.ipp>
#endif
