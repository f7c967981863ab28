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

/// Whatever instructions run, the bits are those of the scalar functions.
namespace instructions {

using tutti::detail::instruction_set;

/// Lets the kernels use no more than `set` for as long as it lives.
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

/// Any bits: of floats, this is NaNs of all kinds, infinities and every exponent. One in four is of the few
/// values where rounding, signs of zeros and subnormals matter.
template <class T>
std::vector<T> anything(std::size_t n, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<T> all(n);
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
    for (T& x : all) {
      if (random() % 4 == 0) {
        x = special[random() % std::size(special)];
      } else {
        auto const bits = random();
        std::memcpy(static_cast<void*>(&x), &bits, sizeof x);
      }
    }
  } else {
    for (T& x : all) {
      auto const bits = random();
      if constexpr (std::same_as<T, bool>) {
        x = bits % 2 != 0;
      } else {
        std::memcpy(static_cast<void*>(&x), &bits, std::min(sizeof x, sizeof bits));
      }
    }
  }
  return all;
}

/// NaNs may be NaNs of other bits until lower makes one of them all; a functor has no such lower.
template <class T>
bool same(T const& a, T const& b, [[maybe_unused]] bool finished) {
  if constexpr (tutti::detail::floating_number<T>) {
    if (!finished && a != a && b != b) {
      return true;
    }
  }
  return std::memcmp(&a, &b, sizeof a) == 0;
}

/// Two operands, and what is where the result goes.
template <class T>
using operands = std::array<std::vector<T>, 3>;

template <class T>
operands<T> any_operands(std::size_t n) {
  return {anything<T>(n, 1), anything<T>(n, 2), anything<T>(n, 3)};
}

/// Folds, in place and not, and finish, of `n` elements that start `offset` elements into their arrays.
template <class R>
std::string wrong(R const& r, operands<typename R::value_type> const& given, std::size_t n, std::size_t offset) {
  using T = typename R::value_type;
  static_assert(tutti::accumulates_in_elements<R>);
  auto const some = [&](std::vector<T> const& of) {
    return std::vector<T>(of.begin(), of.begin() + std::ptrdiff_t(offset + n + 1));
  };
  auto const a = some(given[0]);
  auto const b = some(given[1]);
  auto const before = some(given[2]);
  auto const bytes = [&](auto& v) { return reinterpret_cast<std::byte*>(const_cast<T*>(v.data() + offset)); };
  auto const differs = [&](auto const& got, auto const& untouched, bool finished, auto expected) {
    for (std::size_t i = 0; i < got.size(); ++i) {
      bool const inside = i >= offset && i < offset + n;
      if (!same(got[i], inside ? expected(i) : untouched[i], !inside || (finished && tutti::detail::lowers<R>))) {
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
      auto apart = before;
      tutti::detail::fold(r, kind, bytes(a), bytes(b), bytes(apart), n, 3);
      auto const in_copy = differs(apart, before, finishes, expected);
      if (!in_copy.empty()) {
        return "out of place" + name + in_copy;
      }
      auto place = a;
      tutti::detail::fold(r, kind, bytes(place), bytes(b), bytes(place), n, 3);
      auto const in_place = differs(place, a, finishes, expected);
      if (!in_place.empty()) {
        return "in place" + name + in_place;
      }
    }
  }
  auto ended = before;
  tutti::detail::finish(r, true, bytes(a), bytes(ended), n, 3);
  return differs(ended, before, true, [&](std::size_t i) { return r.lower(a[i], 3); });
}

/// All lengths from 0 to 130, and as many from where the kernels begin to ask what the processor has.
template <class R>
void check(R const& r) {
  auto const asking = tutti::detail::short_bytes / sizeof(typename R::value_type);
  auto const given = any_operands<typename R::value_type>(asking + 200);
  for (auto set : available()) {
    limited_to const limit(set);
    for (std::size_t offset : {0U, 1U, 3U}) {
      for (std::size_t n = 0; n <= 130; ++n) {
        BOOST_TEST_CONTEXT("instructions " << int(set) << ", offset " << offset) {
          for (std::size_t length : {n, asking + n}) {
            auto const what = wrong(r, given, length, offset);
            BOOST_REQUIRE_MESSAGE(what == "", length << " elements, " << what);
          }
        }
      }
    }
  }
}

/// Results so long that they are streamed past the caches.
template <class R>
void check_streamed(R const& r) {
#if defined(__x86_64__)
  auto const n = tutti::detail::streamed_bytes / sizeof(typename R::value_type);
#else
  std::size_t const n = 100000;
#endif
  auto const given = any_operands<typename R::value_type>(n + 100);
  for (auto set : available()) {
    limited_to const limit(set);
    for (std::size_t offset : {0U, 3U}) {
      BOOST_TEST(wrong(r, given, n + 5, offset) == "");
    }
  }
}

/// What all numbers can do, of each of these types.
template <class... Numbers>
using arithmetic_of =
    std::tuple<tutti::sum<Numbers>..., tutti::prod<Numbers>..., tutti::min<Numbers>..., tutti::max<Numbers>...>;

}  // namespace instructions
