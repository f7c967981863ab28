// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/tcp/frame.hpp>
#include <tutti/extend/message.hpp>

namespace tutti::inline v0_1_0::detail::tcp {

/// Which rank waits for which: what the two ends of a connection have asked each other, and answered.
class standing {
 public:
  void hear(frame const& f) noexcept {
    if (f.kind == frame_kind::question) {
      asked_ = f.number;
      told_ = told_blocking_ = 0;
    } else {
      said_[f.lane] = f;
    }
  }

  /// Asks the peer once more which rank it waits for.
  [[nodiscard]] frame ask() noexcept { return {.kind = frame_kind::question, .number = ++question_}; }

  /// Whether the peer has asked, and not been told of this.
  [[nodiscard]] bool owes(wait_report const& w) const noexcept {
    return asked_ != 0 && ((w.blocks ? told_blocking_ : told_) >> w.on.lane & 1U) == 0;
  }
  /// The answer that it is owed.
  [[nodiscard]] frame answer(wait_report const& w) noexcept {
    told_ |= 1U << w.on.lane;
    told_blocking_ |= w.blocks ? 1U << w.on.lane : 0U;
    return {.kind = frame_kind::answer,
            .lane = static_cast<std::uint8_t>(w.on.lane),
            .blocks = w.blocks,
            .number = w.on.number,
            .part = w.peer,
            .bytes = std::uint64_t{w.moved} << 32 | asked_,
            .what = w.what};
  }

  /// What the peer has said last about a lane.
  [[nodiscard]] wait_report said(std::uint32_t lane) const noexcept {
    frame const& f = said_[lane];
    if (f.kind != frame_kind::answer) {
      return {};
    }
    return {.peer = f.part,
            .on = {lane, f.number},
            .moved = static_cast<std::uint32_t>(f.bytes >> 32),
            .blocks = f.blocks != 0,
            .fresh = static_cast<std::uint32_t>(f.bytes) == question_,
            .what = f.what};
  }

 private:
  std::uint32_t asked_ = 0;          ///< the number of the peer's last question
  std::uint32_t told_ = 0;           ///< the lanes that it has been told about since, as bits
  std::uint32_t told_blocking_ = 0;  ///< and that its program waits there
  std::uint32_t question_ = 0;       ///< the last one to the peer
  frame said_[lane_count];
};

}  // namespace tutti::detail::tcp
