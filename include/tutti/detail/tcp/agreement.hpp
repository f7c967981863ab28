// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/tcp/frame.hpp>

#include <cstddef>
#include <utility>

namespace tutti::inline v0_1_0::detail::tcp {

/// Compares what two ranks say that they are doing. Of one connection.
class agreement {
 public:
  agreement(rank_type me, rank_type peer) noexcept : me_(me), peer_(peer) {}

  /// @throws error (failure::mismatch) unless the peer's message belongs to this call and has this size
  void examine(frame const& theirs, flow s, call const& mine, std::size_t bytes) const {
    if (theirs.number != s.number || theirs.what.fingerprint() != mine.fingerprint() || theirs.bytes != bytes)
        [[unlikely]] {
      differ(theirs, s, mine, bytes);
    }
  }

  /// Whether the peer is to be asked in which call it is on a lane, or still has to answer.
  [[nodiscard]] bool ask(std::uint32_t lane) noexcept {
    bool const first = (open_questions_ >> lane & 1U) == 0;
    open_questions_ |= 1U << lane;
    return first;
  }
  /// @throws error (failure::mismatch) if the peer has answered that it is at this flow with another call
  void check_answer(flow s, call const& mine) const {
    frame const& a = answers_[s.lane];
    if (a.bytes != 0 && a.number == s.number && a.what.fingerprint() != mine.fingerprint()) {
      differ(a, s, mine);
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
  [[noreturn]] void differ(frame const& theirs, flow s, call const& mine) const;
  [[noreturn]] void differ(frame const& theirs, flow s, call const& mine, std::size_t bytes) const;

  rank_type me_;
  rank_type peer_;
  std::uint32_t asked_ = 0;
  std::uint32_t open_questions_ = 0;
  frame answers_[lane_count];
};

}  // namespace tutti::detail::tcp

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/tcp/agreement.ipp>
#endif
