// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/monitor.hpp>
#include <tutti/detail/core/owned.hpp>
#include <tutti/detail/shared_memory/common_places.hpp>
#include <tutti/detail/shared_memory/event_doorbells.hpp>
#include <tutti/detail/shared_memory/large_elements.hpp>
#include <tutti/detail/shared_memory/outbox.hpp>
#include <tutti/rendezvous.hpp>
#include <tutti/transport/concept.hpp>

#include <new>
#include <thread>

namespace tutti {

/// What the threads of one loopback world share. It lives until the last of them leaves.
template <class Doorbells>
class loopback_world {
 public:
  struct leave {
    void operator()(loopback_world* world) const noexcept {
      {
        detail::held const lock(guard());
        if (--world->holders_ != 0) {
          return;
        }
        for (loopback_world** at = &first(); *at != nullptr; at = &(*at)->next_) {
          if (*at == world) {
            *at = world->next_;
            break;
          }
        }
      }
      delete world;
    }
  };
  using handle = detail::owned<loopback_world, leave>;

  /// A new world, and the text by which others of this process find it.
  static handle create(rank_type n, std::string& text) {
    handle world(new loopback_world(n));
    detail::held const lock(guard());
    world->number_ = ++last();
    world->next_ = std::exchange(first(), world.get());
    text = std::to_string(::getpid()) + ":" + std::to_string(world->number_);
    return world;
  }
  /// Null when there is no such world in this process.
  [[nodiscard]] static handle find(std::string_view text) {
    detail::held const lock(guard());
    for (loopback_world* w = first(); w != nullptr; w = w->next_) {
      if (text == std::to_string(::getpid()) + ":" + std::to_string(w->number_)) {
        ++w->holders_;
        return handle(w);
      }
    }
    return handle();
  }

  loopback_world(loopback_world const&) = delete;
  loopback_world& operator=(loopback_world const&) = delete;

  [[nodiscard]] detail::mail_segment& segment() noexcept { return segment_; }
  /// What a rank copies messages to.
  [[nodiscard]] detail::chunk_ring chunks(rank_type r) const {
    return {segment_.base() + chunks_begin(segment_.size()) + r * shape_.bytes(), shape_};
  }
  [[nodiscard]] Doorbells& bells() noexcept { return bells_; }
  [[nodiscard]] detail::sleep_barrier barrier() const noexcept { return barrier_; }

 private:
  explicit loopback_world(rank_type n)
      : shape_(detail::ring_shape::suiting(n > std::thread::hardware_concurrency())),
        segment_(static_cast<std::byte*>(::operator new(chunks_begin(n) + n * shape_.bytes(), std::align_val_t{page})),
                 n),
        bells_(n),
        barrier_(detail::sleep_barrier::offered(n)) {}
  ~loopback_world() { ::operator delete(segment_.base(), std::align_val_t{page}); }

  static constexpr std::size_t page = 4096;
  [[nodiscard]] static constexpr std::size_t chunks_begin(rank_type n) noexcept {
    return (detail::mail_segment::bytes(n) + page - 1) / page * page;
  }

  // The worlds of this process, a list; one that was found cannot go away before it is held.
  static detail::monitor& guard() noexcept {
    static detail::monitor m;
    return m;
  }
  static loopback_world*& first() noexcept {
    static loopback_world* w = nullptr;
    return w;
  }
  static std::uint64_t& last() noexcept {
    static std::uint64_t n = 0;
    return n;
  }

  detail::ring_shape shape_;
  detail::mail_segment segment_;
  Doorbells bells_;
  detail::sleep_barrier barrier_;
  std::uint64_t number_ = 0;
  std::uint32_t holders_ = 1;
  loopback_world* next_ = nullptr;
};

/// Ranks are threads of one process. A short message travels in one cache line or two; a longer one is copied to
/// a chunk that the receiver combines straight out of; a long one stays where it is, and the receiver
/// combines straight out of the sender's buffer.
///
/// Cost: 576 bytes for each ordered pair of ranks and lane, and one descriptor per rank.
template <class Doorbells>
class basic_loopback {
  using world = loopback_world<Doorbells>;
  using endpoint_type = detail::mailbox_endpoint<Doorbells, detail::common_places>;

 public:
  static constexpr std::string_view name = "loopback";
  static constexpr bool in_process = true;
  static constexpr bool known_by_world = true;

  /// Collective. @throws error(failure::join) when the ranks are not threads of one process, or it
  /// has no descriptors left; and what the rendezvous throws.
  template <rendezvous M>
  explicit basic_loopback(M& meet)
      : world_(join(meet)),
        endpoint_(world_->segment(), meet, detail::common_places{}, world_->bells(), world_->barrier()),
        out_(endpoint_, world_->chunks(meet.rank())),
        elements_(meet.size()) {}

  basic_loopback(basic_loopback const&) = delete;
  basic_loopback& operator=(basic_loopback const&) = delete;
  /// Leaves. Peers that still wait for something from this rank get failure::peer_lost.
  ~basic_loopback() { endpoint_.leave(lives); }

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
  void quiesce() noexcept { endpoint_.quiesce(lives); }

 private:
  static bool lives(rank_type) noexcept { return true; }

  template <rendezvous M>
  static typename world::handle join(M& meet) {
    typename world::handle joined;
    std::string text;
    if (meet.rank() == 0) {
      joined = world::create(meet.size(), text);
      if (!joined->bells().complete()) {
        text.clear();
      }
    }
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
        throw error(failure::join, text.empty() ? "no file descriptors left for the doorbells of a loopback world"
                                                : "loopback joins threads of one process, and rank " +
                                                      std::to_string(detail::world_rank(meet, r)) +
                                                      " is in another; use shared_memory or tcp")
            .between(detail::world_rank(meet, meet.rank()), {detail::world_rank(meet, r)});
      }
    }
    return joined;
  }

  typename world::handle world_;
  endpoint_type endpoint_;
  detail::outbox<endpoint_type> out_;
  detail::large_elements elements_;
};

using loopback = basic_loopback<detail::event_doorbells>;

}  // namespace tutti
