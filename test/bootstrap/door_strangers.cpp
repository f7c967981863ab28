// SPDX-License-Identifier: Apache-2.0
// test: address (threads share no object)
#include <laws/complaints.hpp>
#include <support/toy_hash.hpp>
#include <tutti/detail/bootstrap/channel.hpp>
#include <tutti/detail/bootstrap/claim.hpp>
#include <tutti/detail/bootstrap/doorway.hpp>
#include <tutti/detail/bootstrap/newcomer.hpp>
#include <tutti/detail/bootstrap/survivors.hpp>
#include <tutti/detail/net/proof.hpp>
#include <tutti/detail/net/socket.hpp>
#include <tutti/error.hpp>
#include <tutti/extend/packing.hpp>

#include <boost/test/unit_test.hpp>

#include <csignal>
#include <exception>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <sys/resource.h>
#include <vector>

using namespace std::chrono_literals;
using namespace tutti;
using namespace tutti::detail;
using boost::unit_test::timeout;
using laws::has;

namespace {

namespace files = std::filesystem;

/// A port of this host on which nothing listens.
host_port free_port() {
  descriptor const listener = net::listen(net::resolve("127.0.0.1", 0).front());
  return {"127.0.0.1", net::local_address(listener.get()).port()};
}

environment with_port() {
  environment settings;
  settings.job = "a job";
  settings.hosts = {free_port()};
  settings.network_interface = "127.0.0.1";
  return settings;
}

/// A folder of this test, removed at its end, and an environment that names it.
struct with_folder {
  with_folder() {
    std::string name = (files::temp_directory_path() / "tutti-door-XXXXXX").string();
    BOOST_REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
    settings.job = "a job";
    settings.directory = name;
    settings.network_interface = "127.0.0.1";
  }
  with_folder(with_folder const&) = delete;
  with_folder& operator=(with_folder const&) = delete;
  ~with_folder() { files::remove_all(path); }

  [[nodiscard]] files::path job_folder() const { return files::directory_iterator(path)->path(); }

  files::path path;
  environment settings;
};

/// An announcement whose last digit is `digit`.
announcement announcement_at(host_port const& at, char digit) {
  announcement a;
  a.nonce = std::string(15, '0') + digit;
  a.host = at.host;
  a.port = at.port;
  a.process = this_member("");
  return a;
}

/// The announcements that a member sees, once there are `count`.
std::vector<announcement> await_waiting(doorway& door, std::size_t count) {
  for (;;) {
    if (auto list = door.look(); list.size() == count) {
      return list;
    }
  }
}

/// Lets processes enter the world of one member.
survivors admit(doorway& door, environment const& settings, duration patience = 10s) {
  survivors members(0, {0}, {}, patience);
  members.local_host("127.0.0.1");
  admit_newcomers(members, door, 10, {{}, 0, patience, "world", 1}, settings.secret);
  return members;
}

/// A process that waits, on another thread.
struct waiting_process {
  explicit waiting_process(environment const& settings)
      : result(std::async(std::launch::async, [settings] {
          newcomer self(settings);
          admission facts;
          static_cast<void>(self.enter(facts, steady_now() + 60s));
          return facts;
        })) {}

