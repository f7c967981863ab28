// SPDX-License-Identifier: Apache-2.0
// test: plain may_skip (what it needs is in a guest)
//
// A goodbye uses a control socket and may overtake the last message.
#include <laws/transport.hpp>
#include <support/process_ranks.hpp>
#include <support/rdma_device.hpp>
#include <tutti/verbs/verbs.hpp>

#include <algorithm>
#include <atomic>
#include <dlfcn.h>
#include <new>
#include <optional>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/mman.h>

namespace {

/// Progress of the two ranks, in memory that both share.
enum class stage : int { started, receiver_polls_sockets, sender_has_left };
std::atomic<stage>* now = nullptr;
bool waits_for_goodbye = false;

void await(stage s) {
  while (now->load() < s) {
    ::sched_yield();
  }
}
void reach(stage s) {
  now->store(std::max(s, now->load()));
}

}  // namespace

/// Replaces the function of the C library, which a rank calls to look at its sockets, after it has looked for
/// messages.
extern "C" int epoll_wait(int descriptor, epoll_event* events, int max_events, int timeout) {
  static auto* const next = reinterpret_cast<decltype(&epoll_wait)>(::dlsym(RTLD_NEXT, "epoll_wait"));
  if (waits_for_goodbye) {
    waits_for_goodbye = false;
    reach(stage::receiver_polls_sockets);
    await(stage::sender_has_left);
  }
  return next(descriptor, events, max_events, timeout);
}

namespace {

using tutti::verbs;
using tutti::support::verdict;

constexpr tutti::flow first_flow{0, 0};

verdict give(verbs& t, tutti::rank_type peer) {
  std::byte const content{1};
  return tutti::support::drive_until(t, [&] { return t.send(peer, first_flow, {&content, 1}, 1).is_accepted; });
}
verdict take(verbs& t, tutti::rank_type peer) {
  verdict bad = tutti::support::drive_until(t, [&] {
    return static_cast<bool>(t.view(peer, first_flow, {1, 1, nullptr}));
  });
  t.release(peer, first_flow);
  return bad;
}

BOOST_AUTO_TEST_CASE(takes_nothing_away) {
  now = new (::mmap(nullptr, sizeof *now, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
      std::atomic<stage>(stage::started);
  tutti::laws::check_all(tutti::support::process_ranks::run(2, [](auto& meet) -> verdict {
    std::optional<verbs> t(std::in_place, meet);
    tutti::rank_type const peer = 1 - t->rank();
    t->begin(first_flow, tutti::laws::a_call(1));
    verdict bad = give(*t, peer);  // makes the connection
    bad = bad.empty() ? take(*t, peer) : bad;
    if (!bad.empty()) {
      reach(stage::sender_has_left);  // the peer must not wait
      return bad;
    }
    if (meet.rank() == 1) {
      waits_for_goodbye = true;
      return take(*t, peer);
    }
    await(stage::receiver_polls_sockets);
    bad = give(*t, peer);
    t.reset();
    reach(stage::sender_has_left);
    return bad;
  }));
}

}  // namespace
