// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE transport_mailbox
#include <support/process_ranks.hpp>
#include <support/thread_ranks.hpp>
#include <support/traffic.hpp>
#include <tutti/transport/loopback.hpp>
#include <tutti/transport/shared_memory.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdio>

/// What only the transports through memory do, and the errors of joining them.
namespace {

using namespace tutti;
using support::process_ranks;
using support::thread_ranks;
using support::until;
using support::verdict;

void check_all(std::vector<verdict> const& verdicts, std::string_view wanted = "") {
  for (verdict const& v : verdicts) {
    BOOST_TEST((wanted.empty() ? v.empty() : v.find(wanted) != v.npos), v);
  }
}

call some_call(std::uint64_t count) {
  call c = make_call(operation_kind::broadcast, "int32", "", "binary_tree");
  c.count = count;
  c.root = 3;
  return c;
}

static_assert(sizeof(mailbox) == (mailbox::slots + 1) * cache_line);
static_assert(sizeof(call_record) == cache_line);

BOOST_AUTO_TEST_CASE(a_board_keeps_the_last_calls) {
  call_board board;
  for (std::uint32_t number = 1; number <= call_board::kept + 1; ++number) {
    board.records[number % call_board::kept].write(some_call(number * 10), number);
  }
  for (std::uint32_t number = 2; number <= call_board::kept + 1; ++number) {
    std::string const text = board.describe(check_of(some_call(number * 10), number));
    BOOST_TEST(text == "broadcast(int32 x " + std::to_string(number * 10) + ", root 3, binary_tree) as number " +
                           std::to_string(number));
  }
  BOOST_TEST(board.describe(check_of(some_call(10), 1)) == "a call that it has left since");
}

BOOST_AUTO_TEST_CASE(a_sender_that_is_ahead_is_still_named) {
  check_all(thread_ranks::run(2, [](auto& meet) -> verdict {
    loopback t(meet);
    std::byte const one{};
    for (std::uint32_t number = 0; number < 3 && t.rank() == 0; ++number) {
      t.begin({0, number}, some_call(100 + number));
      if (!t.send(1, {0, number}, {&one, 1}, 1).accepted) {
        return "not accepted";
      }
      t.end({0, number});
    }
    meet.exchange("");
    if (t.rank() == 0) {
      return "";
    }
    t.begin({0, 0}, some_call(7));
    try {
      t.view(0, {0, 0}, {1, 1, nullptr});
      return "no error";
    } catch (error const& e) {
      return std::string_view(e.what()).find("x 100,") != std::string_view::npos ? "" : e.what();
    }
  }));
}

/// Loopback sends no part of a message but the longest ones, and these it cuts between granules.
BOOST_AUTO_TEST_CASE(huge_messages_are_cut_between_granules) {
  std::size_t const bytes = std::size_t{5} << 30;  // address space only: nobody touches it
  void* const memory = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  BOOST_TEST_REQUIRE(memory != MAP_FAILED);
  check_all(thread_ranks::run(2, [&](auto& meet) -> verdict {
    loopback t(meet);
    constexpr std::size_t granule = 12;
    std::size_t const whole = bytes - bytes % granule;
    auto const* const data = static_cast<std::byte const*>(memory);
    t.begin({0, 0}, some_call(1));
    ticket last = 0;
    for (std::size_t done = 0; done != whole;) {
      std::size_t part = 0;
      verdict bad;
      if (t.rank() == 0) {
        bad = until(t, [&] {
          sent const s = t.send(1, {0, 0}, {data + done, whole - done}, granule);
          part = s.bytes;
          last = s.until;
          return s.accepted;
        });
      } else {
        chunk c;
        bad = until(t, [&] { return static_cast<bool>(c = t.view(0, {0, 0}, {whole - done, granule, nullptr})); });
        part = c.bytes;
        bad = !bad.empty() || c.data == data + done ? bad : "another address";
        t.release(0, {0, 0});
      }
      if (!bad.empty() || part % granule != 0 || part == 0) {
        return "part of " + std::to_string(part) + " bytes " + bad;
      }
      done += part;
    }
    return t.rank() != 0 ? "" : until(t, [&] { return t.released(1, {0, 0}, last); });
  }));
  ::munmap(memory, bytes);
}

/// A chunk that one rank passes on is read by the next where the first one has put it.
BOOST_AUTO_TEST_CASE(shared_memory_is_passed_on_without_a_copy) {
  check_all(process_ranks::run(3, [](auto& meet) -> verdict {
    shared_memory t(meet);
    stream const s{1, 1};
    t.begin(s, some_call(1));
    std::vector<std::byte> const data(5000, std::byte{42});
    if (t.shares(data)) {
      return "private memory is not shared";
    }
    if (t.rank() == 0) {
      sent const first = t.send(1, s, data, 1);
      return first.accepted && first.until == 0 && first.bytes == 5000 ? until(t, [&] { return t.released(1, s, 1); })
                                                                       : "not copied";
    }
    chunk c;
    verdict bad = until(t, [&] { return static_cast<bool>(c = t.view(t.rank() - 1, s, {5000, 1, nullptr})); });
    std::span<std::byte const> const here{c.data, c.bytes};
    if (bad.empty() && t.rank() == 1) {
      sent const passed = t.send(2, s, here, 1);
      bad = t.shares(here) && passed.accepted && passed.until != 0 && passed.bytes == 5000
                ? until(t, [&] { return t.released(2, s, passed.until); })
                : "was copied";
    }
    bad = bad.empty() && (here.size() != 5000 || here[4999] != std::byte{42}) ? "wrong bytes" : bad;
    t.release(t.rank() - 1, s);
    return bad;
  }));
}

/// What one rank asks for in vain is an error on all; nothing is left in /dev/shm.
BOOST_AUTO_TEST_CASE(shared_memory_that_is_not_there) {
  check_all(process_ranks::run(3,
                               [](auto& meet) -> verdict {
                                 shared_memory t(meet, {.chunk_bytes = std::size_t{1} << 40, .chunks = 1});
                                 return "joined";
                               }),
            "failed(join failed): shared_memory, rank 0: no room for");
  check_all(process_ranks::run(2, [](auto& meet) -> verdict {
    shared_memory t(meet);
    std::FILE* const f = std::fopen("/proc/self/maps", "r");
    char line[512];
    bool forgotten = false;
    while (f != nullptr && std::fgets(line, sizeof line, f) != nullptr) {
      std::string_view const l = line;
      forgotten = forgotten || (l.find("/dev/shm/tutti-") != l.npos && l.find("(deleted)") != l.npos);
    }
    std::fclose(f);
    meet.exchange("");
    return forgotten ? "" : "the memory still has a name";
  }));
}

/// The shape of the chunks is rank 0's; an element that fits none is the caller's mistake.
BOOST_AUTO_TEST_CASE(chunks_are_as_rank_0_says) {
  check_all(process_ranks::run(2, [](auto& meet) -> verdict {
    shared_memory t(meet, {.chunk_bytes = meet.rank() == 0 ? 128U : 4096U, .chunks = meet.rank() + 1});
    t.begin({0, 0}, some_call(1));
    std::vector<std::byte> const data(1000);
    try {
      t.send(1 - t.rank(), {0, 0}, data, 200);
      return "took an element that fits no chunk";
    } catch (precondition_error const&) {
    }
    sent const first = t.send(1 - t.rank(), {0, 0}, data, 50);
    sent const second = t.send(1 - t.rank(), {0, 0}, data, 50);
    meet.exchange("");
    return first.bytes == 100 && !second.accepted ? "" : "took " + std::to_string(first.bytes);
  }));
}

BOOST_AUTO_TEST_CASE(loopback_is_for_threads) {
  check_all(process_ranks::run(3,
                               [](auto& meet) -> verdict {
                                 loopback t(meet);
                                 return "joined";
                               }),
            "failed(join failed): loopback joins threads of one process, and rank 1 is in another");
}

}  // namespace
