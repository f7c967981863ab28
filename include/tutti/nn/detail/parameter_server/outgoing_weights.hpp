// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/request.hpp>
#include <tutti/nn/detail/parameter_server/key_range.hpp>
#include <tutti/nn/detail/parameter_server/peer_channel.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::nn::parameter_server::detail {

/// Weights being sent to one worker. They are a copy, because updates may change the weights meanwhile.
class outgoing_weights {
 public:
  /// @param shard the keys that may be sent
  explicit outgoing_weights(key_range shard) : first_(shard.begin), copy_(shard.size()) {}

  /// The memory for the weights of these keys. Waits until weights sent from it before have left.
  /// @throws error
  [[nodiscard]] std::span<float> buffer(key_range keys) {
    for (auto& entry : packets_) {
      if (entry.keys.overlaps(keys)) {
        entry.sending.wait();
      }
    }
    std::erase_if(packets_, [](packet const& entry) { return !entry.sending.valid(); });
    return std::span(copy_).subspan(keys.begin - first_, keys.size());
  }
  void send(peer_channel& channel, key_range keys) {
    std::span<float const> const numbers(copy_);
    packets_.push_back({keys, channel.send(numbers.subspan(keys.begin - first_, keys.size()))});
  }
  /// Waits until all weights have been sent.
  /// @throws error
  void finish() {
    for (auto& entry : packets_) {
      entry.sending.wait();
    }
    packets_.clear();
  }

 private:
  struct packet {
    key_range keys;
    request sending;
  };

  std::size_t first_;
  std::vector<float> copy_;
  std::vector<packet> packets_;
};

}  // namespace tutti::nn::parameter_server::detail
