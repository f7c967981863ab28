// SPDX-License-Identifier: Apache-2.0
// test: address waits
#include <support/process_ranks.hpp>
#include <support/toy_hash.hpp>
#include <tutti/collective/allreduce.hpp>
#include <tutti/detail/bootstrap/doorway.hpp>
#include <tutti/detail/bootstrap/hosts.hpp>
#include <tutti/detail/bootstrap/newcomer.hpp>
#include <tutti/detail/core/process_look.hpp>
#include <tutti/door.hpp>
#include <tutti/enter.hpp>
#include <tutti/join.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/shrink.hpp>
#include <tutti/topology/ring.hpp>
#include <tutti/transport/shared_memory.hpp>
#include <tutti/transport/tcp.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <unistd.h>
#include <utility>
#include <vector>

// Processes enter running worlds. Each test starts processes that meet at a seat, by which they keep step; some are
// ranks of a first world, the others enter.

using namespace std::chrono_literals;
using tutti::no_rank;
using tutti::rank_type;
using tutti::detail::process_rendezvous;
using tutti::support::verdict;

namespace {

/// A place of a job, which its processes find in their environment.
struct job {
  explicit job(bool has_list = false, std::string text = {}) : secret(std::move(text)) {
    char name[] = "/tmp/tutti-test-XXXXXX";
    BOOST_REQUIRE(::mkdtemp(name) != nullptr);
    folder = name;
    if (has_list) {
      std::vector<tutti::detail::descriptor> listeners;  // open together, so that the ports differ
      for (int i = 0; i != 3; ++i) {
        listeners.push_back(tutti::detail::net::listen(std::uint16_t{0}));
        auto const port = tutti::detail::net::local_address(listeners.back().get()).port();
        hosts += (i == 0 ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(port);
      }
    }
  }
  job(job const&) = delete;
  job& operator=(job const&) = delete;
  ~job() { std::filesystem::remove_all(folder); }

  /// Sets the environment of this process.
  void enter(std::string const& patience = "30") const {
    ::setenv("TUTTI_JOB", folder.c_str(), 1);
    ::setenv("TUTTI_TIMEOUT", patience.c_str(), 1);
    ::setenv("TUTTI_INTERFACE", "lo", 1);
    if (hosts.empty()) {
      ::setenv("TUTTI_STORE", ("file:" + folder).c_str(), 1);
    } else {
      ::setenv("TUTTI_HOSTS", hosts.c_str(), 1);
      ::setenv("TUTTI_RANK", "2", 1);
    }
    if (!secret.empty()) {
      ::setenv("TUTTI_SECRET", secret.c_str(), 1);
    }
  }
  /// Joins the first world.
  template <class Transport>
  [[nodiscard]] tutti::communicator<Transport> join(rank_type rank, rank_type size) const {
    enter();
    ::setenv("TUTTI_RANK", std::to_string(rank).c_str(), 1);
    if (hosts.empty()) {
      ::setenv("TUTTI_SIZE", std::to_string(size).c_str(), 1);
    }
    auto world = tutti::join<Transport>();
    world.deadline(20s);
    return world;
  }
  /// Waits until as many processes wait at the door.
  static void await(tutti::door& entry, rank_type count) {
    auto const end = tutti::steady_now() + 30s;
    while (entry.waiting() != count) {
      if (tutti::steady_now() > end) {
        throw std::runtime_error(std::to_string(entry.waiting()) + " processes wait, not " + std::to_string(count));
      }
      ::usleep(100);
    }
  }

  /// Waits until a process has written a file at the door, if the place is a folder.
  void await_file() const {
    auto const is_announcement = [](std::filesystem::directory_entry const& entry) {
      return entry.path().filename().string().starts_with("waiting.");
    };
    auto const end = tutti::steady_now() + 10s;
    for (bool has_come = !hosts.empty(); !has_come && tutti::steady_now() < end;) {
      std::filesystem::recursive_directory_iterator const files(folder);
      has_come = std::any_of(begin(files), std::filesystem::end(files), is_announcement);
    }
  }

  std::string folder;
  std::string hosts;
  std::string secret;
};

template <class World>
[[nodiscard]] bool has_ranks(World& world, rank_type size) {
  std::vector<int> numbers(1000, 1);
  tutti::allreduce{world, tutti::ring{}, tutti::sum<int>{}}(numbers);
  return world.size() == size && numbers == std::vector<int>(1000, static_cast<int>(size));
}

void check(std::vector<verdict> const& verdicts) {
  for (std::size_t i = 0; i != verdicts.size(); ++i) {
    BOOST_TEST(verdicts[i] == "", "process " << i << ": " << verdicts[i]);
  }
}

[[nodiscard]] bool has(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

/// Two processes enter a world of `size` ranks, one after the other. Then rank 0 ends, and a newcomer that has become
/// one of the others takes part in the next change.
template <class Transport>
void processes_enter(job const& work, rank_type size) {
  auto const has_entered = [size](auto& world, auto& detector, rank_type newcomers) {
    rank_type const next_size = size + newcomers;
    bool has_numbers = detector.members().size() == next_size && world.name() == "world+" + std::to_string(newcomers);
    for (rank_type r = 0; r != next_size; ++r) {
      has_numbers = has_numbers && world.parent_rank(r) == (r + 1 == next_size ? no_rank : r);
    }
    return has_numbers && has_ranks(world, next_size) && detector.agree(world.rank() | 8U).value == 8;
  };
  check(tutti::support::process_ranks::run(size + 2, [&](process_rendezvous& seat) -> verdict {
    rank_type const me = seat.rank();
    auto const go_on = [&](auto& world, auto& detector, rank_type newcomers) -> verdict {
      if (newcomers == 1) {
        if (!has_entered(world, detector, 1)) {
          return "the first world is wrong";
        }
        seat.exchange("");
        tutti::door entry;
        if (me == 0) {
          work.await(entry, 1);
        }
        seat.exchange("");
        world = detector.grow(entry);
      }
      if (world.rank() != me || !has_entered(world, detector, 2)) {
        return "the second world is wrong";
      }
      if (me == 0) {
        return "";
      }
      world = detector.shrink();
      return world.rank() == me - 1 && has_ranks(world, size + 1) && detector.members().front() == 1
                 ? ""
                 : "the smaller world is wrong";
    };
    if (me < size) {
      auto world = work.join<Transport>(me, size);
      tutti::failure_detector detector(world, 30s);
      {
        tutti::door entry;
        if (me == 0) {
          work.await(entry, 1);
        }
        world = detector.grow(entry, size + 1);
      }
      return go_on(world, detector, 1);
    }
    work.enter();
    if (me == size + 1) {
      seat.exchange("");
    }
    auto const enter = [&] { return tutti::enter<Transport>(); };
    if (me == size) {
      auto [world, detector] = enter();
      return go_on(world, detector, 1);
    }
    std::jthread const partner([&seat] {
      try {
        seat.exchange("");
      } catch (tutti::error const&) {  // the others report their fault
      }
    });
    auto [world, detector] = enter();
    return go_on(world, detector, 2);
  }));
}

constexpr char const* secret = "sixteen or more letters";
using of_processes = std::tuple<tutti::shared_memory, tutti::tcp>;

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(processes_enter_one_after_the_other, Transport, of_processes) {
  processes_enter<Transport>(job(), 1);
  processes_enter<Transport>(job(), 3);
  processes_enter<Transport>(job(true), 3);
  processes_enter<Transport>(job(false, secret), 2);
  processes_enter<Transport>(job(true, secret), 3);
}

/// The newcomer is told what to do. The world is as it was, but for its name.
BOOST_AUTO_TEST_CASE(a_secret_is_demanded_of_newcomers) {
  for (bool const has_list : {false, true}) {
    for (char const* const other : {"", "another secret text"}) {
      job const work(has_list, secret);
      check(tutti::support::process_ranks::run(4, [&](process_rendezvous& seat) -> verdict {
        if (seat.rank() == 3) {
          work.enter("2");
          ::unsetenv("TUTTI_SECRET");
          if (*other != '\0') {
            ::setenv("TUTTI_SECRET", other, 1);
          }
          try {
            std::ignore = tutti::enter<tutti::tcp>();
          } catch (tutti::error const& e) {
            seat.exchange("");
            return e.kind() == tutti::failure::join && has(e.what(), "no world let this process in") ? "" : e.what();
          }
          return "it has entered";
        }
        auto world = work.join<tutti::tcp>(seat.rank(), 3);
        tutti::failure_detector detector(world, 30s);
        tutti::door entry;
        if (seat.rank() == 0) {
          work.await_file();
        }
        world = detector.grow(entry);
        seat.exchange("");
        world = detector.grow(entry);
        return entry.waiting() == 0 && has_ranks(world, 3) ? "" : "the world is wrong";
      }));
    }
  }
}

/// A process that is killed while it waits leaves a file, or a closed connection.
BOOST_AUTO_TEST_CASE(killed_processes_are_forgotten) {
  for (bool const has_list : {false, true}) {
    job const work(has_list);
    auto const verdicts = tutti::support::process_ranks::run(4, [&](process_rendezvous& seat) -> verdict {
      if (seat.rank() == 3) {
        work.enter();
        std::jthread const killer([&] {
          seat.exchange("");
          ::raise(SIGKILL);
        });
        std::ignore = tutti::enter<tutti::tcp>();
        return "it has entered";
      }
      auto world = work.join<tutti::tcp>(seat.rank(), 3);
      tutti::failure_detector detector(world, 30s);
      tutti::door entry;
      if (seat.rank() == 0) {
        work.await(entry, 1);
      }
      try {
        seat.exchange("");
        seat.exchange("");  // until the process is gone
      } catch (tutti::error const&) {
      }
      world = detector.grow(entry);
      return entry.waiting() == 0 && has_ranks(world, 3) ? "" : "the world is wrong";
    });
    for (rank_type r = 0; r != 4; ++r) {
      BOOST_TEST(verdicts[r] == (r == 3 ? tutti::support::death_verdict : ""));
    }
  }
}

/// Tools see a process that has entered as one of its job, and it leaves a dump at a fault.
BOOST_AUTO_TEST_CASE(a_newcomer_belongs_to_its_job_and_writes_dumps) {
  job const work;
  ::setenv("TUTTI_DUMPS", work.folder.c_str(), 1);
  auto const verdicts = tutti::support::process_ranks::run(2, [&](process_rendezvous& seat) -> verdict {
    if (seat.rank() == 0) {
      auto world = work.join<tutti::tcp>(0, 1);
      tutti::failure_detector detector(world, 30s);
      tutti::door entry;
      work.await(entry, 1);
      world = detector.grow(entry);
      if (!has_ranks(world, 2) ||
          tutti::detail::mapped_page(static_cast<std::uint32_t>(world.members()[1].pid)).job() != work.folder) {
        return "the newcomer has another job";
      }
      seat.exchange("");
      ::raise(SIGKILL);
    }
    work.enter();
    auto [world, detector] = tutti::enter<tutti::tcp>();
    bool const is_right = has_ranks(world, 2);
    seat.exchange("");
    try {
      std::ignore = has_ranks(world, 2);
    } catch (tutti::error const&) {
      return is_right ? "" : "the world is wrong";
    }
    return "no fault";
  });
  ::unsetenv("TUTTI_DUMPS");
  BOOST_TEST(verdicts[0] == tutti::support::death_verdict);
  BOOST_TEST(verdicts[1] == "");
  std::size_t dump_count = 0;
  for (auto const& entry : std::filesystem::directory_iterator(work.folder)) {
    std::string const name = entry.path().filename();
    dump_count += name.starts_with("newcomer.") && name.ends_with(".fault-01.dump") ? 1U : 0U;
  }
  BOOST_TEST(dump_count == 1U);
}

BOOST_AUTO_TEST_CASE(grow_and_shrink_may_not_be_mixed) {
  job const work;
  check(tutti::support::process_ranks::run(2, [&](process_rendezvous& seat) -> verdict {
    auto world = work.join<tutti::shared_memory>(seat.rank(), 2);
    tutti::failure_detector detector(world, 30s);
    tutti::door entry;
    try {
      world = seat.rank() == 0 ? detector.grow(entry) : detector.shrink();
      return "both have a world";
    } catch (tutti::error const& e) {
      if (e.kind() != tutti::failure::mismatch || !has(e.what(), "grow") || !has(e.what(), "shrink")) {
        return e.what();
      }
    }
    world = detector.grow(entry);
    return has_ranks(world, 2) ? "" : "the world is wrong";
  }));
}

BOOST_AUTO_TEST_CASE(a_door_needs_a_job_and_a_place) {
  tutti::environment settings;
  settings.job = "a job";
  auto const says = [](char const* part) {
    return [part](tutti::error const& e) { return e.kind() == tutti::failure::join && has(e.what(), part); };
  };
  BOOST_CHECK_EXCEPTION(tutti::door{settings}, tutti::error, says("TUTTI_STORE=file:PATH"));
  settings.job.clear();
  settings.directory = "/tmp";
  BOOST_CHECK_EXCEPTION(tutti::door{settings}, tutti::error, says("TUTTI_JOB"));
}

BOOST_AUTO_TEST_CASE(a_process_has_one_door_at_its_entry_of_a_list) {
  job const work(true);
  tutti::environment settings;
  settings.job = "a job";
  tutti::detail::host_list const list(work.hosts);
  for (rank_type r = 0; r != list.size(); ++r) {
    settings.hosts.push_back(list[r].at);
  }
  tutti::door first(settings);
  tutti::door second(settings);
  BOOST_TEST(first.waiting() == 0U);
  BOOST_CHECK_EXCEPTION(std::ignore = second.waiting(), tutti::error,
                        [](tutti::error const& e) { return has(e.what(), "one door at its entry"); });
}

BOOST_AUTO_TEST_CASE(announcements_and_admissions_travel_and_nothing_else_is_one) {
  tutti::detail::announcement const original{"0123456789abcdef", "10.0.0.1", 4242, tutti::this_member("worker")};
  tutti::detail::announcement copy;
  BOOST_TEST(copy.parse(original.text()));
  BOOST_TEST((copy.nonce == original.nonce && copy.host == original.host && copy.port == original.port &&
              copy.process == original.process));
  tutti::detail::admission const facts{{0, 2, no_rank}, 2, 7s, "world", 5};
  tutti::detail::admission read;
  BOOST_TEST(read.parse(facts.text()));
  BOOST_TEST((read.parent_ranks == facts.parent_ranks && read.rank == 2 && read.patience == 7s &&
              read.base_name == "world" && read.changes == 5));
  for (std::string const& text : {original.text(), facts.text()}) {
    for (std::size_t less = 0; less != text.size(); ++less) {
      BOOST_TEST(!copy.parse(std::string_view(text).substr(0, less)));
      BOOST_TEST(!read.parse(std::string_view(text).substr(0, less)));
    }
    BOOST_TEST(!copy.parse(text + "x"));
    BOOST_TEST(!read.parse(text + "x"));
  }
  tutti::detail::announcement wrong = original;
  wrong.nonce = "../../etc/passwd";
  BOOST_TEST(!copy.parse(wrong.text()));
}

/// Files of other programs in the folder are no processes that wait, and stay.
BOOST_AUTO_TEST_CASE(only_announcements_are_processes_that_wait) {
  job const work;
  tutti::environment settings;
  settings.job = "a job";
  settings.directory = work.folder;
  auto const place = tutti::detail::make_doorway(settings);
  std::string folder = place->place();
  folder = folder.substr(1, folder.size() - 2);
  tutti::detail::announcement const other{"0123456789abcdef", "10.0.0.1", 4242, tutti::this_member()};
  BOOST_TEST(place->announce(other) == "");
  std::ofstream(folder + "/waiting.fedcba9876543210") << other.text();
  std::ofstream(folder + "/waiting.a") << "a";
  std::ofstream(folder + "/mine") << "mine";
  BOOST_TEST(place->look().size() == 1U);
  place->withdraw();
  BOOST_TEST(place->look().size() == 0U);
  BOOST_TEST(std::filesystem::exists(folder + "/mine"));
}
