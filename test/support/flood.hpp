// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <netinet/in.h>
#include <new>
#include <random>
#include <span>
#include <string_view>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

/// A process that connects to the ports of a world as often as it can, and sends nothing, random bytes, copies of what
/// ranks have sent first on connections to these ports, or the beginnings of that. Ranks note it by `greetings_of`.
///
/// Included once in a program: it replaces `connect` and `send`.
namespace tutti::support {

enum class flood_kind { silence, noise, copies, beginnings };
inline constexpr char const* name_of(flood_kind kind) noexcept {
  return kind == flood_kind::silence  ? "silent connections"
         : kind == flood_kind::noise  ? "random bytes"
         : kind == flood_kind::copies ? "copied claims and hellos"
                                      : "beginnings of claims and hellos";
}

/// The memory that the flood shares with the ranks.
struct flood_board {
  /// The first bytes that a rank has sent on a connection.
  struct greeting {
    std::array<char, 256> bytes;
    std::atomic<std::uint32_t> size;  ///< 0 until they are there
    std::uint16_t port;               ///< the port that they were sent to
  };

  std::array<std::atomic<std::uint16_t>, 16> ports;  ///< 0 until it is known
  std::array<greeting, 256> greetings;
  std::atomic<std::size_t> greeting_count;
  std::atomic<std::uint64_t> connection_count;  ///< made by the flood
  std::atomic<bool> has_begun;
  std::atomic<bool> is_over;

  void add(std::uint16_t port) noexcept {
    for (std::atomic<std::uint16_t>& place : ports) {
      std::uint16_t none = 0;
      if (place.compare_exchange_strong(none, port)) {
        return;
      }
    }
  }
  void add(std::uint16_t port, std::string_view text) noexcept {
    std::size_t const i = greeting_count++;
    if (i < greetings.size() && text.size() <= greetings[i].bytes.size()) {
      text.copy(greetings[i].bytes.data(), text.size());
      greetings[i].port = port;
      greetings[i].size = static_cast<std::uint32_t>(text.size());
    }
  }
};

/// The first bytes of the connections of this process go to this board, if there is one.
inline flood_board* greetings_of = nullptr;
/// The ports to which descriptors have connected and sent nothing yet, or 0.
inline std::array<std::uint16_t, 1024> silent_descriptors{};

/// The connections of a flood.
class flood_connections {
 public:
  flood_connections(flood_board& state, flood_kind kind) : state_(state), kind_(kind) {
    for (char& c : noise_) {
      c = static_cast<char>(dice_());
    }
  }
  flood_connections(flood_connections const&) = delete;
  flood_connections& operator=(flood_connections const&) = delete;
  ~flood_connections() {
    for (int const socket : sockets_) {
      ::close(socket);
    }
  }

  /// Makes a connection. Ends an older one, but keeps more and more of them to the end.
  void make_one() {
    std::uint16_t const port = state_.ports[dice_() % state_.ports.size()];
    std::string_view const words = words_for(port);
    if (port == 0 || (kind_ >= flood_kind::copies && words.empty())) {
      return;
    }
    int& socket = sockets_[next_];
    if (++next_ == sockets_.size()) {
      kept_count_ = (std::min)(kept_count_ + sockets_.size() / 8, sockets_.size() / 2);
      next_ = kept_count_;
    }
    ::close(socket);
    socket = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    linger const reset{1, 0};  // leaves no port behind
    ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    address.sin_port = ::htons(port);
    if (::syscall(SYS_connect, socket, &address, sizeof address) != 0 && errno != EINPROGRESS) {
      return;
    }
    sockaddr_in peer{};
    socklen_t length = sizeof peer;
    if (::getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &length) == 0) {  // the loopback interface is quick
      ++state_.connection_count;
      ::syscall(SYS_sendto, socket, words.data(), words.size(), MSG_NOSIGNAL, nullptr, 0);
    }
  }

 private:
  [[nodiscard]] std::string_view words_for(std::uint16_t port) {
    if (kind_ == flood_kind::noise) {
      return {noise_.data() + dice_() % 256, 256};
    }
    std::size_t const count = (std::min)(state_.greeting_count.load(), state_.greetings.size());
    std::size_t const first = count == 0 ? 0 : dice_() % count;
    for (std::size_t i = 0; kind_ >= flood_kind::copies && i != count; ++i) {
      flood_board::greeting const& g = state_.greetings[(first + i) % count];
      if (std::size_t const size = g.size; size != 0 && g.port == port) {
        return {g.bytes.data(), kind_ == flood_kind::copies ? size : 1 + dice_() % (size - 1)};
      }
    }
    return {};
  }

  flood_board& state_;
  flood_kind kind_;
  std::minstd_rand dice_{1};
  std::array<char, 512> noise_{};
  std::array<int, 512> sockets_ = [] {
    std::array<int, 512> none{};
    none.fill(-1);
    return none;
  }();
  std::size_t next_ = 0;
  std::size_t kept_count_ = 0;
};

/// A flood in a process of its own, from construction to destruction.
class flood {
 public:
  flood(flood_kind kind, std::uint16_t first_port) : board_(map()) {
    board_->add(first_port);
    process_ = ::fork();
    if (process_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      flood_connections connections(*board_, kind);
      for (board_->has_begun = true; !board_->is_over;) {
        connections.make_one();
      }
      ::_exit(0);
    }
    while (process_ > 0 && !board_->has_begun) {
      ::sched_yield();
    }
  }
  flood(flood const&) = delete;
  flood& operator=(flood const&) = delete;
  ~flood() {
    board_->is_over = true;
    ::waitpid(process_, nullptr, 0);
    ::munmap(board_, sizeof(flood_board));
  }

  [[nodiscard]] flood_board& board() const noexcept { return *board_; }

 private:
  static flood_board* map() {
    void* const memory =
        ::mmap(nullptr, sizeof(flood_board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
      throw std::system_error(errno, std::generic_category(), "mmap");
    }
    return ::new (memory) flood_board{};
  }

  flood_board* board_;
  pid_t process_ = -1;
};

}  // namespace tutti::support

extern "C" int connect(int socket, sockaddr const* address, socklen_t length) {
  using namespace tutti::support;
  if (greetings_of != nullptr && static_cast<std::size_t>(socket) < silent_descriptors.size()) {
    silent_descriptors[static_cast<std::size_t>(socket)] =
        address->sa_family == AF_INET ? ::ntohs(reinterpret_cast<sockaddr_in const*>(address)->sin_port) : 0;
  }
  return static_cast<int>(::syscall(SYS_connect, socket, address, length));
}

extern "C" ssize_t send(int socket, void const* bytes, std::size_t size, int flags) {
  using namespace tutti::support;
  ssize_t const result = ::syscall(SYS_sendto, socket, bytes, size, flags, nullptr, 0);
  if (greetings_of != nullptr && result > 0 && static_cast<std::size_t>(socket) < silent_descriptors.size()) {
    if (auto const port = std::exchange(silent_descriptors[static_cast<std::size_t>(socket)], std::uint16_t{0})) {
      greetings_of->add(port, {static_cast<char const*>(bytes), static_cast<std::size_t>(result)});
    }
  }
  return result;
}
