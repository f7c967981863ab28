// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/owner.hpp>
#include <tutti/extend/message.hpp>

#include <cstring>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// Messages in this rank's private memory that peers copy by themselves ("cross-memory attach"), until they release
/// them.
///
/// A peer that could read this memory when it joined may fail at a message: the memory is secret (memfd_secret), or a
/// process has changed its user or must not be dumped. Then the peer requests the message part by part, and this rank
/// copies each part to a chunk of shared memory. That peer gets no more such messages.
class attached_messages {
 public:
  explicit attached_messages(rank_type size) : refusals_(size) {
    for (rank_type peer = 0; peer != size; ++peer) {
      refusals_[peer] = false;
    }
  }

  /// True if the peer has failed to read a message by itself.
  [[nodiscard]] bool has_refused(rank_type peer) const noexcept { return refusals_[peer]; }
  [[nodiscard]] bool empty() const noexcept { return messages_.empty(); }

  void add(rank_type peer, std::uint32_t lane, ticket number, std::span<std::byte const> bytes) {
    messages_.push_back({peer, lane, number, bytes, nullptr});
  }

  /// Copies the parts that peers have requested, and forgets released messages.
  template <class Endpoint, class Outbox>
  void serve(Endpoint& endpoint, Outbox& outbox) {
    if (endpoint.fault()) {
      messages_.clear();  // the caller may reuse their memory
    }
    for (std::size_t i = messages_.size(); i-- != 0;) {
      message& entry = messages_[i];
      if (endpoint.acknowledged_or_gone(entry.peer, entry.lane, entry.number)) {
        entry = messages_.back();
        messages_.pop_back();
        continue;
      }
      auto const request = endpoint.part_to_copy(entry.peer, entry.lane, entry.number);
      if (request.bytes == 0) {
        continue;
      }
      refusals_[entry.peer] = true;
      if (entry.chunk == nullptr) {
        entry.chunk = outbox.reserve(entry.peer, entry.lane, entry.number);
      }
      if (entry.chunk != nullptr) {
        std::memcpy(entry.chunk, entry.bytes.data() + request.begin, request.bytes);
        endpoint.give_part(entry.peer, entry.lane, entry.chunk);
      }
    }
  }

 private:
  struct message {
    rank_type peer;
    std::uint32_t lane;
    ticket number;
    std::span<std::byte const> bytes;
    std::byte* chunk;  ///< holds its parts once one is requested
  };

  owned_array<bool> refusals_;
  std::vector<message> messages_;
};

}  // namespace tutti::detail::shared_memory
