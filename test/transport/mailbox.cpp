// SPDX-License-Identifier: Apache-2.0
// test: address thread full_speed
#include <support/process_ranks.hpp>
#include <support/thread_ranks.hpp>
#include <support/traffic.hpp>
#include <tutti/detail/shared_memory/attached_messages.hpp>
#include <tutti/detail/shared_memory/common_locations.hpp>
#include <tutti/detail/shared_memory/copied_message.hpp>
#include <tutti/detail/shared_memory/event_doorbells.hpp>
#include <tutti/detail/shared_memory/large_elements.hpp>
#include <tutti/detail/shared_memory/loopback_world.hpp>
#include <tutti/detail/shared_memory/mailbox_endpoint.hpp>
#include <tutti/detail/shared_memory/outbox.hpp>
#include <tutti/detail/shared_memory/rank_mailboxes.hpp>
#include <tutti/detail/shared_memory/shared_locations.hpp>
#include <tutti/detail/shared_memory/waiting_board.hpp>
#include <tutti/transport/loopback.hpp>
#include <tutti/transport/shared_memory.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/// Behaviour that only the transports through memory have, and the errors of joining them.
namespace {

using namespace tutti;
using namespace tutti::detail;
using support::drive_until;
using support::process_ranks;
using support::thread_ranks;
using support::verdict;

void check_all(std::vector<verdict> const& verdicts, std::string_view expected_text = "") {
  for (verdict const& v : verdicts) {
    BOOST_TEST((expected_text.empty() ? v.empty() : v.find(expected_text) != v.npos), v);
  }
}

call some_call(std::uint64_t count) {
  call c = make_call(operation_kind::broadcast, "int32", "", "binary_tree");
  c.count = count;
  c.root = 3;
  return c;
}

static_assert(sizeof(mailbox) == (mailbox::slot_count + 1) * cache_line);
static_assert(sizeof(call_record) == cache_line);

BOOST_AUTO_TEST_CASE(a_board_keeps_the_last_calls) {
  call_board board;
  for (std::uint32_t number = 1; number <= call_board::record_count + 1; ++number) {
    board.records[number % call_board::record_count].write(some_call(number * 10), number);
  }
  for (std::uint32_t number = 2; number <= call_board::record_count + 1; ++number) {
    std::string const text = board.describe(check_of(some_call(number * 10), number));
    BOOST_TEST(text == "broadcast(int32 x " + std::to_string(number * 10) + ", root 3, binary_tree) (number " +
                           std::to_string(number) + ")");
  }
  BOOST_TEST(board.describe(check_of(some_call(10), 1)) == "a call that has ended since");
}

/// Each rank reserves its own part, near its core.
BOOST_AUTO_TEST_CASE(mailboxes_lie_in_the_part_of_the_rank_that_receives) {
  for (rank_type const n : {1U, 2U, 5U}) {
    alignas(cache_line) std::byte base[cache_line];  // never accessed, only for addresses
    mail_segment const segment(base, n);
    BOOST_TEST(mail_segment::boxes_begin(n, n) == mail_segment::bytes(n));
    for (rank_type receiver = 0; receiver < n; ++receiver) {
      for (rank_type sender = 0; sender < n; ++sender) {
        for (std::uint32_t lane = 0; lane < lane_count; ++lane) {
          auto const at = reinterpret_cast<std::uintptr_t>(&segment.box(sender, receiver, lane)) -
                          reinterpret_cast<std::uintptr_t>(&base[0]);
          BOOST_TEST(at >= mail_segment::boxes_begin(n, receiver));
          BOOST_TEST(at + sizeof(mailbox) <= mail_segment::boxes_begin(n, receiver + 1));
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_sender_that_is_ahead_is_still_named) {
  check_all(thread_ranks::run(2, [](auto& meet) -> verdict {
    loopback t(meet);
    std::byte const element{};
    for (std::uint32_t number = 0; number < 3 && t.rank() == 0; ++number) {
      t.begin({0, number}, some_call(100 + number));
      if (!t.send(1, {0, number}, {&element, 1}, 1).is_accepted) {
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

/// A mailbox has eight slots. Messages in two slots arrive whole wherever they begin, also across the end of the ring.
/// One that finds a single free slot is refused, while a shorter one is accepted.
BOOST_AUTO_TEST_CASE(messages_in_two_slots_come_whole) {
  static_assert(mailbox::slot_count == 8 && mailbox::slot::capacity == 48 && mailbox::max_inline == 96);
  check_all(thread_ranks::run(2, [](auto& meet) -> verdict {
    loopback t(meet);
    constexpr flow s{0, 0};
    t.begin(s, some_call(1));
    std::byte message[mailbox::max_inline];
    for (std::size_t i = 0; i < sizeof message; ++i) {
      message[i] = static_cast<std::byte>(i + 1);
    }
    auto const send = [&](std::size_t bytes) { return t.send(1, s, {message, bytes}, 1).is_accepted; };
    auto const receive = [&](std::size_t bytes) {
      chunk const c = t.view(0, s, {bytes, 1, nullptr});
      bool const right = c && c.bytes == bytes && std::equal(c.data, c.data + bytes, message);
      if (right) {
        t.release(0, s);
      }
      return right;
    };
    for (int first_slot = 0; first_slot < 8; ++first_slot) {
      bool right = true;
      if (t.rank() == 0) {
        right = send(49) && send(48) && send(96) && send(80) && !send(49) && !send(96) && send(0) && !send(0);
      }
      meet.exchange("");
      if (t.rank() == 1) {
        right = receive(49) && receive(48) && receive(96) && receive(80) && receive(0);
      }
      meet.exchange("");
      if (t.rank() == 0) {
        right = right && send(0);  // a ninth, so that the next round begins in another slot
      }
      for (std::string const& answer : meet.exchange(right ? "" : "wrong")) {
        if (!answer.empty()) {
          return "from slot " + std::to_string(first_slot);
        }
      }
      if (t.rank() == 1 && !receive(0)) {
        return "the ninth did not come";
      }
      meet.exchange("");
    }
    return "";
  }));
}

/// Loopback splits only the longest messages, between granules.
BOOST_AUTO_TEST_CASE(huge_messages_are_cut_between_granules) {
  std::size_t const bytes = std::size_t{5} << 30;  // address space only: never accessed
  void* const memory = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  BOOST_TEST_REQUIRE(memory != MAP_FAILED);
  check_all(thread_ranks::run(2, [&](auto& meet) -> verdict {
    loopback t(meet);
    constexpr std::size_t granule = 12;
    std::size_t const whole = bytes - bytes % granule;
    auto const* const data = static_cast<std::byte const*>(memory);
    t.begin({0, 0}, some_call(1));
    ticket last = 0;
    for (std::size_t end = 0; end != whole;) {
      std::size_t part = 0;
      verdict bad;
      if (t.rank() == 0) {
        bad = drive_until(t, [&] {
          send_result const s = t.send(1, {0, 0}, {data + end, whole - end}, granule);
          part = s.bytes;
          last = s.release_ticket;
          return s.is_accepted;
        });
      } else {
        chunk c;
        bad = drive_until(t, [&] { return static_cast<bool>(c = t.view(0, {0, 0}, {whole - end, granule, nullptr})); });
        part = c.bytes;
        bad = !bad.empty() || c.data == data + end ? bad : "another address";
        t.release(0, {0, 0});
      }
      if (!bad.empty() || part % granule != 0 || part == 0) {
        return "part of " + std::to_string(part) + " bytes " + bad;
      }
      end += part;
    }
    return t.rank() != 0 ? "" : drive_until(t, [&] { return t.is_released(1, {0, 0}, last); });
  }));
  ::munmap(memory, bytes);
}

/// A message in the segment's memory is read in place, by one process after another; a short one, or one in ordinary
/// memory, is copied.
BOOST_AUTO_TEST_CASE(shared_memory_is_read_where_it_is) {
  check_all(process_ranks::run(3, [](auto& meet) -> verdict {
    constexpr std::size_t bytes = 8 << 20;
    tutti::shared_memory t(meet, {.attach_from = SIZE_MAX});
    flow const s{1, 1};
    t.begin(s, some_call(1));
    std::vector<std::byte> const ordinary(bytes);
    auto const memory = t.memory();
    auto* const buffer = static_cast<std::byte*>(memory->take(bytes));
    std::span<std::byte const> const buffer_bytes{buffer, bytes};
    verdict bad = t.shares(1, s, ordinary)                 ? "private memory is not shared"
                  : !t.shares(1, s, buffer_bytes)          ? "shared memory is shared"
                  : t.shares(1, s, buffer_bytes.first(40)) ? "a short message is copied"
                  : t.shares(1, s, buffer_bytes.first(4 << 20))
                      ? "what is only moved is copied while it fits the caches"
                      : "";
    if (t.rank() == 0) {
      std::fill_n(buffer, bytes, std::byte{42});
      for (rank_type const receiver : {1U, 2U}) {
        send_result const whole = t.send(receiver, s, buffer_bytes, 1);
        bad = !bad.empty() || (whole.is_accepted && whole.release_ticket != 0 && whole.bytes == bytes) ? bad
                                                                                                       : "was copied";
      }
      bad = !bad.empty() ? bad : drive_until(t, [&] { return t.is_released(1, s, 1) && t.is_released(2, s, 1); });
    } else {
      chunk c;
      bad = !bad.empty() ? bad : drive_until(t, [&] {
        return static_cast<bool>(c = t.view(0, s, {bytes, 1, nullptr}));
      });
      bad = bad.empty() && (c.bytes != bytes || c.data[bytes - 1] != std::byte{42}) ? "wrong bytes" : bad;
      t.release(0, s);
    }
    meet.exchange("");
    memory->give(buffer, bytes);
    return bad;
  }));
}

/// Long messages that are only moved are read from the sender's private memory, if the system allows it: to their
/// place, or in pieces of whole granules. If the system no longer allows it, the receiver requests parts, and the
/// sender copies the messages that follow.
std::vector<verdict> send_private_memory(bool stays_readable) {
  return process_ranks::run(2, [stays_readable](auto& meet) -> verdict {
    constexpr std::size_t bytes = 1'000'002;
    if (!stays_readable && ::geteuid() == 0) {  // root may read everything
      if (::setgid(65534) != 0 || ::setuid(65534) != 0 || ::prctl(PR_SET_DUMPABLE, 1) != 0) {
        return "cannot become another user";
      }
      meet.exchange("");
    }
    tutti::shared_memory t(meet, {.attach_from = 100'000});
    std::vector<std::byte> data(bytes);
    flow const s{1, 1};
    t.begin(s, some_call(1));
    bool const attaches = t.shares(1, s, data);
    bool is_read = attaches;
    if (!stays_readable && t.rank() == 0) {
      ::prctl(PR_SET_DUMPABLE, 0);
    }
    verdict bad;
    for (std::size_t const granule : {1UL, 6UL, 500'001UL}) {
      for (bool const has_place : {false, true}) {
        if (t.rank() == 0) {
          for (std::size_t i = 0; i < bytes; ++i) {
            data[i] = static_cast<std::byte>(i * 7 + i / 999);
          }
          std::size_t end = 0;
          ticket last = 0;
          bad = drive_until(t, [&] {
            send_result const part = t.send(1, s, std::span<std::byte const>(data).subspan(end), granule);
            end += part.bytes;
            last = part.release_ticket;
            return end == bytes;
          });
          if (bad.empty() && is_read) {
            bad = last == 0 ? "was copied" : drive_until(t, [&] { return t.is_released(1, s, last); });
            is_read = t.shares(1, s, data);
            bad = bad.empty() && is_read != stays_readable ? "is not read as it can be" : bad;
          }
        } else {
          std::fill(data.begin(), data.end(), std::byte{});
          for (std::size_t end = 0; end != bytes && bad.empty();) {
            chunk c;
            bad = drive_until(t, [&] {
              c = t.view(0, s, {bytes - end, granule, has_place ? data.data() + end : nullptr});
              return static_cast<bool>(c);
            });
            if (c.bytes % granule != 0) {
              bad = "a granule was cut";
            }
            if (bad.empty() && c.data != data.data() + end) {
              std::copy_n(c.data, c.bytes, data.data() + end);
            }
            end += c.bytes;
            t.release(0, s);
          }
          for (std::size_t i = 0; i < bytes && bad.empty(); ++i) {
            bad = data[i] == static_cast<std::byte>(i * 7 + i / 999) ? "" : "byte " + std::to_string(i) + " is wrong";
          }
        }
        meet.exchange("");
      }
    }
    return bad;
  });
}

BOOST_AUTO_TEST_CASE(private_memory_is_read_by_attaching) {
  check_all(send_private_memory(true));
}
BOOST_AUTO_TEST_CASE(private_memory_that_became_unreadable_is_copied) {
  check_all(send_private_memory(false));
}

/// A program may restrict itself (seccomp) after it has joined. The fence between "asleep" and a message may then fail,
/// and the ring that wakes a rank be lost. A rank that leaves rings the others, so both stay until both have looked.
BOOST_AUTO_TEST_CASE(a_rank_that_cannot_announce_its_sleep_stays_awake) {
  check_all(process_ranks::run(2, [](auto& meet) -> verdict {
    tutti::shared_memory t(meet);
    auto const is_awake = [&t] {
      pollfd entry{t.arm(), POLLIN, 0};
      bool const rung = ::poll(&entry, 1, 0) == 1;
      t.disarm();
      return rung;
    };
    bool const is_woken = is_awake();
    meet.exchange("");
    if (is_woken) {
      return "nobody has rung";
    }
    bool const needs_others = core_set::of_thread().usable() >= 2 && sleep_barrier::is_offered(true);
    sock_filter deny[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                          BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                          BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    sock_fprog const filter{4, deny};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
      return "";  // no filters on this system
    }
    bool const stays_awake = is_awake();
    meet.exchange("");
    return stays_awake == needs_others ? "" : "it sleeps, and may not be woken";
  }));
}

/// A failure of one rank to get memory is an error on all; and memory has no name that could stay behind.
BOOST_AUTO_TEST_CASE(shared_memory_that_is_not_there) {
  check_all(process_ranks::run(3,
                               [](auto& meet) -> verdict {
                                 tutti::shared_memory t(meet, {.chunk_bytes = 64, .ring_bytes = std::size_t{1} << 40});
                                 return "joined";
                               }),
            "failed(join failed): shared_memory, rank 0: cannot reserve");
  check_all(process_ranks::run(2, [](auto& meet) -> verdict {
    tutti::shared_memory t(meet);
    std::FILE* const f = std::fopen("/proc/self/maps", "r");
    char line[512];
    int nameless_mappings = 0;
    int named_mappings = 0;
    while (f != nullptr && std::fgets(line, sizeof line, f) != nullptr) {
      std::string_view const l = line;
      nameless_mappings += l.find(" /memfd:tutti (deleted)") != l.npos ? 1 : 0;
      named_mappings += l.find(" /dev/shm/") != l.npos ? 1 : 0;
    }
    std::fclose(f);
    meet.exchange("");
    return nameless_mappings != 0 && named_mappings == 0 ? "" : "the memory has a name";
  }));
}

/// Rank 0 sets the sizes of the chunks. An element larger than a chunk is sent in parts; no part belongs to two.
BOOST_AUTO_TEST_CASE(chunks_are_as_rank_0_says) {
  check_all(process_ranks::run(2, [](auto& meet) -> verdict {
    tutti::shared_memory t(
        meet, {.chunk_bytes = meet.rank() == 0 ? 128U : 4096U, .ring_bytes = meet.rank() == 0 ? 0U : 4096U});
    t.begin({0, 0}, some_call(1));
    t.begin({1, 1}, some_call(1));
    std::vector<std::byte> const data(1000);
    send_result const first = t.send(1 - t.rank(), {0, 0}, data, 50);
    send_result const second = t.send(1 - t.rank(), {0, 0}, data, 50);
    send_result const part = t.send(1 - t.rank(), {1, 1}, data, 200);
    send_result const rest = t.send(1 - t.rank(), {1, 1}, std::span(data).subspan(128), 200);
    meet.exchange("");
    return first.bytes == 100 && !second.is_accepted && part.bytes == 128 && rest.bytes == 72
               ? ""
               : "took " + std::to_string(first.bytes) + ", " + std::to_string(part.bytes) + " and " +
                     std::to_string(rest.bytes);
  }));
}

/// One rank probes for all, then none for a while; a clock that is ahead does not prevent it.
BOOST_AUTO_TEST_CASE(ranks_take_turns_to_look) {
  constexpr rank_type ranks = 10;
  constexpr duration pause = ranks * probe_limit::pause_per_rank;
  for (time_point const now : {time_point(std::chrono::hours(1)), time_point()}) {
    probe_limit turns;
    BOOST_TEST(turns.take(now, ranks));
    BOOST_TEST(!turns.take(now, ranks));
    BOOST_TEST(!turns.take(now + pause - duration(1), ranks));
    BOOST_TEST(turns.take(now + pause, ranks));
    BOOST_TEST(!turns.take(now + pause, ranks));
    BOOST_TEST(turns.take(now - duration(1), ranks));  // another clock, which is behind
  }
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
