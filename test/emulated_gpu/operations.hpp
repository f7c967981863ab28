// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "warp.hpp"

#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>

namespace emulated_gpu {

/// What instructions of PTX compute, by their names.
namespace operations {

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s8 = std::int8_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;
using f16 = _Float16;

/// A GPU gives one NaN of each type.
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

template <auto F, class To, class... From, std::size_t... I>
void compute(warp& w, instruction const& i, lane_mask mask, To (*)(From...), std::index_sequence<I...>) {
  lanes& to = w.to(i.to[0]);
  auto const all = [&](auto const&... from) {
    for_each_lane(mask, [&](unsigned l) { to[l] = bits_of(plain(F(number_in<From>(from[l])...))); });
  };
  all(w.from(i.from[I])...);
}
/// F of each thread's numbers.
template <auto F>
void of(warp& w, instruction const& i, lane_mask mask) {
  auto* const f = +F;
  [&]<class To, class... From>(To (*type)(From...)) {
    compute<F>(w, i, mask, type, std::index_sequence_for<From...>{});
  }(f);
}
/// Copies bits.
inline void move(warp& w, instruction const& i, lane_mask mask) {
  lanes& to = w.to(i.to[0]);
  lanes const& from = w.from(i.from[0]);
  for_each_lane(mask, [&](unsigned l) { to[l] = from[l]; });
}
inline void select(warp& w, instruction const& i, lane_mask mask) {
  lanes& to = w.to(i.to[0]);
  lanes const& a = w.from(i.from[0]);
  lanes const& b = w.from(i.from[1]);
  lanes const& p = w.from(i.from[2]);
  for_each_lane(mask, [&](unsigned l) { to[l] = (p[l] & 1) != 0 ? a[l] : b[l]; });
}
/// One number of N parts of so many bits, and back.
template <unsigned N, unsigned Bits>
void pack(warp& w, instruction const& i, lane_mask mask) {
  for_each_lane(mask, [&](unsigned l) {
    u64 all = 0;
    for (unsigned k = 0; k != N; ++k) {
      all |= (w.from(i.from[k])[l] & ((u64{1} << Bits) - 1)) << (k * Bits);
    }
    w.to(i.to[0])[l] = all;
  });
}
template <unsigned N, unsigned Bits>
void unpack(warp& w, instruction const& i, lane_mask mask) {
  for_each_lane(mask, [&](unsigned l) {
    u64 const all = w.from(i.from[0])[l];
    for (unsigned k = 0; k != N; ++k) {
      w.to(i.to[k])[l] = all >> (k * Bits) & ((u64{1} << Bits) - 1);
    }
  });
}

/// What a thread knows of itself.
template <auto Of>
void of_thread(warp& w, instruction const& i, lane_mask mask) {
  for_each_lane(mask, [&](unsigned l) { w.to(i.to[0])[l] = Of(w.block(), w.thread(l)); });
}
inline void clock_of_all(warp& w, instruction const& i, lane_mask mask) {
  auto const now = std::chrono::steady_clock::now().time_since_epoch();
  auto const ns = static_cast<u64>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  for_each_lane(mask, [&](unsigned l) { w.to(i.to[0])[l] = ns; });
}

enum class room : std::uint8_t { parameters, global, shared, anywhere };
template <room R>
[[nodiscard]] std::byte* place(warp& w, instruction const& i, u64 address, std::size_t bytes) {
  switch (R) {
    case room::parameters:
      return w.block().parameter(i, address, bytes);
    case room::global:
      return w.block().global(i, address, bytes);
    case room::shared:
      return w.block().in_shared(i, address & UINT32_MAX, bytes);
    case room::anywhere:
      return w.block().anywhere(i, address, bytes);
  }
}
/// N numbers out of memory, each made 64 bits wide.
template <room R, class T, unsigned N>
void load(warp& w, instruction const& i, lane_mask mask) {
  lanes const& address = w.from(i.address);
  for_each_lane(mask, [&](unsigned l) {
    T const* const p =
        reinterpret_cast<T const*>(place<R>(w, i, address[l] + static_cast<u64>(i.offset), N * sizeof(T)));
    T all[N];
    for (unsigned k = 0; k != N; ++k) {
      all[k] = std::atomic_ref<T const>(p[k]).load(std::memory_order_relaxed);
    }
    for (unsigned k = 0; k != N; ++k) {
      if constexpr (std::is_signed_v<T>) {
        w.to(i.to[k])[l] = static_cast<u64>(static_cast<s64>(all[k]));
      } else {
        w.to(i.to[k])[l] = all[k];
      }
    }
  });
}
template <room R, class T, unsigned N>
void store(warp& w, instruction const& i, lane_mask mask) {
  lanes const& address = w.from(i.address);
  for_each_lane(mask, [&](unsigned l) {
    T* const p = reinterpret_cast<T*>(place<R>(w, i, address[l] + static_cast<u64>(i.offset), N * sizeof(T)));
    for (unsigned k = 0; k != N; ++k) {
      std::atomic_ref<T>(p[k]).store(number_in<T>(w.from(i.from[k])[l]), std::memory_order_relaxed);
    }
  });
}
/// Before what is told, and behind what is looked at.
template <action Memory, bool Before, bool After>
void ordered(warp& w, instruction const& i, lane_mask mask) {
  if constexpr (Before) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  Memory(w, i, mask);
  if constexpr (After) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}
inline void fence(warp&, instruction const&, lane_mask) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

/// Each thread gets the number of the one whose number has other bits as the mask says.
inline void shuffle_by_bits(warp& w, instruction const& i, lane_mask mask) {
  lanes const from = w.from(i.from[0]);
  for_each_lane(mask, [&](unsigned l) {
    u64 const bits = w.from(i.from[1])[l];
    u64 const limit = w.from(i.from[2])[l] & 31;
    unsigned const other = (l ^ static_cast<unsigned>(bits)) & 31;
    bool const there = other <= limit && (mask >> other & 1) != 0;
    w.to(i.to[0])[l] = from[there ? other : l];
    if (i.to[1] != instruction::none) {
      w.to(i.to[1])[l] = there ? 1 : 0;
    }
  });
}

/// The bytes of a and b that c names.
[[nodiscard]] constexpr u32 permuted(u32 a, u32 b, u32 c) {
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
/// The low bits of a, put into b.
template <class T>
[[nodiscard]] constexpr T inserted(T a, T b, u32 at, u32 count) {
  at &= 255;
  count &= 255;
  if (at >= sizeof(T) * 8 || count == 0) {
    return b;
  }
  T const bits = count >= sizeof(T) * 8 ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << count) - 1);
  return static_cast<T>((b & static_cast<T>(~static_cast<T>(bits << at))) | static_cast<T>((a & bits) << at));
}

template <class From, class To>
[[nodiscard]] To converted(From x) {
  if constexpr (std::is_integral_v<To> && !std::is_integral_v<From>) {
    auto const whole = std::trunc(static_cast<double>(x));  // the names say how it is rounded; others are not known
    if (whole != whole) {
      return 0;
    }
    if (whole <= static_cast<double>(std::numeric_limits<To>::min())) {
      return std::numeric_limits<To>::min();
    }
    if (whole >= static_cast<double>(std::numeric_limits<To>::max())) {
      return std::numeric_limits<To>::max();
    }
    return static_cast<To>(whole);
  } else {
    return static_cast<To>(x);
  }
}

class table {
 public:
  [[nodiscard]] static action find(std::string const& name) {
    static table const all;
    auto const it = all.known_.find(name);
    return it == all.known_.end() ? nullptr : it->second;
  }

