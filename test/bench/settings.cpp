// SPDX-License-Identifier: Apache-2.0
// test: plain
#include "../../bench/common/settings.hpp"

#include "../../bench/common/work.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_CASE(words_are_names_and_values) {
  bench::settings s("bytes=64  algorithm=ring empty= odd=a=b");
  BOOST_TEST(s.number("bytes", 1) == 64);
  BOOST_TEST(s.number("absent", 7) == 7);
  BOOST_TEST(s.text("algorithm", "") == "ring");
  BOOST_TEST(s.text("empty", "x") == "");
  BOOST_TEST(s.text("odd", "") == "a=b");
  s.add("bytes=65");
  BOOST_TEST(s.number("bytes", 1) == 65);
}

BOOST_AUTO_TEST_CASE(what_is_no_setting_is_refused) {
  BOOST_CHECK_THROW(bench::settings("bytes"), std::runtime_error);
  BOOST_CHECK_THROW(bench::settings("=64"), std::runtime_error);
  for (char const* const wrong : {"n=", "n=-1", "n=1x", "n=x", "n=99999999999999999999999"}) {
    BOOST_CHECK_THROW((void)bench::settings(wrong).number("n", 0), std::runtime_error);
  }
  BOOST_CHECK_THROW((void)bench::settings("op=gather").one_of("op", {"allreduce", "broadcast"}), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(a_rate_is_a_number_with_its_unit_and_nothing_else) {
  std::ifstream cases(TUTTI_RATES);
  std::size_t count = 0;
  for (std::string word, expected; cases >> word >> expected; ++count) {
    if (expected == "refused") {
      BOOST_CHECK_EXCEPTION((void)bench::bits_per_second("rate", word), std::runtime_error, [&](auto const& e) {
        return std::string(e.what()).find("rate=" + word + ": a rate in bits") == 0;
      });
    } else {
      BOOST_TEST(bench::bits_per_second("rate", word) == std::stod(expected), word);
    }
  }
  BOOST_TEST(count > 20U);
  BOOST_CHECK_THROW((void)bench::bits_per_second("rate", ""), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(rates_of_several_hosts_have_slashes_between_them) {
  BOOST_TEST(bench::rates("rate", "2.5G") == std::vector<double>{2.5e9}, boost::test_tools::per_element());
  BOOST_TEST(bench::rates("rate", "10G/3.5G") == (std::vector<double>{10e9, 3.5e9}), boost::test_tools::per_element());
  for (char const* const wrong : {"", "10G/", "/10G", "10G//1G", "10G,1G", "10G/3.5"}) {
    BOOST_CHECK_THROW((void)bench::rates("rate", wrong), std::runtime_error);
  }
}

BOOST_AUTO_TEST_CASE(lists_and_real_numbers_are_read_whole) {
  BOOST_TEST(bench::wholes("n", "8,64,4096") == (std::vector<std::size_t>{8, 64, 4096}),
             boost::test_tools::per_element());
  BOOST_TEST(bench::real("loss", "0.25") == 0.25);
  for (char const* const wrong : {"", "8,", "8,,9", "8 9", "2.5", "0"}) {
    BOOST_CHECK_THROW((void)bench::wholes("n", wrong, 1), std::runtime_error);
  }
  for (char const* const wrong : {"", "x", "1x", "-1", "1e3", "nan"}) {
    BOOST_CHECK_THROW((void)bench::real("loss", wrong), std::runtime_error);
  }
}

BOOST_AUTO_TEST_CASE(work_is_read_and_checked) {
  auto const w = bench::read_work(
      bench::settings("op=broadcast bytes=1024 iterations=5 inputs=constant pace=barrier algorithm=ring segment=512"));
  BOOST_TEST(
      (w.op == bench::operation::broadcast && w.input == bench::inputs::constant && w.timing == bench::pace::barrier));
  for (std::string_view const name : bench::operation_names) {
    auto const other = bench::read_work(bench::settings("op=" + std::string(name)));
    BOOST_TEST(bench::operation_names.begin()[static_cast<std::size_t>(other.op)] == name);
  }
  BOOST_TEST(w.count() == 256);
  BOOST_TEST(w.iterations == 5);
  BOOST_TEST(w.algorithm == "ring");
  BOOST_TEST(w.segment == 512);
  for (char const* const wrong : {"bytes=0", "bytes=6", "iterations=0", "inputs=other"}) {
    BOOST_CHECK_THROW(bench::read_work(bench::settings(wrong)), std::runtime_error);
  }
}
