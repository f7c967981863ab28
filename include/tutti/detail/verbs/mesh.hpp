// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/verbs/link.hpp>
#include <tutti/rendezvous.hpp>
#include <tutti/time.hpp>

#include <algorithm>
#include <memory>
#include <random>
#include <sched.h>
#include <vector>

namespace tutti::detail::rdma {

/// The links of one rank to all others, what completes on them, and faults.
class mesh {
 public:
  mesh(verbs_options const& o, std::string const& host, rank_type rank, rank_type size)
      : options_(o),
        rank_(rank),
        device_(open_device(o, host)),
        calls_memory_(device_, reinterpret_cast<std::byte const*>(calls_.get()), lane_count * sizeof(call_board),
                      access::read_by_peers),
        completions_(device_, std::uint64_t{size} * (receives + queue_pair::depth)),
        links_(size) {
    for (rank_type r = 0; r < size; ++r) {
      if (r != rank_) {
        links_[r] = std::make_unique<link>(device_, completions_, rank_, r);
        peers_.push_back(r);
      }
    }
    keep_mappings_from_children();
  }
  mesh(mesh const&) = delete;
  mesh& operator=(mesh const&) = delete;
  ~mesh() { leave(); }

  /// Not so of the copy of a forked child, which takes no part and may lack the memory: it lets go of it.
  [[nodiscard]] bool is_own() const noexcept { return owner_ == inheritance::generation(); }

  [[nodiscard]] card mine() const {
    card c;
    c.at = device_.at;
    c.lid = device_.port.lid;
    c.mtu = static_cast<std::uint32_t>(device_.port.active_mtu);
    c.longest = device_.port.max_msg_sz;
    c.reads = static_cast<std::uint32_t>(std::min(device_.limits.max_qp_rd_atom, 255));
    c.first_packet = first_packet_;
    c.calls = reinterpret_cast<std::uintptr_t>(calls_.get());
    c.calls_key = calls_memory_.remote_key();
    for (std::unique_ptr<link> const& l : links_) {
      c.queue_pairs.push_back(l ? l->queue().number() : 0);
    }
    return c;
  }
  /// @throws error(failure::join) that names both ends
  void connect(std::vector<card> const& all) {
    for (rank_type const r : peers_) {
      links_[r]->connect(all[rank_], all[r], options_);
    }
  }

  [[nodiscard]] rank_type rank() const noexcept { return rank_; }
  [[nodiscard]] rank_type size() const noexcept { return static_cast<rank_type>(links_.size()); }
  [[nodiscard]] tutti::fault const& fault() const noexcept { return fault_; }
  [[nodiscard]] link& of(rank_type peer) noexcept { return *links_[peer]; }
  [[nodiscard]] piece_pool& pool() noexcept { return pool_; }

  void begin(flow s, call const& what) noexcept {
    current& c = current_[s.lane];
    c.what = what;
    c.check = s.lane == transfer_lane ? s.number : check_of(what, s.number);
    calls_[s.lane].records[c.opened++ % call_board::kept].write(what, s.number);
  }
  [[nodiscard]] std::uint32_t check(flow s) const noexcept {
    return s.lane == transfer_lane ? s.number : current_[s.lane].check;
  }
  [[nodiscard]] call const& call_of(flow s) const noexcept { return current_[s.lane].what; }

  void poll() noexcept {
    completions_.take([this](ibv_wc const& c) {
      work_id const id = work_id::unpack(c.wr_id);
      link& l = *links_[id.peer];
      bool const was_broken = l.queue().broken();
      l.complete(id, c);
      if (l.told() && !fault_) [[unlikely]] {
        adopt(l.told());
      }
      if (l.unsound()) [[unlikely]] {
        revoke({failure::protocol, id.peer, rank_});
      }
      if (l.queue().broken() && !was_broken && !l.bye()) [[unlikely]] {
        revoke({failure::peer_lost, id.peer, rank_});
      }
      owing_ = owing_ || l.owes();
    });
    if (owing_) [[unlikely]] {
      owing_ = false;
      for (rank_type const r : peers_) {
        owing_ = links_[r]->tell_all_released() || owing_;
      }
    }
  }
  /// Like poll, and asks now and then those that say nothing whether they are there.
  void look() noexcept {
    poll();
    if (time_point const now = steady_now(); now - last_probe_ >= between_probes) {
      last_probe_ = now;
      for (rank_type const r : peers_) {
        if (!links_[r]->gone()) {
          links_[r]->queue().probe();
        }
      }
    }
  }
  [[nodiscard]] int arm() noexcept { return completions_.arm(); }
  void disarm() noexcept { completions_.disarm(); }

