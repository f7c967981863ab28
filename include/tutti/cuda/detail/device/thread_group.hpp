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

/// Threads that run one part of an operation together: a block of GPU threads, or a model of one on the host. Each
/// thread has its own object.
///
/// - `barrier_and(good)` is a barrier. It returns true if every thread has passed true. Writes before it are visible to
/// all
///   threads after it.
/// - `load_acquire` reads a word that another rank's threads may write (acquire): writes of that rank before its
/// `store_release` of the
///   value are visible afterwards. `store_release` writes a word (release), after all that this group has written
///   before its last barrier. `store_fenced` writes a word before anything that the thread reads later.
/// - `pause` is called between two reads; `is_late` is true once the operation's deadline has passed.
template <class G>
concept thread_group =
    numbered_threads<G> && requires(G const g, std::uint64_t* word, std::uint64_t const* input, bool good) {
      { g.barrier_and(good) } -> std::same_as<bool>;
      { g.load_acquire(input) } -> std::same_as<std::uint64_t>;
      g.store_release(word, std::uint64_t{});
      g.store_fenced(word, std::uint64_t{});
      g.pause();
      { g.is_late() } -> std::same_as<bool>;
    };

}  // namespace tutti::detail::device
