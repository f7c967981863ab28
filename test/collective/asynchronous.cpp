// SPDX-License-Identifier: Apache-2.0
// test: address (one thread)
#include <tutti/collective/asynchronous.hpp>

#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>

namespace {

/// An operator with an async_start found by argument-dependent lookup, as <tutti/asio.hpp> provides one for real
/// operators.
struct operation : tutti::asynchronous<operation> {
  int start_count = 0;

  friend std::string async_start(operation& self, std::string& buffer, std::unique_ptr<int> token) {
    ++self.start_count;
    buffer += "touched";
    return buffer + std::to_string(*token);
  }
};

BOOST_AUTO_TEST_CASE(async_gives_its_arguments_as_they_are_and_returns_what_the_token_makes) {
  operation op;
  std::string buffer;
  BOOST_TEST(op.async(buffer, std::make_unique<int>(7)) == "touched7");
  BOOST_TEST(buffer == "touched");  // the buffer itself, not a copy
  BOOST_TEST(op.start_count == 1);
}

}  // namespace
