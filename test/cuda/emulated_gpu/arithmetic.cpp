// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic instructions.
#include "operations.hpp"
#include "warp.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

namespace emulated_gpu {

namespace {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s8 = std::int8_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;
using f16 = _Float16;
__extension__ using u128 = unsigned __int128;
__extension__ using s128 = __int128;

/// Replaces every NaN by the single one that a GPU returns for the type.
template <class T>
[[nodiscard]] T plain(T x) noexcept {
  if constexpr (std::is_same_v<T, float>) {
    return x != x ? number_in<float>(0x7fffffff) : x;
  } else if constexpr (std::is_same_v<T, double>) {
    return x != x ? number_in<double>(0xfff8000000000000) : x;
  } else if constexpr (std::is_same_v<T, f16>) {
    return x != x ? number_in<f16>(0x7fff) : x;
  } else {
    return x;
  }
}

void put(lanes& to, lanes const& from, lane_mask mask) {
  for_each_lane(mask, [&](unsigned l) { to[l] = from[l]; });
}
/// Applies F to each thread's operands. F may also read operands of other threads.
template <auto F, class To, class... From, std::size_t... I>
void compute(warp& w, instruction const& i, lane_mask mask, To (*)(From...), std::index_sequence<I...>) {
  lanes all;
  auto const each = [&](auto const&... from) {
    for (unsigned l = 0; l != warp_size; ++l) {
      all[l] = bits_of(plain(F(number_in<From>(from[l])...)));
    }
  };
  each(w.from(i.from[I])...);
  put(w.to(i.to[0]), all, mask);
}
template <auto F>
void of(warp& w, instruction const& i, lane_mask mask) {
  auto* const f = +F;
  [&]<class To, class... From>(To (*type)(From...)) {
    compute<F>(w, i, mask, type, std::index_sequence_for<From...>{});
  }(f);
}
void copy(warp& w, instruction const& i, lane_mask mask) {
  put(w.to(i.to[0]), w.from(i.from[0]), mask);
}

/// The bytes of a and b selected by c.
[[nodiscard]] u32 permuted(u32 a, u32 b, u32 c) {
  u64 const both = u64{b} << 32 | a;
  u32 all = 0;
  for (unsigned k = 0; k != 4; ++k) {
    unsigned const which = c >> (4 * k) & 15;
    u32 byte = static_cast<u32>(both >> (8 * (which & 7)) & 0xff);
    if ((which & 8) != 0) {
      byte = (byte & 0x80) != 0 ? 0xff : 0;
    }
    all |= byte << (8 * k);
  }
  return all;
}
/// Replaces bits of b by the low bits of a.
template <class T>
[[nodiscard]] T inserted(T a, T b, u32 at, u32 count) {
  at &= 255;
  count &= 255;
  if (at >= sizeof(T) * 8 || count == 0) {
    return b;
  }
  T const bits = count >= sizeof(T) * 8 ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << count) - 1);
  return static_cast<T>((b & static_cast<T>(~static_cast<T>(bits << at))) | static_cast<T>((a & bits) << at));
}
/// Joins a and b, b above, shifts left, and returns the upper half.
[[nodiscard]] u32 funnel_left(u32 a, u32 b, u32 by) {
  return static_cast<u32>((u64{b} << 32 | a) << (by & 31) >> 32);
}
[[nodiscard]] u32 funnel_right(u32 a, u32 b, u32 by) {
  return static_cast<u32>((u64{b} << 32 | a) >> (by & 31));
}
/// The upper half of a product.
template <class T, class Wide>
[[nodiscard]] T upper_half(T a, T b) {
  return static_cast<T>((static_cast<Wide>(a) * b) >> (sizeof(T) * 8));
}
/// Division by 0 gives an arbitrary value and does not end the program, as on a GPU.
template <class T>
[[nodiscard]] T quotient(T a, T b) {
  if (b == 0) {
    return static_cast<T>(-1);
  }
  return std::is_signed_v<T> && b == static_cast<T>(-1) ? static_cast<T>(T{0} - std::make_unsigned_t<T>(a))
                                                        : static_cast<T>(a / b);
}
template <class T>
[[nodiscard]] T remainder(T a, T b) {
  if (b == 0) {
    return a;
  }
  return std::is_signed_v<T> && b == static_cast<T>(-1) ? T{0} : static_cast<T>(a % b);
}
/// The smaller operand: a number rather than a NaN, and -0 rather than 0.
template <class T>
[[nodiscard]] T smaller(T a, T b) {
  if (a == b) {
    return std::signbit(a) ? a : b;
  }
  return b != b || a < b ? a : b;
}
template <class T>
[[nodiscard]] T larger(T a, T b) {
  return -smaller(-a, -b);
}

