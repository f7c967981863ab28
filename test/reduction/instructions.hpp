// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/reduction/fold.hpp>
#include <tutti/detail/reduction/number.hpp>
#include <tutti/reduction/arithmetic.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <vector>

/// Kernels of every instruction set give the bits of the scalar functions.
namespace instructions {

using tutti::detail::instruction_set;

/// Limits the kernels to `set` during its lifetime.
class limited_to {
 public:
  explicit limited_to(instruction_set set) { tutti::detail::limit_instructions(set); }
  limited_to(limited_to const&) = delete;
  limited_to& operator=(limited_to const&) = delete;
  ~limited_to() { tutti::detail::limit_instructions(tutti::detail::available_instructions()); }
};

inline std::vector<instruction_set> available() {
  std::vector<instruction_set> sets{instruction_set::baseline};
  for (auto set : {instruction_set::avx2, instruction_set::avx512}) {
    if (set <= tutti::detail::available_instructions()) {
      sets.push_back(set);
    }
  }
  return sets;
}

/// Numbers of random bits: floats include all NaNs, infinities and every exponent. A quarter of them are zeros,
/// subnormals, infinities and other special values.
template <class T>
std::vector<T> random_numbers(std::size_t n, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<T> numbers(n);
  if constexpr (tutti::detail::floating_number<T>) {
    using limits = std::numeric_limits<T>;
    T const special[] = {T(0.0F),
                         T(-0.0F),
                         limits::denorm_min(),
                         limits::min(),
                         limits::max(),
                         limits::lowest(),
                         limits::infinity(),
                         T(-limits::infinity()),
                         limits::quiet_NaN(),
                         T(1.0F),
                         T(-1.0F),
                         T(0.1F)};
    for (T& x : numbers) {
      if (random() % 4 == 0) {
        x = special[random() % std::size(special)];
      } else {
        auto const bits = random();
        std::memcpy(static_cast<void*>(&x), &bits, sizeof x);
      }
    }
  } else {
    for (T& x : numbers) {
      auto const bits = random();
      if constexpr (std::same_as<T, bool>) {
        x = bits % 2 != 0;
      } else {
        std::memcpy(static_cast<void*>(&x), &bits, std::min(sizeof x, sizeof bits));
      }
    }
  }
  return numbers;
}

/// True if two results have the same bits. NaNs may differ if the result is not lowered, or `lower` does not change
/// NaNs.
template <class T>
bool is_same(T const& a, T const& b, [[maybe_unused]] bool is_lowered) {
  if constexpr (tutti::detail::floating_number<T>) {
    if (!is_lowered && a != a && b != b) {
      return true;
    }
  }
  return std::memcmp(&a, &b, sizeof a) == 0;
}

/// Two operands, and the previous contents of the result.
template <class T>
using operands = std::array<std::vector<T>, 3>;

template <class T>
operands<T> any_operands(std::size_t n) {
  return {random_numbers<T>(n, 1), random_numbers<T>(n, 2), random_numbers<T>(n, 3)};
}

/// Compares `fold`, in place and out of place, and `finish` with the scalar functions, for `n` elements from `offset`
/// on. Returns the first difference, or "".
template <class R>
std::string wrong(R const& r, operands<typename R::value_type> const& samples, std::size_t n, std::size_t offset) {
  using T = typename R::value_type;
  static_assert(tutti::accumulates_in_elements<R>);
  auto const part = [&](std::vector<T> const& operand) {
    return std::vector<T>(operand.begin(), operand.begin() + std::ptrdiff_t(offset + n + 1));
  };
  auto const a = part(samples[0]);
  auto const b = part(samples[1]);
  auto const old_contents = part(samples[2]);
  auto const bytes = [&](auto& v) { return reinterpret_cast<std::byte*>(const_cast<T*>(v.data() + offset)); };
  auto const differs = [&](auto const& result, auto const& old_values, bool is_lowered, auto expected) {
    for (std::size_t i = 0; i < result.size(); ++i) {
      bool const is_inside = i >= offset && i < offset + n;
      if (!is_same(result[i], is_inside ? expected(i) : old_values[i],
                   !is_inside || (is_lowered && tutti::detail::lowers<R>))) {
        return " element " + std::to_string(i - offset);
      }
    }
    return std::string();
  };
  for (bool on_left : {false, true}) {
    for (bool finishes : {false, true}) {
      tutti::detail::fold_kind const kind{.arriving_on_left = on_left, .finishes = finishes};
      auto const expected = [&](std::size_t i) {
        T const acc = on_left ? r.combine(b[i], a[i]) : r.combine(a[i], b[i]);
        return finishes ? r.lower(acc, 3) : acc;
      };
      auto const name = std::string(on_left ? " left" : "") + (finishes ? " finishing" : "");
      auto result_copy = old_contents;
      tutti::detail::fold(r, kind, bytes(a), bytes(b), bytes(result_copy), n, 3);
      auto const in_copy = differs(result_copy, old_contents, finishes, expected);
      if (!in_copy.empty()) {
        return "out of place" + name + in_copy;
      }
      auto in_place_copy = a;
      tutti::detail::fold(r, kind, bytes(in_place_copy), bytes(b), bytes(in_place_copy), n, 3);
      auto const in_place = differs(in_place_copy, a, finishes, expected);
      if (!in_place.empty()) {
        return "in place" + name + in_place;
      }
    }
  }
  auto finished_copy = old_contents;
  tutti::detail::finish(r, true, bytes(a), bytes(finished_copy), n, 3);
  return differs(finished_copy, old_contents, true, [&](std::size_t i) { return r.lower(a[i], 3); });
}

/// Checks all lengths from 0 to 130, and as many from the length on at which kernels choose an instruction set.
template <class R>
void check(R const& r) {
  auto const threshold = tutti::detail::short_bytes / sizeof(typename R::value_type);
  auto const samples = any_operands<typename R::value_type>(threshold + 200);
  for (auto set : available()) {
    limited_to const limit(set);
    for (std::size_t offset : {0U, 1U, 3U}) {
      for (std::size_t n = 0; n <= 130; ++n) {
        BOOST_TEST_CONTEXT("instructions " << int(set) << ", offset " << offset) {
          for (std::size_t length : {n, threshold + n}) {
            auto const difference = wrong(r, samples, length, offset);
            BOOST_REQUIRE_MESSAGE(difference == "", length << " elements, " << difference);
          }
        }
      }
    }
  }
}

/// Checks results that are long enough to bypass the caches.
template <class R>
void check_streamed(R const& r) {
#if defined(__x86_64__)
  auto const n = tutti::detail::streamed_bytes / sizeof(typename R::value_type);
#else
  std::size_t const n = 100000;
#endif
  auto const samples = any_operands<typename R::value_type>(n + 100);
  for (auto set : available()) {
    limited_to const limit(set);
    for (std::size_t offset : {0U, 3U}) {
      BOOST_TEST(wrong(r, samples, n + 5, offset) == "");
    }
  }
}

/// The reductions of all numbers, for each of these types.
template <class... Numbers>
using arithmetic_of =
    std::tuple<tutti::sum<Numbers>..., tutti::prod<Numbers>..., tutti::min<Numbers>..., tutti::max<Numbers>...>;

}  // namespace instructions
