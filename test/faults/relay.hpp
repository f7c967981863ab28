// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <faults/board.hpp>
#include <tutti/detail/net/socket.hpp>
#include <tutti/detail/tcp/frame.hpp>
#include <tutti/detail/tcp/hello.hpp>
#include <tutti/extend/rendezvous.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <deque>
#include <list>
#include <netinet/in.h>
#include <poll.h>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <utility>
#include <vector>

namespace tutti::faults {

/// The harm that a relay does.
enum class harm {
  reset,      ///< resets one connection at both ends
  half_open,  ///< resets one connection at one end, and keeps the other end open in silence
  part,       ///< holds back all bytes between ranks of different sides, for ever
  heal,       ///< does so for a while
  slow,       ///< passes bytes on late and a few at a time
  corrupt,    ///< changes a bit in the mark of one frame
};

/// A process between the ranks of a world over TCP on one host: each rank publishes a port of the relay in place of its
/// own. Bytes arrive in order, as TCP promises.
class relay {
 public:
  struct plan {
    harm kind = harm::slow;
    rank_type ranks = 0;
    std::uint32_t side = 0;  ///< a bit for each rank of one side
    duration delay{};        ///< from the first operations of all ranks to the harm
    duration cut_time{};     ///< time until a partition heals
    std::uint64_t seed = 0;
  };

  relay(plan const& p, std::span<int const> listeners, board& state) : plan_(p), state_(state), dice_(p.seed) {
    for (int const listener : listeners) {
      listeners_.emplace_back([&] { return listener; });
    }
  }

  /// Serves until the trial is over.
  void run() {
    while (!state_.is_over) {
      std::vector<pollfd> set;
      for (detail::descriptor const& listener : listeners_) {
        set.push_back({listener.get(), POLLIN, 0});
      }
      for (link const& l : links_) {
        for (detail::descriptor const& end : l.ends) {
          set.push_back({end.get(), POLLIN, 0});
        }
      }
      ::poll(set.data(), set.size(), 1);
      accept();
      look_at_the_clock();
      for (auto l = links_.begin(); l != links_.end();) {
        l = (pump(*l, 0) && pump(*l, 1)) || l->is_struck ? std::next(l) : links_.erase(l);
      }
    }
  }

 private:
  using hello = detail::tcp::hello;
  using frame = detail::tcp::frame;

  /// Bytes on their way from one end of a connection to the other.
  struct stream {
    struct part {
      time_point due;
      std::string bytes;
    };
    std::deque<part> parts;
    std::size_t bytes_held = 0;
    bool has_ended = false;
    bool has_told_end = false;
    std::string head;           ///< the hello or the header of a frame, as far as it has come
    std::size_t next_head = 0;  ///< bytes before the next one
    std::size_t head_size = sizeof(hello);
    std::size_t frames = 0;
    bool is_to_corrupt = false;
  };
  struct link {
    detail::descriptor ends[2];  ///< the rank that connected, the rank that listens
    stream streams[2];           ///< bytes from each of them
    rank_type sender = no_rank;
    rank_type receiver = no_rank;
    bool is_struck = false;
  };

  void accept() {
    for (rank_type r = 0; r < plan_.ranks; ++r) {
      while (detail::descriptor caller = detail::net::accept(listeners_[r].get())) {
        link& l = links_.emplace_back();
        l.ends[0] = std::move(caller);
        l.ends[1] = detail::net::connect(detail::net::resolve("127.0.0.1", state_.port[r]).front(),
                                         steady_now() + std::chrono::seconds(5));
        l.receiver = r;
        if (!l.ends[1]) {
          reset(l.ends[0]);
          links_.pop_back();
        }
      }
    }
  }

  void look_at_the_clock() {
    time_point const now = steady_now();
    if (strike_time_ == time_point{}) {
      strike_time_ = state_.is_under_way(plan_.ranks) ? now + plan_.delay : time_point{};
      return;
    }
    is_cut_ = (plan_.kind == harm::part && now >= strike_time_) ||
              (plan_.kind == harm::heal && now >= strike_time_ && now < strike_time_ + plan_.cut_time);
    bool const strikes_link = plan_.kind == harm::reset || plan_.kind == harm::half_open || plan_.kind == harm::corrupt;
    if (strikes_link && !has_struck_ && now >= strike_time_) {
      strike();
    }
  }

  /// Harms one connection in use.
  void strike() {
    std::vector<link*> candidates;
    for (link& l : links_) {
      if (l.streams[0].frames + l.streams[1].frames != 0) {
        candidates.push_back(&l);
      }
    }
    if (candidates.empty()) {
      return;
    }
    link& l = *candidates[dice_() % candidates.size()];
    has_struck_ = true;
    state_.struck_ranks = 1U << l.sender | 1U << l.receiver;
    std::size_t const end = dice_() % 2;
    if (plan_.kind == harm::corrupt) {
      l.streams[0].is_to_corrupt = l.streams[1].is_to_corrupt = true;
      return;
    }
    l.is_struck = true;
    reset(l.ends[end]);
    if (plan_.kind == harm::reset) {
      reset(l.ends[1 - end]);
    }
  }

