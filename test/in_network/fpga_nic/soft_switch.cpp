// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <in_network/fpga_nic/packets.hpp>
#include <in_network/fpga_nic/worker.hpp>
#include <support/counted_new.hpp>
#include <tutti/error.hpp>
#include <tutti/in_network/detail/fpga_nic/fair_queue.hpp>
#include <tutti/in_network/detail/fpga_nic/in_process_network.hpp>
#include <tutti/in_network/detail/fpga_nic/sender_proof.hpp>
#include <tutti/in_network/detail/fpga_nic/summing_switch.hpp>
#include <tutti/in_network/detail/udp/in_process_port.hpp>
#include <tutti/in_network/detail/udp/udp_port.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <deque>
#include <fcntl.h>
#include <fstream>
#include <memory>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <optional>
#include <poll.h>
#include <spawn.h>
#include <string>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <tuple>
#include <unistd.h>
#include <vector>

namespace nic = tutti::detail::fpga_nic;
namespace net = tutti::detail::net;
using namespace packets;
using namespace std::chrono_literals;

namespace {

/// A switch whose members are numbers, and its answers.
struct bench {
  struct answer {
    unsigned destination;
    nic::header h;
    std::vector<std::byte> payload;
  };

  nic::summing_switch<unsigned> device{};
  tutti::time_point now = 1h;
  std::vector<answer> answers{};

  explicit bench(nic::switch_limits const& limits = {}, nic::seal const& s = {}) : device(limits, s) {}

