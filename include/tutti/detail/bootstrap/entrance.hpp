// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/claim.hpp>
#include <tutti/detail/bootstrap/pending_hello.hpp>
#include <tutti/detail/net/handshake_server.hpp>
#include <tutti/detail/net/proof.hpp>
#include <tutti/extend/types.hpp>

#include <algorithm>
#include <cstddef>
#include <poll.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline bootstrap {

/// The connections that have not said hello yet. Of a world with a secret each has to claim a rank first, and then
/// waits in a second room, so that a flood of strangers pushes no member out between its claim and its hello.
///
/// A member claims a rank again if it was turned away. So the room has two places for each rank, and a third claim
/// takes the place of the older one of its rank. A stranger may repeat a claim that it has heard, so a claim counts
/// once: the last 256 of each rank are remembered. A stranger that has recorded n claims of a rank at earlier meetings
/// of this world, up to 256, pushes that rank out n / 2 times at most.
///
/// The handler is that of a `handshake_server`. `arrive` takes hellos only.
class entrance {
 public:
  /// @param key the world's, or none
  /// @param ranks the number of ranks that may come
  /// @param world the text of claims to ranks of this world
  entrance(net::proof_key const& key, rank_type ranks, std::string_view world = {})
      : key_(key), mark_(key ? mark_of(key, world) : std::string()), ranks_(ranks), nonces_(key ? ranks + 1 : 0) {}

  [[nodiscard]] bool empty() const noexcept { return pending_.empty() && claimants_.empty(); }
  /// The errno if the last accept failed for lack of descriptors or memory, else 0.
  [[nodiscard]] int resource_error() const noexcept { return pending_.resource_error(); }
  void clear() {
    pending_ = {};
    claimants_.clear();
  }

  template <class Handler>
  void accept_some(int listener, Handler& handler) {
    first_room<Handler> room{*this, handler};
    pending_.accept_some(listener, room);
    if (resource_error() != 0 && pending_.empty() && !claimants_.empty()) {
      handler.turn_away(take(0), "it made room for a newer connection");
      pending_.accept_some(listener, room);
    }
  }
  void append_to(std::vector<pollfd>& set) const {
    pending_.append_to(set);
    for (pending_hello const& p : claimants_) {
      set.push_back({p.fd(), POLLIN, 0});
    }
  }
  /// Reads the connections that are ready by the entries of `append_to`, from `first` on.
  /// @pre these are the last entries
  template <class Handler>
  void hear_ready(std::vector<pollfd> const& set, std::size_t first, Handler& handler) {
    std::size_t const second = set.size() - claimants_.size();
    for (std::size_t i = claimants_.size(); i-- > 0;) {
      if (set[second + i].revents != 0) {
        hear_claimant(i, handler);
      }
    }
    first_room<Handler> room{*this, handler};
    pending_.hear_ready(set, first, room);
  }
  template <class Handler>
  void hear_all(Handler& handler) {
    first_room<Handler> room{*this, handler};
    pending_.hear_all(room);
    for (std::size_t i = claimants_.size(); i-- > 0;) {
      hear_claimant(i, handler);
    }
  }

 private:
  /// The handler of the first room.
  template <class Handler>
  struct first_room {
    entrance& owner;
    Handler& handler;

    [[nodiscard]] pending_hello begin(descriptor s) const {
      pending_hello p = handler.begin(std::move(s));
      p.expected_kind = owner.key_ ? bootstrap_frame_kind::claim : bootstrap_frame_kind::hello;
      return p;
    }
    [[nodiscard]] net::handshake_state hear(pending_hello& p) const { return handler.hear(p); }
    void turn_away(pending_hello const& p, char const* reason) const { handler.turn_away(p, reason); }
    void arrive(pending_hello p) const {
      if (owner.key_) {
        owner.challenge(std::move(p), handler);
      } else {
        handler.arrive(std::move(p));
      }
    }
  };

  template <class Handler>
  TUTTI_COLD void challenge(pending_hello p, Handler& handler) {
    auto const claim = read_claim(key_, p.frame.payload);
    if (!claim) {
      return handler.turn_away(p, "it does not know this TUTTI_SECRET");
    }
    // Ranks of other worlds share two places; they are told why they do not fit.
    p.rank = claim->rank;
    p.place = claim->mark == mark_ ? (std::min)(p.rank, ranks_) : ranks_;
    if (!note(nonces_[p.place], claim->nonce)) {
      return handler.turn_away(p, "it repeats the claim of a rank");
    }
    auto const is_rival = [&](pending_hello const& other) { return other.place == p.place; };
    auto const older = std::find_if(claimants_.begin(), claimants_.end(), is_rival);
    if (std::count_if(older, claimants_.end(), is_rival) == 2) {
      handler.turn_away(take(static_cast<std::size_t>(older - claimants_.begin())),
                        "it made room for a newer connection of its rank");
    }
    answer_claim(p.line, key_, *claim);
    p.expected_kind = bootstrap_frame_kind::hello;
    claimants_.push_back(std::move(p));
  }

  template <class Handler>
  TUTTI_COLD void hear_claimant(std::size_t i, Handler& handler) {
    net::handshake_state const state = handler.hear(claimants_[i]);
    if (state.objection != nullptr) {
      handler.turn_away(take(i), state.objection);
    } else if (state.complete) {
      handler.arrive(take(i));
    }
  }

  /// Adds a nonce to the last ones of a place. Returns false if it is one of them.
  [[nodiscard]] static bool note(std::string& nonces, std::string_view nonce) {
    constexpr std::size_t limit = 256;
    for (std::size_t i = 0; i < nonces.size(); i += nonce_size) {
      if (nonces.compare(i, nonce_size, nonce) == 0) {
        return false;
      }
    }
    nonces.erase(0, nonces.size() == limit * nonce_size ? nonce_size : 0);
    nonces += nonce;
    return true;
  }

  /// Removes a connection from the second room.
  [[nodiscard]] pending_hello take(std::size_t i) {
    pending_hello p = std::move(claimants_[i]);
    claimants_.erase(claimants_.begin() + static_cast<std::ptrdiff_t>(i));
    return p;
  }

  net::proof_key key_;
  std::string mark_;
  rank_type ranks_;
  std::vector<std::string> nonces_;  ///< nonces of the last claims, by place
  net::handshake_server<pending_hello> pending_;
  std::vector<pending_hello> claimants_;  ///< in order of arrival
};

}  // namespace tutti::detail::bootstrap
