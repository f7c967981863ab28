// SPDX-License-Identifier: Apache-2.0
// test: address thread
#include <laws/all_topologies.hpp>
#include <laws/operators.hpp>
#include <laws/run_as.hpp>
#include <support/transports.hpp>
#include <support/worlds.hpp>
#include <tutti/any_element.hpp>
#include <tutti/any_reduction.hpp>
#include <tutti/automatic.hpp>
#include <tutti/bfloat16.hpp>
#include <tutti/collective/allgather.hpp>
#include <tutti/collective/alltoall.hpp>
#include <tutti/collective/broadcast.hpp>
#include <tutti/collective/exchange.hpp>
#include <tutti/collective/gather.hpp>
#include <tutti/collective/recv_any.hpp>
#include <tutti/collective/scatter.hpp>
#include <tutti/collective/send_recv.hpp>
#include <tutti/detail/engine/reduction_entry.hpp>
#include <tutti/extend/any_element.hpp>
#include <tutti/extend/any_length.hpp>
#include <tutti/half.hpp>
#include <tutti/reduction/arithmetic.hpp>
#include <tutti/reduction/bitwise.hpp>
#include <tutti/reduction/location.hpp>
#include <tutti/reduction/logical.hpp>
#include <tutti/reduction/reduce_with.hpp>

#include <array>
#include <chrono>
#include <complex>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using tutti::any_element;
using tutti::any_reduction;

constexpr std::size_t longest = 1000;
template <class T>
using numbers = std::array<T, longest>;  // std::vector<bool> has no elements

template <class T>
[[nodiscard]] numbers<T> contribution(tutti::rank_type rank) {
  numbers<T> v{};
  for (std::size_t i = 0; i < longest; ++i) {
    auto const x = static_cast<int>((7 * i + 13 * rank) % 100);
    if constexpr (requires { typename T::computed_in; }) {
      v[i] = T(static_cast<float>(x - 40) * 0.37F);
    } else if constexpr (requires(T t) { t.index; }) {
      v[i] = {static_cast<decltype(T::value)>(x % 7), rank + 1U};
    } else if constexpr (std::is_same_v<T, bool>) {
      v[i] = x % 2 != 0;
    } else if constexpr (tutti::complex_number<T>) {
      v[i] = T(static_cast<typename T::value_type>(x), static_cast<typename T::value_type>(x % 9));
    } else {
      v[i] = static_cast<T>(x - 40);
    }
  }
  return v;
}

