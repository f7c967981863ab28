// SPDX-License-Identifier: Apache-2.0
// test: address thread waits
//
// Both sides of a meeting at a port (tcp_side.hpp, tcp_host.hpp and tcp_guest.hpp), tested through their rendezvous.
#include <laws/complaints.hpp>
#include <support/toy_hash.hpp>
#include <tutti/detail/bootstrap/claim.hpp>
#include <tutti/detail/bootstrap/entrance.hpp>
#include <tutti/detail/bootstrap/tcp_rendezvous.hpp>
#include <tutti/detail/bootstrap/tcp_side.hpp>
#include <tutti/detail/bootstrap/threads.hpp>
#include <tutti/detail/net/proof.hpp>
#include <tutti/detail/net/socket.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>

namespace net = tutti::detail::net;
using namespace std::chrono_literals;
using laws::has;
using tutti::rank_type;
using tutti::detail::membership;
using tutti::detail::tcp_rendezvous;
using tutti::detail::thread_rendezvous;

namespace {

/// A meeting place: rank 0 takes the listener, the others connect to `address`.
struct place {
  tutti::detail::descriptor listener = net::listen(std::uint16_t{0});
  tutti::host_port address{"127.0.0.1", net::local_address(listener.get()).port()};

  tcp_rendezvous join(membership const& me) {
    return me.rank == 0 ? tcp_rendezvous(std::move(listener), me) : tcp_rendezvous(address, me);
  }
};

membership member(rank_type rank, rank_type size, tutti::duration patience = 20s) {
  return {.rank = rank, .size = size, .patience = patience};
}

/// Lets a thread join for each member; returns the texts that each received, or its failure.
std::vector<tutti::outcome<std::string>> join_all(place& p, std::vector<membership> const& members) {
  return tutti::detail::run_threads(static_cast<rank_type>(members.size()), [&](thread_rendezvous& seat) {
    auto r = p.join(members[seat.rank()]);
    std::string result;
    for (auto const& text : r.exchange("<" + std::to_string(r.rank()) + ">")) {
      result += text;
    }
    return result;
  });
}

/// Checks that all fail with a text that contains all of `words`, and name `blamed` as the ranks at fault.
void check_all_fail(std::vector<tutti::outcome<std::string>> const& ends, std::vector<std::string> const& words,
                    std::vector<rank_type> const& culprits) {
  for (std::size_t i = 0; i < ends.size(); ++i) {
    auto const& failure = ends[i].failure();
    BOOST_TEST((failure.kind == tutti::failure::join));
    BOOST_TEST(failure.at_fault == culprits, boost::test_tools::per_element());
    for (auto const& w : words) {
      BOOST_TEST(has(failure.text, w), "of " << i << ": '" << failure.text << "' lacks '" << w << "'");
    }
  }
}

/// A valid frame of another kind than hello.
std::string text_frame(std::string const& payload) {
  std::string head("tut1\x03\0\0\0", 8);
  for (std::size_t i = 0, n = payload.size(); i < 8; ++i, n >>= 8U) {
    head += static_cast<char>(n & 0xffU);
  }
  return head + payload;
}

void say(tutti::detail::descriptor const& s, std::string_view text) {
  if (tutti::detail::write_all(s.get(), tutti::detail::bytes_of(text), tutti::steady_now() + 5s) !=
      tutti::detail::io::complete) {
    throw std::runtime_error("what is said is not heard at the place");
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(all_get_every_text_in_rank_order_in_every_round) {
  for (rank_type n : {1U, 2U, 3U, 9U}) {
    place p;
    auto const ends = tutti::detail::run_threads(n, [&](thread_rendezvous& seat) {
      auto r = p.join(member(seat.rank(), n));
      int good = 0;
      for (int round = 0; round < 20; ++round) {
        std::string const padding(static_cast<std::size_t>(round) * 1000, 'x');
        auto const texts = r.exchange(std::to_string(r.rank()) + "/" + std::to_string(round) + padding);
        bool is_right = texts.size() == n;
        for (std::size_t k = 0; is_right && k < n; ++k) {
          is_right = texts[k] == std::to_string(k) + "/" + std::to_string(round) + padding;
        }
        good += is_right ? 1 : 0;
      }
      return std::pair(good, r.local_host());
    });
    for (auto const& e : ends) {
      BOOST_TEST(e.value().first == 20);
      BOOST_TEST(e.value().second == "127.0.0.1");
    }
  }
}

BOOST_AUTO_TEST_CASE(rank_0_may_come_last) {
  auto const port = place().address.port;  // free again
  std::atomic<int> arrivals{0};
  auto const ends = tutti::detail::run_threads(3, [&](thread_rendezvous& seat) {
    if (seat.rank() == 0) {
      while (arrivals < 2) {
        std::this_thread::yield();
      }
    } else {
      ++arrivals;
    }
    return tcp_rendezvous({"127.0.0.1", port}, member(seat.rank(), 3)).exchange("here").size();
  });
  for (auto const& e : ends) {
    BOOST_TEST(e.value() == 3U);
  }
}

/// 127.0.0.2 stands for the addresses of this host at which others reach it.
BOOST_AUTO_TEST_CASE(a_meeting_at_a_loopback_address_is_not_heard_outside) {
  for (char const* const host : {"127.0.0.1", "localhost"}) {
    auto const port = place().address.port;  // free again
    auto const reach = [&](char const* address) {
      return net::connect(net::resolve(address, port).at(0), tutti::steady_now() + 5s);
    };
    auto const ends = tutti::detail::run_threads(2, [&](thread_rendezvous& seat) {
      while (seat.rank() == 1 && !reach("127.0.0.1")) {
        std::this_thread::yield();
      }
      bool const is_heard = seat.rank() == 1 && reach("127.0.0.2");
      return tcp_rendezvous({host, port}, member(seat.rank(), 2)).exchange(is_heard ? "heard" : "")[1];
    });
    BOOST_TEST(ends[0].value() == "");
  }
}

BOOST_AUTO_TEST_CASE(missing_ranks_are_named_to_all_that_came) {
  place p;
  auto const ends = join_all(p, {member(0, 5, 300ms), member(1, 5), member(3, 5)});
  check_all_fail(ends,
                 {"ranks 2 and 4 of 5 did not join at", std::to_string(p.address.port), "within 0.3 s", "joined: 0 (",
                  ", 1 (", ", 3 (", tutti::host_name()},
                 {2, 4});
}

BOOST_AUTO_TEST_CASE(two_processes_of_one_rank_are_named_to_all) {
  place p;
  auto const ends = join_all(p, {member(0, 4), member(1, 4), member(3, 4), member(3, 4)});
  check_all_fail(ends,
                 {"two processes both say they are rank 3: on " + tutti::host_name() + ", pid ", " and on ",
                  "give each job its own TUTTI_JOB"},
                 {3});
}

BOOST_AUTO_TEST_CASE(a_rank_that_comes_just_after_the_failure_is_told_too) {
  place p;
  std::atomic<bool> has_failed{false};
  auto const ends = tutti::detail::run_threads(4, [&](thread_rendezvous& seat) {
    while (seat.rank() == 2 && !has_failed) {
      std::this_thread::yield();
    }
    try {
      p.join(member(seat.rank() == 3 ? 1 : seat.rank(), 3));  // rank 1 joins twice
    } catch (...) {
      has_failed = true;
      throw;
    }
    return std::string();
  });
  check_all_fail(ends, {"two processes both say they are rank 1"}, {1});
}

BOOST_AUTO_TEST_CASE(two_processes_of_rank_0_are_named_to_both) {
  place p;
  auto const ends = tutti::detail::run_threads(2, [&](thread_rendezvous& seat) {
    if (seat.rank() == 0) {
      p.join(member(0, 2));
    } else {
      tcp_rendezvous(p.address, member(0, 2));
    }
    return std::string();
  });
  check_all_fail(ends, {"two processes both say they are rank 0"}, {0});
}

BOOST_AUTO_TEST_CASE(a_port_taken_by_something_else_is_named) {
  auto const silent = net::listen(std::uint16_t{0});
  auto const port = net::local_address(silent.get()).port();
  std::thread visitor([&] {  // closes the connection by which rank 0 probes the port
    if (tutti::detail::wait_ready(silent.get(), POLLIN, tutti::steady_now() + 10s)) {
      while (net::accept(silent.get()) ||
             tutti::detail::wait_ready(silent.get(), POLLIN, tutti::steady_now() + 500ms)) {
      }
    }
  });
  BOOST_CHECK_EXCEPTION(tcp_rendezvous({"localhost", port}, member(0, 2)), tutti::error, [&](tutti::error const& e) {
    return has(e.what(), std::to_string(port) + ": Address already in use") && has(e.what(), "TUTTI_MASTER_PORT");
  });
  visitor.join();
}

BOOST_AUTO_TEST_CASE(a_rank_of_another_world_size_is_refused_and_named_if_its_seat_stays_empty) {
  place p;
  auto const ends = join_all(p, {member(0, 3, 300ms), member(1, 3), member(2, 4)});
  for (int i : {0, 1}) {
    std::string const& text = ends[static_cast<std::size_t>(i)].failure().text;
    BOOST_TEST(has(text, "rank 2 of 3 did not join at"), text);
    BOOST_TEST(has(text, "; refused: 127.0.0.1:"), text);
    BOOST_TEST(has(text, ": rank 2 (" + tutti::host_name()), text);
    BOOST_TEST(has(text, "expects a world of 4 ranks, but rank 0 expects 3"), text);
  }
  std::string const& text = ends[2].failure().text;
  BOOST_TEST(has(text, "refuses rank 2 of 4: it serves another job (TUTTI_JOB), or"), text);
  BOOST_TEST(ends[2].failure().at_fault == std::vector<rank_type>{2}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_member_of_another_job_is_refused_and_disturbs_no_rank) {
  place p;
  auto member_of = [](rank_type rank, char const* job) {
    return membership{.rank = rank, .size = 2, .job = job, .patience = 20s};
  };
  tutti::detail::descriptor listener = std::move(p.listener);
  std::atomic<bool> is_refused{false};
  auto const ends = tutti::detail::run_threads(3, [&](thread_rendezvous& seat) -> std::string {
    if (seat.rank() == 0) {
      tcp_rendezvous r(std::move(listener), member_of(0, "a"));
      return r.exchange("x").at(1) + " " + r.refusals().at(0);
    }
    if (seat.rank() == 1) {
      while (!is_refused) {
        std::this_thread::yield();
      }
      return tcp_rendezvous(p.address, member_of(1, "a")).exchange("y").at(0);
    }
    try {
      tcp_rendezvous r(p.address, member_of(1, "b"));
      return "let in";
    } catch (tutti::error const& e) {
      is_refused = true;
      return e.what();
    }
  });
  BOOST_TEST(has(ends[0].value(), "y 127.0.0.1:"), ends[0].value());
  BOOST_TEST(has(ends[0].value(), "belongs to job 'b', this is 'a'"), ends[0].value());
  BOOST_TEST(ends[1].value() == "x");
  BOOST_TEST(has(ends[2].value(), "refuses rank 1 of 2 of job 'b'"), ends[2].value());
  BOOST_TEST(!has(ends[2].value(), "'a'"), ends[2].value());
}

/// Two jobs with different names at one port: each meets by itself or fails, in any order of arrival.
BOOST_AUTO_TEST_CASE(jobs_of_two_names_never_mix_at_one_port) {
  int meetings = 0;
  for (auto const& order : {std::array{0, 3, 2, 1}, std::array{3, 0, 1, 2}, std::array{0, 2, 3, 1}}) {
    auto const port = place().address.port;  // free again
    std::atomic<int> turn{0};
    auto const ends = tutti::detail::run_threads(4, [&](thread_rendezvous& seat) {
      auto const position = std::find(order.begin(), order.end(), static_cast<int>(seat.rank())) - order.begin();
      while (turn < position) {
        std::this_thread::yield();
      }
      ++turn;
      std::string const job = seat.rank() < 2 ? "a" : "b";
      tcp_rendezvous r({"127.0.0.1", port}, {.rank = seat.rank() % 2, .size = 2, .job = job, .patience = 2s});
      auto const texts = r.exchange(job);
      return texts[0] + texts[1];
    });
    for (std::size_t i = 0; i < 4; ++i) {
      BOOST_TEST((ends[i] ? ends[i].value() == (i < 2 ? "aa" : "bb") : !ends[i].failure().text.empty()));
      meetings += ends[i] ? 1 : 0;
    }
  }
  BOOST_TEST(meetings > 0);
}

namespace {

/// Connects to the place and sends a text.
tutti::detail::descriptor speak(place const& p, std::string_view text) {
  tutti::detail::descriptor s = net::connect(net::resolve("127.0.0.1", p.address.port).at(0), tutti::steady_now() + 5s);
  if (!s) {
    throw std::runtime_error("there is no listener at the place");
  }
  say(s, text);
  return s;
}
std::string answer_to(tutti::detail::descriptor const& s) {
  std::string answer;
  char buffer[512];
  while (tutti::detail::wait_ready(s.get(), POLLIN, tutti::steady_now() + 5s)) {
    ssize_t const size = ::recv(s.get(), buffer, sizeof buffer, 0);
    if (size <= 0) {
      return answer;
    }
    answer.append(buffer, static_cast<std::size_t>(size));
  }
  return answer + "and never closes";
}
std::string hello_frame(rank_type rank, rank_type size, std::string const& job) {
  std::string frame = text_frame(tutti::detail::tcp_hello{rank, size, job, {"h", 1, ""}}.encode());
  frame[4] = 1;
  return frame;
}

}  // namespace

/// All mismatches get the same answer, and it tells nothing about the job.
BOOST_AUTO_TEST_CASE(an_unknown_peer_learns_nothing_of_the_job) {
  place p;
  auto member_of = [](rank_type rank) {
    return membership{.rank = rank, .size = 3, .job = "secret-job", .patience = 20s};
  };
  std::vector<tutti::detail::descriptor> unknown_peers;
  for (auto const& [rank, size, job] : {std::tuple{1U, 3U, "guess"},
                                        {1U, 99U, "secret-job"},
                                        {7U, 3U, "secret-job"},
                                        {1U, 99U, "guess"},
                                        {1U, 3U, ""}}) {
    unknown_peers.push_back(speak(p, hello_frame(rank, size, job)));
  }
  auto const ends = tutti::detail::run_threads(3, [&](thread_rendezvous& seat) {
    auto r = p.join(member_of(seat.rank()));
    return r.exchange("x").size();
  });
  for (auto const& e : ends) {
    BOOST_TEST(e.value() == 3U);
  }
  std::string const blank_answer = "tut1\x07" + std::string(11, '\0');
  for (tutti::detail::descriptor const& s : unknown_peers) {
    BOOST_TEST(answer_to(s) == blank_answer);
  }
}

/// A hello with the right names is believed, but a process that then fails or sends nonsense before the world is
/// complete ends nothing.
BOOST_AUTO_TEST_CASE(a_seat_that_is_given_up_or_misused_is_free_again) {
  for (std::string const& more : {std::string("close"), std::string("y"), std::string(1'000'000, 'y')}) {
    place p;
    std::atomic<int> step{0};
    auto const ends = tutti::detail::run_threads(3, [&](thread_rendezvous& seat) -> std::string {
      if (seat.rank() == 2) {
        tutti::detail::descriptor s = speak(p, hello_frame(1, 3, ""));
        if (more == "close") {
          s.reset();
        } else {
          tutti::detail::write_all(s.get(), tutti::detail::bytes_of(more), tutti::steady_now() + 5s);
          (void)answer_to(s);  // until the host closes
        }
        step = 1;
      }
      if (seat.rank() == 1) {
        while (step == 0) {
          std::this_thread::yield();
        }
      }
      auto r = p.join(member(seat.rank(), 3));
      (void)r.exchange("");
      return r.refusals().empty() ? "" : r.refusals()[0];
    });
    BOOST_TEST(has(ends[0].value(), more == "close" ? "closed its connection" : "sent more than a greeting"),
               ends[0].value());
    BOOST_TEST(ends[1].has_value());
    BOOST_TEST(ends[2].has_value());
  }
}

/// Texts of an exchange are short: an oversized one is not stored.
BOOST_AUTO_TEST_CASE(a_text_without_end_is_named_and_not_kept) {
  place p;
  auto const ends = tutti::detail::run_threads(2, [&](thread_rendezvous& seat) {
    auto r = p.join(member(seat.rank(), 2));
    (void)r.exchange(seat.rank() == 0 ? "" : std::string(10'000'000, 'x'));
  });
  BOOST_TEST(has(ends[0].failure().text, "rank 1 (" + tutti::host_name()), ends[0].failure().text);
  BOOST_TEST(has(ends[0].failure().text, "gave a text of more than 2097152 bytes"), ends[0].failure().text);
}

BOOST_AUTO_TEST_CASE(an_unserved_port_is_said_after_the_deadline) {
  auto const port = place().address.port;
  auto const begin = tutti::steady_now();
  BOOST_CHECK_EXCEPTION(
      tcp_rendezvous({"127.0.0.1", port}, member(2, 4, 200ms)), tutti::error, [](tutti::error const& e) {
        return has(e.what(), "rank 2 of 4 did not reach rank 0 at 127.0.0.1:") && has(e.what(), "within 0.2 s") &&
               has(e.what(), "Connection refused") && e.at_fault() == std::vector<rank_type>{0} && e.self() == 2;
      });
  BOOST_TEST((tutti::steady_now() - begin < 10s));
  BOOST_CHECK_EXCEPTION(tcp_rendezvous({"no such host", port}, member(1, 2, 50ms)), tutti::error,
                        [](tutti::error const& e) { return has(e.what(), "cannot resolve host 'no such host'"); });
}

BOOST_AUTO_TEST_CASE(foreign_bytes_and_silent_connections_disturb_no_rank) {
  place p;
  auto const connect = [&] {
    tutti::detail::descriptor s =
        net::connect(net::resolve("127.0.0.1", p.address.port).at(0), tutti::steady_now() + 5s);
    BOOST_REQUIRE(s);
    return s;
  };
  using namespace std::string_literals;
  std::vector<tutti::detail::descriptor> unknown_peers;
  for (std::string const& text :
       {"GET / HTTP/1.1\r\nHost: x\r\n\r\n"s, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc"s, "tut1"s, ""s,
        "tut1\x01\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff"s, "tut1\x01\0\0\0\x04\0\0\0\0\0\0\0abcd"s,
        "tut1\x63\0\0\0\0\0\0\0\0\0\0\0"s, text_frame(tutti::detail::tcp_hello{1, 3, "", {"h", 1, ""}}.encode()),
        "tut1\x03\0\0\0\0\0\0\0\0\0\0\0"s, "\0"s, std::string(100'000, '\xaa')}) {
    unknown_peers.push_back(connect());
    say(unknown_peers.back(), text);
  }
  (void)connect();  // connects and disconnects
  auto const begin = tutti::steady_now();
  auto const refusals = tutti::detail::run_threads(3, [&](thread_rendezvous& seat) {
    auto r = p.join(member(seat.rank(), 3));
    (void)r.exchange("");
    return r.refusals();
  });
  BOOST_TEST((tutti::steady_now() - begin < 10s));
  auto const log = refusals[0].value();
  auto const count = [&](std::string const& word) {
    return std::count_if(log.begin(), log.end(), [&](std::string const& l) { return has(l, word); });
  };
  BOOST_TEST(count("127.0.0.1:") == 10);  // the silent ones, with "tut1" and "", are not even noticed
  BOOST_TEST(count("not a greeting") == 8);
  BOOST_TEST(count("too long") == 1);
  BOOST_TEST(count("closed before") == 1);
  BOOST_TEST(refusals[1].value().empty());
}

BOOST_AUTO_TEST_CASE(chatter_does_not_keep_the_deadline_away) {
  place p;
  std::atomic<bool> is_over{false};
  std::thread chatter([&] {
    auto const address = net::resolve("127.0.0.1", p.address.port).at(0);
    while (!is_over) {
      tutti::detail::descriptor const s = net::connect(address, tutti::steady_now() + 1s);
      if (s) {
        tutti::detail::write_some(s.get(), tutti::detail::bytes_of("hello?"));
      }
    }
  });
  auto const begin = tutti::steady_now();
  BOOST_CHECK_THROW(p.join(member(0, 2, 200ms)), tutti::error);
  BOOST_TEST((tutti::steady_now() - begin < 10s));
  is_over = true;
  chatter.join();
}

BOOST_AUTO_TEST_CASE(a_member_that_goes_away_before_an_exchange_is_named_to_the_others) {
  place p;
  auto const ends = tutti::detail::run_threads(3, [&](thread_rendezvous& seat) {
    auto r = p.join(member(seat.rank(), 3));
    if (seat.rank() == 2) {
      throw std::runtime_error("dead");  // closes its connection
    }
    (void)r.exchange("");
  });
  for (std::size_t const r : {0U, 1U}) {
    BOOST_TEST(has(ends[r].failure().text, "rank 2 ("), ends[r].failure().text);
    BOOST_TEST(ends[r].failure().at_fault == std::vector<rank_type>{2}, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(a_member_that_goes_away_while_others_come_is_named_if_its_seat_stays_empty) {
  place p;
  speak(p, hello_frame(2, 3, "")).reset();  // sends a hello and dies
  auto const ends = join_all(p, {member(0, 3, 300ms), member(1, 3)});
  check_all_fail(
      ends, {"rank 2 of 3 did not join at", "refused: 127.0.0.1:", "rank 2 (h, pid 1) closed its connection"}, {2});
}

BOOST_AUTO_TEST_CASE(a_rank_that_does_not_exchange_is_named_to_the_others) {
  place p;
  std::atomic<int> failures{0};
  auto const ends = tutti::detail::run_threads(3, [&](thread_rendezvous& seat) {
    auto r = p.join(member(seat.rank(), 3, 1s));
    if (seat.rank() == 1) {
      while (failures < 2) {
        std::this_thread::yield();
      }
      return;
    }
    try {
      (void)r.exchange("");
    } catch (...) {
      ++failures;
      throw;
    }
    ++failures;
  });
  BOOST_TEST(ends[1].has_value());
  for (rank_type r : {0U, 2U}) {
    BOOST_TEST(has(ends[r].failure().text, "rank 1 of 3 did not come within 1 s"), ends[r].failure().text);
    BOOST_TEST(ends[r].failure().at_fault == std::vector<rank_type>{1}, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(an_exchange_that_rank_0_does_not_make_fails_at_once) {
  place p;
  auto const ends = tutti::detail::run_threads(2, [&](thread_rendezvous& seat) {
    auto r = p.join(member(seat.rank(), 2));
    if (seat.rank() == 1) {
      (void)r.exchange("");
    }
  });
  BOOST_TEST(ends[0].has_value());
  BOOST_TEST(has(ends[1].failure().text, "rank 0 closed the connection"), ends[1].failure().text);
}

namespace {

membership knowing_member(rank_type rank, rank_type size, char const* secret = "sixteen or more letters",
                          tutti::duration patience = 20s) {
  membership me = member(rank, size, patience);
  me.secret = net::make_secret(secret);
  return me;
}

/// The bytes of a claim of a rank that knows the secret.
std::string recorded_claim(rank_type rank, std::string const& world) {
  auto [guest, host] = tutti::detail::stream_pair();
  tutti::detail::channel line(std::move(guest));
  (void)tutti::detail::claim_rank(line, net::proof_key(net::make_secret("sixteen or more letters")), rank,
                                  tutti::steady_now(), world);
  char bytes[200];
  ssize_t const size = ::recv(host.get(), bytes, sizeof bytes, 0);
  BOOST_REQUIRE(size > 0);
  return {bytes, static_cast<std::size_t>(size)};
}

/// Lets all join with a secret, exchange texts, and returns what rank 0 has refused.
std::vector<std::string> join_knowing(place& p, rank_type n) {
  auto const ends = tutti::detail::run_threads(n, [&](thread_rendezvous& seat) {
    auto r = p.join(knowing_member(seat.rank(), n));
    std::string joined_texts;
    for (auto const& text : r.exchange(std::to_string(r.rank()))) {
      joined_texts += text;
    }
    return std::pair(joined_texts, r.refusals());
  });
  for (auto const& end : ends) {
    BOOST_TEST(end.value().first == std::string("0123456789").substr(0, n));
  }
  return ends[0].value().second;
}

/// A program on the path between guests and rank 0. It passes all bytes on, and changes one byte of its first
/// connection.
class relay {
 public:
  relay(std::uint16_t port, bool from_host, std::size_t position)
      : from_host_(from_host), position_(position), port_(port), thread_([this] { run(); }) {}
  ~relay() {
    is_over_ = true;
    thread_.join();
  }
  [[nodiscard]] std::uint16_t port() const { return net::local_address(listener_.get()).port(); }

 private:
  void run() {
    while (!is_over_) {
      tutti::detail::wait_ready(listener_.get(), POLLIN, tutti::steady_now() + 20ms);
      if (tutti::detail::descriptor const guest = net::accept(listener_.get())) {
        tutti::detail::descriptor const host =
            net::connect(net::resolve("127.0.0.1", port_).at(0), tutti::steady_now() + 1s);
        std::size_t counts[2] = {0, 0};
        while (!is_over_ && host && pass(guest, host, false, counts[0]) && pass(host, guest, true, counts[1])) {
          pollfd set[] = {{guest.get(), POLLIN, 0}, {host.get(), POLLIN, 0}};
          tutti::detail::poll_until(set, tutti::steady_now() + 20ms);
        }
      }
    }
  }
  bool pass(tutti::detail::descriptor const& source, tutti::detail::descriptor const& target, bool from_host,
            std::size_t& count) {
    std::array<std::byte, 4096> bytes{};
    auto const result = tutti::detail::read_some(source.get(), bytes);
    if (from_host == from_host_ && !has_changed_ && count <= position_ && position_ < count + result.bytes) {
      bytes[position_ - count] ^= std::byte{1};
      has_changed_ = true;
    }
    count += result.bytes;
    (void)tutti::detail::write_all(target.get(), std::span(bytes).first(result.bytes), tutti::steady_now() + 1s);
    return result.state != tutti::detail::io::hangup;
  }

  bool from_host_;
  std::size_t position_;
  std::uint16_t port_;
  bool has_changed_ = false;
  std::atomic<bool> is_over_{false};
  tutti::detail::descriptor listener_ = net::listen(std::uint16_t{0});
  std::thread thread_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(members_with_one_secret_meet) {
  for (rank_type n : {1U, 2U, 5U}) {
    place p;
    BOOST_TEST(join_knowing(p, n).empty());
  }
}

/// Neither a hello nor a claim without the secret takes a seat, and the answer is nothing.
BOOST_AUTO_TEST_CASE(a_stranger_takes_no_seat_and_is_told_nothing) {
  place p;
  std::string const claim = recorded_claim(1, tutti::detail::text_of_world("", 3));
  std::string wrong_claim = claim;
  wrong_claim.back() = static_cast<char>(wrong_claim.back() ^ 1);
  std::vector<tutti::detail::descriptor> strangers;
  for (std::string const& bytes :
       {hello_frame(1, 3, ""), hello_frame(1, 4, ""), hello_frame(1, 3, "another job"), wrong_claim,
        claim.substr(0, claim.size() - 1) + "xx", text_frame("abc"), std::string("GET / HTTP/1.1\r\n\r\n")}) {
    strangers.push_back(speak(p, bytes));
  }
  auto const refusals = join_knowing(p, 3);
  BOOST_TEST(refusals.size() == 7U);
  BOOST_TEST(std::count_if(refusals.begin(), refusals.end(),
                           [](std::string const& text) { return has(text, "this TUTTI_SECRET"); }) == 5);
  for (tutti::detail::descriptor const& s : strangers) {
    BOOST_TEST(answer_to(s) == "");
  }
}

namespace {

/// A program that hears all bytes between a rank and rank 0, and sends bytes of its own, but changes none.
struct listener_on_the_path {
  std::vector<std::string> claims;  ///< heard, or recorded at earlier meetings

  /// Lets rank 1 of two try to join once. As soon as rank 0 has answered its claim, repeats all claims, three times.
  /// Returns true if the rank is welcome.
  bool pass_guest(place const& p) {
    auto [guest_end, path] = tutti::detail::stream_pair();
    bool is_welcome = false;
    std::thread guest([&is_welcome, end = std::move(guest_end)]() mutable {
      tutti::detail::channel line(std::move(end));
      auto const deadline = tutti::steady_now() + 20s;
      net::proof_key const key(net::make_secret("sixteen or more letters"));
      if (tutti::detail::claim_rank(line, key, 1, deadline, tutti::detail::text_of_world("", 2)) ==
          tutti::detail::io::complete) {
        tutti::detail::bootstrap_frame answer;
        line.queue(tutti::detail::bootstrap_frame_kind::hello,
                   tutti::detail::tcp_hello{1, 2, "", tutti::this_member("")}.encode());
        (void)line.send(deadline);
        (void)line.receive(answer, 1000, deadline);
        is_welcome = answer.kind == tutti::detail::bootstrap_frame_kind::welcome;
      }
    });
    claims.push_back(next_bytes(path));
    tutti::detail::descriptor const host = speak(p, claims.back());
    std::string const challenge = next_bytes(host);
    std::vector<tutti::detail::descriptor> copies;
    for (int round = 0; round != 3; ++round) {
      for (std::string const& claim : claims) {
        copies.push_back(speak(p, claim));
        (void)next_bytes(copies.back());  // rank 0 has answered it, or closed the connection
      }
    }
    if (!challenge.empty()) {
      say(path, challenge);
      try {
        say(host, next_bytes(path));
        say(path, next_bytes(host));
      } catch (std::runtime_error const&) {  // rank 0 has closed the connection
      }
    }
    path.reset();
    guest.join();
    return is_welcome;
  }

  /// The bytes that come next; empty if the other side closes.
  static std::string next_bytes(tutti::detail::descriptor const& s) {
    BOOST_REQUIRE(tutti::detail::wait_ready(s.get(), POLLIN, tutti::steady_now() + 10s));
    std::array<char, 1000> bytes{};
    ssize_t const size = ::recv(s.get(), bytes.data(), bytes.size(), 0);
    return {bytes.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
  }
};

/// The number of tries after which rank 1 of two joins, while a program repeats these claims and all that it hears.
int tries_of_guest(std::vector<std::string> claims) {
  place p;
  std::thread host([listener = std::move(p.listener)]() mutable {
    try {
      tcp_rendezvous(std::move(listener), knowing_member(0, 2));
    } catch (tutti::error const&) {  // the guest has not joined
    }
  });
  listener_on_the_path path{std::move(claims)};
  constexpr int limit = 20;
  int tries = 1;
  while (!path.pass_guest(p) && tries != limit) {
    ++tries;
  }
  host.join();
  return tries;
}

}  // namespace

/// A program that repeats what it hears keeps no rank out. Two claims that it has recorded at earlier meetings of this
/// job cost the rank another try, and count once.
BOOST_AUTO_TEST_CASE(claims_that_are_heard_and_repeated_push_no_rank_out) {
  BOOST_TEST(tries_of_guest({}) == 1);
  std::vector<std::string> recorded_claims;
  for (int count = 1; count <= 6; ++count) {
    recorded_claims.push_back(recorded_claim(1, tutti::detail::text_of_world("", 2)));
    BOOST_TEST(tries_of_guest(recorded_claims) <= 1 + count / 2, count);
  }
}

/// Claims of ranks of other jobs and sizes with the secret take no place of this world's ranks.
BOOST_AUTO_TEST_CASE(claims_of_other_worlds_push_no_rank_out) {
  for (std::string const& world :
       {tutti::detail::text_of_world("another job", 2), tutti::detail::text_of_world("", 3)}) {
    std::vector<std::string> claims;
    for (int i = 0; i != 5; ++i) {
      claims.push_back(recorded_claim(1, world));
    }
    BOOST_TEST(tries_of_guest(claims) == 1);
  }
}

/// More claims than there are places, repeated by a program that has heard one.
BOOST_AUTO_TEST_CASE(repeated_claims_push_no_rank_out_and_lead_to_nothing) {
  place p;
  std::string const world = tutti::detail::text_of_world("", 3);
  std::string const claim = recorded_claim(2, world);
  std::string const foreign_claim = recorded_claim(1'000'000, world);
  std::vector<tutti::detail::descriptor> repetitions;
  for (int i = 0; i != 100; ++i) {
    repetitions.push_back(speak(p, claim + hello_frame(2, 3, "")));
    repetitions.push_back(speak(p, foreign_claim));
  }
  auto const refusals = join_knowing(p, 3);
  BOOST_TEST(refusals.size() >= 60U);
  for (tutti::detail::descriptor const& s : repetitions) {
    std::string const answer = answer_to(s);
    BOOST_TEST((answer.empty() || answer.size() == 80U));  // a challenge, if it had not to make room before
  }
}

BOOST_AUTO_TEST_CASE(another_secret_is_refused_on_both_sides) {
  for (auto const& [secret_of_host, secret_of_guest] : {std::pair("sixteen or more letters", "another secret text"),
                                                        {"sixteen or more letters", ""},
                                                        {"", "sixteen or more letters"}}) {
    place p;
    auto const members = [&](rank_type rank, char const* secret) {
      return *secret != '\0' ? knowing_member(rank, 2, secret, 200ms) : member(rank, 2, 200ms);
    };
    auto const ends = join_all(p, {members(0, secret_of_host), members(1, secret_of_guest)});
    std::string const& text = ends[0].failure().text;
    BOOST_TEST(has(text, "rank 1 of 2 did not join at"), text);
    BOOST_TEST(
        has(text, *secret_of_host == '\0' ? "it has a TUTTI_SECRET, but this rank has none" : "this TUTTI_SECRET"),
        text);
    std::string const& guest_text = ends[1].failure().text;
    BOOST_TEST(has(guest_text, "did not reach rank 0"), guest_text);
    BOOST_TEST(has(guest_text, *secret_of_guest == '\0' ? "has a TUTTI_SECRET" : "does not know this TUTTI_SECRET"),
               guest_text);
  }
}

/// A claim of another world with this secret is answered: its rank is told of a wrong TUTTI_JOB or TUTTI_SIZE.
BOOST_AUTO_TEST_CASE(a_wrong_job_or_size_is_told_to_ranks_that_know_the_secret) {
  for (bool const is_wrong_job : {true, false}) {
    place p;
    membership other = knowing_member(7, is_wrong_job ? 8 : 9, "sixteen or more letters", 300ms);
    other.job = is_wrong_job ? "another" : "";
    auto const ends = tutti::detail::run_threads(2, [&](thread_rendezvous& seat) {
      p.join(seat.rank() == 0 ? knowing_member(0, 8, "sixteen or more letters", 300ms) : other);
    });
    BOOST_TEST(has(ends[0].failure().text, is_wrong_job ? "belongs to job 'another'" : "expects a world of 9 ranks"),
               ends[0].failure().text);
    BOOST_TEST(has(ends[1].failure().text, "it serves another job (TUTTI_JOB)"), ends[1].failure().text);
  }
}

/// A program on the path changes one byte of a meeting, from the claim to the table: each rank gets the right texts or
/// an error.
BOOST_AUTO_TEST_CASE(a_changed_byte_is_noticed) {
  struct change {
    bool from_host;
    std::size_t position;
    char const* complaint;  ///< part of an error, or empty if the guest comes again and all ranks meet
  };
  std::size_t const hello = tutti::detail::tcp_hello{1, 2, "", tutti::this_member("")}.encode().size();
  std::size_t const claim_end = 16 + tutti::detail::claim_size;
  std::size_t const challenge_end = 16 + tutti::detail::challenge_size;
  std::size_t const welcome_end = challenge_end + 16 + std::string("127.0.0.1").size() + 16;
  for (change const& c : {change{false, 16, ""}, change{false, claim_end + 16, ""},
                          change{false, claim_end + 16 + hello + 16 + 16, "or were changed on their way"},
                          change{true, 16, ""}, change{true, challenge_end + 16, "did not reach rank 0"},
                          change{true, welcome_end + 16 + 20, "or was changed on its way"}}) {
    place p;
    relay path(p.address.port, c.from_host, c.position);
    auto const ends = tutti::detail::run_threads(2, [&](thread_rendezvous& seat) {
      membership const me = knowing_member(seat.rank(), 2, "sixteen or more letters", 1s);
      tcp_rendezvous r =
          seat.rank() == 0 ? tcp_rendezvous(std::move(p.listener), me) : tcp_rendezvous({"127.0.0.1", path.port()}, me);
      auto const texts = r.exchange(std::to_string(r.rank()));
      return texts[0] + texts[1];
    });
    std::string failures;
    for (auto const& end : ends) {
      failures += end ? "" : end.failure().text;
      BOOST_TEST((!end || end.value() == "01"));
    }
    BOOST_TEST((*c.complaint == '\0' ? failures.empty() : has(failures, c.complaint)), failures);
  }
}
