// SPDX-License-Identifier: Apache-2.0
// test: address starved (the threads meet only in sockets)
#define BOOST_TEST_MODULE transport_datagram_doorbells
#include <tutti/detail/core/joined_threads.hpp>
#include <tutti/detail/shared_memory/datagram_doorbells.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <poll.h>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <vector>

namespace {

using namespace tutti;
using namespace tutti::detail;

/// A lack of descriptors is reported as such.
BOOST_AUTO_TEST_CASE(too_few_descriptors_are_no_other_network_namespace) {
  datagram_doorbells bells;
  std::vector<std::string> const names{bells.open("tutti test " + std::to_string(::getpid()))};
  rlimit usual{};
  ::getrlimit(RLIMIT_NOFILE, &usual);
  descriptor const next([] { return ::dup(0); });
  rlimit low_limit = usual;
  low_limit.rlim_cur = static_cast<rlim_t>(next.get()) + 1;
  ::setrlimit(RLIMIT_NOFILE, &low_limit);
  std::string text;
  try {
    bells.connect(names);
  } catch (error const& e) {
    text = e.what();
  }
  ::setrlimit(RLIMIT_NOFILE, &usual);
  BOOST_TEST(text.find("Too many open files") != text.npos, text);
  BOOST_TEST(text.find("namespace") == text.npos, text);
}

constexpr auto patience = std::chrono::seconds(20);

/// Some bells. The first is connected to all, the others only to the first.
struct bells {
  explicit bells(std::size_t count) : ranks(count) {
    std::vector<std::string> addresses;
    for (datagram_doorbells& bell : ranks) {
      names.push_back("tutti test " + std::to_string(::getpid()) + ' ' + std::to_string(names.size()));
      addresses.push_back(bell.open(names.back()));
    }
    for (datagram_doorbells& bell : ranks) {
      bell.connect(addresses);
      addresses.resize(1);
    }
  }

  [[nodiscard]] bool is_rung(rank_type r) const {
    pollfd entry{ranks[r].own_descriptor(), POLLIN, 0};
    return ::poll(&entry, 1, 0) == 1;
  }

  std::vector<datagram_doorbells> ranks;
  std::vector<std::string> names;
};

/// A process that knows the name of a bell but not its password, as all local users do.
class stranger {
 public:
  explicit stranger(std::string const& name) {
    bell_address_.sun_family = AF_UNIX;
    std::memcpy(bell_address_.sun_path + 1, name.data(), name.size());
    length_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }

  /// Sends a message with a number of files.
  void send(std::string text, std::size_t files) {
    int const standard[4] = {0, 1, 2, 0};
    alignas(cmsghdr) char room[CMSG_SPACE(sizeof standard)] = {};
    iovec part{text.data(), text.size()};
    msghdr message{};
    message.msg_name = &bell_address_;
    message.msg_namelen = length_;
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (files != 0) {
      message.msg_control = room;
      message.msg_controllen = CMSG_SPACE(files * sizeof(int));
      cmsghdr* const head = CMSG_FIRSTHDR(&message);
      head->cmsg_level = SOL_SOCKET;
      head->cmsg_type = SCM_RIGHTS;
      head->cmsg_len = CMSG_LEN(files * sizeof(int));
      std::memcpy(CMSG_DATA(head), standard, files * sizeof(int));
    }
    BOOST_TEST(::sendmsg(socket_.get(), &message, MSG_DONTWAIT) == static_cast<::ssize_t>(text.size()));
  }

 private:
  descriptor socket_{[] { return ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0); }};
  sockaddr_un bell_address_{};
  socklen_t length_ = 0;
};

