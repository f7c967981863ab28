// SPDX-License-Identifier: Apache-2.0
// test: plain may_skip (what it needs is in a guest)
#include <laws/transport.hpp>
#include <support/counted_registrations.hpp>
#include <support/process_ranks.hpp>
#include <support/rdma_device.hpp>
#include <tutti/verbs/verbs.hpp>

#include <algorithm>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace {

using tutti::verbs;
using world = tutti::laws::world<verbs, tutti::support::process_ranks>;
using tutti::support::registrations;
using tutti::support::verdict;

constexpr std::size_t bytes = std::size_t{256} << 10;
constexpr tutti::flow first_flow{0, 0};
constexpr uid_t any_user = 65534;

verdict send_all(verbs& t, std::span<std::byte const> source) {
  tutti::send_result s;
  verdict const bad =
      tutti::support::drive_until(t, [&] { return (s = t.send(1, first_flow, source, 1)).is_accepted; });
  return !bad.empty() ? bad
                      : tutti::support::drive_until(t, [&] { return t.is_released(1, first_flow, s.release_ticket); });
}

/// Returns "" if all received bytes have this value, and arrive at `place` if it is not null.
verdict receive_all(verbs& t, std::byte value, std::byte* place = nullptr) {
  for (std::size_t received_bytes = 0; received_bytes != bytes;) {
    tutti::chunk c;
    verdict const bad = tutti::support::drive_until(t, [&] {
      return static_cast<bool>(
          c = t.view(0, first_flow, {bytes - received_bytes, 1, place != nullptr ? place + received_bytes : nullptr}));
    });
    if (!bad.empty()) {
      return bad;
    }
    if (place != nullptr && c.data != place + received_bytes) {
      return "a message arrived at another place";
    }
    if (std::any_of(c.data, c.data + c.bytes, [&](std::byte b) { return b != value; })) {
      return "bytes are wrong";
    }
    received_bytes += c.bytes;
    t.release(0, first_flow);
  }
  return "";
}

/// A registration does not survive that other memory is mapped at its address.
BOOST_AUTO_TEST_CASE(memory_is_mapped_anew) {
  tutti::laws::check_all(world::run(2, [&](verbs& t) -> verdict {
    t.begin(first_flow, tutti::laws::a_call(1));
    void* at = nullptr;
    verdict bad;
    for (int round = 0; round < 100 && bad.empty(); ++round) {
      auto const value = static_cast<std::byte>(round);
      if (t.rank() == 1) {
        bad = receive_all(t, value);
        continue;
      }
      void* const place = ::mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (place == MAP_FAILED || (at != nullptr && place != at)) {
        return "the memory cannot be mapped where it was";
      }
      at = place;
      std::span const content(static_cast<std::byte*>(at), bytes);
      std::fill(content.begin(), content.end(), value);
      bad = send_all(t, content);
      ::munmap(at, bytes);
    }
    return bad;
  }));
}

/// Sends a message in each round; returns "" if all are right.
verdict repeat(verbs& t, std::byte* memory, int rounds) {
  verdict bad;
  for (int round = 0; round < rounds && bad.empty(); ++round) {
    auto const value = static_cast<std::byte>(round + 1);
    std::byte* const place = memory + (round % 2 == 0 ? 0 : bytes);
    std::fill_n(place, bytes, t.rank() == 0 ? value : std::byte{});
    bad = t.rank() == 0 ? send_all(t, {place, bytes}) : receive_all(t, value, place);
  }
  return bad;
}
constexpr int rounds = 50;

BOOST_AUTO_TEST_CASE(provided_memory_is_registered_once) {
  tutti::laws::check_all(world::run(2, [&](verbs& t) -> verdict {
    t.begin(first_flow, tutti::laws::a_call(1));
    std::vector<std::byte> ordinary(2 * bytes);
    verdict bad = repeat(t, ordinary.data(), rounds);  // also makes the connection
    int const count_before = registrations;
    bad = bad.empty() ? repeat(t, ordinary.data(), rounds) : bad;
    int const ordinary_count = registrations - count_before;
    auto* const provided_memory = static_cast<std::byte*>(t.memory()->take(2 * bytes));
    bad = bad.empty() ? repeat(t, provided_memory, rounds) : bad;
    int const provided_count = registrations - count_before - ordinary_count;
    t.memory()->give(provided_memory, 2 * bytes);
    return !bad.empty() || (ordinary_count == rounds && provided_count == 1)
               ? bad
               : std::to_string(ordinary_count) + " and " + std::to_string(provided_count) + " registrations";
  }));
}

