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
[[nodiscard]] T canonical(T x) noexcept {
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

void assign(lanes& destination, lanes const& source, lane_mask mask) {
  for_each_lane(mask, [&](unsigned l) { destination[l] = source[l]; });
}
/// Applies F to each thread's operands. F may also read operands of other threads.
template <auto F, class To, class... From, std::size_t... I>
void compute(warp& w, instruction const& i, lane_mask mask, To (*)(From...), std::index_sequence<I...>) {
  lanes results;
  auto const evaluate = [&](auto const&... operands) {
    for (unsigned l = 0; l != warp_size; ++l) {
      results[l] = bits_of(canonical(F(number_in<From>(operands[l])...)));
    }
  };
  evaluate(w.source(i.sources[I])...);
  assign(w.destination(i.destinations[0]), results, mask);
}
template <auto F>
void apply(warp& w, instruction const& i, lane_mask mask) {
  auto* const f = +F;
  [&]<class To, class... From>(To (*type)(From...)) {
    compute<F>(w, i, mask, type, std::index_sequence_for<From...>{});
  }(f);
}
void copy(warp& w, instruction const& i, lane_mask mask) {
  assign(w.destination(i.destinations[0]), w.source(i.sources[0]), mask);
}

/// The bytes of a and b selected by c.
[[nodiscard]] u32 permute(u32 a, u32 b, u32 c) {
  u64 const bytes = u64{b} << 32 | a;
  u32 result = 0;
  for (unsigned k = 0; k != 4; ++k) {
    unsigned const selector = c >> (4 * k) & 15;
    u32 byte = static_cast<u32>(bytes >> (8 * (selector & 7)) & 0xff);
    if ((selector & 8) != 0) {
      byte = (byte & 0x80) != 0 ? 0xff : 0;
    }
    result |= byte << (8 * k);
  }
  return result;
}
/// Replaces bits of b by the low bits of a.
template <class T>
[[nodiscard]] T insert_bits(T a, T b, u32 position, u32 count) {
  position &= 255;
  count &= 255;
  if (position >= sizeof(T) * 8 || count == 0) {
    return b;
  }
  T const bits = count >= sizeof(T) * 8 ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << count) - 1);
  return static_cast<T>((b & static_cast<T>(~static_cast<T>(bits << position))) |
                        static_cast<T>((a & bits) << position));
}
/// Joins a and b, b above, shifts left, and returns the upper half.
[[nodiscard]] u32 funnel_left(u32 a, u32 b, u32 distance) {
  return static_cast<u32>((u64{b} << 32 | a) << (distance & 31) >> 32);
}
[[nodiscard]] u32 funnel_right(u32 a, u32 b, u32 distance) {
  return static_cast<u32>((u64{b} << 32 | a) >> (distance & 31));
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
[[nodiscard]] To truncate(From x) {
  constexpr From least = static_cast<From>(std::numeric_limits<To>::min());
  constexpr From bound = static_cast<From>(u64{1} << (std::numeric_limits<To>::digits - 1)) * 2;
  if (x != x) {
    return sizeof(From) == 8 || sizeof(To) == 8 ? static_cast<To>(To{1} << (sizeof(To) * 8 - 1)) : To{0};
  }
  if (x <= least) {
    return std::numeric_limits<To>::min();
  }
  return x >= bound ? std::numeric_limits<To>::max() : static_cast<To>(x);
}

template <class T>
constexpr unsigned bits = sizeof(T) * 8;

template <class U, class S>
void add_integers(operations& table, std::string const& width) {
  table["and.b" + width] = apply<[](U a, U b) { return static_cast<U>(a & b); }>;
  table["or.b" + width] = apply<[](U a, U b) { return static_cast<U>(a | b); }>;
  table["xor.b" + width] = apply<[](U a, U b) { return static_cast<U>(a ^ b); }>;
  table["not.b" + width] = apply<[](U a) { return static_cast<U>(~a); }>;
  table["neg.s" + width] = apply<[](U a) { return static_cast<U>(0 - a); }>;
  table["abs.s" + width] = apply<[](U a) { return static_cast<U>(static_cast<S>(a) < 0 ? 0 - a : a); }>;
  table["shl.b" + width] = apply<[](U a, u32 n) { return n >= bits<U> ? U{0} : static_cast<U>(a << n); }>;
  table["shr.s" + width] = apply<[](S a, u32 n) { return static_cast<S>(a >> (n >= bits<S> ? bits<S> - 1 : n)); }>;
  for (char const* type : {"b", "u"}) {
    table["shr." + (type + width)] = apply<[](U a, u32 n) { return n >= bits<U> ? U{0} : static_cast<U>(a >> n); }>;
  }
  for (std::string const& type : {"u" + width, "s" + width}) {
    table["add." + type] = apply<[](U a, U b) { return static_cast<U>(a + b); }>;
    table["sub." + type] = apply<[](U a, U b) { return static_cast<U>(a - b); }>;
    table["mul.lo." + type] = apply<[](U a, U b) { return static_cast<U>(u64{a} * b); }>;
    table["mad.lo." + type] = apply<[](U a, U b, U c) { return static_cast<U>(u64{a} * b + c); }>;
  }
  for (std::string const& type : {"b" + width, "u" + width, "s" + width}) {
    table["setp.eq." + type] = apply<[](U a, U b) { return a == b; }>;
    table["setp.ne." + type] = apply<[](U a, U b) { return a != b; }>;
  }
}
template <class T>
void add_typed_integers(operations& table, std::string const& type) {
  table["min." + type] = apply<[](T a, T b) { return b < a ? b : a; }>;
  table["max." + type] = apply<[](T a, T b) { return a < b ? b : a; }>;
  table["div." + type] = apply<quotient<T>>;
  table["rem." + type] = apply<remainder<T>>;
  table["setp.lt." + type] = apply<[](T a, T b) { return a < b; }>;
  table["setp.le." + type] = apply<[](T a, T b) { return a <= b; }>;
  table["setp.gt." + type] = apply<[](T a, T b) { return (a > b); }>;
  table["setp.ge." + type] = apply<[](T a, T b) { return a >= b; }>;
}
void add_wide(operations& table) {
  table["mul.wide.u16"] = apply<[](u16 a, u16 b) { return u32{a} * b; }>;
  table["mul.wide.s16"] = apply<[](s16 a, s16 b) { return s32{a} * b; }>;
  table["mul.wide.u32"] = apply<[](u32 a, u32 b) { return u64{a} * b; }>;
  table["mul.wide.s32"] = apply<[](s32 a, s32 b) { return s64{a} * b; }>;
  table["mad.wide.u32"] = apply<[](u32 a, u32 b, u64 c) { return u64{a} * b + c; }>;
  table["mad.wide.s32"] = apply<[](s32 a, s32 b, u64 c) { return static_cast<u64>(s64{a} * b) + c; }>;
  table["mul.hi.u32"] = apply<upper_half<u32, u64>>;
  table["mul.hi.s32"] = apply<upper_half<s32, s64>>;
  table["mul.hi.u64"] = apply<upper_half<u64, u128>>;
  table["mul.hi.s64"] = apply<upper_half<s64, s128>>;
}
void add_bits(operations& table) {
  table["prmt.b32"] = apply<permute>;
  table["shf.l.wrap.b32"] = apply<funnel_left>;
  table["shf.r.wrap.b32"] = apply<funnel_right>;
  table["bfi.b32"] = apply<insert_bits<u32>>;
  table["bfi.b64"] = apply<insert_bits<u64>>;
  table["popc.b32"] = apply<[](u32 a) { return static_cast<u32>(std::popcount(a)); }>;
  table["popc.b64"] = apply<[](u64 a) { return static_cast<u32>(std::popcount(a)); }>;
  table["clz.b32"] = apply<[](u32 a) { return static_cast<u32>(std::countl_zero(a)); }>;
  table["clz.b64"] = apply<[](u64 a) { return static_cast<u32>(std::countl_zero(a)); }>;
}
void add_predicates(operations& table) {
  table["and.pred"] = apply<[](bool a, bool b) { return a && b; }>;
  table["or.pred"] = apply<[](bool a, bool b) { return a || b; }>;
  table["xor.pred"] = apply<[](bool a, bool b) { return a != b; }>;
  table["not.pred"] = apply<[](bool a) { return !a; }>;
}

template <class T>
void add_floats(operations& table, std::string const& type) {
  for (std::string const& r : {std::string("."), std::string(".rn.")}) {
    table["add" + r + type] = apply<[](T a, T b) { return a + b; }>;
    table["sub" + r + type] = apply<[](T a, T b) { return a - b; }>;
    table["mul" + r + type] = apply<[](T a, T b) { return a * b; }>;
  }
  table["div.rn." + type] = apply<[](T a, T b) { return a / b; }>;
  table["rcp.rn." + type] = apply<[](T a) { return T{1} / a; }>;
  table["sqrt.rn." + type] = apply<[](T a) { return std::sqrt(a); }>;
  table["fma.rn." + type] = apply<[](T a, T b, T c) { return std::fma(a, b, c); }>;
  table["min." + type] = apply<smaller<T>>;
  table["max." + type] = apply<larger<T>>;
  table["setp.eq." + type] = apply<[](T a, T b) { return a == b; }>;
  table["setp.ne." + type] = apply<[](T a, T b) { return a < b || (a > b); }>;
  table["setp.lt." + type] = apply<[](T a, T b) { return a < b; }>;
  table["setp.le." + type] = apply<[](T a, T b) { return a <= b; }>;
  table["setp.gt." + type] = apply<[](T a, T b) { return (a > b); }>;
  table["setp.ge." + type] = apply<[](T a, T b) { return a >= b; }>;
  table["setp.equ." + type] = apply<[](T a, T b) { return !(a < b || (a > b)); }>;
  table["setp.neu." + type] = apply<[](T a, T b) { return !(a == b); }>;
  table["setp.ltu." + type] = apply<[](T a, T b) { return !(a >= b); }>;
  table["setp.leu." + type] = apply<[](T a, T b) { return !(a > b); }>;
  table["setp.gtu." + type] = apply<[](T a, T b) { return !(a <= b); }>;
  table["setp.geu." + type] = apply<[](T a, T b) { return !(a < b); }>;
  table["setp.nan." + type] = apply<[](T a, T b) { return a != a || b != b; }>;
  table["setp.num." + type] = apply<[](T a, T b) { return a == a && b == b; }>;
}
void add_signs(operations& table) {
  table["neg.f32"] = apply<[](u32 a) { return a ^ 0x80000000U; }>;
  table["abs.f32"] = apply<[](u32 a) { return a & 0x7fffffffU; }>;
  table["neg.f64"] = apply<[](u64 a) { return a ^ 0x8000000000000000U; }>;
  table["abs.f64"] = apply<[](u64 a) { return a & 0x7fffffffffffffffU; }>;
}

/// Conversions of integers: the low bits stay, and the narrower type decides the bits above them.
template <class From>
void add_integer_conversions(operations& table, std::string const& type) {
  for (char const* width : {"16", "32", "64"}) {
    bool const widens = std::stoul(width) > bits<From>;
    for (char const* kind : {"u", "s"}) {
      table["cvt." + (kind + std::string(width)) + "." + type] =
          widens ? apply<[](From x) { return static_cast<s64>(x); }> : copy;
    }
  }
  // A byte's register is at least 16 bits wide.
  table["cvt.u8." + type] = apply<[](u8 x) { return u32{x}; }>;
  table["cvt.s8." + type] = apply<[](s8 x) { return s32{x}; }>;
  table["cvt.rn.f32." + type] = apply<[](From x) { return static_cast<float>(x); }>;
  table["cvt.rn.f64." + type] = apply<[](From x) { return static_cast<double>(x); }>;
}
template <class From>
void add_conversions_of_float(operations& table, std::string const& type) {
  table["cvt.rzi.u16." + type] = apply<truncate<From, u16>>;
  table["cvt.rzi.s16." + type] = apply<truncate<From, s16>>;
  table["cvt.rzi.u32." + type] = apply<truncate<From, u32>>;
  table["cvt.rzi.s32." + type] = apply<truncate<From, s32>>;
  table["cvt.rzi.u64." + type] = apply<truncate<From, u64>>;
  table["cvt.rzi.s64." + type] = apply<truncate<From, s64>>;
}
/// Rounds a float to an integer.
template <class T>
void add_rounding(operations& table, std::string const& type) {
  table["cvt.rni." + type + "." + type] = apply<[](T x) { return std::nearbyint(x); }>;
  table["cvt.rzi." + type + "." + type] = apply<[](T x) { return std::trunc(x); }>;
  table["cvt.rmi." + type + "." + type] = apply<[](T x) { return std::floor(x); }>;
  table["cvt.rpi." + type + "." + type] = apply<[](T x) { return std::ceil(x); }>;
}
void add_conversions(operations& table) {
  add_integer_conversions<u8>(table, "u8");
  add_integer_conversions<s8>(table, "s8");
  add_integer_conversions<u16>(table, "u16");
  add_integer_conversions<s16>(table, "s16");
  add_integer_conversions<u32>(table, "u32");
  add_integer_conversions<s32>(table, "s32");
  add_integer_conversions<u64>(table, "u64");
  add_integer_conversions<s64>(table, "s64");
  add_rounding<float>(table, "f32");
  add_rounding<double>(table, "f64");
  add_conversions_of_float<float>(table, "f32");
  add_conversions_of_float<double>(table, "f64");
  table["add.rn.f16"] = apply<[](f16 a, f16 b) { return static_cast<f16>(a + b); }>;
  table["cvt.f32.f16"] = apply<[](f16 x) { return static_cast<float>(x); }>;
  table["cvt.rn.f16.f32"] = apply<[](float x) { return static_cast<f16>(x); }>;
  table["cvt.f64.f32"] = apply<[](float x) { return static_cast<double>(x); }>;
  table["cvt.rn.f32.f64"] = apply<[](double x) { return static_cast<float>(x); }>;
}

}  // namespace

void add_arithmetic(operations& table) {
  add_integers<u16, s16>(table, "16");
  add_integers<u32, s32>(table, "32");
  add_integers<u64, s64>(table, "64");
  add_typed_integers<u16>(table, "u16");
  add_typed_integers<s16>(table, "s16");
  add_typed_integers<u32>(table, "u32");
  add_typed_integers<s32>(table, "s32");
  add_typed_integers<u64>(table, "u64");
  add_typed_integers<s64>(table, "s64");
  add_wide(table);
  add_bits(table);
  add_predicates(table);
  add_floats<float>(table, "f32");
  add_floats<double>(table, "f64");
  add_signs(table);
  add_conversions(table);
}

}  // namespace emulated_gpu
