// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <laws/reduction.hpp>

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

/// The integer types, and their extreme values.
namespace integer {

#ifdef __SIZEOF_INT128__
__extension__ using int128 = __int128;
__extension__ using uint128 = unsigned __int128;
using types = std::tuple<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t,
                         std::int64_t, std::uint64_t, int128, uint128>;
#else
using types = std::tuple<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t,
                         std::int64_t, std::uint64_t>;
#endif

/// Extreme values of T, whose sums and products overflow.
template <class T>
inline std::vector<T> const samples{T{0},
                                    T{1},
                                    T{2},
                                    T{7},
                                    static_cast<T>(-1),
                                    static_cast<T>(-5),
                                    std::numeric_limits<T>::max(),
                                    std::numeric_limits<T>::min(),
                                    static_cast<T>(std::numeric_limits<T>::max() / 3)};

template <class R>
void check() {
  using T = typename R::value_type;
  BOOST_TEST(laws::algebra(R{}, std::span<T const>(samples<T>)) == "");
  BOOST_TEST(laws::kernels(R{}, std::span<T const>(samples<T>)) == "");
}

}  // namespace integer