/// A growing source is registered as a whole each time.
BOOST_AUTO_TEST_CASE(provided_memory_grows) {
  tutti::laws::check_all(world::run(2, [&](verbs& t) -> verdict {
    t.begin(first_flow, tutti::laws::a_call(1));
    std::vector<std::byte*> buffers;
    verdict bad;
    for (std::size_t i = 0; i < 9 && bad.empty(); ++i) {  // together larger than a window
      buffers.push_back(static_cast<std::byte*>(t.memory()->take(2 * bytes * (i + 1))));
      bad = repeat(t, buffers[i] + 2 * bytes * i, 2);
      int const count_before = registrations;
      bad = bad.empty() ? repeat(t, buffers[i], 2) : bad;
      bad = bad.empty() && registrations != count_before ? "it was registered again" : bad;
    }
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      t.memory()->give(buffers[i], 2 * bytes * (i + 1));
    }
    return bad;
  }));
}

/// Buffers may be used and freed after the end of their world, and in another world.
BOOST_AUTO_TEST_CASE(provided_memory_outlives_the_transport) {
  tutti::laws::check_all(tutti::support::process_ranks::run(2, [](auto& meet) -> verdict {
    tutti::intrusive_pointer<tutti::memory_source> source;
    std::byte* memory = nullptr;
    verdict bad;
    for (int worlds = 0; worlds < 2 && bad.empty(); ++worlds) {
      verbs t(meet);
      t.begin(first_flow, tutti::laws::a_call(1));
      source = memory == nullptr ? t.memory() : source;
      memory = memory == nullptr ? static_cast<std::byte*>(source->take(2 * bytes)) : memory;
      bad = repeat(t, memory, 4);
    }
    std::fill_n(memory, 2 * bytes, std::byte{1});
    source->give(memory, 2 * bytes);
    return bad;
  }));
}

/// If the limit of locked memory is too low for a source, each of its messages is registered, as in ordinary memory.
BOOST_AUTO_TEST_CASE(provided_memory_may_not_be_locked) {
  tutti::laws::check_all(tutti::support::process_ranks::run(2, [](auto& meet) -> verdict {
    rlimit const limit{std::size_t{3} << 20, std::size_t{3} << 20};
    if (::setrlimit(RLIMIT_MEMLOCK, &limit) != 0 || ::setuid(any_user) != 0) {
      return "only root can try this";
    }
    verbs t(meet);
    t.begin(first_flow, tutti::laws::a_call(1));
    constexpr std::size_t large_size = std::size_t{8} << 20;
    auto* const memory = static_cast<std::byte*>(t.memory()->take(large_size));
    verdict const bad = repeat(t, memory, 4);
    t.memory()->give(memory, large_size);
    return bad;
  }));
}

/// Read-only memory may be sent.
BOOST_AUTO_TEST_CASE(memory_is_read_only) {
  tutti::laws::check_all(world::run(2, [&](verbs& t) -> verdict {
    t.begin(first_flow, tutti::laws::a_call(1));
    if (t.rank() == 1) {
      return receive_all(t, std::byte{0});
    }
    void* const at = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? "no memory" : send_all(t, {static_cast<std::byte const*>(at), bytes});
  }));
}

/// If the limit of locked memory is too low to join, the error on every rank names the limit.
BOOST_AUTO_TEST_CASE(memory_may_not_be_locked) {
  tutti::laws::check_all(tutti::support::process_ranks::run(3, [](auto& meet) -> verdict {
    rlimit const limit{std::size_t{64} << 10, std::size_t{64} << 10};
    if (meet.rank() == 1 && (::setrlimit(RLIMIT_MEMLOCK, &limit) != 0 || ::setuid(any_user) != 0)) {
      return "only root can try this";
    }
    try {
      verbs const t(meet);
    } catch (tutti::error const& e) {
      std::string const text = e.what();
      bool const is_useful = text.find("may lock 64 KiB") != text.npos && text.find("ulimit -l") != text.npos;
      bool const names_rank = e.at_fault() == std::vector<tutti::rank_type>{1};
      return e.kind() == tutti::failure::join && is_useful && names_rank ? "" : "not a useful error: " + text;
    }
    return "no error";
  }));
}

}  // namespace