/// Rounds towards 0 to an integer and saturates at the limits of the type.
template <class From, class To>
[[nodiscard]] To whole_of(From x) {
  constexpr From least = static_cast<From>(std::numeric_limits<To>::min());
  constexpr From beyond = static_cast<From>(u64{1} << (std::numeric_limits<To>::digits - 1)) * 2;
  if (x != x) {
    return sizeof(From) == 8 || sizeof(To) == 8 ? static_cast<To>(To{1} << (sizeof(To) * 8 - 1)) : To{0};
  }
  if (x <= least) {
    return std::numeric_limits<To>::min();
  }
  return x >= beyond ? std::numeric_limits<To>::max() : static_cast<To>(x);
}

template <class T>
constexpr unsigned bits = sizeof(T) * 8;

template <class U, class S>
void add_integers(operations& to, std::string const& width) {
  to["and.b" + width] = of<[](U a, U b) { return static_cast<U>(a & b); }>;
  to["or.b" + width] = of<[](U a, U b) { return static_cast<U>(a | b); }>;
  to["xor.b" + width] = of<[](U a, U b) { return static_cast<U>(a ^ b); }>;
  to["not.b" + width] = of<[](U a) { return static_cast<U>(~a); }>;
  to["neg.s" + width] = of<[](U a) { return static_cast<U>(0 - a); }>;
  to["abs.s" + width] = of<[](U a) { return static_cast<U>(static_cast<S>(a) < 0 ? 0 - a : a); }>;
  to["shl.b" + width] = of<[](U a, u32 n) { return n >= bits<U> ? U{0} : static_cast<U>(a << n); }>;
  to["shr.s" + width] = of<[](S a, u32 n) { return static_cast<S>(a >> (n >= bits<S> ? bits<S> - 1 : n)); }>;
  for (char const* type : {"b", "u"}) {
    to["shr." + (type + width)] = of<[](U a, u32 n) { return n >= bits<U> ? U{0} : static_cast<U>(a >> n); }>;
  }
  for (std::string const& type : {"u" + width, "s" + width}) {
    to["add." + type] = of<[](U a, U b) { return static_cast<U>(a + b); }>;
    to["sub." + type] = of<[](U a, U b) { return static_cast<U>(a - b); }>;
    to["mul.lo." + type] = of<[](U a, U b) { return static_cast<U>(u64{a} * b); }>;
    to["mad.lo." + type] = of<[](U a, U b, U c) { return static_cast<U>(u64{a} * b + c); }>;
  }
  for (std::string const& type : {"b" + width, "u" + width, "s" + width}) {
    to["setp.eq." + type] = of<[](U a, U b) { return a == b; }>;
    to["setp.ne." + type] = of<[](U a, U b) { return a != b; }>;
  }
}
template <class T>
void add_ordered(operations& to, std::string const& type) {
  to["min." + type] = of<[](T a, T b) { return b < a ? b : a; }>;
  to["max." + type] = of<[](T a, T b) { return a < b ? b : a; }>;
  to["div." + type] = of<quotient<T>>;
  to["rem." + type] = of<remainder<T>>;
  to["setp.lt." + type] = of<[](T a, T b) { return a < b; }>;
  to["setp.le." + type] = of<[](T a, T b) { return a <= b; }>;
  to["setp.gt." + type] = of<[](T a, T b) { return (a > b); }>;
  to["setp.ge." + type] = of<[](T a, T b) { return a >= b; }>;
}
void add_wide(operations& to) {
  to["mul.wide.u16"] = of<[](u16 a, u16 b) { return u32{a} * b; }>;
  to["mul.wide.s16"] = of<[](s16 a, s16 b) { return s32{a} * b; }>;
  to["mul.wide.u32"] = of<[](u32 a, u32 b) { return u64{a} * b; }>;
  to["mul.wide.s32"] = of<[](s32 a, s32 b) { return s64{a} * b; }>;
  to["mad.wide.u32"] = of<[](u32 a, u32 b, u64 c) { return u64{a} * b + c; }>;
  to["mad.wide.s32"] = of<[](s32 a, s32 b, u64 c) { return static_cast<u64>(s64{a} * b) + c; }>;
  to["mul.hi.u32"] = of<upper_half<u32, u64>>;
  to["mul.hi.s32"] = of<upper_half<s32, s64>>;
  to["mul.hi.u64"] = of<upper_half<u64, u128>>;
  to["mul.hi.s64"] = of<upper_half<s64, s128>>;
}
void add_bits(operations& to) {
  to["prmt.b32"] = of<permuted>;
  to["shf.l.wrap.b32"] = of<funnel_left>;
  to["shf.r.wrap.b32"] = of<funnel_right>;
  to["bfi.b32"] = of<inserted<u32>>;
  to["bfi.b64"] = of<inserted<u64>>;
  to["popc.b32"] = of<[](u32 a) { return static_cast<u32>(std::popcount(a)); }>;
  to["popc.b64"] = of<[](u64 a) { return static_cast<u32>(std::popcount(a)); }>;
  to["clz.b32"] = of<[](u32 a) { return static_cast<u32>(std::countl_zero(a)); }>;
  to["clz.b64"] = of<[](u64 a) { return static_cast<u32>(std::countl_zero(a)); }>;
}
void add_predicates(operations& to) {
  to["and.pred"] = of<[](bool a, bool b) { return a && b; }>;
  to["or.pred"] = of<[](bool a, bool b) { return a || b; }>;
  to["xor.pred"] = of<[](bool a, bool b) { return a != b; }>;
  to["not.pred"] = of<[](bool a) { return !a; }>;
}

