// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

/// What may wait in the device, by what has come and what has been seen to leave: at least what does wait. So it says
/// when the device had room for certain, whatever it says itself.
class room {
 public:
  /// `beats`: payloads that the device has memory for.
  explicit room(std::size_t beats) : most_beats_(beats - margin) {}

  /// A packet that is kept has come.
  void came(std::uint64_t number, std::size_t payload_bytes) {
    std::size_t const beats = (payload_bytes + 63) / 64;
    packets_.push_back(number);
    payloads_.push_back({number, beats});
    beats_ += beats;
  }
  /// An answer to a packet has left: all packets until that one have been looked at. If it carries elements, payloads
  /// until then have been taken, too: both are done in order.
  void answered(std::uint64_t number, bool with_elements) {
    for (; !packets_.empty() && packets_.front() <= number; packets_.pop_front()) {
    }
    for (; with_elements && !payloads_.empty() && payloads_.front().number <= number; payloads_.pop_front()) {
      beats_ -= payloads_.front().beats;
    }
  }
  /// Nothing is inside any more.
  void clear() {
    packets_.clear();
    payloads_.clear();
    beats_ = 0;
  }
  /// Whether a frame that begins now may be without room.
  [[nodiscard]] bool may_lack() const noexcept { return beats_ > most_beats_ || packets_.size() >= most_packets; }

 private:
  static constexpr std::size_t margin = 40;        ///< beats that are kept free, for frames that have begun
  static constexpr std::size_t most_packets = 48;  ///< that wait

  struct payload {
    std::uint64_t number;
    std::size_t beats;
  };
  std::size_t most_beats_;
  std::size_t beats_ = 0;
  std::deque<std::uint64_t> packets_{};
  std::deque<payload> payloads_{};
};