  static void reset(detail::descriptor& end) {
    linger const at_once{1, 0};
    ::setsockopt(end.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    end.reset();
  }

  /// True if a partition holds back the bytes of a connection, known to be one between its sides by its hello.
  [[nodiscard]] bool is_held(link const& l) const {
    return is_cut_ && l.sender != no_rank && ((plan_.side >> l.sender ^ plan_.side >> l.receiver) & 1U) != 0;
  }

  /// Moves bytes that come from an end. Returns false when the connection has ended.
  bool pump(link& l, std::size_t end) {
    if (l.is_struck) {
      return true;
    }
    if (is_held(l)) {
      return true;
    }
    stream& s = l.streams[end];
    constexpr std::size_t most_held = 1 << 18;
    char bytes[1 << 14];
    while (!s.has_ended && s.bytes_held < most_held) {
      std::size_t const size = plan_.kind == harm::slow ? 64 + dice_() % 2000 : sizeof bytes;
      auto const m = detail::read_some(l.ends[end].get(), std::as_writable_bytes(std::span(bytes).first(size)));
      s.has_ended = m.state == detail::io::hangup;
      if (s.has_ended && errno != 0) {
        reset(l.ends[1 - end]);
        return false;
      }
      if (m.bytes != 0) {
        examine(l, end, std::span(bytes).first(m.bytes));
        duration const delay = plan_.kind == harm::slow ? std::chrono::microseconds(dice_() % 3000) : duration{};
        s.parts.push_back({steady_now() + delay, std::string(bytes, m.bytes)});
        s.bytes_held += m.bytes;
      }
      if (m.state == detail::io::open) {
        break;
      }
    }
    for (; !s.parts.empty() && !is_held(l) && s.parts.front().due <= steady_now(); s.parts.pop_front()) {
      std::string& part = s.parts.front().bytes;
      auto const m = detail::write_some(l.ends[1 - end].get(), detail::bytes_of(part));
      s.bytes_held -= m.bytes;
      part.erase(0, m.bytes);
      if (m.state == detail::io::hangup) {
        reset(l.ends[end]);
        return false;
      }
      if (m.state == detail::io::open) {
        break;
      }
    }
    if (s.has_ended && s.parts.empty() && !std::exchange(s.has_told_end, true)) {
      ::shutdown(l.ends[1 - end].get(), SHUT_WR);
    }
    return !(s.has_told_end && l.streams[1 - end].has_told_end);
  }

  /// Follows hellos and frames, and changes a mark if that is to be done.
  void examine(link& l, std::size_t end, std::span<char> bytes) {
    stream& s = l.streams[end];
    while (!bytes.empty()) {
      std::size_t const skip_count = (std::min)(s.next_head, bytes.size());
      s.next_head -= skip_count;
      bytes = bytes.subspan(skip_count);
      if (s.head.empty() && s.is_to_corrupt && s.head_size == sizeof(frame) && !bytes.empty()) {
        l.streams[0].is_to_corrupt = l.streams[1].is_to_corrupt = false;
        bytes[0] = static_cast<char>(bytes[0] ^ 1 << dice_() % 8);
      }
      std::size_t const count = (std::min)(s.head_size - s.head.size(), bytes.size());
      s.head.append(bytes.data(), count);
      bytes = bytes.subspan(count);
      if (s.head.size() < s.head_size) {
        continue;
      }
      if (s.head_size == sizeof(frame)) {
        frame f;
        std::memcpy(&f, s.head.data(), sizeof f);
        s.next_head = f.kind == detail::tcp::frame_kind::piece ? f.part + detail::tcp::padding(f.part) : 0;
        ++s.frames;
      } else if (end == 0) {
        hello h;
        std::memcpy(&h, s.head.data(), sizeof h);
        l.sender = h.sender;
      }
      s.head_size = sizeof(frame);
      s.head.clear();
    }
  }

  plan plan_;
  board& state_;
  std::mt19937_64 dice_;
  std::vector<detail::descriptor> listeners_;
  std::list<link> links_;
  time_point strike_time_{};
  bool has_struck_ = false;
  bool is_cut_ = false;
};

/// A rendezvous whose members publish ports of a relay in place of their own.
template <class Meet>
class relayed_rendezvous {
 public:
  static constexpr bool one_host = true;

  relayed_rendezvous(Meet& meet, std::uint16_t relay_port, board& state)
      : meet_(meet), relay_port_(relay_port), state_(state) {}

  [[nodiscard]] rank_type rank() const noexcept { return meet_.rank(); }
  [[nodiscard]] rank_type size() const noexcept { return meet_.size(); }

  std::vector<std::string> exchange(std::string_view text) {
    constexpr std::string_view host = "+127.0.0.1:";  // a communicator's text begins with a plus
    if (!text.starts_with(host)) {
      return meet_.exchange(text);
    }
    std::size_t const port_end = text.find(' ');
    state_.port[rank()] =
        static_cast<std::uint16_t>(std::stoul(std::string(text.substr(host.size(), port_end - host.size()))));
    std::vector<std::string> texts =
        meet_.exchange(std::string(host) + std::to_string(relay_port_) + std::string(text.substr(port_end)));
    texts[rank()] = text;
    return texts;
  }

 private:
  Meet& meet_;
  std::uint16_t relay_port_;
  board& state_;
};

}  // namespace tutti::faults
