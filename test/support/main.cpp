// SPDX-License-Identifier: Apache-2.0
//
// The main program of every test.
#include "support/comma_locale.hpp"

#include <boost/test/tree/observer.hpp>
#include <boost/test/unit_test.hpp>

#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <locale>
#include <optional>
#include <pthread.h>
#include <unistd.h>

namespace {

/// Boost.Test is not thread-safe, and failures in a child process are lost. So ranks return verdicts
/// (support/verdict.hpp) and the main thread checks them. A check elsewhere ends the program even if it holds.
class expect_main_thread final : public boost::unit_test::test_observer {
 public:
  void assertion_result(boost::unit_test::assertion_result) override {
    if (::gettid() != main_) {
      std::fputs("a check of Boost.Test beyond the main thread of its process: return a verdict, and check that\n",
                 stderr);
      std::abort();
    }
  }

 private:
  pid_t const main_ = ::getpid();
};

expect_main_thread observer;

/// Sets the C locale in every second forked process: ranks on several hosts may differ in the same way.
void let_languages_of_ranks_differ() {
  static bool differs = false;
  static auto const before_fork = [] { differs = !differs; };
  static auto const in_child = [] {
    if (differs) {
      std::setlocale(LC_NUMERIC, "C");
      std::locale::global(std::locale::classic());
    }
  };
  ::pthread_atfork(before_fork, nullptr, in_child);
}

bool begin() {
  boost::unit_test::framework::register_observer(observer);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  std::optional<support::comma_locale> language;
  if (std::getenv("TUTTI_TEST_COMMA") != nullptr) {
    language.emplace();
    let_languages_of_ranks_differ();
  }
  return boost::unit_test::unit_test_main(begin, argc, argv);
}
