// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/rendezvous.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <span>

namespace tutti::inline v0_1_0 {

/// The key that the members of a world share, by which they tell each other from strangers; or none. Its memory is
/// overwritten when it ends. `environment::secret` has the one of TUTTI_SECRET or TUTTI_SECRET_FILE.
class world_secret {
 public:
  /// The length of the key.
  static constexpr std::size_t bytes = 32;

  /// No secret: any program that reaches a member's address may join.
  world_secret() noexcept = default;
  /// @param key equal on all ranks, and unknown to others: random bytes, or a hash of a long random text
  explicit world_secret(std::span<std::byte const, bytes> key) noexcept : is_set_(true) {
    std::memcpy(key_.data(), key.data(), bytes);
  }
  /// Copies the key.
  world_secret(world_secret const&) noexcept = default;
  /// Copies the key.
  world_secret& operator=(world_secret const&) noexcept = default;
  ~world_secret() { ::explicit_bzero(key_.data(), bytes); }

  /// True if there is a secret.
  [[nodiscard]] explicit operator bool() const noexcept { return is_set_; }
  /// The key; all zeros without a secret.
  [[nodiscard]] std::span<std::byte const, bytes> key() const noexcept { return key_; }

 private:
  std::array<std::byte, bytes> key_{};
  bool is_set_ = false;
};

/// A rendezvous whose members share a secret, or none. Transports made from it prove by that secret which rank they
/// are.
template <class M>
concept shares_secret = rendezvous<M> && requires(M const& m) {
  { m.secret() } -> std::convertible_to<world_secret>;
};

namespace detail {

/// True if a rendezvous has a public member `secret`, of any type.
template <class M>
inline constexpr bool names_secret = requires { &M::secret; } || requires(M& m) { m.secret(); };

/// The secret of a rendezvous, or none.
template <rendezvous M>
[[nodiscard]] world_secret secret_of(M const& meet) {
  if constexpr (shares_secret<M>) {
    return meet.secret();
  } else {
    static_assert(!names_secret<M>,
                  "this rendezvous has a member secret() that gives no secret: declare it as a public, const member "
                  "function that takes nothing and returns tutti::world_secret, or give it another name");
    return {};
  }
}

}  // namespace detail

}  // namespace tutti
