// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/transport.hpp>
#include <transport/tcp_world.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/net/address.hpp>
#include <tutti/detail/net/socket.hpp>
#include <tutti/detail/tcp/endpoint_info.hpp>
#include <tutti/detail/tcp/hello.hpp>
#include <tutti/detail/tcp/mesh.hpp>
#include <tutti/detail/tcp/wire.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <tuple>
#include <vector>

namespace tutti::support {

/// Two ranks of a world with a secret, and a program on the path between them that repeats the hellos that it hears.
/// This thread drives all three.
class overheard_world {
 public:
  using mesh = tutti::detail::tcp::mesh;
  using hello = tutti::detail::tcp::hello;

  /// The copies of each request that the program makes.
  struct plan {
    int copies_before = 0;        ///< before it passes the request on; each has its answer then
    int copies_after = 0;         ///< afterwards, before the rank that connects has its answer
    int copied_requests = 100;    ///< the first requests only
    bool repeats_rest = false;    ///< each copy continues with the bytes behind the request
    bool drops_requests = false;  ///< no rank receives one
  };

  explicit overheard_world(plan const& p, tcp_options o) : plan_(p) {
    auto const place = tutti::detail::net::resolve("127.0.0.1", 0).front();
    tutti::detail::tcp::directions world{{}, {1, 2}, tutti::detail::net::proof_key(secret_of_tests)};
    for (rank_type r = 0; r < 2; ++r) {
      ranks[r] = std::make_unique<mesh>(o, place, r, 2);
      ports_[r] = tutti::detail::net::listen(place);
      places_[r] = ranks[r]->listening_address();
      world.addresses.push_back(tutti::detail::net::local_address(ports_[r].get()));
    }
    for (auto const& rank : ranks) {
      rank->meet(world);
      for (auto& open_call : rank->calls) {
        open_call = {true, 0, laws::a_call(1)};
      }
    }
  }

  /// Sends one message in each of the given directions at the same time. Returns "" or the failure.
  [[nodiscard]] verdict deliver(std::vector<rank_type> const& senders, std::size_t bytes) {
    struct transfer {
      rank_type sender;
      std::vector<std::byte> message;
      std::vector<std::byte> copy{};
      std::size_t sent_bytes = 0;
    };
    std::vector<transfer> transfers;
    for (rank_type const sender : senders) {
      transfers.push_back({sender, std::vector<std::byte>(bytes)});
      for (std::size_t i = 0; i < bytes; ++i) {
        transfers.back().message[i] = pattern(seed_of(sender, 1 - sender, flow{}, bytes), i);
      }
    }
    flow const s{0, number_++};
    verdict const bad = run_until([&] {
      for (transfer& t : transfers) {
        std::span<std::byte const> const rest = std::span<std::byte const>(t.message).subspan(t.sent_bytes);
        if (auto* const link = reach(t.sender); link != nullptr && !rest.empty()) {
          t.sent_bytes += link->send(s, rest, 1, laws::a_call(1)).bytes;
          ranks[t.sender]->handle_events(1 - t.sender);
        }
        auto* const link = t.copy.size() != bytes ? reach(1 - t.sender) : nullptr;
        if (link == nullptr) {
          continue;
        }
        if (chunk const c = link->view(s, {bytes - t.copy.size(), 1, nullptr}, laws::a_call(1))) {
          t.copy.insert(t.copy.end(), c.data, c.data + c.bytes);
          link->release(s);
        }
        ranks[1 - t.sender]->handle_events(t.sender);
      }
      return std::ranges::all_of(transfers, [&](transfer const& t) { return t.copy.size() == bytes; }) ||
             ranks[0]->fault() || ranks[1]->fault();
    });
    for (transfer const& t : transfers) {
      if (t.copy != t.message) {
        return !bad.empty() ? bad : describe_fault(ranks[1 - t.sender]->fault());
      }
    }
    return bad;
  }

  /// Returns "" if the ranks are connected to each other, and no copy to any.
  [[nodiscard]] verdict check() const {
    for (auto const& rank : ranks) {
      if (rank->fault() || rank->connections() != 1) {
        return describe_fault(rank->fault()) + ", connections: " + std::to_string(rank->connections());
      }
    }
    for (descriptor const& copy : copies_) {
      std::array<std::byte, 2 * sizeof(hello)> bytes;
      if (tutti::detail::read_some(copy.get(), bytes).bytes > sizeof(hello)) {
        return "a copy gets more than an answer";
      }
    }
    return "";
  }
  [[nodiscard]] bool tells(std::string_view text) const {
    return std::ranges::any_of(ranks, [&](auto const& rank) {
      return std::ranges::any_of(rank->incidents(), [&](std::string const& i) { return i.find(text) != i.npos; });
    });
  }

