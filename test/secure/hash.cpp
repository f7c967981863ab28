// SPDX-License-Identifier: Apache-2.0
// test: address
#define BOOST_TEST_MODULE secure_hash
#include <tutti/detail/net/proof.hpp>
#include <tutti/extend/secret.hpp>
#include <tutti/secure.hpp>
#include <tutti/secure/detail/openssl_hash.hpp>

#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <openssl/hmac.h>
#include <string>
#include <string_view>
#include <vector>

namespace net = tutti::detail::net;

namespace {

auto const* const hash_before_main = net::registered_hash;

[[nodiscard]] std::string digits_of(std::span<std::byte const> bytes) {
  std::string text;
  for (std::byte const b : bytes) {
    text += "0123456789abcdef"[static_cast<unsigned>(b) >> 4U];
    text += "0123456789abcdef"[static_cast<unsigned>(b) & 15U];
  }
  return text;
}
[[nodiscard]] net::proof sha256(std::vector<std::string_view> const& parts) {
  net::proof digest;
  net::registered_hash->sha256(parts, digest.data());
  return digest;
}
/// HMAC as RFC 2104 defines it, over the registered hash.
[[nodiscard]] net::proof hmac(std::string key, std::string_view text) {
  if (key.size() > 64) {
    key = net::text_of(sha256({key}));
  }
  key.resize(64);
  std::string inner = key;
  std::string outer = key;
  for (std::size_t i = 0; i < key.size(); ++i) {
    inner[i] = static_cast<char>(inner[i] ^ 0x36);
    outer[i] = static_cast<char>(outer[i] ^ 0x5c);
  }
  return sha256({outer, net::text_of(sha256({inner, text}))});
}
[[nodiscard]] net::proof hmac_of_openssl(std::string_view key, std::string_view text) {
  net::proof result;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<unsigned char const*>(text.data()),
       text.size(), reinterpret_cast<unsigned char*>(result.data()), nullptr);
  return result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_hash_is_registered_before_main) {
  BOOST_TEST(hash_before_main == &tutti::detail::secure::openssl_hash);
}

/// RFC 4231, sections 4.2 to 4.5, 4.7 and 4.8.
BOOST_AUTO_TEST_CASE(published_vectors_of_hmac) {
  struct vector {
    std::string key;
    std::string text;
    char const* digits;
  };
  std::string counting;
  for (char c = 1; c <= 25; ++c) {
    counting += c;
  }
  std::vector<vector> const vectors{
      {std::string(20, '\x0b'), "Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
      {"Jefe", "what do ya want for nothing?", "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
      {std::string(20, '\xaa'), std::string(50, '\xdd'),
       "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
      {counting, std::string(50, '\xcd'), "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"},
      {std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First",
       "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"},
      {std::string(131, '\xaa'),
       "This is a test using a larger than block-size key and a larger than block-size data. The key needs to be "
       "hashed before being used by the HMAC algorithm.",
       "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"},
  };
  for (vector const& v : vectors) {
    BOOST_TEST(digits_of(hmac(v.key, v.text)) == v.digits);
  }
}

/// A proof is HMAC of label and parts, each behind its length in eight bytes.
BOOST_AUTO_TEST_CASE(a_proof_is_the_hmac_of_openssl) {
  std::string secret;
  for (int i = 0; i < 32; ++i) {
    secret += static_cast<char>(7 * i);
  }
  net::proof_key const key{tutti::world_secret(std::as_bytes(std::span<char const, 32>(secret.data(), 32)))};
  for (std::size_t const length : {0U, 1U, 55U, 56U, 63U, 64U, 65U, 1000U}) {
    std::string const part(length, 'x');
    std::string text;
    for (std::string_view const p : {std::string_view("label"), std::string_view(part), std::string_view("second")}) {
      for (unsigned i = 0; i < 8; ++i) {
        text += static_cast<char>(static_cast<std::uint64_t>(p.size()) >> (8U * i));
      }
      text += p;
    }
    BOOST_TEST(digits_of(key.prove("label", {part, "second"})) == digits_of(hmac_of_openssl(secret, text)));
  }
}
