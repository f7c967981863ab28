// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/transport/tcp_dial.hpp>
#include <tutti/transport/tcp_door.hpp>
#include <tutti/transport/tcp_link.hpp>
#include <tutti/transport/tcp_news.hpp>
#include <tutti/transport/tcp_tuning.hpp>

#include <bit>
#include <memory>
#include <string>
#include <vector>

namespace tutti::net {

/// The connections of one rank: made when they are first needed, one for each pair of ranks, and watched.
///
/// Whoever needs a connection makes it. If both do at the same time, that of the lower rank stays:
/// the higher one gives its own up when the other's arrives; the lower one answers that they crossed.
class mesh {
 public:
  mesh(tcp_options const& o, address const& at, rank_type rank, rank_type size)
      : options_(o), rank_(rank), door_(at, waiter_, o.handshake), links_(size), dials_(size) {
    size_buffers(door_.fd(), o);
  }
  mesh(mesh const&) = delete;
  mesh& operator=(mesh const&) = delete;
  ~mesh() { leave(); }

  [[nodiscard]] rank_type rank() const noexcept { return rank_; }
  [[nodiscard]] rank_type size() const noexcept { return static_cast<rank_type>(links_.size()); }
  [[nodiscard]] address where() const noexcept { return door_.where(); }
  /// Where the others are, and what tells this world from all others. Before the first connection.
  void meet(std::vector<address> addresses, world_id const& world) {
    addresses_ = std::move(addresses);
    world_ = world;
  }

  /// In which call this rank is, by lanes.
  struct current {
    bool begun = false;
    std::uint32_t number = 0;
    call what;
  };
  current calls[lane_count];

  [[nodiscard]] std::size_t links() const noexcept { return up_.size(); }  ///< how many there are
  [[nodiscard]] std::vector<std::string> const& incidents() const noexcept { return incidents_; }
  [[nodiscard]] tutti::fault const& fault() const noexcept { return news_.fault(); }

  /// The connection to a peer; null while there is none yet, and then it is being made.
  [[nodiscard]] link* reach(rank_type peer) {
    if (links_[peer] == nullptr) [[unlikely]] {
      if (!fault()) {
        open_door();
      }
      if (!fault() && links_[peer] == nullptr) {
        call_up(peer);
      }
    }
    return links_[peer].get();
  }

  /// Sees what a connection has brought besides messages. To be called after reading from it.
  void attend(rank_type peer) {
    link& l = *links_[peer];
    if (l.in.revoked()) [[unlikely]] {
      hear(l.in.revoked());
    }
    if (l.in.unsound() && !l.over) [[unlikely]] {
      close(l);
      note("rank " + std::to_string(peer) + " sent bytes that are no frame");
      poison({failure::protocol, peer, rank_});
    }
    for (std::uint32_t asked = l.in.calls.take_questions(); asked != 0; asked &= asked - 1) {
      auto const lane = static_cast<std::uint32_t>(std::countr_zero(asked));
      current const& c = calls[lane];
      l.out.tell({.kind = frame_kind::status,
                  .lane = static_cast<std::uint8_t>(lane),
                  .number = c.number,
                  .bytes = c.begun ? 1U : 0U,
                  .what = c.what});
      l.flush();
    }
    if (l.in.ended() && !l.over) [[unlikely]] {
      close(l);
      if (!l.in.bye()) {
        lose(peer);
      }
    }
  }

  /// Watches a connection for being writable, if somebody sleeps.
  void watch(rank_type peer) {
    if (!armed_) {
      return;
    }
    link& l = *links_[peer];
    if (!l.watched && !l.over && (l.out.blocked() || !l.out.empty())) {
      l.watched = true;
      waiter_.change(l.fd(), waiter::what::link, peer, true);
    }
  }

  void poll() {
    for (std::size_t i = 0; i < up_.size(); ++i) {
      links_[up_[i]]->flush();
    }
    keep_calling(false);
    waiter_.poll([&](waiter::what what, rank_type rank) {
      switch (what) {
        case waiter::what::listener:
        case waiter::what::stranger:
          return open_door();
        case waiter::what::dial:
          return keep_calling(true);
        case waiter::what::link:
          // Whoever waits for a message reads it himself, to a better place.
          if (links_[rank] != nullptr && !links_[rank]->in.awaited()) {
            service(rank);
          }
          return;
        case waiter::what::clock:
          waiter_.silence_clock();
          return look();
      }
    });
  }

