// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/error.hpp>
#include <tutti/message.hpp>
#include <tutti/time.hpp>
#include <tutti/transport/concept.hpp>

#include <cstddef>
#include <vector>

namespace tutti::detail {

/// Finds out what a late operation is late for: asks the rank that it waits for whom that one waits for, and so on. The
/// chain ends with a rank that does not answer, because it is stopped, computes or never calls; or it comes back
/// to itself, and its ranks wait for each other in a circle.
///
/// A rank answers while it waits: nothing else shows that what it has said is not an old story. A circle is asked
/// twice, with time for a message in between: one may be under way.
///
/// Takes as long as one rank has to answer, and some hundredths of a second for each that does. `advance` never waits.
template <answers Transport>
class inquest {
 public:
  /// What a rank that waits has to answer: it gets its turn meanwhile even where many share a core.
  static constexpr duration patience = std::chrono::seconds(1);
  /// What it has to say everything that it waits for.
  static constexpr duration settling = std::chrono::milliseconds(50);
  /// Ranks that move on all the time are late for nobody: then no rank is found.
  static constexpr duration longest = 4 * patience;

  /// An operation of this rank is late that is on stream `on`.
  void begin(Transport& transport, stream on) {
    found_ = {};
    on_ = on;
    circle_.clear();
    chain_.clear();
    begun_ = not_before_ = transport.now();
  }

  /// True when it is over, and `found` says what has come of it.
  [[nodiscard]] bool advance(Transport& transport) {
    while (!found_ && transport.now() >= not_before_) {
      if (chain_.empty()) {
        turn_to(transport, transport.rank(), on_);  // this rank waits for its own earlier operations, too
      }
      rank_type const suspect = chain_.back().who;
      asked_ = asked_ || transport.ask(suspect);
      wait_report const answer = asked_ ? standing(transport, suspect) : wait_report{};
      time_point const now = transport.now();
      if (answer.for_whom != no_rank && (answer.on == wanted_ || now - since_ >= settling)) {
        follow(transport, answer);
      } else if (now - since_ >= patience) {
        found_ = {failure::deadline, suspect, transport.rank()};
      } else if (now - begun_ >= longest) {
        found_ = {failure::deadline, no_rank, transport.rank()};
      } else {
        return false;
      }
    }
    return static_cast<bool>(found_);
  }

  [[nodiscard]] fault const& found() const noexcept { return found_; }

 private:
  struct waiting_rank {
    rank_type who;
    wait_report said;
  };

  void turn_to(Transport& transport, rank_type suspect, stream on) {
    chain_.push_back({suspect, {}});
    wanted_ = on;
    asked_ = false;
    since_ = transport.now();
  }

  /// What holds a rank up: what it waits for on the stream that others wait for it on, or else what its program
  /// waits for. Nobody: it has not said.
  [[nodiscard]] wait_report standing(Transport& transport, rank_type who) const {
    wait_report best;
    for (std::uint32_t lane = 0; lane < lane_count; ++lane) {
      wait_report const w = transport.said(who, lane);
      if (!w.fresh || w.for_whom >= transport.size()) {
        continue;
      }
      if (lane != transfer_lane && w.on == wanted_) {
        return w;
      }
      if (w.blocks && best.for_whom == no_rank) {
        best = w;
      }
    }
    return best;
  }

  /// The last one of the chain waits for another.
  void follow(Transport& transport, wait_report const& answer) {
    chain_.back().said = answer;
    for (std::size_t i = 0; i < chain_.size(); ++i) {
      if (chain_[i].who == answer.for_whom) {
        return close(transport, i);
      }
    }
    turn_to(transport, answer.for_whom, answer.on);
  }

  /// From its i-th rank on the chain is a circle.
  void close(Transport& transport, std::size_t i) {
    chain_.erase(chain_.begin(), chain_.begin() + static_cast<std::ptrdiff_t>(i));
    bool still = chain_.size() == circle_.size();
    for (std::size_t k = 0; still && k < chain_.size(); ++k) {
      still = chain_[k].who == circle_[k].who && chain_[k].said.same(circle_[k].said);
    }
    if (still) {
      std::uint64_t members = 0;
      bool all = true;
      for (waiting_rank const& l : chain_) {
        std::uint64_t const bit = fault::bit_of(l.who);
        members |= bit;
        all = all && bit != 0;
      }
      found_ = all ? fault{failure::deadline, no_rank, no_rank, members}
                   : fault{failure::deadline, chain_[0].who, transport.rank()};
      return;
    }
    circle_ = chain_;
    chain_.clear();
    not_before_ = transport.now() + 2 * settling;
  }

  fault found_;
  std::vector<waiting_rank> chain_;   ///< from this rank on: each waits for the next
  std::vector<waiting_rank> circle_;  ///< what has been found to be one once
  stream on_{};
  stream wanted_{};     ///< on which the last one of the chain is waited for
  bool asked_ = false;  ///< that one
  time_point since_{};  ///< its turn began
  time_point begun_{};
  time_point not_before_{};
};

/// The inquest of operations over a transport, if it answers.
template <class Transport>
struct inquest_of {
  struct type {};
};
template <answers Transport>
struct inquest_of<Transport> {
  using type = inquest<Transport>;
};

}  // namespace tutti::detail
