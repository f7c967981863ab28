// SPDX-License-Identifier: Apache-2.0
// test: address
#include "../../tools/inspect/dumps.hpp"

#include "../../tools/inspect/explanation.hpp"
#include "../../tools/inspect/output.hpp"
#include "../../tools/inspect/processes.hpp"
#include <support/forked_child.hpp>
#include <support/small_disk.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/core/dumps.hpp>
#include <tutti/detail/core/operations_page.hpp>
#include <tutti/tutti.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <pthread.h>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <vector>

/// The dumps of a process, and their reader. A process has one folder for its dumps, so each test forks one.
namespace {

using tutti::rank_type;
using tutti::detail::communicator_facts;
using tutti::detail::dump_head;
using tutti::detail::dumps;
using tutti::detail::record_owner;

/// A folder that lasts as long as the object.
class folder {
 public:
  folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tutti-dumps-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  folder(folder const&) = delete;
  folder& operator=(folder const&) = delete;
  ~folder() { std::filesystem::remove_all(path_); }

  [[nodiscard]] std::string const& path() const { return path_; }
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (auto const& entry : std::filesystem::directory_iterator(path_)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::string path_;
};

std::string bytes_of_file(std::string const& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void write_bytes(std::string const& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::uint32_t own_pid() {
  return static_cast<std::uint32_t>(::getpid());
}
communicator_facts some_facts(std::string const& name) {
  return {.identity = tutti::hash(name),
          .rank = 1,
          .size = 3,
          .thread = tutti::detail::this_thread_number(),
          .name = name,
          .local_size = 2,
          .local_members = {{0, 4}, {1, own_pid()}}};
}
std::string prefix() {
  return "rank-1." + tutti::host_name() + "." + std::to_string(::getpid());
}

void expect(bool holds) {
  if (!holds) {
    throw std::runtime_error("not as expected");
  }
}
/// The text of the exception that a call throws; empty if there is none.
template <class F>
std::string complaint_of(F const& f) {
  try {
    f();
  } catch (std::exception const& e) {
    return e.what();
  }
  return {};
}
bool has(std::string const& text, std::string_view part) {
  return text.find(part) != text.npos;
}
std::string complaint_about(std::string const& path) {
  return complaint_of([&] { static_cast<void>(inspect::read_dumps({path})); });
}

/// Lets a rank wait in a barrier, since three seconds ago.
void wait_for(record_owner const& owner, rank_type peer) {
  tutti::recorder r(owner->operations());
  r.note({.place = r.start(tutti::make_call(tutti::operation_kind::barrier, "", "", "star"), {}),
          .begin = tutti::steady_now() - std::chrono::seconds(3),
          .last_look = tutti::steady_now(),
          .peer = peer});
}
/// The bytes of a dump of a process with two communicators, at a fault of `world`.
template <class F>
std::string dump_of(F const& publish) {
  folder const place;
  BOOST_TEST_REQUIRE(ends_in_a_forked_child([&] {
    record_owner const world;
    record_owner const other;
    publish(world, other);
    dumps::begin(place.path(), 1);
    expect(dumps::write(some_facts("world").identity, "all is lost\n") == 0);
  }));
  BOOST_TEST_REQUIRE(place.files().size() == 1U);
  return bytes_of_file(place.path() + "/" + place.files()[0]);
}
std::string some_dump() {
  return dump_of([](record_owner const& world, record_owner const& other) {
    world->publish(some_facts("world"));
    other->publish(some_facts("other"));
    wait_for(world, 0);
  });
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_dump_has_what_the_page_has) {
  folder const place;
  std::string const path = place.path() + "/a";
  write_bytes(path, some_dump());
  inspect::sight const scene = inspect::read_dumps({path});
  BOOST_TEST_REQUIRE(scene.views.size() == 4U);  // two of them name rank 0
  inspect::view const& v = scene.views[3];
  BOOST_TEST((v.name == "world" && v.rank == 1U && v.size == 3U && v.communicator == tutti::hash("world")));
  BOOST_TEST(v.error == "all is lost ");
  BOOST_TEST(v.host == tutti::host_name());
  BOOST_TEST_REQUIRE(v.operations.size() == 1U);
  BOOST_TEST(v.operations[0].text() == "barrier(star)");
  BOOST_TEST((v.noted_wait->begin >= scene.now - std::chrono::seconds(5)));
  BOOST_TEST(scene.views[1].name == "other");
  BOOST_TEST(scene.views[1].error.empty());
  BOOST_TEST(!scene.views[2].is_seen);
  BOOST_TEST(inspect::explain(scene).front() ==
             "rank 0 (pid 4) of world has written no dump: it was gone, or in no call; 1 rank waits for it, for 3.0 s");
}

BOOST_AUTO_TEST_CASE(a_fault_is_dumped_once_for_each_communicator_and_replaces_no_file) {
  folder const place;
  BOOST_TEST(ends_in_a_forked_child([&] {
    record_owner const owner;
    owner->publish(some_facts("world"));
    expect(dumps::write(1, "too early") == 0 && place.files().empty());
    dumps::begin(place.path(), 1);
    dumps::begin("/no/such/folder", 2);  // does nothing any more
    for (std::uint64_t const communicator : {1U, 1U, 2U, 1U}) {
      expect(dumps::write(communicator, "") == 0);
    }
    expect(place.files() == std::vector{prefix() + ".fault-01.dump", prefix() + ".fault-02.dump"});
    std::string const foreign = prefix() + ".fault-03.dump";
    write_bytes(place.path() + "/" + foreign, "precious");
    expect(dumps::write(3, "") == EEXIST);
    expect(bytes_of_file(place.path() + "/" + foreign) == "precious" && place.files().size() == 3);
    for (std::uint64_t communicator = 4; communicator < 40; ++communicator) {
      expect(dumps::write(communicator, "") == 0);
    }
    expect(place.files().size() == dumps::fault_limit);
  }));
}

BOOST_AUTO_TEST_CASE(a_signal_is_dumped_each_time) {
  folder const place;
  BOOST_TEST(ends_in_a_forked_child([&] {
    record_owner const owner;
    owner->publish(some_facts("first"));
    dumps::begin(place.path(), 1);
    errno = 77;
    ::raise(SIGUSR2);
    expect(errno == 77 && place.files() == std::vector{prefix() + ".signal.dump"});
    owner->publish(some_facts("second"));
    ::raise(SIGUSR2);
    expect(inspect::read_dumps({place.path()}).views[0].name == "second" && place.files().size() == 1);
    expect(ends_in_a_forked_child([] { ::raise(SIGUSR2); }));  // has no page, and does nothing
    expect(place.files().size() == 1);
  }));
}

/// A signal at any time neither hangs nor harms a thread that makes communicators and forks.
BOOST_AUTO_TEST_CASE(signals_come_at_any_time) {
  folder const place;
  BOOST_TEST(ends_in_a_forked_child([&] {
    record_owner const owner;
    owner->publish(some_facts("world"));
    dumps::begin(place.path(), 1);
    std::atomic<bool> is_over{false};
    std::atomic<int> rounds{0};
    std::thread worker([&] {
      for (; !is_over; ++rounds) {
        record_owner const second;
        second->publish(some_facts("other"));
        tutti::detail::descriptor const file = tutti::detail::memory_file("x");
        if (rounds % 16 == 0) {
          expect(ends_in_a_forked_child([] {}));
        }
      }
    });
    std::mt19937 dice(7);
    for (int i = 0; i < 1000; ++i) {
      int const round = rounds;
      for (auto pause = dice() % 4096; pause > 0 && rounds == round; --pause) {
      }
      ::pthread_kill(worker.native_handle(), SIGUSR2);
      while (rounds == round) {
        std::this_thread::yield();
      }
    }
    is_over = true;
    worker.join();
    ::raise(SIGUSR2);
    expect(!inspect::read_dumps({place.path()}).views.empty());
  }));
}

extern "C" void some_handler(int) {}

BOOST_AUTO_TEST_CASE(refusals) {
  folder const place;
  std::string const file = place.path() + "/file";
  write_bytes(file, "");
  BOOST_TEST(ends_in_a_forked_child([&] {
    for (std::string const& wrong : {std::string("/no/such/folder"), file}) {
      std::string const text = complaint_of([&] { dumps::begin(wrong, 0); });
      expect(has(text, "TUTTI_DUMPS=" + wrong) && has(text, "must be a folder that can be written to"));
    }
    std::signal(SIGUSR2, some_handler);
    expect(has(complaint_of([&] { dumps::begin(place.path(), 0); }), "SIGUSR2, for which this program has a handler"));
    struct sigaction current {};
    ::sigaction(SIGUSR2, nullptr, &current);
    expect(current.sa_handler == some_handler);
  }));
}

/// Lets a rank report a peer that is gone, while a dump cannot be written for that reason.
/// @param file_limit the limit of file sizes
void check_named(std::string const& place, rlim_t file_limit, std::string const& reason) {
  BOOST_TEST(ends_in_a_forked_child([&] {
    dumps::begin(place, 0);
    auto const results = tutti::spawn<tutti::loopback>(2, [&](auto& world) -> std::string {
      rlimit limit{};
      ::getrlimit(RLIMIT_FSIZE, &limit);
      limit.rlim_cur = file_limit;
      if (world.rank() == 1 || ::setrlimit(RLIMIT_FSIZE, &limit) != 0) {
        return {};
      }
      try {
        int element = 1;
        tutti::allreduce{world, tutti::ring{}, tutti::sum<int>{}}(element);
      } catch (tutti::error const& e) {
        return std::string(tutti::name(e.kind())) + ": " + e.what();
      }
      return {};
    });
    std::string const& text = results[0].value();
    expect(text.starts_with(tutti::name(tutti::failure::peer_lost)) && has(text, "is gone"));
    expect(text.ends_with("; the dump in " + place + " was not written: " + reason));
    expect(std::filesystem::is_empty(place));
  }));
}

// A full disk changes no failure.
BOOST_AUTO_TEST_CASE(a_dump_that_cannot_be_written_is_named) {
  folder const place;
  check_named(place.path(), 5000, tutti::detail::describe_write_error(EFBIG));
  small_disk const disk(place.path() + "/disk", "4k");
  if (disk.is_mounted) {
    check_named(disk.mount_point, RLIM_INFINITY, tutti::detail::describe_write_error(ENOSPC));
  }
}

BOOST_AUTO_TEST_CASE(files_that_are_no_dumps_are_refused) {
  folder const place;
  std::string const path = place.path() + "/x.dump";
  std::string const good = some_dump();
  BOOST_TEST_REQUIRE(good.size() == 3U * 4096);
  for (std::size_t length = 0; length <= good.size(); length += length < 16 ? 1 : 1021) {
    write_bytes(path, std::string_view(good).substr(0, length));
    BOOST_TEST(has(complaint_about(path), path + (length < 8 ? " is no dump of tutti" : " is cut short")));
  }
  write_bytes(path, good + good);
  BOOST_TEST(complaint_about(path).empty());
  write_bytes(path, good + "more text behind the dump");
  BOOST_TEST(has(complaint_about(path), "has other data after a dump"));
  write_bytes(path, std::string(5000, 'x'));
  BOOST_TEST(has(complaint_about(path), path + " is no dump of tutti"));
  std::string other = good;
  ++other[8];
  write_bytes(path, other);
  BOOST_TEST(has(complaint_about(path), "was written by another version of tutti"));
  BOOST_TEST(has(complaint_about(place.path() + "/none"), "No such file"));
  folder const empty;
  BOOST_TEST(has(complaint_about(empty.path()), "has no dump"));
}

/// Dumps of two hosts, whose processes have equal numbers and whose clocks differ, are merged.
BOOST_AUTO_TEST_CASE(hosts_are_told_apart) {
  folder const place;
  for (rank_type r = 0; r < 2; ++r) {
    std::string dump = dump_of([&](record_owner const& world, record_owner const&) {
      world->publish({.identity = 7, .rank = r, .size = 2, .name = "world"});
      r == 0 ? wait_for(world, 1) : void();
    });
    auto const add = [&](std::size_t word, std::uint64_t number) {
      std::uint64_t value = 0;
      std::memcpy(&value, dump.data() + 8 * word, 8);
      value += number;
      std::memcpy(dump.data() + 8 * word, &value, 8);
    };
    dump_head head;
    std::memcpy(static_cast<void*>(&head), dump.data(), sizeof head);
    add(offsetof(dump_head, pid) / 8, 4242 - head.pid);
    std::string const host = ("node" + std::to_string(r)).append(40, '\0');
    dump.replace(offsetof(dump_head, host), host.size(), host);
    if (r == 0) {
      constexpr std::uint64_t hours = 10'000'000'000'000;
      constexpr std::size_t wait_words = 512 + 6 + 8 + 256 + 1;
      add(offsetof(dump_head, now) / 8, hours);
      add(wait_words + 2, hours);
      add(wait_words + 3, hours);
    }
    write_bytes(place.path() + "/" + std::to_string(r) + ".dump", dump);
  }
  inspect::sight const scene = inspect::read_dumps({place.path() + "/0.dump", place.path() + "/1.dump"});
  BOOST_TEST(
      inspect::explain(scene).front() ==
      "rank 1 (node1, pid 4242) has not called barrier #0 of world: it computes, or waits outside of tutti; 1 rank "
      "waits for it, for 3.0 s");
  BOOST_TEST(inspect::by_world(scene).size() == 1U);
}

/// Whatever a dump holds, it is read and explained without a crash.
BOOST_AUTO_TEST_CASE(a_dump_of_anything) {
  folder const place;
  std::string const path = place.path() + "/x.dump";
  std::string const good = some_dump();
  std::mt19937_64 dice(7);
  for (int trial = 0; trial < 300; ++trial) {
    std::string bytes = good;
    for (std::size_t i = 0; i < 40; ++i) {
      std::size_t const offset = 24 + dice() % (bytes.size() - 24);
      bytes[offset] = static_cast<char>(dice());
    }
    for (std::size_t const record : {4096U, 8192U}) {
      bytes[record + 4 * 8 - 8] = static_cast<char>(dice() % 3);  // size
    }
    write_bytes(path, bytes);
    try {
      for (auto const& world : inspect::by_world(inspect::read_dumps({path}))) {
        std::string const text = inspect::to_text(world) + inspect::to_json(world);
        BOOST_TEST(!has(text, "\33"));
      }
    } catch (std::runtime_error const&) {
    }
  }
}
