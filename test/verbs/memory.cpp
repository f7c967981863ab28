// SPDX-License-Identifier: Apache-2.0
// test: plain may_skip (what it needs is in a guest)
#include <laws/transport.hpp>
#include <support/process_ranks.hpp>
#include <support/rdma_device.hpp>
#include <tutti/transport/verbs.hpp>

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace {

using tutti::verbs;
using world = tutti::laws::world<verbs, tutti::support::process_ranks>;
using tutti::support::verdict;

constexpr std::size_t bytes = std::size_t{256} << 10;
constexpr tutti::flow on{0, 0};

verdict send_all(verbs& t, std::span<std::byte const> from) {
  tutti::sent s;
  verdict const bad = tutti::support::until(t, [&] { return (s = t.send(1, on, from, 1)).accepted; });
  return !bad.empty() ? bad : tutti::support::until(t, [&] { return t.released(1, on, s.until); });
}

/// Whether what comes is all of this value.
verdict receive_all(verbs& t, std::byte value) {
  for (std::size_t got = 0; got != bytes;) {
    tutti::chunk c;
    verdict const bad = tutti::support::until(t, [&] {
      return static_cast<bool>(c = t.view(0, on, {bytes - got, 1, nullptr}));
    });
    if (!bad.empty()) {
      return bad;
    }
    if (std::any_of(c.data, c.data + c.bytes, [&](std::byte b) { return b != value; })) {
      return "bytes are wrong";
    }
    got += c.bytes;
    t.release(0, on);
  }
  return "";
}

/// What was known of an address holds no longer when other memory is mapped there.
BOOST_AUTO_TEST_CASE(memory_is_mapped_anew) {
  tutti::laws::check_all(world::run(2, [&](verbs& t) -> verdict {
    t.begin(on, tutti::laws::a_call(1));
    void* at = nullptr;
    verdict bad;
    for (int round = 0; round < 100 && bad.empty(); ++round) {
      auto const value = static_cast<std::byte>(round);
      if (t.rank() == 1) {
        bad = receive_all(t, value);
        continue;
      }
      void* const here = ::mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (here == MAP_FAILED || (at != nullptr && here != at)) {
        return "the memory cannot be mapped where it was";
      }
      at = here;
      std::span const all(static_cast<std::byte*>(at), bytes);
      std::fill(all.begin(), all.end(), value);
      bad = send_all(t, all);
      ::munmap(at, bytes);
    }
    return bad;
  }));
}

/// What may not be written may be sent.
BOOST_AUTO_TEST_CASE(memory_is_read_only) {
  tutti::laws::check_all(world::run(2, [&](verbs& t) -> verdict {
    t.begin(on, tutti::laws::a_call(1));
    if (t.rank() == 1) {
      return receive_all(t, std::byte{0});
    }
    void* const at = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? "no memory" : send_all(t, {static_cast<std::byte const*>(at), bytes});
  }));
}

/// Where the limit of locked memory is too low, the error on every rank says so, and names the limit.
BOOST_AUTO_TEST_CASE(memory_may_not_be_locked) {
  tutti::laws::check_all(tutti::support::process_ranks::run(3, [](auto& meet) -> verdict {
    constexpr uid_t any_user = 65534;
    rlimit const little{std::size_t{64} << 10, std::size_t{64} << 10};
    if (meet.rank() == 1 && (::setrlimit(RLIMIT_MEMLOCK, &little) != 0 || ::setuid(any_user) != 0)) {
      return "only root can try this";
    }
    try {
      verbs const t(meet);
    } catch (tutti::error const& e) {
      std::string const what = e.what();
      bool const useful = what.find("may lock 64 KiB") != what.npos && what.find("ulimit -l") != what.npos;
      bool const named = e.at_fault() == std::vector<tutti::rank_type>{1};
      return e.kind() == tutti::failure::join && useful && named ? "" : "not a useful error: " + what;
    }
    return "no error";
  }));
}

}  // namespace