  /// Like poll, and asks also those that say nothing.
  void look() {
    open_door();
    keep_calling(true);
    time_point const now = steady_now();
    bool const ask = now - last_asked_ >= options_.silence / 8;
    last_asked_ = ask ? now : last_asked_;
    for (std::size_t i = 0; i < up_.size(); ++i) {
      rank_type const peer = up_[i];
      service(peer);
      if (ask && !links_[peer]->over && links_[peer]->silent(options_.silence)) {
        lose(peer);
      }
    }
  }

  [[nodiscard]] int arm() {
    armed_ = true;
    if (!up_.empty()) {
      waiter_.wake_at(last_asked_ + options_.silence / 8);
    }
    for (rank_type const peer : up_) {
      watch(peer);
    }
    return waiter_.fd();
  }
  void disarm() {
    armed_ = false;
    for (rank_type const peer : up_) {
      link& l = *links_[peer];
      if (l.watched) {
        l.watched = false;
        waiter_.change(l.fd(), waiter::what::link, peer, false);
      }
    }
  }

  /// The first fault wins. Every member is told: peers over their connections, and by whoever found the
  /// fault also those that it has no connection to.
  ///
  /// Who leaves finds no more faults: that peers close their connections to it, because it has gone, is
  /// no news to others.
  void poison(tutti::fault const& why) {
    if (leaving_ || !adopt(why)) {
      return;
    }
    for (rank_type r = 0; r < size(); ++r) {
      bool const gone = why.kind == failure::peer_lost && why.culprit == r;
      if (links_[r] == nullptr && r != rank_ && !gone) {
        send_messenger(r);
      }
    }
  }

  /// A peer is gone. The reason may be a fault that another one is just telling of: that comes first.
  void lose(rank_type peer) {
    if (!fault() && !asking_around_) {
      asking_around_ = true;
      open_door();
      for (std::size_t i = 0; i < up_.size(); ++i) {
        service(up_[i]);
      }
      asking_around_ = false;
    }
    poison({failure::peer_lost, peer, rank_});
  }

 private:
  static constexpr std::size_t most_incidents = 64;

  [[nodiscard]] hello greet(greeting kind, rank_type to) const noexcept {
    hello h;
    h.world = world_;
    h.kind = kind;
    h.from = rank_;
    h.to = to;
    h.fault = fault().pack();
    h.window = options_.window;
    return h;
  }

  void note(std::string text) {
    if (incidents_.size() < most_incidents) {
      incidents_.push_back(std::move(text));
    }
  }

  /// True if nothing was known of any fault.
  bool adopt(tutti::fault const& why) {
    bool const first = news_.adopt(why);
    for (std::size_t i = 0; first && i < up_.size(); ++i) {
      spread(up_[i]);
    }
    return first;
  }
  void hear(tutti::fault const& why) { adopt(news::heard(why, size())); }

  void establish(rank_type peer, descriptor socket, hello const& theirs) {
    dials_[peer].reset();
    std::erase(calling_, peer);
    keep_alive(socket.get(), options_.silence);
    size_buffers(socket.get(), options_);
    if (local_address(socket.get()).host() == peer_address(socket.get()).host()) {
      suit_one_host(socket.get(), options_);
    }
    waiter_.add(socket.get(), waiter::what::link, peer, false);
    links_[peer] = std::make_unique<link>(std::move(socket), theirs, options_, pool_);
    up_.push_back(peer);
    if (fault()) {
      spread(peer);
    }
  }

  void close(link& l) noexcept {
    l.over = true;
    l.watched = false;
    waiter_.remove(l.fd());
  }

  void service(rank_type peer) {
    link& l = *links_[peer];
    if (!l.over) {
      l.flush();
      l.pump();
      attend(peer);
    }
  }

