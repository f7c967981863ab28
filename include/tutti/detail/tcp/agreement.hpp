// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/mismatch.hpp>
#include <tutti/detail/tcp/frame.hpp>

#include <string>
#include <utility>

namespace tutti::detail::net {

/// Compares what two ranks say that they are doing. Of one connection.
class agreement {
 public:
  agreement(rank_type me, rank_type peer) noexcept : me_(me), peer_(peer) {}

  /// @throws error (failure::mismatch) unless the peer's message belongs to this call and has this size
  void check(frame const& theirs, stream s, call const& mine, std::size_t bytes) const {
    if (theirs.number != s.number || theirs.what.fingerprint() != mine.fingerprint()) {
      if (s.lane == transfer_lane) {  // where the number is a check of type and length
        throw messages_differ(me_, peer_);
      }
      throw calls_differ(me_, text(mine, s.number), peer_, text(theirs.what, theirs.number));
    }
    if (theirs.bytes != bytes) {
      throw calls_differ(me_, text(mine, s.number) + ", with a message of " + std::to_string(bytes) + " bytes", peer_,
                         text(theirs.what, theirs.number) + ", with one of " + std::to_string(theirs.bytes));
    }
  }

  /// Whether the peer is to be asked in which call it is on a lane, or still has to answer.
  [[nodiscard]] bool ask(std::uint32_t lane) noexcept {
    bool const first = (open_questions_ >> lane & 1U) == 0;
    open_questions_ |= 1U << lane;
    return first;
  }
  /// @throws error (failure::mismatch) if the peer has answered that it is at this stream with another call
  void check_answer(stream s, call const& mine) const {
    frame const& a = answers_[s.lane];
    if (a.bytes != 0 && a.number == s.number && a.what.fingerprint() != mine.fingerprint()) {
      throw calls_differ(me_, text(mine, s.number), peer_, text(a.what, a.number));
    }
  }

  void hear(frame const& f) noexcept {
    if (f.kind == frame_kind::inquiry) {
      asked_ |= 1U << f.lane;
    } else {
      open_questions_ &= ~(1U << f.lane);
      answers_[f.lane] = f;
    }
  }

  /// The lanes that the peer has asked about, as bits. They count as answered.
  [[nodiscard]] std::uint32_t take_questions() noexcept { return std::exchange(asked_, 0U); }

 private:
  static std::string text(call const& c, std::uint32_t number) {
    return describe(c) + " in stream " + std::to_string(number);
  }

  rank_type me_;
  rank_type peer_;
  std::uint32_t asked_ = 0;
  std::uint32_t open_questions_ = 0;
  frame answers_[lane_count];
};

}  // namespace tutti::detail::net
