// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/test/unit_test.hpp>

#include <initializer_list>

namespace support {

/// Test cases of laws, shared by several programs. A program that defines a list of them at namespace scope has them
/// as if each were written there with BOOST_AUTO_TEST_CASE.
class cases {
 public:
  struct law {
    char const* name;
    void (*check)();
  };

  cases(std::initializer_list<law> laws) {
    for (law const& l : laws) {
      boost::unit_test::framework::current_auto_test_suite().add(
          boost::unit_test::make_test_case(l.check, l.name, __FILE__, __LINE__));
    }
  }
};

}  // namespace support
