// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/simulation/messages.hpp>
#include <tutti/message.hpp>

#include <compare>
#include <vector>

namespace tutti::inline v0_1_0::detail {

class simulated_world;

/// Which helper, and which flow.
struct helped_flow_key {
  rank_type helper;
  std::uint32_t lane;
  std::uint32_t number;

  friend constexpr auto operator<=>(helped_flow_key const&, helped_flow_key const&) = default;
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
  std::vector<bool> given;                       ///< what is known of these
  std::vector<bool> left;                        ///< whose contribution has left its rank, in virtual time
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
    given[part.worker] = true;
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
  [[nodiscard]] rank_type missing() const noexcept { return first_without(left); }
  /// The same of those that have not given theirs yet: if one is gone, it never will.
  [[nodiscard]] rank_type silent() const noexcept { return first_without(given); }
  /// Nothing more will be asked of it.
  [[nodiscard]] bool over() const noexcept { return to_come == 0 && present == workers.size(); }

 private:
  [[nodiscard]] rank_type first_without(std::vector<bool> const& mark) const noexcept {
    for (std::size_t i = 0; i != workers.size(); ++i) {
      if (workers[i].gives && !mark[i]) {
        return workers[i].rank;
      }
    }
    return no_rank;
  }
};

}  // namespace tutti::detail
