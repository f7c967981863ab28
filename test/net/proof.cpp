// SPDX-License-Identifier: Apache-2.0
// test: address
#define BOOST_TEST_MODULE net_proof
#include <support/toy_hash.hpp>
#include <tutti/detail/net/proof.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/secret.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace net = tutti::detail::net;

namespace {

/// A rendezvous of a world of one.
struct single_member {
  tutti::world_secret shared_key;

  [[nodiscard]] tutti::rank_type rank() const { return 0; }
  [[nodiscard]] tutti::rank_type size() const { return 1; }
  std::vector<std::string> exchange(std::string_view text) { return {std::string(text)}; }
  [[nodiscard]] tutti::world_secret secret() const { return shared_key; }
};
static_assert(tutti::shares_secret<single_member>);

net::proof_key key_of(char const* text) {
  return net::proof_key(net::make_secret(text));
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_proof_is_accepted_whole_or_by_half_and_nothing_else_is) {
  net::proof_key const key = key_of("sixteen or more letters");
  net::proof const good = key.prove("label", {"one", "two"});
  std::string const text(net::text_of(good));
  BOOST_TEST(key.accepts(text, "label", {"one", "two"}));
  BOOST_TEST(key.accepts(text.substr(0, 16), "label", {"one", "two"}));
  for (std::size_t length = 0; length <= text.size(); ++length) {
    BOOST_TEST(key.accepts(text.substr(0, length), "label", {"one", "two"}) == (length == 16 || length == 32));
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string wrong = text;
    wrong[i] = static_cast<char>(wrong[i] ^ 1);
    BOOST_TEST(!key.accepts(wrong, "label", {"one", "two"}));
  }
  BOOST_TEST(!key_of("other letters, as many").accepts(text, "label", {"one", "two"}));
}

BOOST_AUTO_TEST_CASE(parts_count_with_their_lengths_and_places) {
  net::proof_key const key = key_of("sixteen or more letters");
  std::set<std::string> proofs;
  auto const note = [&](net::proof const& p) { proofs.insert(std::string(net::text_of(p))); };
  note(key.prove("a", {"b", "c"}));
  note(key.prove("a", {"bc"}));
  note(key.prove("ab", {"c"}));
  note(key.prove("abc", {}));
  note(key.prove("a", {"b", "c", ""}));
  note(key.prove("a", {"c", "b"}));
  note(key.derive("a", {"b", "c"}).prove("a", {"b", "c"}));
  BOOST_TEST(proofs.size() == 7U);
}

BOOST_AUTO_TEST_CASE(no_secret_gives_no_key_and_its_copies_are_equal) {
  BOOST_TEST(!net::proof_key());
  BOOST_TEST(!net::proof_key(tutti::world_secret()));
  BOOST_TEST(!net::proof_key().derive("label", {}));
  tutti::world_secret const secret = net::make_secret("sixteen or more letters");
  tutti::world_secret const copy = tutti::detail::secret_of(single_member{secret});
  BOOST_TEST(static_cast<bool>(copy));
  BOOST_TEST(std::ranges::equal(copy.key(), secret.key()));
}

BOOST_AUTO_TEST_CASE(a_program_without_a_library_says_so) {
  auto const* const hash = std::exchange(net::registered_hash, nullptr);
  BOOST_CHECK_EXCEPTION(
      static_cast<void>(net::make_secret("sixteen or more letters")), tutti::error,
      [](auto const& e) { return std::string(e.what()).find("include <tutti/secure.hpp>") != std::string::npos; });
  net::registered_hash = hash;
}

BOOST_AUTO_TEST_CASE(each_number_is_admitted_once_and_none_behind_the_window) {
  std::minstd_rand random(1);
  net::replay_window window;
  std::set<std::uint64_t> accepted_numbers;
  std::uint64_t latest = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::uint64_t const jump = i % 500 == 0 ? 200 : 3;
    std::uint64_t const number = latest + jump - std::min<std::uint64_t>(latest + jump, random() % 80);
    bool const expected = number != 0 && number + 64 > latest && !accepted_numbers.contains(number);
    BOOST_REQUIRE(window.admit(number) == expected);
    accepted_numbers.insert(number);
    latest = expected ? std::max(latest, number) : latest;
  }
}