  /// Polls all until `is_done()`, for a generous time. Returns "" or the failure.
  template <class Condition>
  [[nodiscard]] verdict run_until(Condition const& is_done) {
    return poll_until([this] { poll(); }, is_done);
  }

  /// Sends every request and its following bytes once more to the rank that got them.
  void repeat_everything() {
    for (line const& l : lines_) {
      copies_.push_back(open(l.receiver));
      say(copies_.back(), l.text);
    }
  }
  /// The copies that were made so far.
  [[nodiscard]] std::size_t copies() const noexcept { return copies_.size(); }
  /// Passes later requests on, without copies, and ends the connections of the others if `ends_lines`.
  void stop_swallowing(bool ends_lines) {
    plan_ = {};
    for (line& l : lines_) {
      l.has_ended = ends_lines;
      if (ends_lines) {
        l.caller.reset();
      }
    }
  }
  /// Closes all copies.
  void end_copies() { copies_.clear(); }

  [[nodiscard]] tutti::detail::tcp::connection* reach(rank_type r) {
    return ranks[r]->fault() ? nullptr : ranks[r]->reach(1 - r);
  }

  std::array<std::unique_ptr<mesh>, 2> ranks;

 private:
  using descriptor = tutti::detail::descriptor;

  struct line {
    descriptor caller;
    descriptor callee{};
    rank_type receiver;
    std::string text{};              ///< all bytes of the caller
    std::size_t passed_bytes = 0;    ///< bytes that the callee has got
    std::size_t repeated_bytes = 0;  ///< bytes that the copies have sent
    std::size_t first_copy = 0;
    bool is_copied = false;
    bool has_ended = false;
  };

  [[nodiscard]] descriptor open(rank_type receiver) const {
    descriptor socket = tutti::detail::net::connect(places_[receiver], steady_now() + std::chrono::seconds(5));
    BOOST_REQUIRE(static_cast<bool>(socket));
    return socket;
  }
  static void say(descriptor const& socket, std::string_view text) {
    tutti::detail::write_some(socket.get(), tutti::detail::bytes_of(text));
  }

  void poll() {
    for (auto const& rank : ranks) {
      if (rank != nullptr) {
        rank->poll();
      }
    }
    for (rank_type r = 0; r < 2; ++r) {
      while (descriptor caller = tutti::detail::net::accept(ports_[r].get())) {
        lines_.push_back({.caller = std::move(caller), .receiver = r});
      }
    }
    for (line& l : lines_) {
      if (!l.has_ended) {
        pump(l);
      }
    }
  }

  void pump(line& l) {
    std::array<std::byte, 50'000> bytes;
    auto const input = tutti::detail::read_some(l.caller.get(), bytes);
    l.text.append(reinterpret_cast<char const*>(bytes.data()), input.bytes);
    if (l.text.size() >= sizeof(hello) && !l.is_copied) {
      l.is_copied = true;
      pass_request(l);
    }
    if (plan_.repeats_rest && l.is_copied && l.repeated_bytes < l.text.size()) {
      for (std::size_t i = l.first_copy; i < copies_.size(); ++i) {
        say(copies_[i], std::string_view(l.text).substr(l.repeated_bytes));
      }
      l.repeated_bytes = l.text.size();
      ranks[l.receiver]->poll();
    }
    if (l.callee) {
      l.passed_bytes += tutti::detail::write_some(
                            l.callee.get(), tutti::detail::bytes_of(std::string_view(l.text).substr(l.passed_bytes)))
                            .bytes;
      auto const output = tutti::detail::read_some(l.callee.get(), bytes);
      tutti::detail::write_all(l.caller.get(), std::span(bytes).first(output.bytes),
                               steady_now() + std::chrono::seconds(5));
      l.has_ended = output.state == tutti::detail::io::hangup;
    }
    if (input.state == tutti::detail::io::hangup || l.has_ended) {
      l.has_ended = true;
      l.caller.reset();
      l.callee.reset();
    }
  }

