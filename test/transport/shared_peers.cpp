// SPDX-License-Identifier: Apache-2.0
// test: plain may_skip (what it tries is numbers of processes)
#include <tutti/detail/shared_memory/peer_memory.hpp>
#include <tutti/detail/shared_memory/peer_processes.hpp>
#include <tutti/detail/shared_memory/peer_reader.hpp>
#include <tutti/detail/shared_memory/shared_peers.hpp>

#include <boost/test/unit_test.hpp>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <linux/sched.h>
#include <sched.h>
#include <string>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr ::pid_t number = 7;
constexpr int cannot = 77;
char secret[] = "private";

/// Starts a child of this process with that number, which runs `f` and then waits.
template <class F>
::pid_t child_with_the_number(F const& f) {
  ::pid_t wanted_number = number;
  ::clone_args options{};
  options.exit_signal = SIGCHLD;
  options.set_tid = reinterpret_cast<std::uintptr_t>(&wanted_number);
  options.set_tid_size = 1;
  auto const child = static_cast<::pid_t>(::syscall(SYS_clone3, &options, sizeof options));
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    f();
    for (;;) {
      ::pause();
    }
  }
  return child;
}

void end(::pid_t child) {
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

/// Runs as the first process of a namespace of processes. Returns 0, or the number of the failed step.
int read_one_and_then_another() {
  auto const peers = tutti::detail::shared_peers::create();
  int words[2];
  if (::pipe(words) != 0) {
    return cannot;
  }
  ::pid_t const first = child_with_the_number([&] {
    std::string const offer = peers->memory.offer("0123456789abcdef") + " " + peers->processes.offer();
    std::ignore = ::write(words[1], offer.data(), offer.size());
  });
  if (first != number) {
    return cannot;
  }
  char text[256] = {};
  std::string const offer(text, static_cast<std::size_t>(::read(words[0], text, sizeof text)));
  std::vector<std::string> const memory{offer.substr(0, offer.find(' '))};
  std::vector<std::string_view> const process{std::string_view(offer).substr(offer.find(' ') + 1)};
  peers->processes.open(process);
  if (!peers->can_read(memory)) {
    return cannot;  // processes may not read each other here
  }
  std::byte read[sizeof secret];
  auto const address = reinterpret_cast<std::uintptr_t>(secret);
  if (!peers->copy(0, address, read, sizeof read)) {
    return 1;
  }
  end(first);
  if (peers->copy(0, address, read, sizeof read)) {
    return 2;
  }
  ::pid_t const second = child_with_the_number([] {});
  if (second != number || !peers->memory.copy(0, address, read, sizeof read)) {
    return 3;  // the number alone does not distinguish them
  }
  int const result = peers->copy(0, address, read, sizeof read) ? 4 : 0;
  end(second);
  return result;
}

/// Process numbers are reused. Memory of another process is not taken for that of a peer.
BOOST_AUTO_TEST_CASE(another_process_with_a_peer_s_number_is_not_read) {
  ::pid_t const outer = ::fork();
  if (outer == 0) {
    if (::unshare(::geteuid() == 0 ? CLONE_NEWPID : CLONE_NEWUSER | CLONE_NEWPID) != 0) {
      ::_exit(cannot);
    }
    ::pid_t const inner = ::fork();
    if (inner == 0) {
      ::_exit(read_one_and_then_another());
    }
    int status = 0;
    ::_exit(::waitpid(inner, &status, 0) == inner && WIFEXITED(status) ? WEXITSTATUS(status) : 5);
  }
  int status = 0;
  BOOST_REQUIRE((::waitpid(outer, &status, 0) == outer && WIFEXITED(status)));
  if (WEXITSTATUS(status) == cannot) {
    std::puts("SKIP: processes cannot be given numbers here, or not read");
  } else {
    BOOST_TEST(WEXITSTATUS(status) == 0);
  }
}

}  // namespace
