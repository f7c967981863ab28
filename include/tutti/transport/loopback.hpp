// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/shared_memory/common_places.hpp>
#include <tutti/detail/shared_memory/large_elements.hpp>
#include <tutti/detail/shared_memory/loopback_world.hpp>
#include <tutti/detail/shared_memory/outbox.hpp>
#include <tutti/extend/rendezvous.hpp>
#include <tutti/extend/transport.hpp>

#include <string>

namespace tutti::inline v0_1_0 {

/// Ranks are threads of one process. A short message travels in one cache line or two; a longer one is copied to
/// a chunk that the receiver combines straight out of; a long one stays where it is, and the receiver
/// combines straight out of the sender's buffer.
///
/// Cost: 576 bytes for each ordered pair of ranks and lane, and one descriptor per rank.
/// Thread safety: one thread at a time, each rank's own; instances are independent.
class loopback {
  using world = detail::loopback_world;
  using endpoint_type = detail::mailbox_endpoint<detail::common_places>;

 public:
  static constexpr std::string_view name = "loopback";
  static constexpr bool in_process = true;
  static constexpr bool only_wakes = true;
  static constexpr bool known_by_world = true;

  /// Collective. @throws error(failure::join) when the ranks are not threads of one process, or it
  /// has no descriptors left; and what the rendezvous throws.
  template <rendezvous M>
  explicit loopback(M& meet)
      : world_(join(meet)),
        endpoint_(world_->segment(), meet, detail::common_places{}, world_->bells(), world_->barrier()),
        out_(endpoint_, world_->chunks(meet.rank())),
        elements_(meet.size()) {}

  loopback(loopback const&) = delete;
  loopback& operator=(loopback const&) = delete;
  /// Leaves. Peers that still wait for something from this rank get failure::peer_lost.
  TUTTI_COLD ~loopback() { endpoint_.leave(all_live); }

  [[nodiscard]] rank_type rank() const noexcept { return endpoint_.rank(); }
  [[nodiscard]] rank_type size() const noexcept { return endpoint_.size(); }

  void begin(flow s, call const& what) noexcept {
    endpoint_.begin(s, what);
    out_.begin(s, what);
  }
  void end(flow) noexcept {}
  void next_message(flow s, bool same) noexcept { out_.next_message(s, same); }

  /// Whether a peer would read these bytes where they are.
  [[nodiscard]] bool shares(rank_type, flow s, std::span<std::byte const> bytes) const noexcept {
    return out_.shares(s, bytes.size());
  }

  sent send(rank_type peer, flow s, std::span<std::byte const> bytes, std::size_t granule) {
    return out_.send(peer, s, bytes, granule, shares(peer, s, bytes));
  }
  sent lend(rank_type peer, flow s, std::span<std::byte const> bytes, std::size_t granule, std::byte* back) {
    return out_.lends(bytes.size()) ? out_.lend(peer, s, bytes, back) : send(peer, s, bytes, granule);
  }
  sent give_back(rank_type peer, flow s, std::span<std::byte const> bytes, std::size_t granule) {
    return endpoint_.holds(peer, s, bytes.size()) ? endpoint_.give_back(peer, s, bytes) : send(peer, s, bytes, granule);
  }
  [[nodiscard]] std::byte* home(rank_type peer, flow s) noexcept { return endpoint_.home(peer, s); }
  [[nodiscard]] bool released(rank_type peer, flow s, ticket k) noexcept { return endpoint_.released(peer, s, k); }

  chunk view(rank_type peer, flow s, wanted const& w) {
    if (w.granule > out_.chunk_bytes()) [[unlikely]] {
      return elements_.view(
          peer, s.lane, w.granule, [&] { return endpoint_.view(peer, s); }, [&] { endpoint_.release(peer, s); });
    }
    return endpoint_.view(peer, s);
  }
  void release(rank_type peer, flow s) noexcept {
    elements_.release(peer, s.lane);
    endpoint_.release(peer, s);
  }
  void inquire(rank_type peer, flow s) { endpoint_.inquire(peer, s); }
  [[nodiscard]] bool has_left(rank_type peer) const noexcept { return endpoint_.departed(peer); }
  void say(wait_report const& w) noexcept { endpoint_.say(w); }
  bool ask(rank_type peer) noexcept { return endpoint_.ask(peer); }
  [[nodiscard]] wait_report said(rank_type r, std::uint32_t lane) const noexcept { return endpoint_.said(r, lane); }
  void poll() noexcept {}

  int arm() noexcept {
    endpoint_.sleep();
    return world_->bells().of(rank());
  }
  void disarm() noexcept {
    endpoint_.wake();
    world_->bells().silence(rank());
  }

  [[nodiscard]] time_point now() const noexcept { return steady_now(); }
  [[nodiscard, gnu::always_inline]] tutti::fault fault() const noexcept { return endpoint_.fault(); }
  /// Threads do not die alone, and those that leave say so.
  void look() noexcept {}
  void revoke(tutti::fault why) noexcept { endpoint_.revoke(why); }
  void excuse(tutti::fault const& why) noexcept { endpoint_.excuse(why); }
  void quiesce() noexcept { endpoint_.quiesce(all_live); }

 private:
  static constexpr auto all_live = [](rank_type) noexcept { return true; };

  template <rendezvous M>
  static world::handle join(M& meet) {
    std::string text;
    world::handle joined = meet.rank() == 0 ? world::create(meet.size(), text) : world::handle();
    text = meet.exchange(text)[0];
    if (meet.rank() != 0) {
      joined = world::find(text);
    }
    if (joined && !text.empty()) {
      joined->segment().construct(meet.rank());
    }
    auto const ready = meet.exchange(joined ? "yes" : "no");
    for (rank_type r = 0; r < meet.size(); ++r) {
      if (text.empty() || ready[r] != "yes") {
        world::refuse(detail::world_rank(meet, meet.rank()), detail::world_rank(meet, r), text.empty());
      }
    }
    return joined;
  }

  world::handle world_;
  endpoint_type endpoint_;
  detail::outbox<endpoint_type> out_;
  detail::large_elements elements_;
};

}  // namespace tutti

#ifdef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/instances/loopback.hpp>
#endif