/// Messages of a stranger neither ring nor fill a bell, and none of its files stays open.
BOOST_AUTO_TEST_CASE(strangers_do_not_get_at_a_bell) {
  bells two(2);
  stranger intruder(two.names[1]);
  int const next = descriptor([] { return ::dup(0); }).get();
  for (std::size_t i = 0; i != 2000; ++i) {  // net.unix.max_dgram_qlen is 10 or 512
    intruder.send(std::string(1 + i % 40, 'x'), i % 5);
  }
  BOOST_TEST(!two.is_rung(1));
  BOOST_TEST(descriptor([] { return ::dup(0); }).get() == next);

  int const descriptor_number = descriptor([] { return ::memfd_create("tutti", MFD_CLOEXEC); }).get();
  BOOST_TEST(descriptor_number == next);
  descriptor const file([] { return ::memfd_create("tutti", MFD_CLOEXEC); });
  BOOST_TEST(two.ranks[0].hand(1, file.get(), steady_now()));
  BOOST_TEST(two.is_rung(1));
  auto const is_it = [&](descriptor const& f) { return shared_file::identity(f) == shared_file::identity(file); };
  BOOST_TEST(static_cast<bool>(two.ranks[1].take(0, is_it, steady_now())));

  BOOST_TEST(!two.is_rung(1));
  two.ranks[0].ring(1);
  BOOST_TEST(two.is_rung(1));
  two.ranks[1].clear();
  BOOST_TEST(!two.is_rung(1));
}

/// The system charges waiting messages to their sender, who waits for room.
BOOST_AUTO_TEST_CASE(a_file_reaches_more_ranks_than_messages_may_wait) {
  constexpr rank_type ranks = 900;
  rlimit usual{};
  ::getrlimit(RLIMIT_NOFILE, &usual);
  rlimit high_limit = usual;
  high_limit.rlim_cur = std::max<rlim_t>(usual.rlim_cur, std::min<rlim_t>(usual.rlim_max, 2 * ranks + 100));
  BOOST_REQUIRE(::setrlimit(RLIMIT_NOFILE, &high_limit) == 0);
  {
    bells world(ranks);
    descriptor const file([] { return ::memfd_create("tutti", MFD_CLOEXEC); });
    rank_type next_receiver = 1;
    auto const is_it = [&](descriptor const& f) { return shared_file::identity(f) == shared_file::identity(file); };
    rank_type next_taker = 1;
    {
      auto const give = [&](std::size_t) {
        while (next_receiver != ranks && world.ranks[0].hand(next_receiver, file.get(), steady_now() + patience)) {
          ++next_receiver;
        }
      };
      joined_threads giver(1);
      giver.start(give);
      while (next_taker != ranks && world.ranks[next_taker].take(0, is_it, steady_now() + patience)) {
        ++next_taker;
      }
    }
    BOOST_TEST(next_receiver == ranks);
    BOOST_TEST(next_taker == ranks);
  }
  ::setrlimit(RLIMIT_NOFILE, &usual);
}

/// Each reason for a missing file has its own errno, and is reported without a wait if nothing can arrive.
BOOST_AUTO_TEST_CASE(a_file_that_does_not_come_is_explained) {
  bells two(2);
  descriptor const file([] { return ::memfd_create("tutti", MFD_CLOEXEC); });
  auto const accepts_all = [](descriptor const&) { return true; };
  auto const errno_of_take = [&](time_point deadline) {
    return two.ranks[1].take(0, accepts_all, deadline) ? 0 : errno;
  };

  BOOST_TEST(errno_of_take(steady_now()) == ETIMEDOUT);
  two.ranks[0].refuse(1);
  BOOST_TEST(errno_of_take(steady_now() + patience) == ECANCELED);

  rlimit usual{};
  ::getrlimit(RLIMIT_NOFILE, &usual);
  BOOST_TEST(two.ranks[0].hand(1, file.get(), steady_now()));
  rlimit low_limit = usual;
  low_limit.rlim_cur = static_cast<rlim_t>(descriptor([] { return ::dup(0); }).get());
  ::setrlimit(RLIMIT_NOFILE, &low_limit);
  int const errno_without_descriptors = errno_of_take(steady_now() + patience);
  ::setrlimit(RLIMIT_NOFILE, &usual);
  BOOST_TEST(errno_without_descriptors == EMFILE);

  two.ranks[0] = datagram_doorbells();
  BOOST_TEST(errno_of_take(steady_now() + patience) == ECONNRESET);
  BOOST_TEST(!two.ranks[1].hand(0, file.get(), steady_now() + patience));
  BOOST_TEST(errno == ECONNREFUSED);
}

}  // namespace
