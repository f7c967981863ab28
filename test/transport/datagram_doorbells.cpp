// SPDX-License-Identifier: Apache-2.0
// test: address starved may_skip (the threads meet only in sockets)
#define BOOST_TEST_MODULE transport_datagram_doorbells
#include <support/forked_child.hpp>
#include <tutti/detail/core/joined_threads.hpp>
#include <tutti/detail/shared_memory/datagram_doorbells.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <iostream>
#include <poll.h>
#include <stdexcept>
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
      passwords.push_back(addresses.back().substr(names.back().size() + 1));
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
  std::vector<std::string> passwords;
};

/// A process that knows the name of a bell, as all local users do.
class stranger {
 public:
  explicit stranger(std::string const& name) {
    bell_address_.sun_family = AF_UNIX;
    std::memcpy(bell_address_.sun_path + 1, name.data(), name.size());
    length_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }

  /// Sends a message with a number of files. False if the bell's queue is full.
  bool send(std::string text, std::size_t files) {
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
    return ::sendmsg(socket_.get(), &message, MSG_DONTWAIT) == static_cast<::ssize_t>(text.size());
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
    BOOST_TEST(intruder.send(std::string(1 + i % 40, 'x'), i % 5));
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

constexpr unsigned other_user = 65534;

/// Runs f in a process of another user; false if this user may not start one.
template <class F>
bool run_as_other_user(F const& f) {
  if (::geteuid() != 0) {
    std::cout << "SKIP: only root may start a process of another user\n";
    return false;
  }
  return ends_in_a_forked_child([&] {
    if (::setgid(other_user) != 0 || ::setuid(other_user) != 0) {
      throw std::runtime_error("cannot become another user");
    }
    f();
  });
}

/// Messages of another user who has learned the password are dropped: neither a refusal nor a file of that user counts.
BOOST_AUTO_TEST_CASE(messages_of_another_user_do_not_count) {
  bells two(2);
  int const next = descriptor([] { return ::dup(0); }).get();
  auto const accepts_all = [](descriptor const&) { return true; };
  auto const send_one = [&](std::size_t files) {
    return run_as_other_user([&] {
      if (!stranger(two.names[1]).send(two.passwords[1], files)) {
        throw std::runtime_error("the message is not sent");
      }
    });
  };
  for (std::size_t const files : {0U, 1U, 2U}) {
    if (send_one(files)) {
      BOOST_TEST(two.is_rung(1));
      BOOST_TEST(!two.ranks[1].take(0, accepts_all, steady_now()));
      BOOST_TEST(errno == EPERM);
      BOOST_TEST(!two.is_rung(1));
      BOOST_TEST(descriptor([] { return ::dup(0); }).get() == next);
    }
  }
  two.ranks[0].refuse(1);
  BOOST_TEST(!two.ranks[1].take(0, accepts_all, steady_now()));
  BOOST_TEST(errno == ECANCELED);
}

/// A program of another user without the password wakes no rank. One with the password fills the queue, which holds up
/// a deadline by one message at most, and a file of the right rank still arrives.
BOOST_AUTO_TEST_CASE(a_flood_of_another_user_keeps_no_file_away) {
  bells two(2);
  auto const flood = [&](std::string const& text) {
    return run_as_other_user([&] {
      stranger intruder(two.names[1]);
      for (int i = 0; i != 2000; ++i) {
        intruder.send(text, 0);
      }
    });
  };
  if (!flood("sixteen letters!")) {
    return;
  }
  BOOST_TEST(!two.is_rung(1));
  descriptor const file([] { return ::memfd_create("tutti", MFD_CLOEXEC); });
  auto const is_it = [&](descriptor const& f) { return shared_file::identity(f) == shared_file::identity(file); };
  BOOST_TEST(flood(two.passwords[1]));
  BOOST_TEST(!two.ranks[1].take(0, is_it, steady_now()));
  BOOST_TEST(errno == EPERM);
  BOOST_TEST(two.is_rung(1));
  std::atomic<bool> is_over = false;
  bool is_handed = false;
  bool is_taken = false;
  {
    auto const work = [&](std::size_t i) {
      if (i == 1) {
        is_handed = two.ranks[0].hand(1, file.get(), steady_now() + patience);
      }
      while (i == 0 && !is_over) {
        static_cast<void>(flood(two.passwords[1]));
      }
    };
    joined_threads threads(2);
    threads.start(work);
    threads.start(work);
    is_taken = static_cast<bool>(two.ranks[1].take(0, is_it, steady_now() + patience));
    is_over = true;
  }
  BOOST_TEST(is_handed);
  BOOST_TEST(is_taken);
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
