// SPDX-License-Identifier: Apache-2.0
//
// The protocols by which ranks meet and shrink, with strangers at the other ends. The first byte picks a side.
#include "fuzz.hpp"
#include "numeric_hosts.hpp"
#include "virtual_network.hpp"
#include <tutti/detail/bootstrap/channel.hpp>
#include <tutti/detail/bootstrap/shrink_meeting.hpp>
#include <tutti/detail/bootstrap/shrink_message.hpp>
#include <tutti/detail/bootstrap/shrink_notice.hpp>
#include <tutti/detail/bootstrap/survivors.hpp>
#include <tutti/detail/bootstrap/tcp_rendezvous.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/packing.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace tutti::detail;
using tutti::rank_type;

fuzz::input* script = nullptr;        ///< words that strangers have not said yet
std::vector<fuzz::descriptor> lines;  ///< connections of strangers

/// The next words of the strangers: at all of their connections in turn, or the end of one.
bool speak() {
  for (auto* const side : {&lines, &fuzz::peers}) {
    for (fuzz::descriptor& line : *side) {
      if (script->size() == 0) {
        return false;
      }
      if (std::string_view const next = script->text(); next.empty()) {
        line.reset();
      } else {
        fuzz::say(line, next);
      }
    }
  }
  return !(lines.empty() && fuzz::peers.empty());
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

/// Rank 1 of four shrinks the world: it visits rank 0, or is the host of ranks 2 and 3.
void shrink(fuzz::input& words) {
  fuzz::listener listener;
  for (std::size_t count = words.choice(4); count != 0; --count) {
    lines.push_back(listener.connect(words.text()));
  }
  shrink_meeting meeting(1, listener.take(), std::vector(4, net::resolve("127.0.0.1", 1).front()), "world");
  expect_errors([&] {
    survivors group = meeting.meet(std::chrono::seconds(1));
    fuzz::expect(group.rank() < group.size(), "a survivor is one of the survivors");
    for (rank_type const r : group.parent_ranks()) {
      fuzz::expect(r < 4 && std::ranges::count(group.parent_ranks(), r) == 1, "survivors are ranks of the world");
    }
    fuzz::expect(group.exchange("mine").size() == group.size(), "there is a text of each rank");
  });
}

void read_shrink_message(std::string_view bytes) {
  shrink_message message;
  fuzz::expect(!message.parse(bytes) || message.text() == bytes, "a message is encoded to the same bytes");
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  fuzz::memory_limit const limit((1U << 20) + 64 * size);
  fuzz::input words(data, size);
  script = &words;
  fuzz::when_idle = speak;
  switch (words.choice(6)) {
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
      read_shrink_message(words.rest());
      break;
    default:
      read_endpoints(words);
  }
  lines.clear();
  fuzz::peers.clear();
  return 0;
}
