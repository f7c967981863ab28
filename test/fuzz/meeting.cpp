// SPDX-License-Identifier: Apache-2.0
//
// The protocols by which ranks meet and shrink: one side, with strangers at the other ends; or all ranks of a world
// with a secret, with strangers and a relay between them. The first byte picks one. Nonces are known numbers.
#include "fuzz.hpp"
#include "numeric_hosts.hpp"
#include "relay.hpp"
#include "turns.hpp"
#include "virtual_network.hpp"
#include <support/toy_hash.hpp>
#include <tutti/detail/bootstrap/channel.hpp>
#include <tutti/detail/bootstrap/doorway.hpp>
#include <tutti/detail/bootstrap/newcomer.hpp>
#include <tutti/detail/bootstrap/shrink_meeting.hpp>
#include <tutti/detail/bootstrap/shrink_message.hpp>
#include <tutti/detail/bootstrap/shrink_notice.hpp>
#include <tutti/detail/bootstrap/survivors.hpp>
#include <tutti/detail/bootstrap/tcp_rendezvous.hpp>
#include <tutti/detail/net/proof.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/packing.hpp>

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <utility>
#include <vector>

static std::uint64_t drawn_numbers = 0;

/// Draws numbers in a row.
extern "C" ssize_t getrandom(void* target, size_t size, unsigned) {
  std::uint64_t const bits = 0x9e3779b97f4a7c15 * ++drawn_numbers;
  std::memcpy(target, &bits, (std::min)(size, sizeof bits));
  return static_cast<ssize_t>(size);
}

