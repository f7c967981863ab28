// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <concepts>
#include <cstdint>

namespace tutti::inline v0_1_0::detail::device {

/// Threads that divide work by their numbers: `rank()` of `size()`.
template <class G>
concept numbered_threads = requires(G const g) {
  { g.rank() } -> std::same_as<std::uint32_t>;
  { g.size() } -> std::same_as<std::uint32_t>;
};

/// Threads that run one part of an operation together: a block of a GPU's threads, or a model of one on the host. Each
/// of them has its own.
///
///   - `all(good)` is a barrier: it returns when every thread has called it, and then whether all were good. What they
///     wrote before is seen by all after it.
///   - `look` reads a word that another rank's threads may write, and what that rank wrote before it told this value is
///     seen after it; `tell` writes one, after all that this group has written before its last barrier; `announce`
///     writes one before anything that the thread looks at later.
///   - `pause` is called between two looks; `is_late` says whether the deadline of the operation has passed.
template <class G>
concept thread_group =
    numbered_threads<G> && requires(G const g, std::uint64_t* word, std::uint64_t const* seen, bool good) {
      { g.all(good) } -> std::same_as<bool>;
      { g.look(seen) } -> std::same_as<std::uint64_t>;
      g.tell(word, std::uint64_t{});
      g.announce(word, std::uint64_t{});
      g.pause();
      { g.is_late() } -> std::same_as<bool>;
    };

}  // namespace tutti::detail::device
