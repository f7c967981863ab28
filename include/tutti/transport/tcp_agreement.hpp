// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/core/error.hpp>
#include <tutti/transport/tcp_frame.hpp>

#include <string>
#include <utility>

namespace tutti::net {

/// Compares what two ranks say that they are doing. Of one connection.
class agreement {
 public:
  agreement(rank_type me, rank_type peer) noexcept : me_(me), peer_(peer) {}

  /// @throws error (failure::mismatch) unless the peer's message belongs to this call and has this size
  void check(frame const& theirs, stream s, call const& mine, std::size_t bytes) const {
    if (theirs.number != s.number || theirs.what.fingerprint() != mine.fingerprint()) {
      differ(" called " + text(mine, s.number), " called " + text(theirs.what, theirs.number), s, mine);
    }
    if (theirs.bytes != bytes) {
      differ(" expects " + std::to_string(bytes) + " bytes in " + text(mine, s.number),
             " sends " + std::to_string(theirs.bytes), s, mine);
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
      differ(" called " + text(mine, s.number), " called " + text(a.what, a.number), s, mine);
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
    return describe(c) + " as number " + std::to_string(number);
  }
  [[noreturn]] void differ(std::string const& here, std::string const& there, stream s, call const& mine) const {
    throw error(failure::mismatch, "rank " + std::to_string(me_) + here + ", but rank " + std::to_string(peer_) +
                                       there + "; all ranks must call the same operations in the same order")
        .in(describe(mine), s.number, 0)
        .between(me_, {peer_});
  }

  rank_type me_;
  rank_type peer_;
  std::uint32_t asked_ = 0;
  std::uint32_t open_questions_ = 0;
  frame answers_[lane_count];
};

}  // namespace tutti::net