  /// Begins or goes on to make a connection.
  void call_up(rank_type peer) {
    if (dials_[peer] == nullptr) {
      dials_[peer] = std::make_unique<dial>(waiter_, addresses_[peer], greet(greeting::hello, peer), options_.connect);
      calling_.push_back(peer);
    }
    dial& d = *dials_[peer];
    d.advance();
    if (d.now() == dial::state::lost) {
      return lose(peer);
    }
    if (d.now() != dial::state::answered) {
      return;
    }
    hello const answer = d.answer();
    char const* const objection = answer.from == peer ? answer.objection(world_, rank_, size()) : "another rank";
    if (objection != nullptr) {
      note("where rank " + std::to_string(peer) + " listened, somebody else answers: " + objection);
      lose(peer);
    } else if (answer.kind == greeting::welcome) {
      descriptor socket = d.take();
      establish(peer, std::move(socket), answer);
    } else if (answer.kind == greeting::revoke) {
      d.wait_for_peer();
      hear(tutti::fault::unpack(answer.fault));
    } else {
      d.wait_for_peer();
    }
  }

  void keep_calling(bool all) {
    for (std::size_t i = 0; i < calling_.size(); ++i) {
      rank_type const peer = calling_[i];
      if (all || dials_[peer]->now() == dial::state::idle) {
        call_up(peer);
      }
    }
    news_.advance();
  }

  void open_door() {
    door_.answer(
        waiter_, [&](descriptor socket, hello const& h) { welcome(std::move(socket), h); },
        [&](std::string text) { note(std::move(text)); });
  }

  /// Somebody has said who he is.
  void welcome(descriptor socket, hello const& h) {
    char const* const objection = h.objection(world_, rank_, size());
    if (objection != nullptr || (h.kind != greeting::hello && h.kind != greeting::revoke)) {
      return note("refused a connection from " + peer_address(socket.get()).text() + ": " +
                  (objection != nullptr ? objection : "nonsense"));
    }
    if (h.kind == greeting::revoke) {
      hear(tutti::fault::unpack(h.fault));
    }
    dial const* const own = dials_[h.from].get();
    bool const crossed =
        links_[h.from] != nullptr || (own != nullptr && own->now() == dial::state::under_way && rank_ < h.from);
    greeting const kind = fault() ? greeting::revoke : crossed ? greeting::crossed : greeting::welcome;
    hello const answer = greet(kind, h.from);
    moved const m = write_some(socket.get(), std::as_bytes(std::span(&answer, 1)));
    if (m.state == io::done && kind == greeting::welcome) {
      establish(h.from, std::move(socket), h);
    }
  }

  void spread(rank_type peer) {
    if (!news_.tell(*links_[peer])) {
      send_messenger(peer);
    }
  }
  void send_messenger(rank_type peer) {
    news_.send_messenger(waiter_, addresses_[peer], greet(greeting::revoke, peer), options_.connect);
  }

  /// Says goodbye, and stays until what was accepted has been handed over.
  void leave() {
    leaving_ = true;
    if (!fault()) {
      for (rank_type const peer : up_) {
        if (!links_[peer]->out.torn()) {
          links_[peer]->out.tell({.kind = frame_kind::bye});
        }
      }
    }
    // After a fault nobody waits for data; the news has no need of more than a moment.
    duration const patience = fault() ? std::min<duration>(options_.linger, std::chrono::seconds(1)) : options_.linger;
    time_point const deadline = steady_now() + patience;
    for (;;) {
      keep_calling(true);
      bool delivered = news_.spread();
      for (std::size_t i = 0; i < up_.size(); ++i) {  // there may come to be more
        rank_type const peer = up_[i];
        service(peer);
        link const& l = *links_[peer];
        delivered = delivered && (l.over || l.out.torn() || (fault() ? l.out.empty() : l.delivered()));
      }
      if (delivered || steady_now() > deadline) {
        return;
      }
      pollfd handle{arm(), POLLIN, 0};
      ::poll(&handle, 1, 1);
      disarm();
    }
  }

  tcp_options options_;
  rank_type rank_;
  world_id world_{};
  std::vector<address> addresses_;
  waiter waiter_;
  door door_;
  parcel_pool pool_;
  std::vector<std::unique_ptr<link>> links_;
  std::vector<std::unique_ptr<dial>> dials_;
  std::vector<rank_type> up_;       ///< to whom there is a connection
  std::vector<rank_type> calling_;  ///< to whom one is being made
  std::vector<std::string> incidents_;
  news news_;
  time_point last_asked_{};
  bool armed_ = false;
  bool asking_around_ = false;
  bool leaving_ = false;
};

}  // namespace tutti::net