namespace {

using namespace tutti::detail;
using tutti::rank_type;

fuzz::input* script = nullptr;        ///< words that strangers have not said yet
std::vector<fuzz::descriptor> lines;  ///< connections of strangers
std::function<bool()> come;           ///< lets the next stranger connect; false: there is none
fuzz::turns ranks;                    ///< those of a world behind a relay
fuzz::relay* path = nullptr;          ///< the relay

/// The next words of a stranger at a connection, or its end. Returns false if there are none.
bool speak_at(fuzz::descriptor& line) {
  if (script->size() == 0) {
    return false;
  }
  if (std::string_view const next = script->text(); next.empty()) {
    line.reset();
  } else {
    fuzz::say(line, next);
  }
  return true;
}
/// The next words of the strangers, at all of their connections in turn.
bool speak() {
  if (come && come()) {
    return true;
  }
  for (fuzz::descriptor& line : lines) {
    if (!speak_at(line)) {
      return false;
    }
  }
  for (fuzz::peer_end& end : fuzz::peers) {
    if (!speak_at(end.socket)) {
      return false;
    }
  }
  return !(lines.empty() && fuzz::peers.empty());
}
/// The turn of the relay, then of the other ranks.
bool let_others_act() {
  if (path->step()) {
    ranks.wake();
    return true;
  }
  return ranks.wait();
}

/// Calls `act`, which may throw only errors of tutti.
template <class Act>
void expect_errors(Act const& act) {
  try {
    act();
  } catch (tutti::error const& e) {
    fuzz::expect(*e.what() != '\0' || e.kind() != tutti::failure::none, "an error says why");
  }
}

/// Frames in pieces of any size.
void read_frames(fuzz::input& words) {
  auto [socket, peer] = stream_pair();
  channel line(std::move(socket));
  std::uint64_t const limit = words.number(2);
  std::string stream;
  std::string frames;
  bool is_open = true;
  while (words.size() != 0 && is_open) {
    std::string_view const part = words.text();
    fuzz::say(peer, part);
    stream += part;
    line.fill();
    bootstrap_frame frame;
    for (;;) {
      auto const result = line.next(frame, limit);
      if (result != channel::parse_result::frame) {
        is_open = result == channel::parse_result::incomplete;
        break;
      }
      fuzz::expect(frame.payload.size() <= limit, "no frame is longer than its limit");
      auto [sender, receiver] = stream_pair();
      channel copy(std::move(sender));
      copy.queue(frame.kind, frame.payload);
      fuzz::expect(copy.send(tutti::steady_now()) == io::complete, "a frame can be sent");
      std::string bytes(frame.payload.size() + 17, '\0');
      bytes.resize(static_cast<std::size_t>(::recv(receiver.get(), bytes.data(), bytes.size(), MSG_DONTWAIT)));
      frames += bytes;
    }
  }
  fuzz::expect(stream.starts_with(frames), "a frame that is sent again has the same bytes");
}

/// Rank 0 of three.
void host(fuzz::input& words) {
  fuzz::listener listener;
  for (std::size_t count = 1 + words.choice(4); count != 0; --count) {
    lines.push_back(listener.connect(words.text()));
  }
  expect_errors([&] {
    tcp_rendezvous meeting(listener.take(), {.rank = 0, .size = 3, .job = "fuzz", .patience = {}});
    fuzz::expect(meeting.refusals().size() <= 64, "refusals are bounded");
    for (int round = 0; round != 2; ++round) {
      fuzz::expect(meeting.exchange("mine").size() == 3, "there is a text of each rank");
    }
  });
}

/// Rank 1 of three.
void guest() {
  expect_errors([] {
    tcp_rendezvous meeting({"127.0.0.1", 1}, {.rank = 1, .size = 3, .job = "fuzz", .patience = {}});
    for (int round = 0; round != 2; ++round) {
      fuzz::expect(meeting.exchange("mine").size() == 3, "there is a text of each rank");
    }
  });
}

/// Rank 1 of four shrinks the world: it visits rank 0, or, if that has no listener, is the host of strangers, which
/// come when it waits for them.
void shrink(fuzz::input& words) {
  fuzz::listener listener;
  std::size_t const choice = words.choice(8);
  bool const is_host = choice >= 4;
  std::vector<std::string_view> first_words;
  for (std::size_t count = choice % 4; count != 0; --count) {
    first_words.push_back(words.text());
  }
  if (is_host) {
    fuzz::closed_ports = {1};
  }
  come = [&, next = first_words.begin()]() mutable {
    bool const is_left = next != first_words.end();
    if (is_left) {
      lines.push_back(listener.connect(*next++));
    }
    return is_left;
  };
  while (!is_host && come()) {
  }
  std::vector<net::address> places;
  for (std::uint16_t port = 1; port <= 4; ++port) {
    places.push_back(net::resolve("127.0.0.1", port).front());
  }
  shrink_meeting meeting(1, listener.take(), places, "world");
  expect_errors([&] {
    meeting.agree(detector_call::shrink, 1, std::chrono::seconds(1));
    fuzz::expect(std::ranges::count(meeting.members(), 1U) == 1, "a member that decides is a member");
    survivors group = meeting.take_survivors(std::chrono::seconds(1));
    fuzz::expect(group.rank() < group.size(), "a survivor is one of the survivors");
    for (rank_type const r : group.parent_ranks()) {
      fuzz::expect(r < 4 && std::ranges::count(group.parent_ranks(), r) == 1, "survivors are ranks of the world");
    }
    fuzz::expect(group.exchange("mine").size() == group.size(), "there is a text of each rank");
  });
}

void read_message(std::string_view bytes) {
  shrink_message message;
  fuzz::expect(!message.parse(bytes) || message.text() == bytes, "a message is encoded to the same bytes");
  announcement process;
  fuzz::expect(!process.parse(bytes) || process.parse(process.text()), "an announcement that was read can be encoded");
  admission facts;
  if (facts.parse(bytes)) {
    fuzz::expect(facts.parent_ranks.at(facts.rank) == tutti::no_rank, "a newcomer was no rank of the world before");
    fuzz::expect(facts.parse(facts.text()), "an admission that was read can be encoded");
  }
}

void read_endpoints(fuzz::input& words) {
  std::vector<std::string> texts;
  while (words.size() != 0) {
    texts.emplace_back(words.text());
  }
  expect_errors([&] {
    shrink_listener listener("127.0.0.1");
    texts.insert(texts.begin(), listener.endpoint_info());
    static_cast<void>(listener.meeting(0, texts));
    for (std::string const& text : texts) {
      tutti::unpacker u(text);
      fuzz::expect(!u.text().empty(), "only addresses are taken");
      u.number();
      u.text();
      fuzz::expect(u.is_complete(), "only addresses are taken");
    }
  });
}

tutti::world_secret const& secret() {
  static tutti::world_secret const value = net::make_secret("sixteen or more letters");
  return value;
}

/// The end of a rank of a world with a secret.
struct end_of_rank {
  std::vector<rank_type> members;                 ///< its group; empty: it has decided nothing
  std::optional<std::vector<std::string>> texts;  ///< those of its exchange
  tutti::rank_failure cause;
};

/// The text of a rank in an exchange.
std::string text_of(rank_type rank, std::vector<rank_type> const& members) {
  return tutti::packer().number(rank).texts(std::vector<std::string>{list_ranks(members)}).take();
}

/// Checks that a listener has answered only a claim that a rank has made, and only a challenge before the hello that a
/// rank has said after it.
void expect_silence(std::vector<fuzz::relay::connection> const& connections, std::size_t challenge_bytes) {
  auto const is_claim_of = [](std::string const& text, fuzz::relay::connection const& rank) {
    return !rank.messages.empty() && text.starts_with(rank.messages.front());
  };
  for (fuzz::relay::connection const& c : connections) {
    bool const is_answered = !c.answer.empty();
    bool const is_known = std::any_of(connections.begin(), connections.end(), [&](fuzz::relay::connection const& rank) {
      return is_claim_of(c.sent_text, rank);
    });
    fuzz::expect(!is_answered || is_known, "only a claim is answered");
    fuzz::expect(c.answer.size() <= challenge_bytes ||
                     (c.messages.size() > 1 && c.sent_text.starts_with(c.messages[0] + c.messages[1])),
                 "only a challenge is said to a stranger");
  }
}

/// Runs the ranks of a world with a secret behind a relay. `meet(rank, listener, end)` is the whole life of each.
/// Strangers may come before all of them.
template <class Meet>
std::vector<end_of_rank> run_behind_relay(fuzz::input& words, std::vector<rank_type> const& living, rank_type size,
                                          Meet const& meet) {
  constexpr std::size_t challenge_bytes = frame_head::size + challenge_size;
  std::vector<fuzz::listener> listeners(size);
  fuzz::relay wire(words, listeners);
  path = &wire;
  for (std::size_t count = words.choice(4); count != 0; --count) {
    wire.intrude(words.choice(size), words.text());
  }
  std::vector<end_of_rank> ends(size);
  std::vector<std::function<void()>> lives;
  for (rank_type const r : living) {
    lives.emplace_back([&, r] {
      try {
        meet(r, listeners[r].take(), ends[r]);
      } catch (tutti::error const& e) {
        fuzz::expect(*e.what() != '\0', "an error says why");
        ends[r].cause = tutti::rank_failure(e);
      }
      fuzz::closed_ports.push_back(static_cast<std::uint16_t>(r + 1));
    });
  }
  fuzz::when_idle = let_others_act;
  ranks.run(lives);
  while (wire.step()) {
  }
  expect_silence(wire.connections(), challenge_bytes);
  for (rank_type const r : living) {
    fuzz::expect(wire.has_interfered() || ends[r].texts, "strangers keep no rank out");
  }
  for (end_of_rank const& end : ends) {
    std::vector<std::string> expected;
    for (rank_type const r : end.members) {
      expected.push_back(text_of(r, end.members));
    }
    fuzz::expect(!end.texts || *end.texts == expected, "an exchange has the texts of its members, or fails");
  }
  return ends;
}

/// A world with a secret meets.
void join_behind_relay(fuzz::input& words) {
  rank_type const size = 2 + static_cast<rank_type>(words.choice(2));
  std::vector<rank_type> members{0, 1, 2};
  members.resize(size);
  run_behind_relay(words, members, size, [&](rank_type r, tutti::detail::descriptor listener, end_of_rank& end) {
    membership const me{
        .rank = r, .size = size, .job = "fuzz", .patience = std::chrono::minutes(1), .secret = secret()};
    tcp_rendezvous meeting = r == 0 ? tcp_rendezvous(std::move(listener), me) : tcp_rendezvous({"127.0.0.1", 1}, me);
    end.members = members;
    fuzz::expect(meeting.refusals().size() <= 64, "refusals are bounded");
    end.texts = meeting.exchange(text_of(r, members));
  });
}

/// A world with a secret shrinks: one of four ranks has ended before.
void shrink_behind_relay(fuzz::input& words) {
  constexpr rank_type size = 4;
  auto const lost_rank = static_cast<rank_type>(words.choice(size));
  std::vector<net::address> places;
  std::vector<rank_type> living;
  for (rank_type r = 0; r != size; ++r) {
    places.push_back(net::resolve("127.0.0.1", static_cast<std::uint16_t>(r + 1)).front());
    if (r != lost_rank) {
      living.push_back(r);
    }
  }
  fuzz::closed_ports = {places[lost_rank].port()};
  auto const ends =
      run_behind_relay(words, living, size, [&](rank_type r, tutti::detail::descriptor listener, end_of_rank& end) {
        shrink_meeting meeting(r, std::move(listener), places, "world", net::proof_key(secret()));
        meeting.agree(detector_call::shrink, 1, std::chrono::minutes(1));
        end.members = meeting.members();
        survivors group = meeting.take_survivors(std::chrono::minutes(1));
        end.texts = group.exchange(text_of(r, end.members));
      });
  for (rank_type const r : living) {
    bool const is_left_out = ends[r].cause.text == left_out(r).text;
    fuzz::expect(!is_left_out || std::ranges::any_of(ends, [](auto const& end) { return !end.members.empty(); }),
                 "a rank that is told that the others continue without it is told the truth");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  fuzz::memory_limit const limit((1U << 20) + 64 * size);
  fuzz::input words(data, size);
  script = &words;
  fuzz::when_idle = speak;
  drawn_numbers = 0;
  switch (words.choice(8)) {
    case 0:
      read_frames(words);
      break;
    case 1:
      host(words);
      break;
    case 2:
      guest();
      break;
    case 3:
      shrink(words);
      break;
    case 4:
      read_message(words.rest());
      break;
    case 5:
      read_endpoints(words);
      break;
    case 6:
      join_behind_relay(words);
      break;
    default:
      shrink_behind_relay(words);
  }
  come = {};
  lines.clear();
  fuzz::peers.clear();
  fuzz::closed_ports.clear();
  return 0;
}