template <class T>
void add_floats(operations& to, std::string const& type) {
  for (std::string const& r : {std::string("."), std::string(".rn.")}) {
    to["add" + r + type] = of<[](T a, T b) { return a + b; }>;
    to["sub" + r + type] = of<[](T a, T b) { return a - b; }>;
    to["mul" + r + type] = of<[](T a, T b) { return a * b; }>;
  }
  to["div.rn." + type] = of<[](T a, T b) { return a / b; }>;
  to["rcp.rn." + type] = of<[](T a) { return T{1} / a; }>;
  to["sqrt.rn." + type] = of<[](T a) { return std::sqrt(a); }>;
  to["fma.rn." + type] = of<[](T a, T b, T c) { return std::fma(a, b, c); }>;
  to["min." + type] = of<smaller<T>>;
  to["max." + type] = of<larger<T>>;
  to["setp.eq." + type] = of<[](T a, T b) { return a == b; }>;
  to["setp.ne." + type] = of<[](T a, T b) { return a < b || (a > b); }>;
  to["setp.lt." + type] = of<[](T a, T b) { return a < b; }>;
  to["setp.le." + type] = of<[](T a, T b) { return a <= b; }>;
  to["setp.gt." + type] = of<[](T a, T b) { return (a > b); }>;
  to["setp.ge." + type] = of<[](T a, T b) { return a >= b; }>;
  to["setp.equ." + type] = of<[](T a, T b) { return !(a < b || (a > b)); }>;
  to["setp.neu." + type] = of<[](T a, T b) { return !(a == b); }>;
  to["setp.ltu." + type] = of<[](T a, T b) { return !(a >= b); }>;
  to["setp.leu." + type] = of<[](T a, T b) { return !(a > b); }>;
  to["setp.gtu." + type] = of<[](T a, T b) { return !(a <= b); }>;
  to["setp.geu." + type] = of<[](T a, T b) { return !(a < b); }>;
  to["setp.nan." + type] = of<[](T a, T b) { return a != a || b != b; }>;
  to["setp.num." + type] = of<[](T a, T b) { return a == a && b == b; }>;
}
void add_signs(operations& to) {
  to["neg.f32"] = of<[](u32 a) { return a ^ 0x80000000U; }>;
  to["abs.f32"] = of<[](u32 a) { return a & 0x7fffffffU; }>;
  to["neg.f64"] = of<[](u64 a) { return a ^ 0x8000000000000000U; }>;
  to["abs.f64"] = of<[](u64 a) { return a & 0x7fffffffffffffffU; }>;
}

