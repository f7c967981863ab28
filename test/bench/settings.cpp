// SPDX-License-Identifier: Apache-2.0
#define BOOST_TEST_MODULE bench_settings
#include "../../bench/common/settings.hpp"

#include "../../bench/common/work.hpp"

#include <boost/test/unit_test.hpp>

#include <stdexcept>

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

BOOST_AUTO_TEST_CASE(work_is_read_and_checked) {
  auto const w = bench::read_work(
      bench::settings("op=broadcast bytes=1024 iterations=5 inputs=constant pace=barrier algorithm=ring segment=512"));
  BOOST_TEST((w.op == bench::operation::broadcast && w.in == bench::inputs::constant && w.at == bench::pace::barrier));
  BOOST_TEST(w.count() == 256);
  BOOST_TEST(w.iterations == 5);
  BOOST_TEST(w.algorithm == "ring");
  BOOST_TEST(w.segment == 512);
  for (char const* const wrong : {"bytes=0", "bytes=6", "iterations=0", "inputs=other"}) {
    BOOST_CHECK_THROW(bench::read_work(bench::settings(wrong)), std::runtime_error);
  }
}
