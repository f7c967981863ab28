// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/message.hpp>
#include <tutti/simulation/detail/messages.hpp>

#include <compare>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline simulation {

class simulated_world;

/// Which helper, and which flow.
struct helped_flow_key {
  rank_type helper;
  std::uint32_t lane;
  std::uint32_t number;

  friend constexpr auto operator<=>(helped_flow_key const&, helped_flow_key const&) = default;
};

/// Marks of the workers of a flow. A mark is never taken back, so the first worker without one is found in constant
/// time on average.
class worker_marks {
 public:
  explicit worker_marks(std::size_t workers) : marks_(workers) {}

  void set(std::size_t worker) { marks_[worker] = true; }

  /// The rank of the first worker that gives and has no mark, or no_rank.
  [[nodiscard]] rank_type first_missing(std::vector<helper_worker> const& workers) noexcept {
    while (first_ != workers.size() && (!workers[first_].gives || marks_[first_])) {
      ++first_;
    }
    return first_ == workers.size() ? no_rank : workers[first_].rank;
  }

 private:
  std::vector<bool> marks_;
  std::size_t first_ = 0;
};

/// What a helper of a simulated world has of one flow.
struct helped_flow {
  helped_flow(simulated_world& in, helped_flow_key const& k, helper_part const& part, simulated_opening o)
      : world(&in),
        key(k),
        says(o),
        workers(part.workers.begin(), part.workers.end()),
        contents(workers.size()),
        given(workers.size()),
        left(workers.size()),
        bytes(part.bytes) {
    for (helper_worker const& w : workers) {
      to_give += w.gives ? 1U : 0U;
    }
    to_come = to_give;
  }

  struct waiting {
    rank_type rank;
    picoseconds since;
  };

  simulated_world* world;
  helped_flow_key key;
  simulated_opening says;  ///< what the first worker that came has called
  std::vector<helper_worker> workers;
  std::vector<std::vector<std::byte>> contents;  ///< of what the workers have given
  worker_marks given;                            ///< the workers whose contribution is known
  worker_marks left;                             ///< the workers whose contribution has left them, in virtual time
  std::size_t bytes;
  std::size_t present = 0;                 ///< workers that have come to this flow
  std::size_t to_give = 0;                 ///< contributions that are not known yet
  std::size_t to_come = 0;                 ///< that have not reached the helper
  std::vector<waiting> unanswered{};       ///< workers that get, and have not been sent the result
  std::vector<std::byte>* made = nullptr;  ///< the result, in the place of the first contribution
  picoseconds head{};                      ///< when the first packet of all has been there
  picoseconds tail{};                      ///< when all of all has

  /// A contribution, of which the contents may not exist. Combined with the others, in the order of the workers, once
  /// all are there.
  void take(helper_part const& part, std::span<std::byte const> what) {
    contents[part.worker].assign(what.begin(), what.end());
    given.set(part.worker);
    if (--to_give != 0) {
      return;
    }
    for (std::size_t i = 0; i != workers.size(); ++i) {
      if (workers[i].gives && made == nullptr) {
        made = &contents[i];
      } else if (workers[i].gives && !contents[i].empty()) {
        part.combine(part.of, made->data(), contents[i].data(), contents[i].size());
      }
    }
  }

  /// A rank whose contribution has not left it, or no_rank.
  [[nodiscard]] rank_type missing() noexcept { return left.first_missing(workers); }
  /// A rank that has not given its contribution yet, or no_rank: if it is gone, it never will.
  [[nodiscard]] rank_type silent() noexcept { return given.first_missing(workers); }
  /// Nothing more will be asked of it.
  [[nodiscard]] bool over() const noexcept { return to_come == 0 && present == workers.size(); }
};

}  // namespace tutti::detail::simulation
