// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

/// Upper bound of the packets that wait in the device, from the frames received and sent. So it tells when the device
/// had room for certain, whatever the device says.
class room {
 public:
  /// `beats`: payload memory of the device.
  explicit room(std::size_t beats) : max_beats_(beats - margin) {}

  /// Adds a packet that the device stores.
  void add_packet(std::uint64_t number, std::size_t payload_bytes) {
    std::size_t const beats = (payload_bytes + 63) / 64;
    packets_.push_back(number);
    payloads_.push_back({number, beats});
    beats_ += beats;
  }
  /// Handles an answer to a packet: all earlier packets have been handled. If it carries elements, all earlier
  /// payloads have been read, because both happen in order.
  void release_packets(std::uint64_t number, bool with_elements) {
    for (; !packets_.empty() && packets_.front() <= number; packets_.pop_front()) {
    }
    for (; with_elements && !payloads_.empty() && payloads_.front().number <= number; payloads_.pop_front()) {
      beats_ -= payloads_.front().beats;
    }
  }
  /// Empties the account.
  void clear() {
    packets_.clear();
    payloads_.clear();
    beats_ = 0;
  }
  /// True if a frame that begins now may find no room.
  [[nodiscard]] bool may_lack() const noexcept { return beats_ > max_beats_ || packets_.size() >= max_packets; }

 private:
  static constexpr std::size_t margin = 40;       ///< beats reserved for frames that have begun
  static constexpr std::size_t max_packets = 48;  ///< maximum of waiting packets

  struct payload {
    std::uint64_t number;
    std::size_t beats;
  };
  std::size_t max_beats_;
  std::size_t beats_ = 0;
  std::deque<std::uint64_t> packets_{};
  std::deque<payload> payloads_{};
};
