// SPDX-License-Identifier: Apache-2.0
//
// Connections of tcp: the handshake with strangers, and the frames of a peer that may send anything. The first byte
// picks one.
#include "fuzz.hpp"
#include "virtual_time.hpp"
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/net/address.hpp>
#include <tutti/detail/tcp/frame_reader.hpp>
#include <tutti/detail/tcp/frame_writer.hpp>
#include <tutti/detail/tcp/hello.hpp>
#include <tutti/detail/tcp/listener.hpp>
#include <tutti/detail/tcp/waiter.hpp>
#include <tutti/detail/tcp/wire.hpp>
#include <tutti/extend/error.hpp>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <vector>

namespace {

using namespace tutti::detail;
using tutti::rank_type;

constexpr tcp::world_id world{3, 4};

void say(descriptor const& peer, std::string_view bytes) {
  static_cast<void>(::send(peer.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
}

/// Strangers and members at the listener of rank 0 of three.
class greetings final : public tcp::listener::handler {
 public:
  greetings() { entrance_.open(true); }

  void talk(fuzz::input& words) {
    std::vector<descriptor> lines;
    while (words.size() != 0) {
      switch (words.choice(4)) {
        case 0:
          lines.push_back(net::connect(entrance_.listening_address(), (time_point::max)()));
          break;
        case 1:
          if (!lines.empty()) {
            say(lines[words.choice(lines.size())], words.text());
          }
          break;
        case 2:
          if (!lines.empty()) {
            reset(lines[words.choice(lines.size())]);
          }
          break;
        default:
          fuzz::pass(static_cast<long long>(words.number()) * 1'000'000);
          work();
      }
    }
    work();
    entrance_.accept_all(*this);
    entrance_.close_pending(*this);
    for (descriptor& line : lines) {
      reset(line);
    }
    fuzz::pass(1'000'000'000);  // a pause after refusals is over
    entrance_.accept_some(*this);
    fuzz::expect(entrance_.close_pending(*this) == false, "nobody is kept who has gone");
  }

 private:
  using time_point = tutti::time_point;

  char const* arrive(descriptor& socket, tcp::hello const& peer_hello) override {
    char const* const objection = peer_hello.objection(world, 0, 3);
    fuzz::expect(socket && std::memcmp(peer_hello.magic, tcp::hello::expected_magic, 8) == 0,
                 "a hello begins with its magic");
    fuzz::expect(objection != nullptr || (peer_hello.sender == 1 || peer_hello.sender == 2),
                 "only other ranks of this world are admitted");
    descriptor const taken_socket = objection == nullptr ? std::move(socket) : descriptor();
    return objection;
  }
  void refuse(descriptor const& socket, char const* reason) override {
    fuzz::expect(socket && *reason != '\0', "a refusal says why");
  }
  void work() {
    entrance_.accept_some(*this);
    waiter_.poll([&](tcp::waiter::source source, rank_type number) {
      if (source == tcp::waiter::source::pending_connection) {
        entrance_.read_pending(static_cast<int>(number), *this);
      }
    });
  }
  /// Closes without a trace, which would keep the port.
  static void reset(descriptor& line) {
    linger const none{1, 0};
    ::setsockopt(line.get(), SOL_SOCKET, SO_LINGER, &none, sizeof none);
    line.reset();
  }

  tcp::waiter waiter_;
  tcp::listener entrance_{net::resolve("127.0.0.1", 0).front(), waiter_, std::chrono::seconds(5)};
};

/// The two halves of a connection of rank 0 to rank 1, whose end sends anything.
class connection {
 public:
  void talk(fuzz::input& words) {
    while (words.size() != 0 && !reader_.is_malformed()) {
      auto const lane = static_cast<std::uint32_t>(words.choice(3));
      switch (words.choice(8)) {
        case 0:
          say(peer_, words.text());
          break;
        case 1:
        case 2:
          send_frame(words);
          break;
        case 3:
        case 4:
          view(words, lane);
          break;
        case 5:
          release(lane);
          break;
        case 6:
          static_cast<void>(reader_.has_message(own_end_, writer_, lane));
          break;
        default:
          ask(words, lane);
      }
      drop_answers();
    }
    reader_.drain_control_frames(own_end_, writer_);
  }

 private:
  static constexpr std::size_t window = 1024;

  struct lane_state {
    std::size_t left = 0;  ///< bytes of the message that are still to come
    std::uint32_t number = 0;
    bool is_open = false;
    tutti::chunk part{};
    std::vector<std::byte> place{};
  };

  [[nodiscard]] static tutti::call own_call() {
    tutti::call c = tutti::make_call(tutti::operation_kind::allreduce, "float32", "sum", "ring");
    c.count = 7;
    return c;
  }

  /// Sends a frame that a peer could send, mostly, and again.
  void send_frame(fuzz::input& words) {
    tcp::frame f;
    f.kind = static_cast<tcp::frame_kind>(words.choice(3) == 0 ? words.choice(10) : 1);
    f.lane = static_cast<std::uint8_t>(words.choice(3));
    f.number = static_cast<std::uint32_t>(words.choice(8) == 0 ? words.choice(3) : lanes_[f.lane].number);
    f.part = static_cast<std::uint32_t>(words.choice(2) == 0 ? words.number() : words.number(2));
    f.bytes = words.choice(2) == 0 ? f.part : words.number(8);
    f.sender_call = own_call();
    if (words.choice(8) == 0) {
      f.sender_call.count = words.number();
      f.sender_call.kind = static_cast<tutti::operation_kind>(words.number());
      std::memset(f.sender_call.topology, 'x', sizeof f.sender_call.topology);
    }
    for (std::uint32_t& credit : f.credits) {
      credit = words.choice(8) == 0 ? static_cast<std::uint32_t>(words.number(4)) : 0;
    }
    std::string bytes(reinterpret_cast<char const*>(&f), sizeof f);
    if (f.kind == tcp::frame_kind::piece && f.part < 60'000) {
      bytes.append(f.part + tcp::padding(f.part), static_cast<char>(words.number()));
    }
    for (std::size_t times = 1 + words.choice(8) / 7 * words.choice(200); times != 0; --times) {
      say(peer_, bytes);
      reader_.pump(own_end_, writer_);
    }
  }
  void view(fuzz::input& words, std::uint32_t lane) {
    lane_state& state = lanes_[lane];
    if (!state.is_open) {
      state.left = words.choice(2) == 0 ? words.number() : words.number(2);
      state.place.resize(words.choice(2) == 0 ? state.left : 0);
      state.is_open = true;
    }
    std::size_t const granule = state.left % 4 == 0 ? 4 : 1;
    tutti::receive_request const request{
        state.left, granule, state.place.empty() ? nullptr : state.place.data() + (state.place.size() - state.left)};
    bool const was_shown = static_cast<bool>(state.part);
    state.part = reader_.view(own_end_, writer_, {lane, state.number}, request, own_call());
    if (state.part && !was_shown) {
      fuzz::expect(state.part.bytes <= state.left, "no more is shown than was asked for");
      std::size_t sum = 0;
      for (std::size_t i = 0; i != state.part.bytes; ++i) {
        sum += static_cast<std::size_t>(state.part.data[i]);
      }
      sum_ = sum_ + sum;
    }
  }
  void release(std::uint32_t lane) {
    lane_state& state = lanes_[lane];
    if (state.part) {
      state.left -= state.part.bytes;
      state.part = {};
      reader_.release(writer_, {lane, state.number});
      if (state.left == 0) {
        state.is_open = false;
        ++state.number;
      }
    }
  }
  void ask(fuzz::input& words, std::uint32_t lane) {
    reader_.call_checks.check_reply({lane, lanes_[lane].number}, own_call());
    fuzz::expect(reader_.call_checks.take_queries() < 1U << tutti::lane_count, "only lanes are queried");
    tutti::wait_report report = reader_.wait_states.last_report(lane);
    report.flow.lane = lane;
    fuzz::expect(!tutti::describe(report.call).empty(), "a call can be described");
    if (reader_.wait_states.needs_reply(report)) {
      fuzz::expect(reader_.wait_states.make_reply(report).is_valid(), "a reply is valid");
    }
    if (words.choice(2) == 0) {
      static_cast<void>(reader_.call_checks.begin_query(lane));
      writer_.queue_control_frame(reader_.wait_states.make_query());
    }
  }
  /// Takes what this rank has sent, so that it never waits.
  void drop_answers() {
    writer_.flush(own_end_);
    std::byte answer[4096];
    while (::recv(peer_.get(), answer, sizeof answer, MSG_DONTWAIT) > 0) {
    }
  }

  std::pair<descriptor, descriptor> ends_ = stream_pair();
  tcp::wire own_end_{std::move(ends_.first)};
  descriptor& peer_ = ends_.second;
  tcp::fragment_pool pool_;
  tcp::frame_writer writer_{1U << 20, window, window};
  tcp::frame_reader reader_{0, 1, pool_, window};
  std::array<lane_state, tutti::lane_count> lanes_{};
  std::size_t volatile sum_ = 0;  ///< sum of all bytes that were shown, so that they are read
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  fuzz::input words(data, size);
  if (words.choice(4) == 0) {
    static greetings world_of_three;
    fuzz::memory_limit const limit((1U << 18) + 64 * size);
    world_of_three.talk(words);
    return 0;
  }
  // A window per lane, buffers of 128 KiB, and the places of three messages of up to 64 KiB: not more for a longer
  // input.
  fuzz::memory_limit const limit(1U << 19);
  try {
    std::make_unique<connection>()->talk(words);
  } catch (tutti::error const& e) {
    fuzz::expect(e.kind() == tutti::failure::mismatch && e.at_fault() == std::vector<rank_type>{1},
                 "an error names the peer");
  }
  return 0;
}
