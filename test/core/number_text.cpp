// SPDX-License-Identifier: Apache-2.0
// test: address comma
#include "support/comma_locale.hpp"
#include <tutti/detail/base/message.hpp>
#include <tutti/detail/base/number_text.hpp>
#include <tutti/detail/bootstrap/membership.hpp>

#include <boost/test/unit_test.hpp>

#include <clocale>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

namespace {

using namespace tutti::detail;

std::string print(char const* format, int places, double value) {
  std::string const locale = std::setlocale(LC_NUMERIC, nullptr);
  std::setlocale(LC_NUMERIC, "C");
  char text[500];
  std::snprintf(text, sizeof text, format, places, value);
  std::setlocale(LC_NUMERIC, locale.c_str());
  return text;
}

}  // namespace

BOOST_AUTO_TEST_CASE(real_numbers_are_written_as_printf_writes_them_in_the_c_locale) {
  using limits = std::numeric_limits<double>;
  for (double const value : {0.0, -0.0, 1.0, 0.1, -2.5, 1234.5, 1234567.0, 12345678.9, 1e-7, 1e21, limits::max(),
                             limits::denorm_min(), limits::infinity(), -limits::infinity()}) {
    for (int const places : {0, 1, 2, 3, 4, 6, 9, 17}) {
      BOOST_TEST(fixed_text(value, places) == print("%.*f", places, value));
      BOOST_TEST(general_text(value, places) == print("%.*g", places, value));
    }
  }
}

BOOST_AUTO_TEST_CASE(numbers_are_written_alike_whatever_the_language) {
  auto const write_numbers = [] {
    return std::vector<std::string>{fixed_text(1234567.25, 2), general_text(1234.5),
                                    message({"after ", 1234.5, " s, byte ", 1234567, " of ", std::int64_t{-1234567}}),
                                    seconds_text(std::chrono::milliseconds(1500))};
  };
  auto const texts = write_numbers();
  support::comma_locale const language;
  BOOST_TEST(write_numbers() == texts, boost::test_tools::per_element());
  BOOST_TEST(texts[2] == "after 1234.5 s, byte 1234567 of -1234567");
  BOOST_TEST(texts[3] == "1.5 s");
}

BOOST_AUTO_TEST_CASE(a_number_is_read_if_it_is_all_of_the_text_and_fits) {
  std::uint8_t small = 7;
  BOOST_TEST((read_number("255", small) && small == 255));
  int number = 0;
  BOOST_TEST((read_number("-12", number) && number == -12));
  BOOST_TEST((read_number("ff", number, 16) && number == 255));
  for (char const* const text : {"", " 1", "1 ", "+1", "1,000", "1.000", "x", "1x", "256"}) {
    BOOST_TEST(!read_number(text, small), text);
  }
}

BOOST_AUTO_TEST_CASE(words_and_numbers_are_taken_one_after_the_other) {
  word_reader reader("mlx5_0 1234567 -3 end");
  BOOST_TEST(reader.word() == "mlx5_0");
  BOOST_TEST(reader.number<std::uint32_t>() == 1234567U);
  BOOST_TEST(reader.number<int>() == -3);
  BOOST_TEST((reader.good() && !reader.empty()));
  BOOST_TEST(reader.word() == "end");
  BOOST_TEST((reader.empty() && reader.word().empty()));
  BOOST_TEST(reader.number<int>() == 0);
  BOOST_TEST(!reader.good());
}