  /// Passes a request on, with its copies.
  void pass_request(line& l) {
    std::string_view const request = std::string_view(l.text).substr(0, sizeof(hello));
    bool const is_copied = copied_requests_++ < plan_.copied_requests;
    l.first_copy = copies_.size();
    l.repeated_bytes = sizeof(hello);
    for (int i = 0; is_copied && i < plan_.copies_before; ++i) {
      copy(l, request);
    }
    if (!plan_.drops_requests) {
      l.callee = open(l.receiver);
      say(l.callee, request);
      l.passed_bytes = sizeof(hello);
    }
    for (int i = 0; is_copied && i < plan_.copies_after; ++i) {
      copy(l, request);
    }
  }
  /// Sends a copy of a request, and waits until it is answered or refused.
  void copy(line const& l, std::string_view request) {
    copies_.push_back(open(l.receiver));
    say(copies_.back(), request);
    time_point const deadline = steady_now() + std::chrono::seconds(20);
    std::byte first{};
    while (::recv(copies_.back().get(), &first, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && steady_now() < deadline) {
      ranks[l.receiver]->poll();
    }
  }

  plan plan_;
  std::array<descriptor, 2> ports_;
  std::array<tutti::detail::net::address, 2> places_{};
  std::list<line> lines_;
  std::vector<descriptor> copies_;
  int copied_requests_ = 0;
  std::uint32_t number_ = 0;
};

/// The laws of worlds whose hellos are repeated: the ranks find each other, no message is lost or changed, no copy gets
/// more than an answer, and no rank is lost.
/// @param o options of the ranks, with or without encryption
inline void check_overheard_worlds(tcp_options o) {
  using plan = overheard_world::plan;
  o.handshake = std::chrono::milliseconds(50);
  std::vector<plan> const plans{
      {.copies_before = 1},
      {.copies_before = 2},
      {.copies_after = 2},
      {.copies_after = 5},
      {.copies_before = 1, .copies_after = 3},
      {.copies_before = 1, .copies_after = 1, .repeats_rest = true},
      {.copies_before = 2, .copies_after = 3, .repeats_rest = true},
      {.copies_before = 3, .copied_requests = 2},
      {.copies_before = 7, .copied_requests = 2, .repeats_rest = true},
  };
  for (plan const& p : plans) {
    for (std::vector<rank_type> const& senders : {std::vector<rank_type>{0}, {1}, {0, 1}}) {
      for (bool const ends_copies : {false, true}) {
        std::string const place = "copies before " + std::to_string(p.copies_before) + ", after " +
                                  std::to_string(p.copies_after) + ", sender " + std::to_string(senders[0]) + ", of " +
                                  std::to_string(senders.size());
        overheard_world world(p, o);
        BOOST_TEST(world.deliver(senders, 100'000) == "", place);
        BOOST_TEST(world.check() == "", place);
        BOOST_TEST((world.tells("with a greeting of rank") || world.tells("a greeting that came before")), place);
        if (ends_copies) {
          world.end_copies();
        }
        world.repeat_everything();
        BOOST_TEST(world.deliver({1}, 10) == "", place);
        BOOST_TEST(world.deliver({0, 1}, 100'000) == "", place);
        BOOST_TEST(world.check() == "", place);
      }
    }
  }
}

/// A rank whose request is repeated and never arrives is not lost by that. The copies keep the other rank from
/// connecting itself until they end, or for the limit of a handshake. A later request of the rank ends them.
/// @param o options of the ranks, with or without encryption
inline void check_swallowed_requests(tcp_options o) {
  o.handshake = std::chrono::milliseconds(50);
  for (rank_type const caller : {0U, 1U}) {
    for (bool const ends_copies : {false, true}) {
      overheard_world world({.copies_before = 2, .drops_requests = true}, o);
      BOOST_TEST(world.run_until([&] {
        std::ignore = world.reach(caller);
        return world.copies() == 2;
      }) == "");
      if (ends_copies) {
        world.end_copies();
        BOOST_TEST(world.run_until(
                       [&] { return world.tells("it closed before it proved that the greeting is its own"); }) == "");
      }
      world.stop_swallowing(caller == 0);  // rank 1 would wait for the request of rank 0, which has the lower number
      BOOST_TEST(world.deliver({1 - caller}, 1000) == "");
      BOOST_TEST(world.check() == "");
    }
  }
}

}  // namespace tutti::support
