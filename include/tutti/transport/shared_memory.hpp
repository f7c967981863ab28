// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/bootstrap/concept.hpp>
#include <tutti/core/expects.hpp>
#include <tutti/transport/chunk_pool.hpp>
#include <tutti/transport/concept.hpp>
#include <tutti/transport/datagram_doorbells.hpp>
#include <tutti/transport/mailroom.hpp>
#include <tutti/transport/shared_world.hpp>

#include <cstring>

namespace tutti {

/// Ranks are processes of one host. A short message travels in one cache line; a longer one is
/// copied once, into a chunk of shared memory, and the receiver combines straight out of that. What
/// already lies in the shared memory - a buffer by tutti::allocator - is not copied: the receiver reads
/// it where it is.
///
/// Cost: 576 bytes for each ordered pair of ranks and lane, the chunks, one file and one socket.
/// A process that is killed leaves nothing behind.
template <class Doorbells>
class basic_shared_memory {
 public:
  static constexpr std::string_view name = "shared_memory";
  static constexpr bool in_process = false;
  using options = shared_memory_options;

  /// Collective. @throws error(failure::join) on every rank when one cannot map the memory or there
  /// is not enough of it; and what the rendezvous throws.
  template <rendezvous M>
  explicit basic_shared_memory(M& meet, options const& o = {})
      : world_(meet, o),
        room_(world_.mail(), meet.rank(), meet.size(), world_.base(), world_.bells()),
        pool_(world_.pool(meet.rank()), world_.shape().chunk_bytes, world_.shape().chunks) {}

  basic_shared_memory(basic_shared_memory const&) = delete;
  basic_shared_memory& operator=(basic_shared_memory const&) = delete;
  /// Leaves. Peers that still wait for something from this rank get failure::peer_lost.
  ~basic_shared_memory() {
    room_.leave([this](rank_type r) { return lives(r); });
  }

  [[nodiscard]] rank_type rank() const noexcept { return room_.rank(); }
  [[nodiscard]] rank_type size() const noexcept { return room_.size(); }

  void begin(stream s, call const& what) noexcept { room_.begin(s, what); }
  void end(stream) noexcept {}

  /// Whether peers would read these bytes where they are.
  [[nodiscard]] bool shares(std::span<std::byte const> bytes) const noexcept {
    return bytes.size() > mailbox::slot::room && world_.contains(bytes);
  }

  /// @pre granule fits a chunk
  sent send(rank_type peer, stream s, std::span<std::byte const> bytes, std::size_t granule) {
    if (bytes.size() <= mailbox::slot::room) {
      return room_.post(peer, s, bytes);
    }
    if (world_.contains(bytes)) {
      return room_.lend(peer, s, bytes.first(whole(bytes.size(), mailbox::slot::longest, granule)));
    }
    if (room_.full(peer, s)) {
      return {};
    }
    std::byte* const to = pool_.next(s.lane, [&](rank_type r, ticket k) { return room_.taken(r, s.lane, k); });
    if (to == nullptr) {
      // Pairs of ranks that send and recv must not wait for each other: the slots belong to one pair.
      bool const fits = s.lane == transfer_lane && granule <= mailbox::slot::room;
      return fits ? room_.post(peer, s, bytes.first(whole(bytes.size(), mailbox::slot::room, granule))) : sent{};
    }
    std::size_t const n = whole(bytes.size(), pool_.chunk_bytes(), granule);
    expects(n != 0, "an element is larger than shared_memory_options::chunk_bytes; make the chunks larger");
    std::memcpy(to, bytes.data(), n);
    pool_.lend(s.lane, peer, room_.point_to(peer, s, {to, n}).until);
    return {true, n, 0};
  }
  [[nodiscard]] bool released(rank_type peer, stream s, ticket k) noexcept { return room_.released(peer, s, k); }

  /// Where tutti::allocator takes buffers from that peers read without a copy.
  [[nodiscard]] counted<memory_source> memory() const noexcept { return world_.arena(); }

  chunk view(rank_type peer, stream s, wanted) { return room_.view(peer, s); }
  void release(rank_type peer, stream s) noexcept { room_.release(peer, s); }
  void inquire(rank_type peer, stream s) { room_.inquire(peer, s); }
  void poll() noexcept {}

  int arm() noexcept {
    room_.sleep();
    return world_.bells().own();
  }
  void disarm() noexcept {
    room_.wake();
    world_.bells().silence();
  }

  [[nodiscard]] time_point now() const noexcept { return steady_now(); }
  [[nodiscard]] tutti::fault fault() const noexcept { return room_.fault(); }
  /// Cost: one system call per peer.
  void look() noexcept {
    for (rank_type r = 0; r < size() && !fault(); ++r) {
      if (!lives(r)) {
        room_.poison({failure::peer_lost, r, rank()});
      }
    }
  }
  void poison(tutti::fault why) noexcept { room_.poison(why); }
  void quiesce() noexcept {
    room_.quiesce([this](rank_type r) { return lives(r); });
  }

 private:
  static std::size_t whole(std::size_t bytes, std::size_t most, std::size_t granule) noexcept {
    return bytes <= most ? bytes : most - most % granule;
  }

  /// Not so for a process that died. One that left has said so before it let go of its lock.
  [[nodiscard]] bool lives(rank_type r) const noexcept {
    return r == rank() || room_.departed(r) || world_.locked(r) || room_.departed(r);
  }

  shared_world<Doorbells> world_;
  mailroom<Doorbells> room_;
  chunk_pool pool_;
};

using shared_memory = basic_shared_memory<datagram_doorbells>;

}  // namespace tutti
