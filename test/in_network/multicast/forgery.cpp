// SPDX-License-Identifier: Apache-2.0
// test: address (the in-process network is what threads meet at)
#include <in_network/forging_link.hpp>
#include <support/secret_meeting.hpp>
#include <tutti/collective/broadcast.hpp>
#include <tutti/detail/bootstrap/threads.hpp>
#include <tutti/in_network/detail/multicast/member.hpp>
#include <tutti/in_network/detail/udp/in_process_port.hpp>
#include <tutti/in_network/detail/udp/job_seal.hpp>
#include <tutti/in_network/udp_multicast.hpp>
#include <tutti/topology/in_network.hpp>
#include <tutti/transport/loopback.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

// Packets to a group that none of its ranks has sent, or that a rank has sent before.

namespace {

using namespace std::chrono_literals;
using tutti::rank_type;
namespace udp = tutti::detail::udp;
namespace multicast = tutti::detail::multicast;
using network = udp::in_process_medium;
using cast = tutti::udp_multicast<tutti::loopback, support::forging_link<multicast::in_process_link>>;

/// Broadcasts from each rank; true if all were received as they were sent.
template <class Meet>
bool broadcasts_arrive(Meet& meet, network& net, std::size_t count) {
  tutti::world_options<cast> options;
  options.deadline = 40s;
  options.transport.network.network = &net;
  options.transport.network.forge = support::forger();
  options.transport.probe_time = 20s;  // for a busy machine
  options.transport.window = 64;
  tutti::communicator<cast> world(meet, options);
  if (!world.transport().has_aggregator()) {
    throw tutti::error(tutti::failure::join, world.transport().no_group_reason());
  }
  tutti::broadcast share{world, tutti::in_network{}};
  bool is_equal = true;
  for (rank_type root = 0; root != 2 * world.size(); ++root) {
    std::vector<std::uint32_t> original(count);
    for (std::size_t i = 0; i != count; ++i) {
      original[i] = static_cast<std::uint32_t>(i * 2654435761U + root);
    }
    std::vector<std::uint32_t> copy =
        world.rank() == root % world.size() ? original : std::vector<std::uint32_t>(count);
    share(copy, root % world.size());
    is_equal = is_equal && copy == original;
  }
  return is_equal;
}

BOOST_AUTO_TEST_CASE(what_a_forger_sends_to_a_group_counts_only_without_a_secret) {
  constexpr rank_type ranks = 3;
  network net(ranks, {.loss = 0.02, .duplication = 0.02, .reordering = 0.02});
  for (auto const& result : tutti::detail::run_threads(ranks, [&](auto& seat) {
         support::secret_meeting meet{&seat};
         return broadcasts_arrive(meet, net, 50'000);
       })) {
    BOOST_TEST((result && result.value()), (result ? "another vector came" : result.failure().text));
  }
  network small_net(2);
  auto const results =
      tutti::detail::run_threads(2, [&](auto& meet) { return broadcasts_arrive(meet, small_net, 100); });
  for (auto const& result : results) {
    BOOST_TEST((result && !result.value()), (result ? "the forger has changed nothing" : result.failure().text));
  }
}

/// Two ranks of a group, and a third port that hears what is sent to it.
class pair_of_members {
 public:
  explicit pair_of_members(udp::seal const& seal)
      : receiver(receiver_port_, {.nonce = 1, .window = 16, .seal = seal}, 1, {1, 2}, network::group),
        sender_(sender_port_, {.nonce = 1, .window = 16, .seal = seal}, 0, {1, 2}, network::group) {}

  /// Begins a message of one packet.
  void begin() {
    join(receiver, 1, bytes);
    join(sender_, 0, bytes);
    receiver.set_target(0, target.data());
  }
  /// Lets a message of these bytes pass that the ranks take no part in.
  void skip(std::size_t message_bytes) {
    for (auto* const m : {&receiver, &sender_}) {
      join(*m, tutti::no_rank, message_bytes);
      m->end({0, 0});
    }
  }
  /// Sends the message, and returns the packet.
  support::datagram send(std::byte content) {
    source_.fill(content);
    sender_.send_message(0, source_.data(), now_);
    receiver.advance(now_);
    support::datagram packet;
    listener_port_.drain([&](auto, std::span<std::byte const> packet_bytes, bool) {
      packet.assign(packet_bytes.begin(), packet_bytes.end());
    });
    return packet;
  }
  /// Sends the receiver a packet in the sender's name.
  void replay(support::datagram const& packet) {
    network::datagrams batch;
    batch.storage.resize(1);
    network::datagram* const p = batch.next();
    p->at = 2;
    p->size = static_cast<std::uint16_t>(packet.size());
    std::ranges::copy(packet, p->bytes.begin());
    net_.carry(1, batch);
    receiver.advance(now_);
  }
  void end() {
    receiver.end({0, 0});
    sender_.end({0, 0});
  }

  static constexpr std::size_t bytes = multicast::packetization::max_bytes;

 private:
  using member = multicast::member<udp::in_process_port>;

  static void join(member& m, rank_type worker, std::size_t message_bytes) {
    static constexpr tutti::aggregation_worker workers[] = {{0, true, false}, {1, false, true}};
    m.begin({0, 0}, 7);
    m.join_aggregation({0, 0}, {.aggregator = 2,
                                .workers = workers,
                                .worker = worker,
                                .operation = tutti::network_operation::copy,
                                .bytes = message_bytes});
  }

  network net_{3};
  udp::in_process_port sender_port_{net_, 1};
  udp::in_process_port receiver_port_{net_, 2};
  udp::in_process_port listener_port_{net_, 3};
  tutti::time_point now_{};
  std::array<std::byte, bytes> source_{};

 public:
  std::array<std::byte, bytes> target{};
  member receiver;

 private:
  member sender_;
};

/// The numbers of packets have 32 bits. A packet that is 2^32 packets old has the number of a new one.
BOOST_AUTO_TEST_CASE(a_packet_from_before_the_numbers_wrapped_counts_only_without_a_key) {
  constexpr std::uint32_t step = 1U << 20;
  for (bool const has_key : {true, false}) {
    pair_of_members two(has_key ? udp::seal(udp::secret_key{std::byte{1}}) : udp::seal());
    two.begin();
    support::datagram const old_packet = two.send(std::byte{1});
    BOOST_TEST(two.receiver.has_all(0));
    two.end();
    for (std::uint32_t left = UINT32_MAX; left != 0;) {
      std::uint32_t const count = left < step ? left : step;
      two.skip(std::size_t{count} * two.bytes);
      left -= count;
    }
    two.begin();
    two.replay(old_packet);
    BOOST_TEST(two.receiver.has_all(0) == !has_key);
    support::datagram const new_packet = two.send(std::byte{2});
    BOOST_TEST(two.receiver.has_all(0));
    BOOST_TEST((two.target[0] == (has_key ? std::byte{2} : std::byte{1})));
    BOOST_TEST(std::equal(old_packet.begin(), old_packet.begin() + udp::header_bytes, new_packet.begin()));
    two.end();
  }
}

/// Each job has a key of its own.
BOOST_AUTO_TEST_CASE(a_key_is_made_of_the_secret_the_transport_and_all_that_ranks_have_published) {
  tutti::world_secret const secret = support::secret_meeting::secret();
  auto const fingerprint = [&](std::string_view transport, std::vector<std::string> const& publications) {
    return udp::job_seal(secret, transport, publications).fingerprint();
  };
  BOOST_TEST(fingerprint("a", {"x", "y"}) == fingerprint("a", {"x", "y"}));
  BOOST_TEST(fingerprint("a", {"x", "y"}) != fingerprint("b", {"x", "y"}));
  BOOST_TEST(fingerprint("a", {"x", "y"}) != fingerprint("a", {"x", "z"}));
  BOOST_TEST(fingerprint("a", {"x", "y"}) != fingerprint("a", {"xy", ""}));
  BOOST_TEST(!udp::job_seal({}, "a", {"x", "y"}).has_key());
}

}  // namespace