/// Conversions of integers: the low bits stay, and the narrower type decides the bits above them.
template <class From>
void add_whole_conversions(operations& to, std::string const& from) {
  for (char const* wide : {"16", "32", "64"}) {
    bool const widens = std::stoul(wide) > bits<From>;
    for (char const* kind : {"u", "s"}) {
      to["cvt." + (kind + std::string(wide)) + "." + from] =
          widens ? of<[](From x) { return static_cast<s64>(x); }> : copy;
    }
  }
  // A byte's register is at least 16 bits wide.
  to["cvt.u8." + from] = of<[](u8 x) { return u32{x}; }>;
  to["cvt.s8." + from] = of<[](s8 x) { return s32{x}; }>;
  to["cvt.rn.f32." + from] = of<[](From x) { return static_cast<float>(x); }>;
  to["cvt.rn.f64." + from] = of<[](From x) { return static_cast<double>(x); }>;
}
template <class From>
void add_conversions_of_float(operations& to, std::string const& from) {
  to["cvt.rzi.u16." + from] = of<whole_of<From, u16>>;
  to["cvt.rzi.s16." + from] = of<whole_of<From, s16>>;
  to["cvt.rzi.u32." + from] = of<whole_of<From, u32>>;
  to["cvt.rzi.s32." + from] = of<whole_of<From, s32>>;
  to["cvt.rzi.u64." + from] = of<whole_of<From, u64>>;
  to["cvt.rzi.s64." + from] = of<whole_of<From, s64>>;
}
/// Rounds a float to an integer.
template <class T>
void add_rounding(operations& to, std::string const& type) {
  to["cvt.rni." + type + "." + type] = of<[](T x) { return std::nearbyint(x); }>;
  to["cvt.rzi." + type + "." + type] = of<[](T x) { return std::trunc(x); }>;
  to["cvt.rmi." + type + "." + type] = of<[](T x) { return std::floor(x); }>;
  to["cvt.rpi." + type + "." + type] = of<[](T x) { return std::ceil(x); }>;
}
void add_conversions(operations& to) {
  add_whole_conversions<u8>(to, "u8");
  add_whole_conversions<s8>(to, "s8");
  add_whole_conversions<u16>(to, "u16");
  add_whole_conversions<s16>(to, "s16");
  add_whole_conversions<u32>(to, "u32");
  add_whole_conversions<s32>(to, "s32");
  add_whole_conversions<u64>(to, "u64");
  add_whole_conversions<s64>(to, "s64");
  add_rounding<float>(to, "f32");
  add_rounding<double>(to, "f64");
  add_conversions_of_float<float>(to, "f32");
  add_conversions_of_float<double>(to, "f64");
  to["add.rn.f16"] = of<[](f16 a, f16 b) { return static_cast<f16>(a + b); }>;
  to["cvt.f32.f16"] = of<[](f16 x) { return static_cast<float>(x); }>;
  to["cvt.rn.f16.f32"] = of<[](float x) { return static_cast<f16>(x); }>;
  to["cvt.f64.f32"] = of<[](float x) { return static_cast<double>(x); }>;
  to["cvt.rn.f32.f64"] = of<[](double x) { return static_cast<float>(x); }>;
}

}  // namespace

void add_arithmetic(operations& to) {
  add_integers<u16, s16>(to, "16");
  add_integers<u32, s32>(to, "32");
  add_integers<u64, s64>(to, "64");
  add_ordered<u16>(to, "u16");
  add_ordered<s16>(to, "s16");
  add_ordered<u32>(to, "u32");
  add_ordered<s32>(to, "s32");
  add_ordered<u64>(to, "u64");
  add_ordered<s64>(to, "s64");
  add_wide(to);
  add_bits(to);
  add_predicates(to);
  add_floats<float>(to, "f32");
  add_floats<double>(to, "f64");
  add_signs(to);
  add_conversions(to);
}

}  // namespace emulated_gpu
