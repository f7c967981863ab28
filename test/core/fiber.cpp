// SPDX-License-Identifier: Apache-2.0
// test: address
#include <tutti/detail/core/fiber.hpp>

#include <boost/test/unit_test.hpp>

#include <exception>
#include <memory>
#include <string>
#include <vector>

/// Functions that stop in the middle: their order, their locals, their exceptions.
namespace {

using tutti::detail::fiber;

constexpr std::size_t stack = std::size_t{256} << 10;

/// Runs f(self) on a stack of its own.
template <class F>
class running {
 public:
  explicit running(F f)
      : f_(std::move(f)),
        fiber_(
            stack, [](void* self) { static_cast<running*>(self)->f_(static_cast<running*>(self)->fiber_); }, this) {}
  fiber& operator*() { return fiber_; }
  fiber* operator->() { return &fiber_; }

 private:
  F f_;
  fiber fiber_;
};

BOOST_AUTO_TEST_CASE(fibers_take_turns_and_keep_their_locals) {
  std::string log;
  auto const count = [&log](char name) {
    return [&log, name](fiber& self) {
      for (int i = 0; i < 3; ++i) {
        log += name;
        log += std::to_string(i);
        self.suspend();
      }
    };
  };
  running a(count('a'));
  running b(count('b'));
  BOOST_TEST(log.empty());  // nothing runs before it is resumed
  while (!a->has_ended() || !b->has_ended()) {
    for (fiber* current : {&*a, &*b}) {
      if (!current->has_ended()) {
        current->resume();
      }
    }
  }
  BOOST_TEST(log == "a0b0a1b1a2b2");
}

BOOST_AUTO_TEST_CASE(a_function_that_never_suspends_ends_at_once) {
  int runs = 0;
  running a([&](fiber&) { ++runs; });
  a->resume();
  BOOST_TEST(a->has_ended());
  BOOST_TEST(runs == 1);
}

BOOST_AUTO_TEST_CASE(a_fiber_that_never_began_may_go) {
  int runs = 0;
  {
    running a([&](fiber&) { ++runs; });
  }
  BOOST_TEST(runs == 0);
}

/// Each fiber suspends while it handles an exception of its own; it must not see another fiber's.
BOOST_AUTO_TEST_CASE(exceptions_belong_to_the_fiber_that_handles_them) {
  std::vector<std::string> texts(3);
  auto const thrower = [&texts](std::size_t i) {
    return [&texts, i](fiber& self) {
      try {
        throw std::string(i + 1, 'x');
      } catch (std::string const&) {
        self.suspend();
        try {
          std::rethrow_exception(std::current_exception());
        } catch (std::string const& text) {
          texts[i] = text;
        }
      }
    };
  };
  running a(thrower(0));
  running b(thrower(1));
  running c(thrower(2));
  for (fiber* current : {&*a, &*b, &*c, &*b, &*c, &*a}) {
    current->resume();
    BOOST_TEST((std::current_exception() == nullptr));
  }
  BOOST_TEST(a->has_ended());
  BOOST_TEST(texts == (std::vector<std::string>{"x", "xx", "xxx"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_fiber_resumes_another) {
  std::string log;
  running inner([&](fiber& self) {
    log += "b";
    self.suspend();
    log += "d";
  });
  running outer([&](fiber&) {
    log += "a";
    inner->resume();
    log += "c";
    inner->resume();
    log += "e";
  });
  outer->resume();
  BOOST_TEST(log == "abcde");
  BOOST_TEST(inner->has_ended());
  BOOST_TEST(outer->has_ended());
}

BOOST_AUTO_TEST_CASE(a_stack_that_cannot_be_had_is_an_error) {
  BOOST_CHECK_THROW(fiber(
                        std::size_t{1} << 60, [](void*) {}, nullptr),
                    std::system_error);
}

}  // namespace