 private:
  template <class T>
  static constexpr unsigned bits = sizeof(T) * 8;

  void add(std::string const& name, action a) { known_[name] = a; }

  template <class U, class S>
  void add_integers(std::string const& width) {
    for (std::string const& type : {"b" + width, "u" + width, "s" + width}) {
      add("add." + type, of<[](U a, U b) { return static_cast<U>(a + b); }>);
      add("sub." + type, of<[](U a, U b) { return static_cast<U>(a - b); }>);
      add("mul.lo." + type, of<[](U a, U b) { return static_cast<U>(u64{a} * b); }>);
      add("mad.lo." + type, of<[](U a, U b, U c) { return static_cast<U>(u64{a} * b + c); }>);
      add("and." + type, of<[](U a, U b) { return static_cast<U>(a & b); }>);
      add("or." + type, of<[](U a, U b) { return static_cast<U>(a | b); }>);
      add("xor." + type, of<[](U a, U b) { return static_cast<U>(a ^ b); }>);
      add("not." + type, of<[](U a) { return static_cast<U>(~a); }>);
      add("neg." + type, of<[](U a) { return static_cast<U>(0 - a); }>);
      add("shl." + type, of<[](U a, u32 n) { return n >= bits<U> ? U{0} : static_cast<U>(a << n); }>);
      add("setp.eq." + type, of<[](U a, U b) { return a == b; }>);
      add("setp.ne." + type, of<[](U a, U b) { return a != b; }>);
      add("mov." + type, move);
      add("selp." + type, select);
    }
    for (char const* type : {"b", "u"}) {
      add("shr." + (type + width), of<[](U a, u32 n) { return n >= bits<U> ? U{0} : static_cast<U>(a >> n); }>);
    }
    add("shr.s" + width, of<[](S a, u32 n) { return static_cast<S>(a >> (n >= bits<S> ? bits<S> - 1 : n)); }>);
    add_ordered<U>("u" + width);
    add_ordered<S>("s" + width);
    add("bfi.b" + width, of<[](U a, U b, u32 at, u32 count) { return inserted(a, b, at, count); }>);
  }
  template <class T>
  void add_ordered(std::string const& type) {
    add("min." + type, of<[](T a, T b) { return b < a ? b : a; }>);
    add("max." + type, of<[](T a, T b) { return a < b ? b : a; }>);
    add("div." + type, of<[](T a, T b) { return b == 0 ? static_cast<T>(-1) : static_cast<T>(a / b); }>);
    add("rem." + type, of<[](T a, T b) { return b == 0 ? a : static_cast<T>(a % b); }>);
    add("setp.lt." + type, of<[](T a, T b) { return a < b; }>);
    add("setp.le." + type, of<[](T a, T b) { return a <= b; }>);
    add("setp.gt." + type, of<[](T a, T b) { return (a > b); }>);
    add("setp.ge." + type, of<[](T a, T b) { return a >= b; }>);
  }
  template <class T>
  void add_floats(std::string const& type) {
    for (char const* rounding : {"", ".rn"}) {
      std::string const r = rounding;
      add("add" + r + "." + type, of<[](T a, T b) { return static_cast<T>(a + b); }>);
      add("sub" + r + "." + type, of<[](T a, T b) { return static_cast<T>(a - b); }>);
      add("mul" + r + "." + type, of<[](T a, T b) { return static_cast<T>(a * b); }>);
    }
    add("div.rn." + type, of<[](T a, T b) { return static_cast<T>(a / b); }>);
    add("rcp.rn." + type, of<[](T a) { return static_cast<T>(T{1} / a); }>);
    add("sqrt.rn." + type, of<[](T a) { return static_cast<T>(std::sqrt(a)); }>);
    add("fma.rn." + type, of<[](T a, T b, T c) { return static_cast<T>(std::fma(a, b, c)); }>);
    add("min." + type, of<[](T a, T b) { return std::fmin(a, b); }>);
    add("max." + type, of<[](T a, T b) { return std::fmax(a, b); }>);
    add("setp.eq." + type, of<[](T a, T b) { return a == b; }>);
    add("setp.ne." + type, of<[](T a, T b) { return a < b || (a > b); }>);
    add("setp.neu." + type, of<[](T a, T b) { return !(a == b); }>);
    add("setp.lt." + type, of<[](T a, T b) { return a < b; }>);
    add("setp.le." + type, of<[](T a, T b) { return a <= b; }>);
    add("setp.gt." + type, of<[](T a, T b) { return (a > b); }>);
    add("setp.ge." + type, of<[](T a, T b) { return a >= b; }>);
    add("setp.ltu." + type, of<[](T a, T b) { return !(a >= b); }>);
    add("setp.leu." + type, of<[](T a, T b) { return !(a > b); }>);
    add("setp.gtu." + type, of<[](T a, T b) { return !(a <= b); }>);
    add("setp.geu." + type, of<[](T a, T b) { return !(a < b); }>);
    add("setp.nan." + type, of<[](T a, T b) { return a != a || b != b; }>);
    add("setp.num." + type, of<[](T a, T b) { return a == a && b == b; }>);
    add("mov." + type, move);
    add("selp." + type, select);
  }
  void add_signs() {
    add("neg.f32", of<[](u32 a) { return a ^ 0x80000000U; }>);
    add("abs.f32", of<[](u32 a) { return a & 0x7fffffffU; }>);
    add("neg.f64", of<[](u64 a) { return a ^ 0x8000000000000000U; }>);
    add("abs.f64", of<[](u64 a) { return a & 0x7fffffffffffffffU; }>);
  }
  void add_wide() {
    add("mul.wide.u16", of<[](u16 a, u16 b) { return u32{a} * b; }>);
    add("mul.wide.s16", of<[](s16 a, s16 b) { return s32{a} * b; }>);
    add("mul.wide.u32", of<[](u32 a, u32 b) { return u64{a} * b; }>);
    add("mul.wide.s32", of<[](s32 a, s32 b) { return s64{a} * b; }>);
    add("mad.wide.u32", of<[](u32 a, u32 b, u64 c) { return u64{a} * b + c; }>);
    add("mad.wide.s32", of<[](s32 a, s32 b, u64 c) { return static_cast<u64>(s64{a} * b) + c; }>);
    add("mul.hi.u32", of<[](u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); }>);
    add("prmt.b32", of<permuted>);
  }
  void add_predicates() {
    add("and.pred", of<[](bool a, bool b) { return a && b; }>);
    add("or.pred", of<[](bool a, bool b) { return a || b; }>);
    add("xor.pred", of<[](bool a, bool b) { return a != b; }>);
    add("not.pred", of<[](bool a) { return !a; }>);
    add("mov.pred", move);
  }
  template <class From>
  void add_conversions(std::string const& from) {
    add_conversion<From, u8>(from, "u8");
    add_conversion<From, s8>(from, "s8");
    add_conversion<From, u16>(from, "u16");
    add_conversion<From, s16>(from, "s16");
    add_conversion<From, u32>(from, "u32");
    add_conversion<From, s32>(from, "s32");
    add_conversion<From, u64>(from, "u64");
    add_conversion<From, s64>(from, "s64");
    add_conversion<From, f16>(from, "f16");
    add_conversion<From, float>(from, "f32");
    add_conversion<From, double>(from, "f64");
  }
  template <class From, class To>
  void add_conversion(std::string const& from, std::string const& to) {
    constexpr bool whole_from = std::is_integral_v<From>;
    constexpr bool whole_to = std::is_integral_v<To>;
    std::string const types = "." + to + "." + from;
    if constexpr (whole_from && whole_to) {
      // A narrow number is kept in a register of its own width or a wider one, as its sign says.
      using register_type =
          std::conditional_t<(sizeof(To) >= 2), To, std::conditional_t<std::is_signed_v<To>, s16, u16>>;
      add("cvt" + types, of<[](From x) { return static_cast<register_type>(static_cast<To>(x)); }>);
    } else if constexpr (whole_to) {
      add("cvt.rzi" + types, of<converted<From, To>>);
    } else if constexpr (!whole_from && sizeof(To) > sizeof(From)) {
      add("cvt" + types, of<converted<From, To>>);
    } else {
      add("cvt.rn" + types, of<converted<From, To>>);
    }
  }
  /// No address is changed: all rooms but shared memory have addresses of their own.
  void add_addresses() {
    for (char const* name : {"cvta.to.global.u64", "cvta.global.u64", "cvta.param.u64", "cvta.to.param.u64"}) {
      add(name, move);
    }
  }
  void add_knowledge() {
    add("%tid.x", of_thread<[](block_state const& b, u32 t) -> u32 { return t % b.threads.x; }>);
    add("%tid.y", of_thread<[](block_state const& b, u32 t) -> u32 { return t / b.threads.x % b.threads.y; }>);
    add("%tid.z", of_thread<[](block_state const& b, u32 t) -> u32 { return t / b.threads.x / b.threads.y; }>);
    add("%ntid.x", of_thread<[](block_state const& b, u32) -> u32 { return b.threads.x; }>);
    add("%ntid.y", of_thread<[](block_state const& b, u32) -> u32 { return b.threads.y; }>);
    add("%ntid.z", of_thread<[](block_state const& b, u32) -> u32 { return b.threads.z; }>);
    add("%ctaid.x", of_thread<[](block_state const& b, u32) -> u32 { return b.place.x; }>);
    add("%ctaid.y", of_thread<[](block_state const& b, u32) -> u32 { return b.place.y; }>);
    add("%ctaid.z", of_thread<[](block_state const& b, u32) -> u32 { return b.place.z; }>);
    add("%nctaid.x", of_thread<[](block_state const& b, u32) -> u32 { return b.grid.x; }>);
    add("%nctaid.y", of_thread<[](block_state const& b, u32) -> u32 { return b.grid.y; }>);
    add("%nctaid.z", of_thread<[](block_state const& b, u32) -> u32 { return b.grid.z; }>);
    add("%laneid", of_thread<[](block_state const&, u32 t) -> u32 { return t % warp_size; }>);
    add("%globaltimer", clock_of_all);
  }
  template <room R, class T>
  void add_memory(std::string const& where, std::string const& type) {
    add_memory<R, T, 1>(where, type);
    if constexpr (sizeof(T) <= 8) {
      add_memory<R, T, 2>(where + ".v2", type);
    }
    if constexpr (sizeof(T) <= 4) {
      add_memory<R, T, 4>(where + ".v4", type);
    }
  }
  template <room R, class T, unsigned N>
  void add_memory(std::string const& where, std::string const& type) {
    add("ld" + where + "." + type, load<R, T, N>);
    add("ld.nc" + where + "." + type, load<R, T, N>);
    add("ld.volatile" + where + "." + type, load<R, T, N>);
    add("ld.relaxed.sys" + where + "." + type, load<R, T, N>);
    add("ld.acquire.sys" + where + "." + type, ordered<load<R, T, N>, false, true>);
    if constexpr (R != room::parameters) {
      add("st" + where + "." + type, store<R, T, N>);
      add("st.volatile" + where + "." + type, store<R, T, N>);
      add("st.relaxed.sys" + where + "." + type, store<R, T, N>);
      add("st.release.sys" + where + "." + type, ordered<store<R, T, N>, true, false>);
    }
  }
  template <room R>
  void add_room(std::string const& where) {
    add_memory<R, u8>(where, "u8");
    add_memory<R, u8>(where, "b8");
    add_memory<R, s8>(where, "s8");
    add_memory<R, u16>(where, "u16");
    add_memory<R, u16>(where, "b16");
    add_memory<R, s16>(where, "s16");
    for (char const* type : {"u32", "s32", "b32", "f32"}) {
      add_memory<R, u32>(where, type);
    }
    for (char const* type : {"u64", "s64", "b64", "f64"}) {
      add_memory<R, u64>(where, type);
    }
  }
  void add_parts() {
    add("mov.b32.pack2", pack<2, 16>);
    add("mov.b64.pack2", pack<2, 32>);
    add("mov.b64.pack4", pack<4, 16>);
    add("mov.b32.unpack2", unpack<2, 16>);
    add("mov.b64.unpack2", unpack<2, 32>);
    add("mov.b64.unpack4", unpack<4, 16>);
  }

  table() {
    add_integers<u16, s16>("16");
    add_integers<u32, s32>("32");
    add_integers<u64, s64>("64");
    add_floats<float>("f32");
    add_floats<double>("f64");
    add_signs();
    add_wide();
    add_predicates();
    add_conversions<u8>("u8");
    add_conversions<s8>("s8");
    add_conversions<u16>("u16");
    add_conversions<s16>("s16");
    add_conversions<u32>("u32");
    add_conversions<s32>("s32");
    add_conversions<u64>("u64");
    add_conversions<s64>("s64");
    add_conversions<f16>("f16");
    add_conversions<float>("f32");
    add_conversions<double>("f64");
    add_addresses();
    add_knowledge();
    add_parts();
    add_room<room::parameters>(".param");
    add_room<room::global>(".global");
    add_room<room::shared>(".shared");
    add_room<room::anywhere>("");
    add("fence.sc.sys", fence);
    add("fence.acq_rel.sys", fence);
    add("membar.sys", fence);
    add("membar.gl", fence);
    add("shfl.sync.bfly.b32", shuffle_by_bits);
  }

  std::unordered_map<std::string, action> known_;
};

}  // namespace operations

}  // namespace emulated_gpu
