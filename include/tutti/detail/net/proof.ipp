// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/message.hpp>
#include <tutti/detail/net/nonce.hpp>
#include <tutti/detail/net/proof.hpp>
#include <tutti/extend/error.hpp>

#include <cstring>

namespace tutti::inline v0_1_0::detail::inline net {

/// Hashes two blocks of 64 bytes and texts by HMAC.
class hmac {
 public:
  /// The key, up to 64 bytes, combined with the constant of the inner or the outer hash.
  hmac(std::span<std::byte const> key, std::byte constant) noexcept {
    block_.fill(constant);
    for (std::size_t i = 0; i < key.size(); ++i) {
      block_[i] ^= key[i];
    }
  }
  hmac(hmac const&) = delete;
  hmac& operator=(hmac const&) = delete;
  ~hmac() { ::explicit_bzero(block_.data(), block_.size()); }

  [[nodiscard]] std::string_view block() const noexcept { return text_of(block_); }

 private:
  std::array<std::byte, 64> block_;
};

TUTTI_DECL void demand_hash() {
  if (registered_hash == nullptr) {
    throw error(failure::join,
                "there is a secret (TUTTI_SECRET, TUTTI_SECRET_FILE, or the rendezvous' own), but this program has no "
                "library to prove that it knows it: include <tutti/secure.hpp> in one of its sources and link "
                "tutti::secure, or start all ranks without a secret");
  }
}

TUTTI_DECL proof_key::proof_key(world_secret const& secret) : secret_(secret) {
  if (secret) {
    demand_hash();
  }
}

TUTTI_DECL proof proof_key::prove(std::string_view label,
                                  std::initializer_list<std::string_view> parts) const noexcept {
  std::array<std::array<std::byte, 8>, max_parts + 1> lengths{};
  std::array<std::string_view, 2 * (max_parts + 1) + 1> texts{};
  std::size_t count = 0;
  hmac const inner(secret_.key(), std::byte{0x36});
  texts[count++] = inner.block();
  auto const append = [&](std::string_view text) {
    auto& length = lengths[count / 2];
    for (std::size_t i = 0; i < length.size(); ++i) {
      length[i] = static_cast<std::byte>(std::uint64_t{text.size()} >> (8 * i));
    }
    texts[count++] = text_of(length);
    texts[count++] = text;
  };
  append(label);
  for (std::string_view const part : parts) {
    append(part);
  }
  proof digest{};
  registered_hash->sha256(std::span(texts).first(count), digest.data());
  hmac const outer(secret_.key(), std::byte{0x5c});
  std::array<std::string_view, 2> const last{outer.block(), text_of(digest)};
  proof result{};
  registered_hash->sha256(last, result.data());
  return result;
}

TUTTI_DECL bool proof_key::accepts(std::string_view candidate, std::string_view label,
                                   std::initializer_list<std::string_view> parts) const noexcept {
  proof const expected = prove(label, parts);
  if (candidate.size() != expected.size() && candidate.size() != expected.size() / 2) {
    return false;
  }
  unsigned difference = 0;
  for (std::size_t i = 0; i < candidate.size(); ++i) {
    difference |= static_cast<unsigned>(static_cast<unsigned char>(candidate[i])) ^ static_cast<unsigned>(expected[i]);
  }
  return difference == 0;
}

TUTTI_DECL proof_key proof_key::derive(std::string_view label,
                                       std::initializer_list<std::string_view> parts) const noexcept {
  proof_key result;
  if (*this) {
    proof key = prove(label, parts);
    result.secret_ = world_secret(key);
    ::explicit_bzero(key.data(), key.size());
  }
  return result;
}

TUTTI_DECL world_secret make_secret(std::string_view text, std::string_view source) {
  constexpr std::size_t least = 16;
  if (text.size() < least) {
    constexpr std::string_view remedy =
        " or more that nobody can guess: make one for all ranks by (umask 077; head -c 32 /dev/urandom | base64 > "
        "FILE), and set TUTTI_SECRET_FILE=FILE";
    throw error(failure::join, message({source, " has ", text.size(), " bytes, and must have ", least, remedy}));
  }
  demand_hash();
  constexpr std::array<std::byte, world_secret::bytes> no_key{};
  return proof_key(world_secret(no_key)).derive("tutti secret 1", {text}).secret();
}

TUTTI_DECL world_secret draw_secret() {
  if (registered_hash == nullptr) {
    return {};
  }
  std::array<std::uint64_t, world_secret::bytes / sizeof(std::uint64_t)> numbers{};
  for (std::uint64_t& number : numbers) {
    number = draw_number();
  }
  world_secret const result(std::as_bytes(std::span(numbers)));
  ::explicit_bzero(numbers.data(), sizeof numbers);
  return result;
}

}  // namespace tutti::detail::net
