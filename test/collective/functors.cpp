// SPDX-License-Identifier: Apache-2.0
// test: address (which calls differ, not when)
//
// Ranks that combine by different functions find out.
#include <tutti/collective/allreduce.hpp>
#include <tutti/reduction/accumulate_in.hpp>
#include <tutti/reduction/reduce_with.hpp>
#include <tutti/spawn.hpp>
#include <tutti/topology/direct.hpp>
#include <tutti/topology/doubling.hpp>
#include <tutti/transport/loopback.hpp>
#include <tutti/transport/shared_memory.hpp>
#include <tutti/transport/tcp.hpp>

#include <boost/test/unit_test.hpp>

#include <functional>
#include <string>
#include <vector>

namespace {

/// The result of each of two ranks, as text, if rank 0 combines by `zeroth` and rank 1 by `first`.
template <class Transport, class T, class Topology, class Zeroth, class First>
[[nodiscard]] std::vector<std::string> ends(Topology topology, Zeroth zeroth, First first) {
  std::vector<std::string> results;
  for (auto const& end : tutti::spawn<Transport>(2, [&](auto& world) {
         world.deadline(std::chrono::seconds(20));
         std::vector<T> values(10, T(3));
         if (world.rank() == 0) {
           tutti::allreduce(world, topology, zeroth)(values);
         } else {
           tutti::allreduce(world, topology, first)(values);
         }
         return static_cast<double>(values[9]);
       })) {
    results.push_back(end ? std::to_string(static_cast<int>(end.value()))
                          : std::string(tutti::name(end.failure().kind)) + ": " + end.failure().text);
  }
  return results;
}

template <class Transport>
void differ(auto zeroth, auto first, auto topology) {
  using T = typename decltype(zeroth)::value_type;
  for (std::string const& text : ends<Transport, T>(topology, zeroth, first)) {
    BOOST_TEST(text.starts_with(tutti::name(tutti::failure::mismatch)), text);
  }
  for (std::string const& text : ends<Transport, T>(topology, zeroth, zeroth)) {
    BOOST_TEST(text == "6");
  }
}

template <class Transport>
void functions_of_one_signature_differ() {
  auto const sum = [](int a, int b) { return a + b; };
  auto const product = [](int a, int b) { return a * b; };
  differ<Transport>(tutti::reduce_with<int>(sum), tutti::reduce_with<int>(product), tutti::doubling{});
  differ<Transport>(tutti::reduce_with<int>(std::plus<>{}), tutti::reduce_with<int>(std::multiplies<>{}),
                    tutti::doubling{});

  auto const in_float = [](auto f) { return tutti::reduce_with<tutti::half>(f, tutti::commutative); };
  auto const wide = [](auto narrow) { return tutti::accumulate_in<float, decltype(narrow)>(narrow); };
  auto const plus = in_float([](float a, float b) { return a + b; });
  auto const times = in_float([](float a, float b) { return a * b; });
  differ<Transport>(plus, times, tutti::doubling{});
  differ<Transport>(wide(plus), wide(times), tutti::direct{});
}

BOOST_AUTO_TEST_CASE(loopback) {
  functions_of_one_signature_differ<tutti::loopback>();
}
BOOST_AUTO_TEST_CASE(shared_memory) {
  functions_of_one_signature_differ<tutti::shared_memory>();
}
BOOST_AUTO_TEST_CASE(tcp) {
  functions_of_one_signature_differ<tutti::tcp>();
}

BOOST_AUTO_TEST_CASE(the_error_says_how_to_name_a_function) {
  auto const plus = [](int a, int b) { return a + b; };
  auto const times = [](int a, int b) { return a * b; };
  auto const texts =
      ends<tutti::loopback, int>(tutti::doubling{}, tutti::reduce_with<int>(plus), tutti::reduce_with<int>(times));
  BOOST_TEST((texts[0] + texts[1]).find("tutti::function_name<\"...\">") != std::string::npos, texts[0]);
}

/// Ranks may run different programs, built by different compilers.
BOOST_AUTO_TEST_CASE(a_name_takes_precedence_over_the_type) {
  auto const plus = [](int a, int b) { return a + b; };
  auto const reversed_plus = [](int a, int b) { return b + a; };
  constexpr auto name = tutti::function_name<"plus">;
  for (std::string const& text : ends<tutti::loopback, int>(tutti::doubling{}, tutti::reduce_with<int>(plus, name),
                                                            tutti::reduce_with<int>(reversed_plus, name))) {
    BOOST_TEST(text == "6");
  }
}

/// The place of a function in the source is not part of its type: two branches may each spell it.
BOOST_AUTO_TEST_CASE(one_function_at_two_places_agrees) {
  for (std::string const& text : ends<tutti::loopback, int>(tutti::doubling{}, tutti::reduce_with<int>(std::plus<>{}),
                                                            tutti::reduce_with<int>(std::plus<>{}))) {
    BOOST_TEST(text == "6");
  }
}

}  // namespace
