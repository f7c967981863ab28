// SPDX-License-Identifier: Apache-2.0
// test: address starved (one thread)
#define BOOST_TEST_MODULE transport_datagram_doorbells
#include <tutti/detail/shared_memory/datagram_doorbells.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstring>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <vector>

namespace {

using namespace tutti;
using namespace tutti::detail;

/// Want of descriptors is called what it is.
BOOST_AUTO_TEST_CASE(too_few_descriptors_are_no_other_network_namespace) {
  std::vector<std::string> const names{"tutti test " + std::to_string(::getpid())};
  datagram_doorbells bells;
  bells.open(names[0]);
  rlimit usual{};
  ::getrlimit(RLIMIT_NOFILE, &usual);
  descriptor const next(::dup(0));
  rlimit few = usual;
  few.rlim_cur = static_cast<rlim_t>(next.get()) + 1;
  ::setrlimit(RLIMIT_NOFILE, &few);
  std::string what;
  try {
    bells.connect(names);
  } catch (error const& e) {
    what = e.what();
  }
  ::setrlimit(RLIMIT_NOFILE, &usual);
  BOOST_TEST(what.find("Too many open files") != what.npos, what);
  BOOST_TEST(what.find("namespace") == what.npos, what);
}

/// Any process may send files to a bell. They are closed, however many come in one message; rings are forgotten.
BOOST_AUTO_TEST_CASE(files_of_other_processs_are_let_go) {
  std::string const name = "tutti test " + std::to_string(::getpid()) + " files";
  datagram_doorbells bells;
  bells.open(name);
  descriptor const other_process(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path + 1, name.data(), name.size());
  auto const length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  int const next = descriptor(::dup(0)).get();
  for (std::size_t count = 0; count <= 4; ++count) {
    int const files[4] = {0, 1, 2, 0};
    alignas(cmsghdr) char room[CMSG_SPACE(sizeof files)] = {};
    char byte = 0;
    iovec text{&byte, 1};
    msghdr message{};
    message.msg_name = &to;
    message.msg_namelen = length;
    message.msg_iov = &text;
    message.msg_iovlen = 1;
    if (count != 0) {
      message.msg_control = room;
      message.msg_controllen = CMSG_SPACE(count * sizeof(int));
      cmsghdr* const head = CMSG_FIRSTHDR(&message);
      head->cmsg_level = SOL_SOCKET;
      head->cmsg_type = SCM_RIGHTS;
      head->cmsg_len = CMSG_LEN(count * sizeof(int));
      std::memcpy(CMSG_DATA(head), files, count * sizeof(int));
    }
    BOOST_REQUIRE(::sendmsg(other_process.get(), &message, 0) == 1);
  }
  BOOST_TEST(!bells.take([](descriptor const&) { return false; }));
  BOOST_TEST(descriptor(::dup(0)).get() == next);
  for (int i = 0; i < 5; ++i) {
    BOOST_REQUIRE(::sendto(other_process.get(), "", 1, 0, reinterpret_cast<sockaddr const*>(&to), length) == 1);
  }
  bells.silence();
  BOOST_TEST(!bells.take([](descriptor const&) { return true; }));
}

}  // namespace
