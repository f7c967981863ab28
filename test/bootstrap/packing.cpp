// SPDX-License-Identifier: Apache-2.0
// test: address (one thread)
#include <tutti/extend/member.hpp>
#include <tutti/extend/packing.hpp>

#include <boost/test/unit_test.hpp>

namespace {

using tutti::packer;
using tutti::unpacker;
using texts = std::vector<std::string>;

std::string some_bytes() {
  return tutti::packer()
      .number(UINT64_MAX)
      .text("")
      .text(std::string("a\0b", 3))
      .texts(texts{"one", "", "three"})
      .take();
}

BOOST_AUTO_TEST_CASE(what_was_packed_is_unpacked) {
  std::string const bytes = some_bytes();
  tutti::unpacker reader(bytes);
  BOOST_TEST(reader.number() == UINT64_MAX);
  BOOST_TEST(reader.text().empty());
  BOOST_TEST(reader.text() == std::string_view("a\0b", 3));
  BOOST_TEST(reader.texts() == (texts{"one", "", "three"}), boost::test_tools::per_element());
  BOOST_TEST(reader.is_complete());
}

BOOST_AUTO_TEST_CASE(the_bytes_are_the_same_on_every_host) {
  BOOST_TEST(tutti::packer().number(0x0102).text("x").take() == std::string("\2\1\0\0\0\0\0\0\1\0\0\0\0\0\0\0x", 17));
}

BOOST_AUTO_TEST_CASE(whatever_is_missing_is_noticed) {
  std::string const whole = some_bytes();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    tutti::unpacker reader(std::string_view(whole).substr(0, length));
    reader.number();
    reader.text();
    reader.text();
    reader.texts();
    BOOST_TEST(!reader.good(), length << " bytes of " << whole.size() << " were enough");
    BOOST_TEST(!reader.is_complete());
    BOOST_TEST(reader.number() == 0U);  // remains exhausted
    BOOST_TEST(reader.text().empty());
  }
}

BOOST_AUTO_TEST_CASE(what_is_left_over_is_noticed) {
  std::string const bytes = tutti::packer().number(1).number(2).take();
  tutti::unpacker reader(bytes);
  reader.number();
  BOOST_TEST((reader.good() && !reader.is_complete()));
}

// A reader must not allocate by a length that a sender made up.
BOOST_AUTO_TEST_CASE(lengths_that_cannot_be_are_refused) {
  for (std::uint64_t const length : {std::uint64_t{2}, std::uint64_t{1} << 40, UINT64_MAX}) {
    std::string const bytes = tutti::packer().number(length).take() + "x";
    BOOST_TEST(tutti::unpacker(bytes).text().empty());
    tutti::unpacker reader(bytes);
    BOOST_TEST(reader.texts().size() <= 1U);
    BOOST_TEST(!reader.good());
  }
}

BOOST_AUTO_TEST_CASE(numbers_must_fit) {
  std::string const bytes = tutti::packer().number(255).number(256).take();
  tutti::unpacker reader(bytes);
  BOOST_TEST(reader.number_as<std::uint8_t>() == 255);
  BOOST_TEST(reader.good());
  BOOST_TEST(reader.number_as<std::uint8_t>() == 0);
  BOOST_TEST(!reader.good());
}

/// The description of a rank arrives unchanged, with any host name and role.
BOOST_AUTO_TEST_CASE(members_may_have_any_names) {
  using namespace std::string_literals;
  for (std::string const& host : {"node7"s, "lab pc 7"s, " "s, "a\nb"s, "7 8 9"s, "a\0b"s, std::string(10, 'x')}) {
    for (std::string const& role : {""s, "worker:3"s, "two words"s, "\n"s}) {
      tutti::member const original{host, 4242, role};
      std::string const bytes = tutti::detail::encode(original);
      tutti::member copy;
      BOOST_TEST(tutti::detail::decode(bytes, copy));
      BOOST_TEST((copy == original));
      for (std::size_t length = 0; length < bytes.size(); ++length) {
        BOOST_TEST(!tutti::detail::decode(std::string_view(bytes).substr(0, length), copy));
      }
      BOOST_TEST(!tutti::detail::decode(bytes + "x", copy));
    }
  }
}

}  // namespace