template <class T>
[[nodiscard]] bool equal_bits(std::span<T const> a, std::span<T const> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

template <class R>
[[nodiscard]] any_reduction make_reduction() {
  return {R::name, any_element(tutti::element_name<typename R::value_type>())};
}

/// Each operation of two ranks has the result of the typed functions, which the typed operators have by their tests.
template <class R>
[[nodiscard]] std::string is_the_typed_one(auto& world, auto& combine) {
  using T = typename R::value_type;
  any_reduction const reduction = make_reduction<R>();
  auto const input = contribution<T>(world.rank());
  auto const expected = [first = contribution<T>(0), second = contribution<T>(1)] {
    numbers<T> v{};
    for (std::size_t i = 0; i < longest; ++i) {
      v[i] = R{}.lower(R{}.combine(R{}.lift(first[i]), R{}.lift(second[i])), 2);
    }
    return v;
  }();
  for (std::size_t const count : {std::size_t{0}, std::size_t{1}, std::size_t{7}, longest}) {
    auto in_place = input;
    combine(reduction, in_place.data(), count);
    numbers<T> output{};
    combine(reduction, input.data(), output.data(), count);
    if (!equal_bits<T>(std::span(in_place).first(count), std::span(expected).first(count)) ||
        !equal_bits<T>(std::span(output).first(count), std::span(expected).first(count))) {
      return std::string(R::name) + " of " + std::string(tutti::element_name<T>()) + " differs";
    }
  }
  return {};
}

template <class... R>
[[nodiscard]] std::string are_the_typed_ones(auto& world, auto& combine) {
  std::string text;
  ((text = text.empty() ? is_the_typed_one<R>(world, combine) : text), ...);
  return text;
}
template <class... T>
[[nodiscard]] std::string integers_are(auto& world, auto& combine) {
  std::string text;
  ((text = text.empty() ? are_the_typed_ones<tutti::sum<T>, tutti::prod<T>, tutti::min<T>, tutti::max<T>,
                                             tutti::logical_and<T>, tutti::logical_or<T>, tutti::logical_xor<T>,
                                             tutti::bit_and<T>, tutti::bit_or<T>, tutti::bit_xor<T>>(world, combine)
                        : text),
   ...);
  return text;
}
template <class... T>
[[nodiscard]] std::string floating_numbers_are(auto& world, auto& combine) {
  std::string text;
  ((text = text.empty()
               ? are_the_typed_ones<tutti::sum<T>, tutti::prod<T>, tutti::min<T>, tutti::max<T>, tutti::mean<T>>(
                     world, combine)
               : text),
   ...);
  return text;
}
template <class... T>
[[nodiscard]] std::string locations_are(auto& world, auto& combine) {
  return are_the_typed_ones<tutti::min_location<T>..., tutti::max_location<T>...>(world, combine);
}

/// The typed ranks and the others meet in one operation.
template <class R>
[[nodiscard]] std::string meets_the_typed_one(auto& world, auto topology) {
  using T = typename R::value_type;
  auto const input = contribution<T>(world.rank());
  tutti::allreduce typed_operator{world, topology, R{}};
  tutti::allreduce combine{world, topology, make_reduction<R>()};
  numbers<T> expected{};
  typed_operator(input, expected);
  auto result = input;
  if (world.rank() % 2 == 0) {
    typed_operator(result);
  } else {
    combine(result.data(), result.size());
  }
  return equal_bits<T>(result, expected)
             ? std::string()
             : std::string(R::name) + " of " + std::string(tutti::element_name<T>()) + " differs";
}

/// The text of the precondition_error of a call, or "".
[[nodiscard]] std::string refusal(auto const& call) {
  try {
    call();
  } catch (tutti::precondition_error const& e) {
    return e.what();
  }
  return {};
}

/// Composition of x -> a x + b, in 32 bits: associative, but not commutative.
struct linear {
  std::uint32_t a;
  std::uint32_t b;
};
void compose(void const* input, void* inout, std::size_t n, void* context) {
  auto const* const left = static_cast<linear const*>(input);
  auto* const right = static_cast<linear*>(inout);
  for (std::size_t i = 0; i < n; ++i) {
    right[i] = {left[i].a * right[i].a, left[i].b * right[i].a + right[i].b};
  }
  if (context != nullptr) {
    ++*static_cast<int*>(context);
  }
}
constexpr auto typed_compose = [](linear x, linear y) { return linear{x.a * y.a, x.b * y.a + y.b}; };

/// An element of several functions, or of several numbers, whose count is the context.
void compose_rows(void const* input, void* inout, std::size_t n, void* context) {
  compose(input, inout, n * *static_cast<std::size_t const*>(context), nullptr);
}
void add_rows(void const* input, void* inout, std::size_t n, void* context) {
  for (std::size_t i = 0; i < n * *static_cast<std::size_t const*>(context); ++i) {
    linear const x = static_cast<linear const*>(input)[i];
    linear& y = static_cast<linear*>(inout)[i];
    y = {x.a + y.a, x.b + y.b};
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_reduction_is_that_of_its_names) {
  support::agree<tutti::loopback>(2, [](auto& world) {
    tutti::allreduce combine{world, tutti::doubling{}, any_reduction("sum", any_element("float32"))};
    std::string text = integers_are<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t,
                                    std::int64_t, std::uint64_t>(world, combine);
    text += floating_numbers_are<tutti::half, tutti::bfloat16, float, double>(world, combine);
    text += locations_are<std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, float, double>(world, combine);
    text += are_the_typed_ones<tutti::sum<std::complex<float>>, tutti::prod<std::complex<float>>,
                               tutti::sum<std::complex<double>>, tutti::prod<std::complex<double>>,
                               tutti::bit_and<std::byte>, tutti::bit_or<std::byte>, tutti::bit_xor<std::byte>,
                               tutti::logical_and<bool>, tutti::logical_or<bool>, tutti::logical_xor<bool>,
                               tutti::bit_and<bool>, tutti::bit_or<bool>, tutti::bit_xor<bool>>(world, combine);
    return text;
  });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(typed_ranks_and_others_meet, Transport, support::transports_of_the_engine) {
  support::agree<Transport>(3, [](auto& world) {
    return meets_the_typed_one<tutti::sum<float>>(world, tutti::ring{}) +
           meets_the_typed_one<tutti::mean<double>>(world, tutti::direct{}) +
           meets_the_typed_one<tutti::sum<tutti::half>>(world, tutti::doubling{}) +
           meets_the_typed_one<tutti::max<std::uint32_t>>(world, tutti::star{}) +
           meets_the_typed_one<tutti::bit_xor<std::byte>>(world, tutti::in_network{}) +
           meets_the_typed_one<tutti::min_location<float>>(world, tutti::chain{});
  });
}

BOOST_AUTO_TEST_CASE(a_reduction_that_does_not_exist_is_refused) {
  BOOST_TEST(refusal([] { static_cast<void>(any_reduction("bit_or", any_element("float32"))); }) ==
             "any_reduction: float32 has no reduction \"bit_or\"; it has sum, prod, min, max, mean");
  BOOST_TEST(refusal([] { static_cast<void>(any_reduction("min", any_element("complex64"))); }) ==
             "any_reduction: complex64 has no reduction \"min\"; it has sum, prod");
  BOOST_TEST(refusal([] { static_cast<void>(any_reduction("prod", any_element::bytes(24))); }) ==
             "any_reduction: byte[24] has no reduction \"prod\"; it is only moved, or combined by a function of yours");
  BOOST_TEST(refusal([] { static_cast<void>(any_reduction("f", any_element("int8"), nullptr)); }) ==
             "any_reduction: the function is null; give one that combines two vectors");
  BOOST_TEST(refusal([] {
               static_cast<void>(any_element("float"));
             }).starts_with("any_element: there is no type \"float\"; take one of int8, int16, "));
  BOOST_TEST(refusal([] { static_cast<void>(any_element::bytes(0)); }) ==
             "any_element: an element has at least 1 byte, not 0");
}

BOOST_AUTO_TEST_CASE(an_element_is_its_name_and_its_size) {
  BOOST_TEST((any_element("float32") == any_element::make<float>()));
  BOOST_TEST((any_element("complex128") == any_element::make<std::complex<double>>()));
  BOOST_TEST((any_element("int64@index") == any_element::make<tutti::indexed_value<std::int64_t>>()));
  BOOST_TEST((any_element::bytes(1) == any_element::make<std::byte>()));
  BOOST_TEST((any_element::bytes(8) != any_element::bytes(9)));
  BOOST_TEST((any_element("int8") != any_element("uint8")));
  BOOST_TEST(any_element("bfloat16").name() == "bfloat16");
  BOOST_TEST(any_element("bfloat16").size() == 2U);
}

// A function that does not commute, over vector topologies that keep rank order; the others refuse it. Ranks meet the
// typed reduction of the same name.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_function_combines_in_rank_order, Transport, support::transports_of_the_engine) {
  for (tutti::rank_type const n : {1U, 2U, 3U, 5U}) {
    support::agree<Transport>(n, [&](auto& world) {
      any_reduction const composition("composed", any_element::make<linear>(), &compose);
      auto const value = [](tutti::rank_type r, std::size_t i) {
        return linear{2 * r + 3, static_cast<std::uint32_t>(i) + r};
      };
      std::size_t const count = 1023;
      std::vector<linear> input(count);
      std::vector<linear> expected(count);
      for (std::size_t i = 0; i < count; ++i) {
        input[i] = value(world.rank(), i);
        expected[i] = value(0, i);
        for (tutti::rank_type r = 1; r < world.size(); ++r) {
          expected[i] = typed_compose(expected[i], value(r, i));
        }
      }
      return laws::all_topologies::first_complaint([&](auto topology) {
        using topology_type = decltype(topology);
        tutti::allreduce combine{world, laws::run_as(world, topology), composition};
        std::vector<linear> output(count);
        std::string const text = refusal([&] { combine(input.data(), output.data(), count); });
        if constexpr (topology_type::keeps_rank_order) {
          tutti::allreduce typed_operator{
              world, laws::run_as(world, topology),
              tutti::reduce_with<linear>(typed_compose, tutti::associative, tutti::function_name<"composed">)};
          std::vector<linear> result = input;
          if (world.rank() % 2 == 0) {
            combine(result.data(), count);
          } else {
            typed_operator(result);
          }
          auto copy = input;
          combine.start(copy.data(), count).wait();
          return equal_bits<linear>(output, expected) && equal_bits<linear>(result, expected) &&
                         equal_bits<linear>(copy, expected)
                     ? std::string()
                     : std::string(topology_type::name) + " has wrong results " + text;
        } else if (tutti::combines_in_rank_order<tutti::op::allreduce>(topology, world.size())) {
          return equal_bits<linear>(output, expected) ? std::string() : "wrong results " + text;
        } else {
          return text.find("does not commute") != std::string::npos ? std::string() : "not refused: " + text;
        }
      });
    });
  }
}

// Elements of any size, and functions that commute, over all topologies, and over the one that `automatic` picks.
BOOST_AUTO_TEST_CASE_TEMPLATE(elements_of_any_size_are_combined, Transport, support::transports_of_the_engine) {
  support::agree<Transport>(3, [](auto& world) {
    std::string text;
    for (std::size_t row : {std::size_t{1}, std::size_t{3}, std::size_t{625}}) {  // 8, 24 and 5000 bytes
      std::size_t const count = 20;
      any_element const type = any_element::bytes(row * sizeof(linear));
      auto const value = [](tutti::rank_type r, std::size_t i) {
        return linear{2 * r + 3, static_cast<std::uint32_t>(i) + r};
      };
      std::vector<linear> input(row * count);
      std::vector<linear> composition(row * count);
      std::vector<linear> sum(row * count);
      for (std::size_t i = 0; i < input.size(); ++i) {
        input[i] = value(world.rank(), i);
        composition[i] = typed_compose(typed_compose(value(0, i), value(1, i)), value(2, i));
        sum[i] = {value(0, i).a + value(1, i).a + value(2, i).a, value(0, i).b + value(1, i).b + value(2, i).b};
      }
      any_reduction const composing("composed", type, &compose_rows, &row);
      any_reduction const adding("added", type, &add_rows, &row, tutti::commutative);
      auto const is_right = [&](auto& combine, any_reduction const& reduction, std::vector<linear> const& expected) {
        auto in_place = input;
        std::vector<linear> output(input.size());
        combine(reduction, in_place.data(), count);
        combine.start(reduction, input.data(), output.data(), count).wait();
        return equal_bits<linear>(in_place, expected) && equal_bits<linear>(output, expected);
      };
      text += laws::all_topologies::first_complaint([&](auto topology) -> std::string {
        tutti::allreduce combine{world, laws::run_as(world, topology), adding};
        if (!is_right(combine, adding, sum)) {
          return std::string(decltype(topology)::name) + " adds wrongly";
        }
        if (tutti::combines_in_rank_order<tutti::op::allreduce>(topology, world.size()) &&
            !is_right(combine, composing, composition)) {
          return std::string(decltype(topology)::name) + " composes wrongly";
        }
        return {};
      });
      if constexpr (std::is_same_v<Transport, tutti::loopback>) {
        tutti::automatic const best(world, {.budget = std::chrono::milliseconds(1)});
        tutti::allreduce combine{world, best, adding};
        if (!is_right(combine, adding, sum) || !is_right(combine, composing, composition)) {
          text += "automatic is wrong";
        }
      }
    }
    return text;
  });
}

// All bytes of a bool, whatever wrote them.
BOOST_AUTO_TEST_CASE(a_byte_of_a_bool_is_true_unless_it_is_zero) {
  constexpr std::size_t count = 256 * 256;
  constexpr std::pair<char const*, bool (*)(bool, bool)> operations[] = {
      {"and", [](bool a, bool b) { return a && b; }},
      {"or", [](bool a, bool b) { return a || b; }},
      {"xor", [](bool a, bool b) { return a != b; }}};
  for (tutti::rank_type const n : {1U, 2U, 3U}) {
    support::agree<tutti::loopback>(n, [&](auto& world) {
      auto const byte = [](tutti::rank_type rank, std::size_t i) {
        return static_cast<std::uint8_t>(rank == 0 ? i / 256 : rank == 1 ? i % 256 : i % 17 == 0 ? 0 : i % 251);
      };
      std::vector<std::uint8_t> input(count);
      for (std::size_t i = 0; i < count; ++i) {
        input[i] = byte(world.rank(), i);
      }
      any_reduction const first("logical_and", any_element("bool"));
      tutti::allreduce combine{world, tutti::doubling{}, first};
      tutti::scan run{world, tutti::doubling{}, first};
      tutti::exscan run_before{world, tutti::chain{}, first};
      std::string text;
      for (auto const& [name, combine_truths] : operations) {
        auto const check = [&, &combine_truths = combine_truths](std::string const& operation,
                                                                 std::vector<std::uint8_t> const& result,
                                                                 tutti::rank_type ranks) {
          for (std::size_t i = 0; i < count && text.empty() && ranks != 0; ++i) {
            bool expected = byte(0, i) != 0;
            for (tutti::rank_type r = 1; r < ranks; ++r) {
              expected = combine_truths(expected, byte(r, i) != 0);
            }
            text = result[i] == (expected ? 1 : 0) ? "" : operation + " is wrong at " + std::to_string(i);
          }
        };
        for (std::string const kind : {"logical_", "bit_"}) {
          any_reduction const reduction(kind + name, any_element("bool"));
          std::vector<std::uint8_t> output(count);
          auto in_place = input;
          combine(reduction, in_place.data(), count);
          check("allreduce in place by " + kind + name, in_place, world.size());
          combine(reduction, input.data(), output.data(), count);
          check("allreduce by " + kind + name, output, world.size());
          run(reduction, input.data(), output.data(), count);
          check("scan by " + kind + name, output, world.rank() + 1);
          run_before(reduction, input.data(), output.data(), count);
          check("exscan by " + kind + name, output, world.rank());
        }
      }
      return text;
    });
  }
}

// The identity of a function: its name, its element, and if it commutes.
BOOST_AUTO_TEST_CASE(ranks_with_other_functions_find_out) {
  any_element const type("float32");
  auto const add = [](void const* input, void* inout, std::size_t n, void*) {
    for (std::size_t i = 0; i < n; ++i) {
      static_cast<float*>(inout)[i] += static_cast<float const*>(input)[i];
    }
  };
  auto const untyped_rank = [](any_reduction const& reduction) {
    return [reduction](auto& world) {
      std::vector<float> v(10, 1);
      tutti::allreduce{world, tutti::doubling{}, reduction}(v.data(), v.size());
      return v[9] == 2;
    };
  };
  auto const typed_rank = [](auto reduction) {
    return [reduction](auto& world) {
      std::vector<float> v(10, 1);
      tutti::allreduce{world, tutti::doubling{}, reduction}(v);
      return v[9] == 2;
    };
  };
  auto const ends = [](bool is_mismatch, auto const& zeroth, auto const& first) {
    auto const results = tutti::spawn<tutti::loopback>(2, [&](auto& world) {
      world.deadline(std::chrono::seconds(20));
      return world.rank() == 0 ? zeroth(world) : first(world);
    });
    bool is_right = true;
    for (auto const& result : results) {
      is_right = is_right && (is_mismatch ? !result && result.failure().kind == tutti::failure::mismatch
                                          : result && result.value());
    }
    return is_right;
  };
  any_reduction const library("sum", type);
  any_reduction const function("sum", type, add);
  any_reduction const commuting("sum", type, add, nullptr, tutti::commutative);
  constexpr auto name = tutti::function_name<"sum">;
  auto const typed_function = tutti::reduce_with<float>(std::plus<>{}, name);
  auto const typed_commuting = tutti::reduce_with<float>(std::plus<>{}, tutti::associative, tutti::commutative, name);
  BOOST_TEST(ends(false, untyped_rank(function), untyped_rank(function)));
  BOOST_TEST(ends(false, untyped_rank(function), typed_rank(typed_function)));
  BOOST_TEST(ends(false, untyped_rank(commuting), typed_rank(typed_commuting)));
  BOOST_TEST(ends(true, untyped_rank(library), untyped_rank(function)));
  BOOST_TEST(ends(true, untyped_rank(library), untyped_rank(commuting)));
  BOOST_TEST(ends(true, untyped_rank(function), untyped_rank(commuting)));
  BOOST_TEST(ends(true, typed_rank(tutti::sum<float>{}), untyped_rank(commuting)));
  BOOST_TEST(ends(true, typed_rank(tutti::sum<float>{}), typed_rank(typed_commuting)));
  BOOST_TEST(ends(true, typed_rank(typed_function), untyped_rank(commuting)));
  BOOST_TEST(ends(true, typed_rank(typed_function), typed_rank(typed_commuting)));
  BOOST_TEST(ends(true, typed_rank(tutti::reduce_with<float>(std::plus<>{})),
                  typed_rank(tutti::reduce_with<float>(std::plus<>{}, tutti::commutative))));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_function_that_throws_ends_the_operation, Transport, support::transports_of_the_engine) {
  for (bool const is_started : {false, true}) {
    auto const results = tutti::spawn<Transport>(3, [&](auto& world) {
      world.deadline(std::chrono::seconds(40));
      bool throws = world.rank() == 1;
      auto const add = [](void const* input, void* inout, std::size_t n, void* context) {
        if (*static_cast<bool const*>(context)) {
          throw std::domain_error("I cannot add");
        }
        std::size_t row = n / 2;
        add_rows(input, inout, 1, &row);
      };
      std::vector<std::uint32_t> v(10000, 1);
      tutti::allreduce combine{world, tutti::ring{},
                               any_reduction("added", any_element("uint32"), add, &throws, tutti::commutative)};
      if (is_started) {
        combine.start(v.data(), v.size()).wait();
      } else {
        combine(v.data(), v.size());
      }
    });
    BOOST_REQUIRE((!results[0] && !results[1] && !results[2]));
    BOOST_TEST(results[1].failure().text == "I cannot add");
    for (tutti::rank_type const r : {0U, 2U}) {
      BOOST_TEST((results[r].failure().kind == tutti::failure::cancelled), results[r].failure().text);
      BOOST_TEST((results[r].failure().at_fault == std::vector<tutti::rank_type>{1}), results[r].failure().text);
    }
  }
}

// Every call that takes pointers: a null pointer with elements, and more elements than any memory has.
BOOST_AUTO_TEST_CASE(elements_without_memory_are_refused) {
  support::agree<tutti::loopback>(2, [](auto& world) {
    tutti::rank_type const me = world.rank();
    any_element const type("int32");
    any_reduction const sum("sum", type);
    tutti::allreduce combine{world, tutti::doubling{}, sum};
    tutti::reduce combine_at{world, tutti::binary_tree{}, sum};
    tutti::reduce_scatter combine_parts{world, tutti::ring{}, sum};
    tutti::scan run{world, tutti::doubling{}, sum};
    tutti::exscan run_before{world, tutti::chain{}, sum};
    tutti::broadcast share{world, tutti::binary_tree{}};
    tutti::allgather collect{world, tutti::ring{}};
    tutti::gather bring{world, tutti::star{}};
    tutti::scatter deal{world, tutti::chain{}};
    tutti::alltoall swap{world, tutti::direct{}};
    tutti::send give{world};
    tutti::recv take{world};
    tutti::recv_any take_any{world};
    tutti::exchange list{world};
    std::array<int, 6> first{};
    std::array<int, 6> second{};
    std::string text;
    auto const try_all = [&](void* input, void* output, std::size_t count, tutti::rank_type root,
                             std::string const& reason) {
      void* const data = input == nullptr ? input : output;
      tutti::partition const blocks{count / 2, count / 2};
      auto const expect_refusal = [&](std::string const& operation, auto const& call) {
        std::string const actual = refusal(call);
        if (text.empty() && (!actual.starts_with(operation + ": the ") || actual.find(reason) == std::string::npos)) {
          text = operation + " is not refused as it should be: " + actual;
        }
      };
      auto const refuses = [&](std::string const& operation, auto& run_operation, auto const&... arguments) {
        expect_refusal(operation, [&] { run_operation(arguments...); });
        expect_refusal(operation, [&] { run_operation.start(arguments...).wait(); });
      };
      refuses("allreduce", combine, data, count);
      refuses("allreduce", combine, input, output, count);
      refuses("reduce", combine_at, data, count, root);
      refuses("reduce", combine_at, input, output, count, root);
      refuses("reduce_scatter", combine_parts, data, count);
      refuses("reduce_scatter", combine_parts, input, output, count);
      refuses("reduce_scatter", combine_parts, data, blocks);
      refuses("reduce_scatter", combine_parts, input, output, blocks);
      refuses("scan", run, data, count);
      refuses("scan", run, input, output, count);
      if (output != nullptr || me != 0) {  // rank 0 has no output
        refuses("exscan", run_before, data, count);
        refuses("exscan", run_before, input, output, count);
      }
      refuses("broadcast", share, data, count, type, root);
      refuses("allgather", collect, data, count, type);
      refuses("allgather", collect, input, output, count, type);
      refuses("allgather", collect, data, blocks, type);
      refuses("allgather", collect, input, output, blocks, type);
      refuses("gather", bring, input, output, count, type, root);
      refuses("gather", bring, input, output, blocks, type, root);
      refuses("scatter", deal, input, output, count, type, root);
      refuses("scatter", deal, input, output, blocks, type, root);
      refuses("alltoall", swap, input, output, count, type);
      refuses("alltoall", swap, input, output, blocks, blocks, type);
      refuses("send", give, data, count, type, 1 - me);
      refuses("recv", take, data, count, type, 1 - me);
      expect_refusal("recv_any", [&] { take_any(data, count, type); });
      expect_refusal("exchange", [&] { list.send(data, count, type, 1 - me); });
      expect_refusal("exchange", [&] { list.recv(data, count, type, me); });
      tutti::any_elements container(data, count, type);
      expect_refusal("send", [&] { give(tutti::any_length(container), 1 - me); });
      expect_refusal("recv", [&] { take(tutti::any_length(container), 1 - me); });
      expect_refusal("recv_any", [&] { take_any(tutti::any_length(container)); });
      expect_refusal("exchange", [&] { list.send(tutti::any_length(container), 1 - me); });
      expect_refusal("exchange", [&] { list.recv(tutti::any_length(container), me); });
    };
    try_all(nullptr, second.data(), 6, me, " is null, but has ");
    try_all(first.data(), nullptr, 6, me, " is null, but has ");
    constexpr std::size_t wrapping_count = SIZE_MAX / sizeof(int) + 1;
    for (tutti::rank_type const root : {0U, 1U}) {
      try_all(first.data(), second.data(), wrapping_count, root, " elements of 4 bytes, more than any memory");
    }
    combine(nullptr, 0);
    combine(first.data(), 6);  // nothing has started
    return text;
  });
}

// The other operators, by two reductions in turn, with copy operations under way that keep a reduction whose last
// copy of the caller is gone.
BOOST_AUTO_TEST_CASE_TEMPLATE(all_operators_combine, Transport, support::transports_of_the_engine) {
  support::agree<Transport>(3, [](auto& world) {
    auto const me = world.rank();
    any_reduction const sum("sum", any_element("int32"));
    any_reduction const max("max", any_element("float64"));
    std::vector<int> const input{static_cast<int>(me), 10, 20, 30, 40};
    std::vector<double> const numbers{1.5 * me, -1.0 * me};
    std::vector<int> output(5);
    std::string text;
    auto const check = [&](char const* name, auto const& actual, auto const& expected) {
      if (text.empty() && actual != expected) {
        text = std::string(name) + " is wrong";
      }
    };

    tutti::reduce total{world, tutti::binary_tree{}, sum};
    total(input.data(), output.data(), 5, 1);
    check("reduce", output, me == 1 ? std::vector<int>{3, 30, 60, 90, 120} : std::vector<int>(5));
    auto largest = numbers;
    total(max, largest.data(), 2, 0);
    check("reduce by another reduction", largest, me == 0 ? std::vector<double>{3, 0} : numbers);

    tutti::scan running{world, tutti::doubling{}, sum};
    running(input.data(), output.data(), 5);
    auto const k = static_cast<int>(me) + 1;
    check("scan", output, std::vector<int>{k * (k - 1) / 2, 10 * k, 20 * k, 30 * k, 40 * k});

    tutti::exscan offset{world, tutti::chain{}, sum};
    output.assign(5, -1);
    offset.start(input.data(), me == 0 ? nullptr : output.data(), 5).wait();
    auto const j = k - 1;
    check("exscan", output,
          me == 0 ? std::vector<int>(5, -1) : std::vector<int>{j * (j - 1) / 2, 10 * j, 20 * j, 30 * j, 40 * j});

    tutti::reduce_scatter share{world, tutti::ring{}, sum};
    auto in_place = input;
    share(in_place.data(), 5);
    std::vector<int> const sums{3, 30, 60, 90, 120};
    auto const begin = tutti::block_begin(5, 3, me);
    auto const size = tutti::block_size(5, 3, me);
    check(
        "reduce_scatter in place",
        std::vector<int>(in_place.begin() + static_cast<int>(begin), in_place.begin() + static_cast<int>(begin + size)),
        std::vector<int>(sums.begin() + static_cast<int>(begin), sums.begin() + static_cast<int>(begin + size)));
    tutti::partition const blocks{4, 0, 1};
    std::vector<int> block(blocks.length(me));
    share(input.data(), block.data(), blocks);
    check("reduce_scatter of a partition", block,
          me == 0   ? std::vector<int>{3, 30, 60, 90}
          : me == 1 ? std::vector<int>{}
                    : std::vector<int>{120});

    std::vector<linear> first(100, linear{2, 1});
    std::vector<linear> second(100, linear{3, 2});
    int calls = 0;
    tutti::allreduce combine{world, tutti::chain{}, sum};
    auto one_request =
        combine.start(any_reduction("composed", any_element::make<linear>(), &compose, &calls), first.data(), 100);
    auto two_request =
        combine.start(any_reduction("composed", any_element::make<linear>(), &compose), second.data(), 100);
    combine(in_place.data(), 5);
    two_request.wait();
    one_request.wait();
    check("a copy operation", first[99].a, 8U);
    check("another copy operation", second[99].b, 26U);
    check("the calls of a function", me != 1 || calls != 0, true);
    std::string const overlap =
        refusal([&] { combine(input.data(), in_place.data(), 5), combine(in_place.data(), in_place.data() + 1, 4); });
    check("the refusal", overlap,
          std::string("allreduce: input and output overlap; use the same memory for both, or separate memory"));
    return text;
  });
}

// Each operation that only moves elements, with typed ranks and others.
BOOST_AUTO_TEST_CASE_TEMPLATE(elements_are_moved, Transport, support::transports_of_the_engine) {
  support::agree<Transport>(3, [](auto& world) {
    auto const me = world.rank();
    bool const is_typed = me == 1;
    any_element const type = any_element::make<linear>();
    tutti::partition const blocks{4, 0, 3};
    std::vector<linear> vector(7);
    for (std::uint32_t i = 0; i < 7; ++i) {
      vector[i] = {i, 3 * i};
    }
    std::string text;
    auto const check = [&](char const* name, std::vector<linear> const& result, bool has_result) {
      if (text.empty() && has_result && !equal_bits<linear>(result, vector)) {
        text = std::string(name) + " is wrong";
      }
    };
    auto const block_of = [&](tutti::partition const* p) {
      std::size_t const begin = p != nullptr ? p->begin(me) : tutti::block_begin(7, 3, me);
      std::size_t const length = p != nullptr ? p->length(me) : tutti::block_size(7, 3, me);
      return std::vector<linear>(vector.data() + begin, vector.data() + begin + length);
    };

    tutti::broadcast share{world, tutti::binary_tree{}};
    std::vector<linear> v = me == 2 ? vector : std::vector<linear>(7);
    if (is_typed) {
      share(v, 2);
    } else {
      share(v.data(), v.size(), type, 2);
    }
    check("broadcast", v, true);

    tutti::allgather collect{world, tutti::ring{}};
    tutti::gather bring{world, tutti::star{}};
    tutti::scatter deal{world, tutti::chain{}};
    for (tutti::partition const* const p : {static_cast<tutti::partition const*>(nullptr), &blocks}) {
      auto const block = block_of(p);
      std::vector<linear> output(7);
      std::vector<linear> part(block.size());
      auto const run = [&](auto const&... cut) {  // nothing or a partition
        if (is_typed) {
          collect(block, output, cut...);
          collect(output, cut...);
        } else if (p != nullptr) {
          collect(block.data(), output.data(), *p, type);
          collect.start(output.data(), *p, type).wait();
        } else {
          collect(block.data(), output.data(), 7, type);
          collect.start(output.data(), 7, type).wait();
        }
        check("allgather", output, true);
        output.assign(7, {});
        if (is_typed && p != nullptr) {
          bring(block, output, 0, *p);
          deal(vector, part, 2, *p);
        } else if (is_typed) {
          bring(block, output, 0, 7);
          deal(vector, part, 2, 7);
        } else if (p != nullptr) {
          bring(block.data(), output.data(), *p, type, 0);
          deal.start(me == 2 ? vector.data() : nullptr, part.data(), *p, type, 2).wait();
        } else {
          bring.start(block.data(), output.data(), 7, type, 0).wait();
          deal(me == 2 ? vector.data() : nullptr, part.data(), 7, type, 2);
        }
        check("gather", output, me == 0);
        if (!equal_bits<linear>(part, block)) {
          text += "scatter is wrong";
        }
      };
      if (p != nullptr) {
        run(*p);
      } else {
        run();
      }
    }
    return text;
  });
}

// Blocks of equal lengths, and of a length for each pair of ranks, with typed ranks and others.
BOOST_AUTO_TEST_CASE_TEMPLATE(blocks_are_exchanged, Transport, support::transports_of_the_engine) {
  support::agree<Transport>(3, [](auto& world) {
    auto const me = world.rank();
    any_element const type = any_element::make<linear>();
    tutti::alltoall swap{world, tutti::direct{}};
    auto const is_right = [&](auto length) {  // length(i, j): the elements from rank i to rank j
      std::vector<std::size_t> lengths_out;
      std::vector<std::size_t> lengths_in;
      std::vector<linear> input;
      std::vector<linear> expected;
      for (tutti::rank_type r = 0; r < 3; ++r) {
        lengths_out.push_back(length(me, r));
        lengths_in.push_back(length(r, me));
        for (std::uint32_t i = 0; i < lengths_out.back(); ++i) {
          input.push_back({10 * me + r, i});
        }
        for (std::uint32_t i = 0; i < lengths_in.back(); ++i) {
          expected.push_back({10 * r + me, i});
        }
      }
      tutti::partition const outgoing(lengths_out);
      tutti::partition const incoming(lengths_in);
      bool result = true;
      for (bool const is_equal : {true, false}) {
        if (is_equal && input.size() != 3 * lengths_out[0]) {
          continue;
        }
        std::vector<linear> output(expected.size());
        std::vector<linear> second(expected.size());
        if (me == 1 && is_equal) {
          swap(input, output);
          swap(input, second);
        } else if (me == 1) {
          swap(input, output, outgoing, incoming);
          swap(input, second, outgoing, incoming);
        } else if (is_equal) {
          swap(input.data(), output.data(), input.size(), type);
          swap.start(input.data(), second.data(), input.size(), type).wait();
        } else {
          swap(input.data(), output.data(), outgoing, incoming, type);
          swap.start(input.data(), second.data(), outgoing, incoming, type).wait();
        }
        result = result && equal_bits<linear>(output, expected) && equal_bits<linear>(second, expected);
      }
      return result;
    };
    std::string const text = refusal([&] { swap(nullptr, nullptr, 4, type); });
    return is_right([](auto, auto) { return std::size_t{5}; }) && is_right([](auto i, auto j) { return 2 * i + j; }) &&
                   text == "alltoall: the elements must be a multiple of the 3 ranks, not 4"
               ? std::string()
               : "alltoall is wrong: " + text;
  });
}

// Messages between ranks that name a type and ranks that have it in their code, by each operator, with others of
// another type between them.
BOOST_AUTO_TEST_CASE_TEMPLATE(messages_are_moved, Transport, support::transports_of_the_engine) {
  support::agree<Transport>(3, [](auto& world) -> std::string {
    auto const me = world.rank();
    any_element const type = any_element::make<linear>();
    any_element const number("int64");
    auto const value = [](tutti::rank_type r) { return linear{r + 1, 7 * r}; };
    auto const is_of = [&](linear x, tutti::rank_type r) { return x.a == r + 1 && x.b == 7 * r; };
    std::vector<linear> const own_values(100, value(me));
    std::vector<linear> first(100);
    std::vector<linear> second(100);
    std::vector<linear> third(100);
    std::int64_t sent_number = me;
    std::int64_t received_number = -1;

    tutti::send give{world};
    tutti::recv take{world};
    if (me == 0) {
      give(own_values.data(), 100, type, 1);
      give.start(own_values.data(), 100, type, 1).wait();
      give(own_values, 1);
      give(&sent_number, 1, number, 1);
    } else if (me == 1) {
      take(first, 0);
      take.start(second.data(), 100, type, 0).wait();
      take(third.data(), 100, type, 0);
      take(received_number, 0);
      if (!is_of(first[99], 0) || !is_of(second[99], 0) || !is_of(third[99], 0) || received_number != 0) {
        return "send or recv is wrong";
      }
    }

    tutti::rank_type const next_rank = (me + 1) % 3;
    tutti::rank_type const previous_rank = (me + 2) % 3;
    tutti::exchange list{world};
    for (bool const is_second : {false, true}) {
      bool const is_typed = is_second != (me == 1);
      first.assign(100, {});
      second.assign(100, {});
      list.clear();
      if (is_typed) {
        list.send(own_values, next_rank);
        list.recv(first, previous_rank);
        list.send(own_values, me);
      } else {
        list.send(own_values.data(), 100, type, next_rank);
        list.recv(first.data(), 100, type, previous_rank);
        list.send(own_values.data(), 100, type, me);
      }
      list.recv(second.data(), 100, type, me);
      list.send(&sent_number, 1, number, next_rank);
      list.recv(&received_number, 1, number, previous_rank);
      list();
      ++sent_number;
      list();
      if (!is_of(first[99], previous_rank) || !is_of(second[99], me) ||
          received_number != static_cast<std::int64_t>(previous_rank) + (is_second ? 2 : 1)) {
        return "exchange is wrong";
      }
    }

    tutti::recv_any take_any{world};
    if (me != 0) {
      give(own_values, 0);
      take(received_number, 0);  // now rank 0 expects numbers
      give(sent_number, 0);
      return {};
    }
    tutti::rank_type sum_of_ranks = 0;
    for (int k = 0; k != 2; ++k) {
      tutti::rank_type sender = tutti::no_rank;
      take_any.start(first.data(), 100, type, sender).wait();
      if (!is_of(first[99], sender)) {
        return "recv_any is wrong";
      }
    }
    for (tutti::rank_type const r : {1U, 2U}) {
      give(&sent_number, 1, number, r);
    }
    for (int k = 0; k != 2; ++k) {
      tutti::rank_type const sender = take_any(&received_number, 1, number);
      sum_of_ranks += received_number == static_cast<std::int64_t>(sender) + 2 ? sender : 0;
    }
    if (sum_of_ranks != 3) {
      return "recv_any by another type is wrong";
    }
    return {};
  });
}

// Messages shorter than the memory that they are received in, by each operator, from typed ranks and others.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_message_may_be_shorter_than_its_memory, Transport, support::transports_of_the_engine) {
  constexpr std::size_t capacity = 50000;
  support::agree<Transport>(2, [](auto& world) -> std::string {
    auto const me = world.rank();
    any_element const type = any_element::make<linear>();
    auto const value = [](std::size_t length, std::size_t i) {
      return linear{static_cast<std::uint32_t>(length), static_cast<std::uint32_t>(i)};
    };
    tutti::send give{world};
    tutti::recv take{world};
    tutti::recv_any take_any{world};
    std::vector<linear> memory(capacity);
    std::vector<linear> own_memory(capacity);
    tutti::any_elements room(memory.data(), capacity, type);
    tutti::any_elements own_room(own_memory.data(), capacity, type);
    tutti::exchange list{world};  // lists rank 1's ends of the messages, and one to itself
    std::vector<linear> source(capacity);
    tutti::any_elements own_content(source.data(), capacity, type);
    list.recv(tutti::any_length(room), 0);
    list.send(tutti::any_length(own_content), 1);
    list.recv(tutti::any_length(own_room), 1);
    for (std::size_t const length : {std::size_t{0}, std::size_t{1}, std::size_t{100}, capacity}) {
      for (bool const is_typed : {false, true}) {
        std::vector<linear> content(length);
        for (std::size_t i = 0; i < length; ++i) {
          content[i] = value(length, i);
        }
        tutti::any_elements sent_elements(content.data(), length, type);
        tutti::exchange sending{world};
        sending.send(tutti::any_length(sent_elements), 1);
        for (int way = 0; me == 0 && way != 5; ++way) {
          if (is_typed || way == 4) {
            give(tutti::any_length(content), 1);
          } else if (way % 2 == 0) {
            give(tutti::any_length(sent_elements), 1);
          } else {
            sending();
          }
        }
        for (int way = 0; me == 1 && way != 5; ++way) {
          memory.assign(capacity, {});
          tutti::rank_type sender = 0;
          if (way == 0) {
            take(tutti::any_length(room), 0);
          } else if (way == 1) {
            own_content.resize(length / 2);
            list();
            if (own_room.size() != length / 2) {
              return "a message of a rank to itself has another length";
            }
          } else if (way == 2) {
            sender = take_any(tutti::any_length(room));
          } else if (way == 3) {
            take_any.start(tutti::any_length(room), sender).wait();
          } else {
            memory.resize(7);  // a typed container
            take(tutti::any_length(memory), 0);
            room.resize(memory.size());
            memory.resize(capacity);
          }
          bool is_right = sender == 0 && room.size() == length && memory.data() == room.data();
          for (std::size_t i = 0; i < capacity && is_right; ++i) {
            linear const expected = i < length ? value(length, i) : linear{};
            is_right = memory[i].a == expected.a && memory[i].b == expected.b;
          }
          if (!is_right) {
            return "another message of " + std::to_string(length) + " in way " + std::to_string(way);
          }
        }
      }
    }
    return {};
  });
}

// A message that is longer than the memory ends on both ranks, and writes nothing.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_message_that_is_too_long_is_refused, Transport, support::transports_of_the_engine) {
  for (int const way : {0, 1, 2}) {
    auto const results = tutti::spawn<Transport>(2, [&](auto& world) {
      world.deadline(std::chrono::seconds(40));
      std::array<int, 3> memory{};
      tutti::any_elements elements(memory.data(), world.rank() == 0 ? 3 : 2, any_element("int32"));
      tutti::exchange list{world};
      if (world.rank() == 0) {
        tutti::send{world}(tutti::any_length(elements), 1);
        tutti::recv{world}(memory, 1);  // stays until the other end is known to be wrong
      } else if (way == 0) {
        tutti::recv{world}(tutti::any_length(elements), 0);
      } else if (way == 1) {
        list.recv(tutti::any_length(elements), 0);
        list();
      } else {
        tutti::recv_any{world}(tutti::any_length(elements));
      }
    });
    BOOST_REQUIRE((!results[0] && !results[1]));
    BOOST_TEST((results[0].failure().kind == tutti::failure::cancelled), results[0].failure().text);
    BOOST_TEST(results[1].failure().text.ends_with(
                   "any_elements: there is memory for 2 elements, and the message has 3; give more memory"),
               results[1].failure().text);
  }
}