  /// Returns the switch's answers to these bytes.
  std::vector<answer> const& take(unsigned source, std::span<std::byte const> bytes, bool has_ecn_mark = false) {
    answers.clear();
    device.take(source, bytes, has_ecn_mark, now,
                [&](unsigned destination, nic::header const& h, std::span<std::byte const> payload) {
                  answers.push_back({destination, h, {payload.begin(), payload.end()}});
                });
    BOOST_TEST(device.counts().packets == device.counts().accounted_packets());
    return answers;
  }
  std::vector<answer> const& take(unsigned source, nic::header const& h, bool has_ecn_mark = false) {
    return take(source, serialize(h, std::vector<std::byte>(h.length)), has_ecn_mark);
  }
  /// Joins job `job` from address `source`.
  answer join(unsigned source, unsigned worker, unsigned workers, std::uint16_t slots = 4, std::uint32_t job = 0x1234,
              std::uint32_t lease_ms = 1000, std::uint32_t proof = 7) {
    nic::header h = contribution(worker, workers, 0, nic::terms::bytes);
    h.kind = nic::kind::join;
    h.operation = tutti::network_operation::none;
    h.job = job;
    h.fingerprint = proof;
    std::vector<std::byte> terms(nic::terms::bytes);
    nic::write(nic::terms{lease_ms, slots}, terms.data());
    auto const& replies = take(source, serialize(h, terms));
    BOOST_TEST_REQUIRE(replies.size() == 1U);
    return replies[0];
  }
  /// Joins a guarded switch, with the proof that it demands.
  answer join_with_proof(unsigned source, unsigned worker, unsigned workers, std::uint16_t slots, std::uint32_t job) {
    answer const reply = join(source, worker, workers, slots, job, 60'000, 0);
    return reply.h.kind == nic::kind::grant ? reply
                                            : join(source, worker, workers, slots, job, 60'000, reply.h.fingerprint);
  }
  /// True if two members, at these addresses, can join a job with this number of slots, and sum in it.
  bool sums(unsigned first, unsigned second, std::uint16_t slots, std::uint32_t job) {
    for (unsigned w = 0; w != 2; ++w) {
      now += 1ms;
      answer const a = join_with_proof(w == 0 ? first : second, w, 2, slots, job);
      if (a.h.kind != nic::kind::grant || nic::read_terms(a.payload).slot_count != slots) {
        return false;
      }
    }
    nic::header h = contribution(0, 2, 0, 8);
    h.job = job;
    take(first, h);
    h.worker = 1;
    return take(second, h).size() == 2;
  }
  [[nodiscard]] bool has(std::uint32_t job) const {
    return std::ranges::any_of(device.jobs(), [&](auto const& j) { return j.nonce() == job; });
  }
};

/// A guarded switch with memory for this number of jobs of ten slots.
bench guarded_bench(std::size_t jobs) {
  return bench({.memory = jobs * 10 * nic::slot_table::bytes(1, 0), .guard = nic::secret_key{}});
}

bool is_refusal(bench::answer const& a, nic::refusal reason) {
  return a.h.kind == nic::kind::refuse && nic::read_refusal(a.payload) == reason;
}
nic::header make_header(nic::kind k, unsigned worker, unsigned workers, std::uint32_t sequence = 0) {
  nic::header h = contribution(worker, workers, sequence, 0);
  h.kind = k;
  return h;
}

BOOST_AUTO_TEST_SUITE(the_switch)

BOOST_AUTO_TEST_CASE(a_member_gets_what_is_left_when_it_joins) {
  std::size_t const slot_bytes = nic::slot_table::bytes(1, 0);
  bench b({.jobs = 3, .slot_count = 10, .memory = 15 * slot_bytes, .lease = 2s});
  auto const a = b.join(100, 0, 2, 20, 1, 5000);
  BOOST_TEST((a.destination == 100 && a.h.kind == nic::kind::grant && a.h.job == 1));
  BOOST_TEST((nic::read_terms(a.payload) == nic::terms{2000, 10}));
  BOOST_TEST((nic::read_terms(b.join(101, 1, 2, 1, 1, 1500).payload) == nic::terms{1500, 10}));
  BOOST_TEST((nic::read_terms(b.join(100, 0, 1, 20, 2).payload) == nic::terms{1000, 5}));
  BOOST_TEST(is_refusal(b.join(100, 0, 1, 1, 3), nic::refusal::no_slots));
  b.now += 3s;  // the leases expire
  BOOST_TEST((b.join(100, 0, 1, 1, 3).h.kind == nic::kind::grant));
  BOOST_TEST(b.device.jobs().size() == 1U);
  for (std::uint32_t const job : {4U, 5U}) {
    BOOST_TEST((b.join(100, 0, 1, 1, job).h.kind == nic::kind::grant));
  }
  BOOST_TEST(is_refusal(b.join(100, 0, 1, 1, 6), nic::refusal::no_slots));
}

BOOST_AUTO_TEST_CASE(a_device_may_have_room_for_few_members_and_fewer_slots_in_order) {
  bench b({.members = 8, .slot_count = 16, .slots_in_order = 2});
  BOOST_TEST(is_refusal(b.join(100, 0, 9), nic::refusal::no_slots));
  BOOST_TEST((nic::read_terms(b.join(100, 0, 8, 20, 1).payload).slot_count == 16));
  nic::header h = contribution(0, 2, 0, nic::terms::bytes);
  h.kind = nic::kind::join;
  h.flags = nic::flag::in_rank_order;
  std::vector<std::byte> terms(nic::terms::bytes);
  nic::write(nic::terms{1000, 20}, terms.data());
  BOOST_TEST((nic::read_terms(b.take(100, serialize(h, terms)).at(0).payload).slot_count == 2));
}

BOOST_AUTO_TEST_CASE(an_operation_has_no_more_workers_than_its_job_has_members) {
  bench b;
  std::ignore = b.join(100, 0, 2);
  auto const old_jobs = b.device.jobs();
  nic::header h = contribution(0, 3, 0, 8);
  BOOST_TEST(is_refusal(b.take(100, h).at(0), nic::refusal::unsupported_operation));
  h.kind = nic::kind::supply;
  BOOST_TEST(is_refusal(b.take(100, h).at(0), nic::refusal::unsupported_operation));
  BOOST_TEST((b.device.jobs() == old_jobs));
  BOOST_TEST(b.take(100, contribution(0, 1, 0, 8)).size() == 1U);
}

BOOST_AUTO_TEST_CASE(joining_again_changes_nothing_and_a_number_is_one_members) {
  bench b;
  std::ignore = b.join(100, 0, 2);
  std::ignore = b.join(101, 1, 2);
  b.take(100, contribution(0, 2, 0, 8));
  auto const old_jobs = b.device.jobs();
  BOOST_TEST((b.join(100, 0, 2).h.kind == nic::kind::grant));
  for (auto const& [source, worker, workers, holder] :
       {std::tuple{102U, 1U, 2U, 1U}, {100U, 1U, 2U, 0U}, {100U, 0U, 3U, 0U}}) {
    b.now += 1ms;
    auto const a = b.join(source, worker, workers);
    BOOST_TEST((is_refusal(a, nic::refusal::mismatch) && a.h.worker == holder && a.h.workers == 2));
  }
  b.now -= 3ms;
  std::ignore = b.join(101, 1, 2);
  BOOST_TEST((b.device.jobs() == old_jobs));
  b.now += 900ms;
  b.take(100, make_header(nic::kind::query, 0, 2));  // renews the lease, as any packet does
  b.now += 900ms;
  BOOST_TEST(is_refusal(b.join(102, 0, 2), nic::refusal::mismatch));
  BOOST_TEST((b.join(102, 1, 2).h.kind == nic::kind::grant));
  b.now += 1ms;
  BOOST_TEST(is_refusal(b.take(101, contribution(1, 2, 0, 8)).at(0), nic::refusal::unknown));
  BOOST_TEST(b.take(102, contribution(1, 2, 0, 8)).size() == 2U);
}

BOOST_AUTO_TEST_CASE(a_member_has_one_number_at_a_time) {
  bench b;
  std::ignore = b.join(100, 0, 3);
  auto const a = b.join(100, 2, 3);
  BOOST_TEST((is_refusal(a, nic::refusal::mismatch) && a.h.worker == 0 && a.h.workers == 3));
  b.now += 2s;  // the lease has expired
  BOOST_TEST((b.join(100, 2, 3).h.kind == nic::kind::grant));
  BOOST_TEST((b.join(101, 0, 3).h.kind == nic::kind::grant));
}

BOOST_AUTO_TEST_CASE(a_job_begins_when_its_sender_has_proven_its_address) {
  bench b = guarded_bench(1);
  auto const demand = b.join(100, 0, 2, 10, 1, 1000, 0);
  BOOST_TEST((demand.destination == 100 && is_refusal(demand, nic::refusal::unknown) && demand.h.fingerprint != 0));
  BOOST_TEST(demand.payload.size() < nic::terms::bytes);  // useless to amplify a flood
  BOOST_TEST(nic::asks_for_proof(demand.h, nic::refusal::unknown));
  std::uint32_t const proof = demand.h.fingerprint;
  for (auto const& [source, job, output] : {std::tuple{101U, 1U, proof}, {100U, 2U, proof}, {100U, 1U, proof ^ 2}}) {
    BOOST_TEST(is_refusal(b.join(source, 0, 2, 10, job, 1000, output), nic::refusal::unknown));
  }
  BOOST_TEST(b.device.jobs().empty());
  BOOST_TEST((b.join(100, 0, 2, 10, 1, 1000, proof).h.kind == nic::kind::grant));
  BOOST_TEST((b.join(101, 1, 2, 10, 1, 1000, 0).h.kind == nic::kind::grant));  // the job is known already
  b.now += 1ms;
  unsigned answer_count = 0;
  for (std::uint32_t job = 2; job != 102; ++job) {
    nic::header h = make_header(nic::kind::join, 0, 2);
    h.operation = tutti::network_operation::none;
    h.job = job;
    h.length = nic::terms::bytes;
    answer_count += static_cast<unsigned>(b.take(102, h).size());
  }
  BOOST_TEST(answer_count == 10U);  // limit for a millisecond
}

// Claims of unused jobs do not displace others, however much memory they request.
BOOST_AUTO_TEST_CASE(claims_make_way) {
  for (std::uint16_t const slots : std::initializer_list<std::uint16_t>{10, 1, 60'000}) {
    bench b = guarded_bench(3);
    for (std::uint32_t job = 100; job != 140; ++job) {
      b.now += 1ms;
      std::ignore = b.join_with_proof(66, 0, 6, slots, job);
    }
    b.now += 1ms;
    BOOST_TEST(b.sums(1, 2, 10, 1));
    for (std::uint32_t job = 200; job != 240; ++job) {
      b.now += 100ms;
      std::ignore = b.join_with_proof(66, 0, 6, slots, job);
      BOOST_TEST(b.has(1));
    }
    b.now += 1s;
    BOOST_TEST(b.sums(3, 4, 10, 2));
    BOOST_TEST(b.has(1));
  }
}

BOOST_AUTO_TEST_CASE(a_claim_with_weights_makes_way_for_those_of_others) {
  bench b = guarded_bench(3);
  auto const store = [&](unsigned source, std::uint32_t job, std::uint32_t k) {
    nic::header h = make_header(nic::kind::supply, 0, 2, k);
    h.job = job;
    h.flags = nic::flag::weights;
    h.length = nic::block_bytes;
    return b.take(source, h).front().h.kind == nic::kind::result;
  };
  BOOST_TEST(b.sums(1, 2, 10, 1));
  std::ignore = b.join_with_proof(66, 0, 2, 10, 100);
  BOOST_TEST(store(66, 100, 8));
  b.now += 1s;
  BOOST_TEST(store(1, 1, 20));
  BOOST_TEST(!b.has(100));
}

// A host that has begun many jobs makes way for one with few, but not for its equals.
BOOST_AUTO_TEST_CASE(hosts_share_a_switch) {
  bench b = guarded_bench(3);
  for (std::uint32_t job = 1; job != 4; ++job) {
    BOOST_TEST(b.sums(1, 2, 10, job));
  }
  BOOST_TEST(!b.sums(1, 2, 10, 4));
  BOOST_TEST(b.sums(3, 4, 10, 5));
  BOOST_TEST(!b.has(1));
  BOOST_TEST(!b.sums(3, 4, 10, 6));
  BOOST_TEST(b.sums(5, 6, 10, 7));
  BOOST_TEST((b.has(3) && b.has(5) && b.has(7)));
  BOOST_TEST(!b.sums(8, 9, 10, 8));
}

BOOST_AUTO_TEST_CASE(addresses_tell_hosts) {
  auto const endpoint_at = [](char const* host, std::uint16_t port) {
    return nic::endpoint(net::resolve(host, port).front());
  };
  for (auto const& [a, b, same_host] : {std::tuple{"10.0.0.1", "10.0.0.1", true},
                                        {"10.0.0.1", "10.0.0.2", false},
                                        {"2001:db8::1", "2001:db8::2:3", true},
                                        {"2001:db8::1", "2001:db8:0:1::1", false},
                                        {"fe80::1", "fe80::2", false},
                                        {"::1", "127.0.0.1", false}}) {
    BOOST_TEST(nic::are_on_one_host(endpoint_at(a, 1), endpoint_at(b, 2)) == same_host, a << " " << b);
  }
  nic::secret_key const k{};
  BOOST_TEST(nic::proof_of(k, endpoint_at("10.0.0.1", 1), 1) != nic::proof_of(k, endpoint_at("10.0.0.1", 2), 1));
  BOOST_TEST(nic::proof_of(k, endpoint_at("10.0.0.1", 1), 1) != nic::proof_of(k, endpoint_at("10.0.0.2", 1), 1));
  BOOST_TEST(nic::proof_of(k, endpoint_at("10.0.0.1", 1), 1) != nic::proof_of(k, endpoint_at("10.0.0.1", 1), 2));
}

BOOST_AUTO_TEST_CASE(unknown_senders_change_nothing_and_get_little) {
  bench b;
  std::ignore = b.join(100, 0, 1);
  auto const old_jobs = b.device.jobs();
  nic::header other_job = contribution(0, 1, 0, 8);
  other_job.job = 99;
  for (nic::header const& h : {contribution(0, 1, 0, 8), other_job}) {
    b.now += 1ms;
    auto const& replies = b.take(h.job == 99 ? 100 : 666, h);
    BOOST_TEST_REQUIRE(replies.size() == 1U);
    BOOST_TEST(is_refusal(replies[0], nic::refusal::unknown));
    b.take(666, h);  // no time passes in between
    BOOST_TEST(b.answers.empty());
  }
  b.now += 1ms;
  for (auto const k : {nic::kind::query, nic::kind::leave, nic::kind::end}) {
    BOOST_TEST(b.take(666, make_header(k, 0, 1)).empty());  // any answer would be longer
  }
  BOOST_TEST((b.device.jobs() == old_jobs));
  BOOST_TEST(b.device.counts().refusals_for(nic::refusal::unknown) == 7U);
  BOOST_TEST(b.device.counts().unanswered_refusals == 5U);
}

BOOST_AUTO_TEST_CASE(what_is_malformed_or_badly_tagged_or_an_answer_is_counted_and_not_answered) {
  nic::seal const seal(nic::secret_key{std::byte{1}});
  bench b({}, seal);
  std::vector<std::byte> const payload(8);
  BOOST_TEST(b.take(100, serialize(contribution(0, 1, 0, 8), payload)).empty());
  BOOST_TEST(
      b.take(100, serialize(contribution(0, 1, 0, 8), payload, nic::seal(nic::secret_key{std::byte{2}}))).empty());
  BOOST_TEST(b.device.counts().invalid_tags == 2U);
  BOOST_TEST(b.take(100, std::span(payload)).empty());
  for (auto const& [kind, length] :
       {std::pair{nic::kind::grant, 6U}, {nic::kind::result, 8U}, {nic::kind::missing, 0U}, {nic::kind::refuse, 1U}}) {
    nic::header h = make_header(kind, 0, 1);
    h.length = static_cast<std::uint16_t>(length);
    BOOST_TEST(b.take(100, serialize(h, std::vector<std::byte>(length), seal)).empty());
  }
  BOOST_TEST(b.device.counts().malformed_packets == 5U);
}

BOOST_AUTO_TEST_CASE(each_worker_gets_the_result_or_only_word_of_it) {
  bench b;
  for (unsigned m = 0; m < 4; ++m) {
    std::ignore = b.join(100 + m, m, 4);
  }
  // Members 3 and 1 are the workers 0 and 1.
  nic::header h = contribution(0, 2, 5, 8);
  h.flags = nic::flag::no_data;
  BOOST_TEST(b.take(103, h).empty());
  auto const replies = b.take(101, contribution(1, 2, 5, 8));
  BOOST_TEST_REQUIRE(replies.size() == 2U);
  BOOST_TEST((replies[0].destination == 103 && replies[0].h.worker == 0 && replies[0].payload.empty() &&
              replies[0].h.has(nic::flag::no_data)));
  BOOST_TEST((replies[1].destination == 101 && replies[1].h.worker == 1 && replies[1].payload.size() == 8));
  BOOST_TEST((replies[1].h.kind == nic::kind::result && replies[1].h.sequence == 5 && replies[1].h.job == 0x1234));
  b.take(103, contribution(0, 2, 7, 8));
  // the flag is evaluated for each contribution
  BOOST_TEST((b.take(101, contribution(1, 2, 7, 8)).at(0).payload.size() == 8));
  b.take(101, contribution(1, 2, 9, 8));
  b.take(103, contribution(0, 2, 9, 8));
  // The repeated result follows the flag of the repeated packet.
  for (auto const k : {nic::kind::query, nic::kind::contribute}) {
    nic::header repeat = contribution(1, 2, 9, k == nic::kind::query ? 0 : 8);
    repeat.kind = k;
    BOOST_TEST((b.take(101, repeat).size() == 1 && b.answers[0].payload.size() == 8));
  }
}

BOOST_AUTO_TEST_CASE(a_query_gets_a_bitmap_of_what_is_there) {
  bench b;
  for (unsigned m = 0; m < 10; ++m) {
    std::ignore = b.join(100 + m, m, 10);
  }
  BOOST_TEST((b.take(100, make_header(nic::kind::query, 0, 10)).at(0).payload.empty()));
  b.take(100, contribution(0, 10, 0, 8));
  b.take(109, contribution(9, 10, 0, 8));
  auto const a = b.take(103, make_header(nic::kind::query, 3, 10)).at(0);
  BOOST_TEST(
      (a.h.kind == nic::kind::missing && a.destination == 103 && a.payload == std::vector{std::byte{1}, std::byte{2}}));
}

BOOST_AUTO_TEST_CASE(a_mismatch_names_the_other_worker) {
  bench b;
  std::ignore = b.join(100, 0, 3);
  std::ignore = b.join(102, 2, 3);
  b.take(102, contribution(2, 3, 0, 8));
  nic::header other = contribution(0, 1, 0, 8);
  auto const a = b.take(100, other).at(0);
  BOOST_TEST((is_refusal(a, nic::refusal::mismatch) && a.destination == 100 && a.h.worker == 2 && a.h.workers == 3));
}

BOOST_AUTO_TEST_CASE(a_job_ends_with_its_last_member_or_by_its_first) {
  bench b;
  std::ignore = b.join(100, 0, 2);
  std::ignore = b.join(101, 1, 2);
  BOOST_TEST(is_refusal(b.take(101, make_header(nic::kind::end, 1, 2)).at(0), nic::refusal::mismatch));
  b.take(100, make_header(nic::kind::end, 0, 2));
  BOOST_TEST(b.device.jobs().empty());
  std::ignore = b.join(100, 0, 2);
  std::ignore = b.join(101, 1, 2);
  b.take(100, make_header(nic::kind::leave, 0, 2));
  BOOST_TEST(b.device.jobs().size() == 1U);
  b.take(101, make_header(nic::kind::leave, 1, 2));
  BOOST_TEST(b.device.jobs().empty());
  std::ignore = b.join(100, 0, 1);
  b.now += 2s;
  b.device.free_abandoned(b.now);
  BOOST_TEST(b.device.jobs().empty());
}

BOOST_AUTO_TEST_CASE(a_member_that_has_left_gets_no_result) {
  bench b;
  std::ignore = b.join(100, 0, 2);
  std::ignore = b.join(101, 1, 2);
  b.take(100, contribution(0, 2, 0, 8));
  b.take(100, make_header(nic::kind::leave, 0, 2));
  auto const& replies = b.take(101, contribution(1, 2, 0, 8));
  BOOST_TEST((replies.size() == 1 && replies[0].destination == 101));
}

BOOST_AUTO_TEST_CASE(congestion_is_told_once_to_the_member_that_met_it) {
  bench b;
  std::ignore = b.join(100, 0, 2);
  std::ignore = b.join(101, 1, 2);
  b.take(100, contribution(0, 2, 0, 8), true);
  auto const replies = b.take(101, contribution(1, 2, 0, 8));
  BOOST_TEST_REQUIRE(replies.size() == 2U);
  BOOST_TEST((replies[0].h.has(nic::flag::congestion) && !replies[1].h.has(nic::flag::congestion)));
  BOOST_TEST(!b.take(100, contribution(0, 2, 0, 8)).at(0).h.has(nic::flag::congestion));
  BOOST_TEST(b.device.counts().congestion_marks == 1U);
}

BOOST_AUTO_TEST_CASE(jobs_know_nothing_of_each_other) {
  bench b;
  for (std::uint32_t const job : {1U, 2U}) {
    for (unsigned w : {0U, 1U}) {
      std::ignore = b.join(100 + w, w, 2, 1, job);
    }
  }
  nic::header h = contribution(0, 2, 0, 8);
  h.job = 1;
  BOOST_TEST(b.take(100, h).empty());
  h = contribution(1, 2, 0, 8);
  h.job = 2;
  BOOST_TEST(b.take(101, h).empty());
}

BOOST_AUTO_TEST_SUITE_END()

// A job with 16 packets under way is served as often as one with 500, whose answers are followed by more at once.
BOOST_AUTO_TEST_CASE(jobs_are_served_in_turns_whatever_their_windows) {
  nic::fair_queue<unsigned> waiting(3, 1000, 10);
  auto const send = [&](std::uint32_t job, std::size_t count) {
    nic::header h = contribution(0, 1, 0, 8);
    h.job = job;
    for (std::size_t i = 0; i < count; ++i) {
      BOOST_TEST_REQUIRE(waiting.add(job, serialize(h, std::vector<std::byte>(8)), false, job));
    }
  };
  std::array<std::size_t, 3> serve_counts{};
  for (std::uint32_t const job : {0U, 1U, 2U}) {
    send(job, job == 0 ? 500 : 16);
  }
  for (int round = 0; round < 1000; ++round) {
    std::vector<unsigned> sources;
    waiting.serve(10, [&](unsigned source, std::span<std::byte const> bytes, bool) {
      nic::packet p;
      BOOST_TEST_REQUIRE((nic::parse(bytes, p) && p.head.job == source));
      ++serve_counts[source];
      sources.push_back(source);
    });
    for (unsigned const job : sources) {
      send(job, 1);
    }
  }
  BOOST_TEST(std::ranges::max(serve_counts) - std::ranges::min(serve_counts) <= 1U);
  BOOST_TEST(waiting.size() == 532U);
}

// Unknown senders share one short line, whichever jobs they name.
BOOST_AUTO_TEST_CASE(unknown_senders_share_a_line_that_is_short) {
  nic::fair_queue<unsigned> waiting(2, 7, 3);
  auto const add = [&](unsigned source, std::uint32_t job, bool is_known) {
    nic::header h = contribution(0, 1, 0, 8);
    h.job = job;
    return waiting.add(source, serialize(h, std::vector<std::byte>(8)), false,
                       is_known ? std::optional(job) : std::nullopt);
  };
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t const job : {100U, 101U, 102U}) {
      BOOST_TEST(add(9, job, false));
    }
    BOOST_TEST((!add(9, 103, false) && !add(9, 1, false)));
    BOOST_TEST((add(1, 1, true) && add(1, 1, true) && add(2, 2, true) && add(1, 1, true)));
    BOOST_TEST(!add(2, 2, true));  // the room is used up
    BOOST_TEST(waiting.size() == 7U);
    std::string order;
    waiting.serve(3, [&](unsigned source, auto, bool) { order += std::to_string(source); });
    std::ranges::sort(order);
    BOOST_TEST(order == "129");
    waiting.serve(100, [&](unsigned source, auto, bool) { order += std::to_string(source); });
    std::ranges::sort(order);
    BOOST_TEST((order == "1112999" && waiting.empty()));
  }
}

BOOST_AUTO_TEST_SUITE(ports)

struct in_process {
  nic::in_process_network network{2};
  nic::in_process_port a{network, 1};
  nic::in_process_port b{network, 2};
};
template <bool Offload>
struct udp {
  explicit udp(char const* host = "127.0.0.1")
      : a(net::resolve(host, 0).front(), {.offload = Offload}),
        b(net::resolve(host, 0).front(), {.offload = Offload}) {}
  nic::udp_port a;
  nic::udp_port b;
};
using models = std::tuple<in_process, udp<true>, udp<false>>;

static_assert(nic::port<nic::in_process_port> && nic::port<nic::udp_port>);

template <class Port>
bool something_comes(Port const& p) {
  pollfd entry{p.descriptor(), POLLIN, 0};
  return ::poll(&entry, 1, 10'000) == 1;
}

/// Packets of all sizes, in bursts of equal and of changing sizes, arrive as they were sent, in both directions.
template <class Port>
void carries(Port& source, Port& destination) {
  std::vector<std::vector<std::byte>> sent_packets;
  std::vector<std::vector<std::byte>> received_packets;
  for (unsigned i = 0; i < 600; ++i) {
    std::size_t const length = i < 200 ? 1024 : i < 300 ? 0 : i * 52 % 1028;
    nic::header const h = contribution(1, 2, i, length);
    std::vector<std::byte> const payload(length, static_cast<std::byte>(i));
    sent_packets.push_back(serialize(h, payload));
    BOOST_TEST_REQUIRE(source.send(destination.own_address(), h, payload));
    if (i % 50 == 49) {
      BOOST_TEST_REQUIRE(source.flush());
      while (received_packets.size() < sent_packets.size()) {
        BOOST_TEST_REQUIRE(something_comes(destination));
        destination.drain([&](auto const& sender, std::span<std::byte const> bytes, bool has_ecn_mark) {
          BOOST_TEST((sender == source.own_address()));
          BOOST_TEST(!has_ecn_mark);
          received_packets.emplace_back(bytes.begin(), bytes.end());
        });
      }
    }
  }
  BOOST_TEST((received_packets == sent_packets));
  BOOST_TEST(destination.drain([](auto const&...) {}) == 0U);
  pollfd entry{destination.descriptor(), POLLIN, 0};
  BOOST_TEST(::poll(&entry, 1, 0) == 0);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(packets_arrive_as_they_were_sent, Model, models) {
  Model m;
  carries(m.a, m.b);
  carries(m.b, m.a);
}

BOOST_AUTO_TEST_CASE(and_so_they_do_over_ipv6) {
  try {
    std::ignore = nic::udp_port(net::resolve("::1", 0).front());
  } catch (tutti::error const&) {
    BOOST_TEST_MESSAGE("this host has no IPv6");
    return;
  }
  udp<true> m("::1");
  carries(m.a, m.b);
  // A port at the wildcard address serves both IP versions.
  nic::udp_port dual_port(nic::any_address(0));
  nic::udp_port ipv4_port(net::resolve("127.0.0.1", 0).front());
  auto const address = net::resolve("127.0.0.1", dual_port.own_address().for_family(AF_INET6).port()).front();
  nic::header const h = contribution(0, 1, 0, 0);
  ipv4_port.send(nic::endpoint(address), h, {});
  ipv4_port.flush();
  BOOST_TEST_REQUIRE(something_comes(dual_port));
  dual_port.drain([&](nic::endpoint const& source, auto, bool) { dual_port.send(source, h, {}); });
  dual_port.flush();
  BOOST_TEST(something_comes(ipv4_port));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(what_a_port_carries_costs_no_allocation, Model, models) {
  Model m;
  nic::header const h = contribution(0, 2, 0, 1024);
  std::vector<std::byte> const payload(1024);
  long allocations_before = 0;
  for (int turn = 0; turn < 20; ++turn) {
    if (turn == 1) {
      allocations_before = support::allocations;
    }
    for (int i = 0; i < 50; ++i) {
      m.a.send(m.b.own_address(), h, payload);
    }
    m.a.flush();
    for (std::size_t received_count = 0; received_count < 50;) {
      std::size_t const n = m.b.drain([](auto const&...) {});
      received_count += n;
      if (n == 0 && !something_comes(m.b)) {
        BOOST_FAIL("packets are missing");
      }
    }
  }
  BOOST_TEST(support::allocations == allocations_before);
}

BOOST_AUTO_TEST_CASE(bursts_cost_few_system_calls) {
  udp<true> m;
  if (!m.a.offloads()) {
    BOOST_TEST_MESSAGE("this system cuts no bursts");
    return;
  }
  nic::header const h = contribution(0, 2, 0, 1024);
  std::vector<std::byte> const payload(1024);
  for (int i = 0; i < 120; ++i) {
    m.a.send(m.b.own_address(), h, payload);
  }
  m.a.flush();
  BOOST_TEST(m.a.counts().sent_packets == 120U);
  BOOST_TEST(m.a.counts().writes == 2U);
}

BOOST_AUTO_TEST_CASE(more_destinations_than_bursts_are_served_in_turn) {
  nic::udp_port source(net::resolve("127.0.0.1", 0).front(), {.destinations = 2});
  std::deque<nic::udp_port> destination;
  for (int i = 0; i < 5; ++i) {
    destination.emplace_back(net::resolve("127.0.0.1", 0).front());
  }
  for (std::uint32_t q = 0; q < 10; ++q) {
    for (auto& p : destination) {
      BOOST_TEST(source.send(p.own_address(), contribution(0, 1, q, 0), {}));
    }
  }
  source.flush();
  for (auto& p : destination) {
    std::uint32_t next = 0;
    while (next < 10 && something_comes(p)) {
      p.drain([&](auto const&, std::span<std::byte const> bytes, bool) {
        nic::packet packet;
        BOOST_TEST((nic::parse(bytes, packet) && packet.head.sequence == next++));
      });
    }
    BOOST_TEST(next == 10U);
  }
}

BOOST_AUTO_TEST_CASE(datagrams_of_others_come_as_they_are_and_congestion_is_seen) {
  nic::udp_port port(net::resolve("127.0.0.1", 0).front());
  auto const address = port.own_address().for_family(AF_INET);
  tutti::detail::descriptor const raw_socket([] { return ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0); });
  std::vector<std::byte> const bytes(5000, std::byte{7});
  for (auto const& [size, tos] : {std::pair{std::size_t{0}, 0}, {5000, 0}, {21, 1}, {22, 2}, {23, 3}}) {
    BOOST_TEST(::setsockopt(raw_socket.get(), IPPROTO_IP, IP_TOS, &tos, sizeof tos) == 0);
    BOOST_TEST(::sendto(raw_socket.get(), bytes.data(), size, 0, address.data(), address.size()) ==
               static_cast<ssize_t>(size));
    BOOST_TEST_REQUIRE(something_comes(port));
    std::vector<std::pair<std::size_t, bool>> datagrams;
    port.drain([&](auto const&, std::span<std::byte const> b, bool has_ecn_mark) {
      datagrams.emplace_back(b.size(), has_ecn_mark);
    });
    BOOST_TEST_REQUIRE(datagrams.size() == 1U);
    BOOST_TEST((datagrams[0].first == size && datagrams[0].second == (tos == 3)));
  }
  // The previous packet came alone; a burst has more ancillary data.
  int const segment = 100;
  if (::setsockopt(raw_socket.get(), IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof segment) == 0) {
    BOOST_TEST(::sendto(raw_socket.get(), bytes.data(), bytes.size(), 0, address.data(), address.size()) == 5000);
    for (int received_count = 0; received_count < 50;) {
      BOOST_TEST_REQUIRE(something_comes(port));
      port.drain([&](auto const&, std::span<std::byte const> b, bool has_ecn_mark) {
        ++received_count;
        BOOST_TEST((b.size() == 100 && has_ecn_mark));
      });
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(devices)

template <class Worker>
void check(std::vector<Worker> const& members, std::uint32_t count) {
  auto const expected = Worker::expected(static_cast<unsigned>(members.size()), count);
  for (Worker const& w : members) {
    BOOST_TEST(!w.has_failed());
    BOOST_TEST((w.result() == expected));
  }
}

BOOST_AUTO_TEST_CASE(all_get_the_sum_over_a_bad_network) {
  constexpr std::uint32_t count = 200;
  using member = worker<nic::in_process_port>;
  for (double const share : {0., 0.01, 0.2}) {
    for (unsigned const workers : {1U, 4U, 8U}) {
      nic::in_process_network network(workers, {.packets = {.loss = share, .duplication = share, .reordering = share}});
      std::deque<nic::in_process_port> ports;
      std::vector<member> members;
      for (unsigned w = 0; w < workers; ++w) {
        ports.emplace_back(network, w + 1);
        members.emplace_back(ports.back(), nic::in_process_network::device, w, workers, count);
      }
      BOOST_TEST_REQUIRE(finish(members, [] {}), workers << " workers, " << share);
      check(members, count);
      BOOST_TEST(network.counts().completed_results == count);
      BOOST_TEST((share == 0) == (network.lost_count() == 0));
    }
  }
}

BOOST_AUTO_TEST_CASE(threads_share_a_network) {
  constexpr std::uint32_t count = 100;
  constexpr unsigned workers = 3;
  using member = worker<nic::in_process_port>;
  nic::in_process_network network(workers, {.packets = {.loss = 0.02, .reordering = 0.02}});
  std::deque<nic::in_process_port> ports;
  std::vector<member> members;
  for (unsigned w = 0; w < workers; ++w) {
    ports.emplace_back(network, w + 1);
    members.emplace_back(ports.back(), nic::in_process_network::device, w, workers, count);
  }
  std::vector<std::thread> threads;
  for (member& w : members) {
    threads.emplace_back([&w, &p = ports[static_cast<std::size_t>(&w - members.data())]] {
      std::span<member> const group(&w, 1);
      std::ignore = finish(group, [&] {
        pollfd entry{p.descriptor(), POLLIN, 0};
        ::poll(&entry, 1, 1);
      });
    });
  }
  for (std::thread& t : threads) {
    t.join();
  }
  check(members, count);
}

BOOST_AUTO_TEST_CASE(a_device_that_begins_anew_is_joined_again) {
  constexpr std::uint32_t count = 300;
  constexpr unsigned workers = 3;
  using member = worker<nic::in_process_port>;
  for (std::uint64_t seed = 1; seed < 6; ++seed) {
    nic::in_process_network network(workers, {.packets = {.loss = 0.05, .reordering = 0.05, .seed = seed}});
    std::deque<nic::in_process_port> ports;
    std::vector<member> members;
    for (unsigned w = 0; w < workers; ++w) {
      ports.emplace_back(network, w + 1);
      members.emplace_back(ports.back(), nic::in_process_network::device, w, workers, count);
    }
    unsigned kills = 0;
    BOOST_TEST_REQUIRE(finish(members,
                              [&] {
                                if (kills < 2 && members[0].remaining() < count / (kills + 2)) {
                                  ++kills;
                                  network.kill();
                                  members[1].step();
                                  BOOST_TEST((network.counts() == nic::counters{}));
                                  network.restart();
                                }
                              }),
                       "seed " << seed);
    check(members, count);
    BOOST_TEST(members[0].joins() == 3U);
  }
}

#ifdef TUTTI_SOFT_SWITCH

/// The program, listening at a port of its own choice.
class program {
 public:
  explicit program(std::vector<std::string> options) {
    options.insert(options.begin(), {TUTTI_SOFT_SWITCH, "--listen", "127.0.0.1:0"});
    std::vector<char*> words;
    for (std::string& o : options) {
      words.push_back(o.data());
    }
    words.push_back(nullptr);
    int pipe_ends[2];
    BOOST_TEST_REQUIRE(::pipe2(pipe_ends, O_CLOEXEC) == 0);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], 1);
    BOOST_TEST_REQUIRE(::posix_spawn(&child_, words[0], &actions, nullptr, words.data(), environ) == 0);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(pipe_ends[1]);
    output_.reset(::fdopen(pipe_ends[0], "r"));
    std::string const line = next_line();
    std::string const prefix = "soft_switch: listening at ";
    BOOST_TEST_REQUIRE(line.starts_with(prefix));
    tutti::host_port place;
    BOOST_TEST_REQUIRE(net::parse(line.substr(prefix.size()), place));
    address = nic::endpoint(net::resolve(place.host, place.port).front());
  }
  program(program const&) = delete;
  ~program() {
    if (child_ > 0) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, nullptr, 0);
    }
  }

  /// Sends the program a signal, and returns a counter from its output.
  unsigned long long count_after(int signal, std::string const& name) {
    ::kill(child_, signal);
    for (std::string line = next_line(); !line.empty(); line = next_line()) {
      if (auto const position = line.find(name); position != line.npos) {
        return std::stoull(line.substr(position + name.size()));
      }
    }
    return 0;
  }
  /// Waits for the program, and returns its exit status.
  int status() {
    int s = -1;
    ::waitpid(child_, &s, 0);
    child_ = -1;
    return s;
  }

  nic::endpoint address;

 private:
  std::string next_line() {
    char text[200];
    std::string const line = std::fgets(text, sizeof text, output_.get()) == nullptr ? "" : text;
    return line.substr(0, line.find('\n'));
  }

  struct file_closer {
    void operator()(FILE* f) const { std::fclose(f); }
  };
  pid_t child_ = -1;
  std::unique_ptr<FILE, file_closer> output_;
};

/// Runs workers over UDP, in one thread.
void sum_by(program& p, nic::seal const& seal, unsigned workers, std::uint32_t count, std::uint32_t job) {
  using member = worker<nic::udp_port>;
  std::deque<nic::udp_port> ports;
  std::vector<member> members;
  for (unsigned w = 0; w < workers; ++w) {
    ports.emplace_back(net::resolve("127.0.0.1", 0).front()).use(seal);
    members.emplace_back(ports.back(), p.address, w, workers, count, seal, job, 20ms);
  }
  BOOST_TEST_REQUIRE(finish(members, [] {}));
  check(members, count);
}

BOOST_AUTO_TEST_CASE(the_program_sums_for_several_jobs) {
  program p({});
  for (std::uint32_t const job : {1U, 2U}) {
    sum_by(p, {}, 4, 500, job);
  }
  BOOST_TEST(p.count_after(SIGUSR1, "completed") == 1000U);
  BOOST_TEST(p.count_after(SIGTERM, "joins") >= 8U);
  BOOST_TEST(p.status() == 0);
}

// Unknown senders name ever other jobs.
BOOST_AUTO_TEST_CASE(the_program_serves_jobs_while_unknown_senders_flood_it) {
  using member = worker<nic::udp_port>;
  program p({"--rate", "1000"});
  nic::udp_port unknown(net::resolve("127.0.0.1", 0).front());
  nic::header h = contribution(0, 1, 0, 1024);
  std::deque<nic::udp_port> ports;
  std::vector<member> members;
  for (unsigned i = 0; i < 4; ++i) {
    ports.emplace_back(net::resolve("127.0.0.1", 0).front());
    members.emplace_back(ports.back(), p.address, i % 2, 2, 60, nic::seal(), 1 + i / 2, 100ms);
  }
  BOOST_TEST_REQUIRE(finish(members, [&] {
    for (unsigned i = 0; i < 100; ++i, ++h.job) {
      unknown.send(p.address, h, std::vector<std::byte>(1024));
    }
    unknown.flush();
  }));
  auto const expected = member::expected(2, 60);
  BOOST_TEST(std::ranges::all_of(members, [&](member const& w) { return !w.has_failed() && w.result() == expected; }));
}

// Unknown senders claim all memory, with or without the proof of their address.
BOOST_AUTO_TEST_CASE(the_program_serves_jobs_when_unknown_senders_have_claimed_it) {
  for (bool const proves : {false, true}) {
    program p({"--memory", "16M"});
    nic::udp_port unknown(net::resolve("127.0.0.1", 0).front());
    nic::header h = contribution(0, 6, 0, nic::terms::bytes);
    h.kind = nic::kind::join;
    h.operation = tutti::network_operation::none;
    std::vector<std::byte> terms(nic::terms::bytes);
    nic::write(nic::terms{60'000, 1024}, terms.data());
    unsigned grants = 0;
    auto const claim = [&](std::uint32_t job, std::uint32_t proof) {
      h.job = job;
      h.fingerprint = proof;
      pollfd entry{unknown.descriptor(), POLLIN, 0};
      for (int tries = 0; tries != 1000 && entry.revents == 0; ++tries) {  // the switch answers a few in a millisecond
        unknown.send(p.address, h, terms);
        unknown.flush();
        ::poll(&entry, 1, 20);
      }
      unknown.drain([&](nic::endpoint const&, std::span<std::byte const> bytes, bool) {
        nic::packet q;
        BOOST_TEST((nic::seal().read(bytes, q) == nic::reading::good));
        grants += q.head.kind == nic::kind::grant ? 1 : 0;
        proof = q.head.fingerprint;
      });
      return proof;
    };
    for (std::uint32_t job = 100; job != 140; ++job) {
      std::uint32_t const proof = claim(job, 0);
      if (proves) {
        std::ignore = claim(job, proof);
      }
    }
    BOOST_TEST((grants >= 40) == proves);
    BOOST_TEST((grants == 0) == !proves);
    sum_by(p, {}, 4, 500, 1);
    BOOST_TEST(p.count_after(SIGTERM, "completed") == 500U);
  }
}

BOOST_AUTO_TEST_CASE(programs_of_racks_sum_through_one_above_them) {
  using member = worker<nic::udp_port>;
  program spine({});
  std::string const uplink = spine.address.for_family(AF_INET).text();
  program racks[] = {program({"--up", uplink}), program({"--up", uplink})};
  constexpr std::uint32_t count = 300;
  std::deque<nic::udp_port> ports;
  std::vector<member> members;
  for (unsigned w = 0; w < 5; ++w) {
    unsigned const rack = w < 2 ? 0 : 1;
    ports.emplace_back(net::resolve("127.0.0.1", 0).front());
    members.emplace_back(ports.back(), racks[rack].address, w - 2 * rack, 2 + rack, count, nic::seal(), 7, 20ms,
                         nic::rack_position{static_cast<std::uint8_t>(rack), 2}, 2 * rack);
  }
  BOOST_TEST_REQUIRE(finish(members, [] {}));
  for (std::size_t i = 0; i < count * member::elements; ++i) {
    float const first = member::value(0, i) + member::value(1, i);
    float const second = member::value(2, i) + member::value(3, i) + member::value(4, i);
    for (auto const& w : members) {
      BOOST_TEST_REQUIRE(w.result()[i] == first + second);
    }
  }
  BOOST_TEST(spine.count_after(SIGTERM, "completed") == count);
  BOOST_TEST(racks[0].count_after(SIGTERM, "came down") == count);
}

BOOST_AUTO_TEST_CASE(the_program_emulates_a_network_and_reads_what_has_a_tag) {
  nic::secret_key key{};
  key[15] = std::byte{0xab};
  char path[] = "/tmp/tutti_key_XXXXXX";
  tutti::detail::descriptor const file([&] { return ::mkstemp(path); });
  std::ofstream(path) << "000000000000000000000000000000ab\n";
  program p({"--key", path, "--loss", "0.02", "--delay", "500", "--no-offload", "--report", "1"});
  sum_by(p, nic::seal(key), 3, 200, 1);
  nic::udp_port unknown(net::resolve("127.0.0.1", 0).front());
  unknown.send(p.address, contribution(0, 1, 0, 8), std::vector<std::byte>(8));
  unknown.flush();
  BOOST_TEST(p.count_after(SIGINT, "lost") > 0U);
  BOOST_TEST(p.status() == 0);
  ::unlink(path);
}

BOOST_AUTO_TEST_CASE(the_program_says_what_is_wrong_with_its_options) {
  for (auto const& [options, words] : std::initializer_list<std::pair<std::string, std::string>>{
           {"--listen nowhere", "--listen nowhere is not an address: give a port, host:port or [IPv6]:port"},
           {"--up 7171", "--up 7171 is not an address: give host:port or [IPv6]:port"},
           {"--key /dev/null", "--key: the key file /dev/null cannot be read, or is empty"},
           {"--listen 192.0.2.1:1", "cannot receive datagrams at 192.0.2.1:1"},
           {"--loss 2", "--loss: Value 2 not in range"}}) {
    std::string const command = TUTTI_SOFT_SWITCH " " + options + " 2>&1";
    FILE* const f = ::popen(command.c_str(), "r");
    std::string output(1000, '\0');
    output.resize(std::fread(output.data(), 1, output.size(), f));
    BOOST_TEST(::pclose(f) != 0);
    BOOST_TEST(output.find(words) != output.npos, output);
  }
}

#endif

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