  /// The first fault takes precedence. Every member is told. A rank that leaves finds no more.
  void revoke(tutti::fault const& why) noexcept {
    if (!leaving_) {
      adopt(why);
    }
  }
  /// A peer that is needed has left or died.
  void miss(rank_type peer) noexcept { revoke({failure::peer_lost, peer, rank_}); }

  /// Returns when the fault has been told, and neither a peer nor the device works in this rank's memory any more. It
  /// takes a second at most.
  void quiesce() noexcept {
    if (fault_ && !stopped_) {
      settle(patience);
      stop();
    }
  }

 private:
  static constexpr duration between_probes = std::chrono::milliseconds(100);
  static constexpr duration patience = std::chrono::milliseconds(500);

  struct current {
    call what;
    std::uint32_t check = 0;
    std::uint32_t opened = 0;
  };

  /// A rank that is told a fault tells it on, for the one that found it may die meanwhile.
  void adopt(tutti::fault const& why) noexcept {
    if (fault_ || !why) {
      return;
    }
    fault_ = why;
    for (rank_type const r : peers_) {
      if (link& l = *links_[r]; !l.gone() && !l.told()) {
        l.tell(why);
      }
    }
  }

  /// Waits until all that are still there, and do not know it, have the news: the peer's device has acknowledged it, or
  /// all retries have failed.
  void settle(duration limit) noexcept {
    time_point const begin = steady_now();
    for (bool wait = true; wait;) {
      poll();
      wait = steady_now() - begin < limit && std::any_of(peers_.begin(), peers_.end(), [this](rank_type r) {
               link const& l = *links_[r];
               return !l.gone() && !l.told() && l.queue().tells();
             });
      if (wait) {
        ::sched_yield();
      }
    }
  }

  /// Ends all connections and takes memory back.
  void stop() noexcept {
    stopped_ = true;
    for (rank_type const r : peers_) {
      links_[r]->queue().stop();
    }
    time_point const end = steady_now() + patience;
    for (bool wait = true; wait && steady_now() < end;) {
      poll();
      wait = std::any_of(peers_.begin(), peers_.end(), [this](rank_type r) { return links_[r]->queue().reads(); });
    }
    for (rank_type const r : peers_) {
      if (links_[r]->queue().reads()) {
        links_[r]->queue().destroy();  // the device has not given it back in time, and has to now
      }
      links_[r]->take_back(pool_);
    }
  }

  void leave() noexcept {
    poll();
    bool const lends = std::any_of(peers_.begin(), peers_.end(), [this](rank_type r) { return links_[r]->lends(); });
    if (lends) {
      revoke({failure::cancelled, rank_, rank_});
    }
    leaving_ = true;
    if (!stopped_) {
      for (rank_type const r : peers_) {
        if (!links_[r]->gone()) {
          links_[r]->say_bye();
        }
      }
      // What was sent must arrive, and retries are finite. After a fault a peer that has heard of it may have stopped
      // its end before the acknowledgement was out.
      settle(fault_ ? patience : no_deadline);
      stop();
    }
  }

  verbs_options options_;
  rank_type rank_;
  std::uint32_t owner_ = inheritance::generation();
  std::uint32_t first_packet_ = std::random_device{}() & 0xffffffU;
  device device_;
  std::unique_ptr<call_board[]> calls_ = std::make_unique<call_board[]>(lane_count);
  registration calls_memory_;
  completions completions_;
  piece_pool pool_;
  std::vector<std::unique_ptr<link>> links_;
  std::vector<rank_type> peers_;
  current current_[lane_count];
  tutti::fault fault_{};
  time_point last_probe_{};
  bool owing_ = false;
  bool leaving_ = false;
  bool stopped_ = false;
};

/// All ranks' addresses, as exchanged; a rank that cannot take part fails all others, too.
/// @throws error(failure::join) that names it
inline std::vector<card> cards_of(std::vector<std::string> const& texts) {
  std::vector<card> all;
  for (std::string const& text : texts) {
    all.push_back(card::parse(text, static_cast<rank_type>(texts.size())));
    if (std::string const& trouble = all.back().trouble; !trouble.empty()) {
      auto const r = static_cast<rank_type>(all.size() - 1);
      throw error(failure::join, message({"rank ", r, ": ", trouble})).between(no_rank, {r});
    }
  }
  return all;
}

}  // namespace tutti::detail::rdma
