// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tutti::inline v0_1_0::nn::detail::inline images {

/// Memory for decoded pictures that this process shares with the processes that it forks later. Pages are taken as
/// pictures are written. Thread-safe.
///
/// A picture is claimed by one thread or process, which writes it, and is never changed afterwards. If that process is
/// killed while it writes, the picture remains claimed and cannot be found: others decode it for themselves.
class picture_cache {
 public:
  /// @throws data_error if the memory cannot be reserved
  TUTTI_DECL picture_cache(std::size_t pictures, std::size_t bytes_each);
  picture_cache(picture_cache const&) = delete;
  picture_cache& operator=(picture_cache const&) = delete;
  TUTTI_DECL ~picture_cache();

  /// The bytes of picture i; none if it is not there.
  [[nodiscard]] std::span<std::uint8_t const> find(std::size_t i) const noexcept {
    bool const is_there = i < pictures_ && states_[i].load(std::memory_order_acquire) == state::ready;
    return is_there ? std::span<std::uint8_t const>(pixels_ + i * bytes_each_, bytes_each_)
                    : std::span<std::uint8_t const>();
  }

  /// True if the caller is to write picture i. False if another one does so or has done so, or if the cache has no
  /// place for that picture.
  [[nodiscard]] bool claim(std::size_t i) noexcept {
    state expected = state::absent;
    return i < pictures_ && states_[i].compare_exchange_strong(expected, state::claimed, std::memory_order_relaxed);
  }

  /// Writes picture i. @pre the caller has claimed it
  TUTTI_DECL void publish(std::size_t i, std::span<std::uint8_t const> bytes) noexcept;

 private:
  enum class state : std::uint8_t { absent, claimed, ready };
  static_assert(std::atomic<state>::is_always_lock_free);

  std::size_t pictures_;
  std::size_t bytes_each_;
  std::atomic<state>* states_ = nullptr;
  std::uint8_t* pixels_ = nullptr;
};

}  // namespace tutti::nn::detail::images

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/images/detail/picture_cache.ipp>
#endif
