// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/owned.hpp>
#include <tutti/extend/message.hpp>

#include <cstring>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// The messages that peers copy out of this rank's private memory by themselves, until they have released them.
///
/// That a peer could read this rank's memory once does not mean that it can read each message: the memory may be secret
/// (memfd_secret), and either process may have given up the right since, by another user or as one that must not be
/// dumped. Then the peer asks for the message part by part, and this rank copies each part to a chunk of shared memory.
/// That peer is sent no more such messages.
class attached_messages {
 public:
  explicit attached_messages(rank_type size) : refused_by_(size) {
    for (rank_type peer = 0; peer != size; ++peer) {
      refused_by_[peer] = false;
    }
  }

  /// True if the peer has failed to read a message by itself.
  [[nodiscard]] bool refused_by(rank_type peer) const noexcept { return refused_by_[peer]; }
  [[nodiscard]] bool empty() const noexcept { return messages_.empty(); }

  void add(rank_type peer, std::uint32_t lane, ticket until, std::span<std::byte const> bytes) {
    messages_.push_back({peer, lane, until, bytes, nullptr});
  }

  /// Answers the peers that have asked for a part, and forgets the messages that have been released.
  template <class Endpoint, class Outbox>
  void serve(Endpoint& endpoint, Outbox& out) {
    if (endpoint.fault()) {
      messages_.clear();  // their memory may be the caller's again
    }
    for (std::size_t i = messages_.size(); i-- != 0;) {
      message& m = messages_[i];
      if (endpoint.taken(m.peer, m.lane, m.until)) {
        m = messages_.back();
        messages_.pop_back();
        continue;
      }
      auto const wanted = endpoint.part_to_copy(m.peer, m.lane, m.until);
      if (wanted.bytes == 0) {
        continue;
      }
      refused_by_[m.peer] = true;
      if (m.chunk == nullptr) {
        m.chunk = out.reserve(m.peer, m.lane, m.until);
      }
      if (m.chunk != nullptr) {
        std::memcpy(m.chunk, m.bytes.data() + wanted.begin, wanted.bytes);
        endpoint.give_part(m.peer, m.lane, m.chunk);
      }
    }
  }

 private:
  struct message {
    rank_type peer;
    std::uint32_t lane;
    ticket until;
    std::span<std::byte const> bytes;
    std::byte* chunk;  ///< where its parts are copied to, once one was asked for
  };

  owned_array<bool> refused_by_;
  std::vector<message> messages_;
};

}  // namespace tutti::detail::shared_memory
