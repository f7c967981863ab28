// SPDX-License-Identifier: Apache-2.0
//
// Messages at the doorbell of a rank: of a peer, with files, and of strangers that do not know its password.
#include "fuzz.hpp"
#include "virtual_time.hpp"
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/shared_memory/datagram_doorbells.hpp>
#include <tutti/extend/time.hpp>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <vector>

namespace {

using namespace tutti::detail;
using tutti::steady_now;

int const files[2] = {::memfd_create("expected", MFD_CLOEXEC), ::memfd_create("other", MFD_CLOEXEC)};

bool is_expected(descriptor const& file) {
  struct stat expected {};
  struct stat actual {};
  return ::fstat(files[0], &expected) == 0 && ::fstat(file.get(), &actual) == 0 && expected.st_ino == actual.st_ino;
}

/// The lowest number that no descriptor of this process has.
int free_number() {
  return descriptor([] { return ::dup(files[0]); }).get();
}

/// Sends a datagram to a bell from a socket without a name, with files of this process beside it.
void send(std::string_view name, std::string_view text, std::vector<int> const& passed_files) {
  descriptor const socket([] { return ::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); });
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path + 1, sizeof address.sun_path - 1);
  std::string copy(text);
  iovec part{copy.data(), copy.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(3 * sizeof(int))> control{};
  msghdr message{};
  message.msg_name = &address;
  message.msg_namelen = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!passed_files.empty()) {
    std::size_t const bytes = passed_files.size() * sizeof(int);
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(bytes);
    cmsghdr* const head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(bytes);
    std::memcpy(CMSG_DATA(head), passed_files.data(), bytes);
  }
  ::sendmsg(socket.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/// The messages that a bell has not taken.
enum class message { ring, expected_file, other_file };
constexpr std::size_t most_waiting = 8;  // the system queues 10

/// Takes a file, and checks that against the messages that wait.
void take(datagram_doorbells const& bell, std::deque<message>& waiting, bool peer_lives) {
  descriptor const file = bell.take(1, is_expected, steady_now() + std::chrono::milliseconds(50));
  int const code = file ? 0 : errno;
  while (!waiting.empty() && waiting.front() == message::other_file) {
    waiting.pop_front();
  }
  int expected = peer_lives ? ETIMEDOUT : ECONNRESET;
  if (!waiting.empty()) {
    expected = waiting.front() == message::ring ? ECANCELED : 0;
    waiting.pop_front();
  }
  fuzz::expect(code == expected, "a file is taken, or refused, as its sender says");
  fuzz::expect(!file || is_expected(file), "no other file is taken");
}

void ring_and_take(fuzz::input& words) {
  static std::string const names[2] = {"tutti-fuzz-bell-" + std::to_string(::getpid()),
                                       "tutti-fuzz-peer-" + std::to_string(::getpid())};
  datagram_doorbells bell;
  std::optional<datagram_doorbells> peer(std::in_place);
  std::vector<std::string> const addresses{bell.open(names[0]), peer->open(names[1])};
  bell.connect(addresses);
  peer->connect(addresses);
  std::string const password = addresses[0].substr(names[0].size() + 1);
  std::deque<message> waiting;
  while (words.size() != 0) {
    std::size_t const action = words.choice(7);
    bool const has_room = peer && waiting.size() != most_waiting;
    if (action == 0 && has_room) {
      peer->ring(0);
      waiting.push_back(message::ring);
    } else if (action == 1 && has_room) {
      std::size_t const file_number = words.choice(2);
      fuzz::expect(peer->hand(0, files[file_number], steady_now()), "a file is handed over while there is room");
      waiting.push_back(file_number == 0 ? message::expected_file : message::other_file);
    } else if (action == 2 && has_room) {  // a message that no peer of this version sends
      std::vector<int> passed_files;
      for (std::size_t count = words.choice(4); count != 0; --count) {
        passed_files.push_back(files[words.choice(2)]);
      }
      send(names[0], password + std::string(words.text()), passed_files);
      waiting.push_back(passed_files.empty()          ? message::ring
                        : passed_files[0] == files[0] ? message::expected_file
                                                      : message::other_file);
    } else if (action == 3) {
      std::size_t const known_bytes = words.choice(password.size());
      std::string text = password.substr(0, known_bytes);
      auto const difference = static_cast<char>(1 + words.choice(255));
      text += static_cast<char>(password[known_bytes] ^ difference);
      text += words.text();
      send(names[0], text, std::vector<int>(words.choice(4), files[0]));
    } else if (action == 4) {
      bell.clear();
      waiting.clear();
    } else if (action == 5) {
      take(bell, waiting, peer.has_value());
    } else if (action == 6) {
      fuzz::expect(bell.reaches(1) == peer.has_value(), "a bell tells if its rank is gone");
      if (words.choice(4) == 0) {
        peer.reset();
      }
    }
    pollfd entry{bell.own_descriptor(), POLLIN, 0};
    fuzz::expect((::poll(&entry, 1, 0) == 1) == !waiting.empty(), "a bell wakes its rank for messages of peers alone");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  fuzz::memory_limit const limit((1U << 16) + 64 * size);
  int const number = free_number();
  fuzz::input words(data, size);
  ring_and_take(words);
  fuzz::expect(free_number() == number, "no descriptor is left");
  return 0;
}
