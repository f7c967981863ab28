// SPDX-License-Identifier: Apache-2.0
//
// Thorough checks can be chosen against NDEBUG.
#define BOOST_TEST_MODULE core_expects_cheap
#define TUTTI_THOROUGH 0
#include <tutti/core/expects.hpp>

#include <boost/test/unit_test.hpp>

static_assert(tutti::checks == tutti::check::cheap);

BOOST_AUTO_TEST_CASE(a_thorough_check_is_off) {
  BOOST_CHECK_NO_THROW(tutti::expects<tutti::check::thorough>(false, "not looked at"));
  BOOST_CHECK_THROW(tutti::expects(false, "looked at"), tutti::precondition_error);
}