  std::future<admission> result;
};

/// Connects to a process that waits.
channel connect_to(announcement const& a) {
  return channel(net::connect(net::resolve(a.host, a.port).front(), steady_now() + 10s));
}

std::string admission_text(rank_type rank, std::vector<rank_type> parent_ranks) {
  return admission{std::move(parent_ranks), rank, 10s, "world", 1}.text();
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_announcement_names_no_host_that_has_to_be_looked_up, *timeout(60)) {
  announcement read;
  for (char const* const host : {"127.0.0.1", "::1", "fe80::1"}) {
    BOOST_TEST(read.parse(announcement_at({host, 1}, 'a').text()));
    BOOST_TEST(read.host == host);
  }
  for (char const* const host : {"", "localhost", "cafe", "1.2.3", "127.0.0.1%lo", "example.org"}) {
    BOOST_TEST(!read.parse(announcement_at({host, 1}, 'a').text()));
  }
}

BOOST_AUTO_TEST_CASE(an_admission_gives_a_newcomer_a_place_of_its_own_and_a_finite_patience, *timeout(60)) {
  admission read;
  BOOST_TEST(read.parse(admission_text(1, {0, no_rank})));
  BOOST_TEST(!read.parse(admission_text(0, {no_rank, 1})));
  BOOST_TEST(!read.parse(admission_text(1, {0, 1})));
  BOOST_TEST(!read.parse(admission_text(2, {0, no_rank})));
  BOOST_TEST(read.parse(admission{{0, no_rank}, 1, duration::max(), "world", 1}.text()));
  BOOST_TEST((4 * read.patience > 24h));
}

BOOST_AUTO_TEST_CASE(a_visitor_that_sends_more_than_its_announcement_is_dropped, *timeout(60)) {
  environment const settings = with_port();
  auto const door = make_doorway(settings);
  BOOST_TEST(door->look().empty());
  std::string const text = packer().text(settings.job).take() + announcement_at({"127.0.0.1", 1}, 'a').text();
  channel stranger(net::connect(net::resolve("127.0.0.1", settings.hosts[0].port).front(), steady_now() + 10s));
  stranger.queue(bootstrap_frame_kind::hello, text);
  BOOST_TEST((stranger.send(steady_now() + 10s) == io::complete));
  await_waiting(*door, 1);
  stranger.queue(bootstrap_frame_kind::text, "more");
  BOOST_TEST((stranger.send(steady_now() + 10s) == io::complete));
  await_waiting(*door, 0);
}

BOOST_AUTO_TEST_CASE(copies_of_an_announcement_count_once_and_keep_nobody_out, *timeout(60)) {
  environment settings = with_port();
  settings.secret = net::make_secret("sixteen or more letters");
  auto const door = make_doorway(settings);
  BOOST_TEST(door->look().empty());
  announcement const first = announcement_at({"127.0.0.1", 1}, 'a');
  std::vector<owner<doorway>> copies;
  for (int i = 0; i < 260; ++i) {
    copies.push_back(make_doorway(settings));
    while (!copies.back()->announce(first).empty()) {
    }
    static_cast<void>(door->look());
  }
  BOOST_TEST(await_waiting(*door, 1).front().nonce == first.nonce);
  auto const other = make_doorway(settings);
  while (!other->announce(announcement_at({"127.0.0.1", 1}, 'b')).empty()) {
  }
  await_waiting(*door, 2);
}

BOOST_AUTO_TEST_CASE(a_process_waits_on_after_strangers_at_its_port, *timeout(60)) {
  for (bool const has_secret : {false, true}) {
    environment settings = with_port();
    settings.secret = has_secret ? net::make_secret("sixteen or more letters") : world_secret();
    auto const door = make_doorway(settings);
    waiting_process process(settings);
    announcement const a = await_waiting(*door, 1).front();
    std::vector<channel> strangers;
    for (auto const& [kind, payload] : {std::pair{bootstrap_frame_kind::hello, std::string("another nonce")},
                                        std::pair{bootstrap_frame_kind::hello, std::string(1U << 16U, 'x')},
                                        std::pair{bootstrap_frame_kind::table, a.nonce},
                                        std::pair{bootstrap_frame_kind::claim, std::string(claim_size, 'x')}}) {
      strangers.push_back(connect_to(a));
      strangers.back().queue(kind, payload);
      strangers.back().flush();
    }
    if (has_secret) {  // the nonce alone opens no door
      strangers.push_back(connect_to(a));
      strangers.back().queue(bootstrap_frame_kind::hello, a.nonce);
      strangers.back().flush();
    }
    for (channel& stranger : strangers) {
      bootstrap_frame frame;
      BOOST_TEST((stranger.receive(frame, 1000, steady_now() + 20s) == io::hangup));
    }
    survivors const members = admit(*door, settings);
    BOOST_TEST(members.size() == 2U);
    BOOST_TEST(process.result.get().rank == 1U);
  }
}

BOOST_AUTO_TEST_CASE(a_process_waits_on_after_a_host_that_gives_it_no_place, *timeout(60)) {
  environment const settings = with_port();
  auto const door = make_doorway(settings);
  waiting_process process(settings);
  announcement const a = await_waiting(*door, 1).front();
  channel host = connect_to(a);
  bootstrap_frame frame;
  host.queue(bootstrap_frame_kind::hello, a.nonce);
  BOOST_TEST((host.send(steady_now() + 10s) == io::complete));
  BOOST_TEST((host.receive(frame, 1000, steady_now() + 10s) == io::complete));
  BOOST_TEST((frame.kind == bootstrap_frame_kind::welcome));
  host.queue(bootstrap_frame_kind::table, admission_text(0, {no_rank, 1, 2}));
  BOOST_TEST((host.send(steady_now() + 10s) == io::complete));
  BOOST_TEST((host.receive(frame, 1000, steady_now() + 10s) == io::hangup));
  announcement const next = await_waiting(*door, 1).front();
  BOOST_TEST(next.nonce != a.nonce);
  BOOST_TEST(admit(*door, settings).size() == 2U);
  BOOST_TEST(process.result.get().rank == 1U);
}

BOOST_AUTO_TEST_CASE(processes_for_which_no_time_is_left_continue_to_wait, *timeout(60)) {
  with_folder place;
  auto const door = make_doorway(place.settings);
  std::vector<descriptor> silent;
  std::vector<owner<doorway>> visitors;
  for (char const digit : {'a', 'b', 'c'}) {  // they listen, and do not answer
    silent.push_back(net::listen(net::resolve("127.0.0.1", 0).front()));
    visitors.push_back(make_doorway(place.settings));
    host_port const at{"127.0.0.1", net::local_address(silent.back().get()).port()};
    BOOST_TEST(visitors.back()->announce(announcement_at(at, digit)) == "");
  }
  BOOST_TEST(admit(*door, place.settings, 1s).size() == 1U);
  std::vector<announcement> const rest = door->look();
  BOOST_REQUIRE(rest.size() == 2U);
  BOOST_TEST(rest[0].nonce.back() == 'b');
}

BOOST_AUTO_TEST_CASE(a_process_that_members_forget_comes_again_after_a_pause, *timeout(60)) {
  with_folder place;
  environment const ports = with_port();
  for (environment const& settings : {place.settings, ports}) {
    auto const door = make_doorway(settings);
    auto const visitor = make_doorway(settings);
    announcement const self = announcement_at({"127.0.0.1", 1}, 'a');
    time_point last{};
    for (duration const pause : {0s, 1s}) {
      while (door->look().empty()) {
        static_cast<void>(visitor->announce(self));
      }
      BOOST_TEST((steady_now() - last > pause - 10ms));
      last = steady_now();
      door->remove(self.nonce);
    }
  }
}

BOOST_AUTO_TEST_CASE(processes_that_do_not_prove_the_secret_are_not_seen, *timeout(60)) {
  with_folder place;
  environment ports = with_port();
  announcement const self = announcement_at({"127.0.0.1", 1}, 'a');
  for (auto const& other : {world_secret(), net::make_secret("another secret than theirs")}) {
    place.settings.secret = ports.secret = net::make_secret("sixteen or more letters");
    auto const folder = make_doorway(place.settings);
    auto const port = make_doorway(ports);
    BOOST_TEST(port->look().empty());
    place.settings.secret = ports.secret = other;
    auto const visitor = make_doorway(place.settings);
    BOOST_TEST(visitor->announce(self) == "");
    BOOST_TEST(folder->look().empty());
    auto const caller = make_doorway(ports);
    while (!caller->announce(self).empty()) {
    }
    while (caller->announce(self).empty()) {
      BOOST_TEST(port->look().empty());
    }
  }
}

BOOST_AUTO_TEST_CASE(the_last_door_removes_what_killed_processes_have_left, *timeout(60)) {
  with_folder place;
  {
    auto const door = make_doorway(place.settings);
    auto const visitor = make_doorway(place.settings);
    BOOST_TEST(visitor->announce(announcement_at({"127.0.0.1", 1}, 'a')) == "");
    for (char const* const name : {"draft.0123456789abcdef", "probe.0123456789abcdef"}) {
      std::ofstream(place.job_folder() / name) << "x";
    }
  }
  BOOST_TEST(files::is_empty(place.path));
}

BOOST_AUTO_TEST_CASE(a_folder_that_is_gone_or_full_is_an_error_of_the_process_that_waits, *timeout(60)) {
  {
    with_folder place;
    auto const door = make_doorway(place.settings);
    auto const visitor = make_doorway(place.settings);
    files::remove_all(place.path);
    BOOST_TEST(door->look().empty());
    BOOST_CHECK_EXCEPTION(static_cast<void>(visitor->announce(announcement_at({"127.0.0.1", 1}, 'a'))), error,
                          [&](error const& e) { return has(e.what(), place.path.string()); });
  }
  with_folder place;
  auto const door = make_doorway(place.settings);
  auto const visitor = make_doorway(place.settings);
  rlimit limit{};
  BOOST_REQUIRE(::getrlimit(RLIMIT_FSIZE, &limit) == 0);
  rlimit const none{0, limit.rlim_max};
  BOOST_REQUIRE(::setrlimit(RLIMIT_FSIZE, &none) == 0);
  std::string complaint;
  try {
    static_cast<void>(visitor->announce(announcement_at({"127.0.0.1", 1}, 'a')));
  } catch (error const& e) {
    complaint = e.what();
  }
  BOOST_REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  BOOST_TEST(has(complaint, "cannot write to the directory '" + place.path.string() + "'"));
  BOOST_TEST(door->look().empty());
  BOOST_TEST(visitor->announce(announcement_at({"127.0.0.1", 1}, 'a')) == "");
  BOOST_TEST(door->look().size() == 1U);
}
