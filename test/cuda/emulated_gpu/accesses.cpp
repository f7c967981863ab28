// SPDX-License-Identifier: Apache-2.0
//
// Instructions that access memory, describe threads, or move the bits of registers.
#include "operations.hpp"
#include "warp.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <type_traits>

namespace emulated_gpu {

namespace {

using u64 = std::uint64_t;

/// Copies bits.
void move(warp& w, instruction const& i, lane_mask mask) {
  lanes& to = w.to(i.to[0]);
  lanes const& from = w.from(i.from[0]);
  for_each_lane(mask, [&](unsigned l) { to[l] = from[l]; });
}
void select(warp& w, instruction const& i, lane_mask mask) {
  lanes& to = w.to(i.to[0]);
  lanes const& a = w.from(i.from[0]);
  lanes const& b = w.from(i.from[1]);
  lanes const& p = w.from(i.from[2]);
  for_each_lane(mask, [&](unsigned l) { to[l] = (p[l] & 1) != 0 ? a[l] : b[l]; });
}
/// Packs N numbers of `Bits` bits each into one register; `unpack` reverses it.
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

/// The thread's own coordinates and sizes.
template <auto Of>
void of_thread(warp& w, instruction const& i, lane_mask mask) {
  for_each_lane(mask, [&](unsigned l) { w.to(i.to[0])[l] = Of(w.block(), w.thread(l)); });
}
void clock_of_all(warp& w, instruction const& i, lane_mask mask) {
  auto const now = std::chrono::steady_clock::now().time_since_epoch();
  auto const ns = static_cast<u64>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  for_each_lane(mask, [&](unsigned l) { w.to(i.to[0])[l] = ns; });
}

void fence(warp& w) {
  w.block().stores.drain();
  std::atomic_thread_fence(std::memory_order_seq_cst);
}
void fence_of_all(warp& w, instruction const&, lane_mask) {
  fence(w);
}
/// Loads N numbers; each is widened to 64 bits.
template <class T, unsigned N>
void load(warp& w, instruction const& i, lane_mask mask) {
  lanes const& address = w.from(i.address);
  for_each_lane(mask, [&](unsigned l) {
    T const* const p = reinterpret_cast<T const*>(w.place_of(i, l, address[l], N * sizeof(T), false));
    if (w.block().stores.may_have(p)) {
      w.block().stores.drain();
    }
    T all[N];
    for (unsigned k = 0; k != N; ++k) {
      all[k] = std::atomic_ref<T const>(p[k]).load(std::memory_order_relaxed);
    }
    for (unsigned k = 0; k != N; ++k) {
      using wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, u64>;
      w.to(i.to[k])[l] = static_cast<u64>(static_cast<wide>(all[k]));
    }
  });
  if (i.fence_behind) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}
template <class T, unsigned N>
void store(warp& w, instruction const& i, lane_mask mask) {
  if (i.fence_before) {
    fence(w);
  }
  bool const waits = i.is_weak && i.where != instruction::room::shared;
  lanes const& address = w.from(i.address);
  for_each_lane(mask, [&](unsigned l) {
    T* const p = reinterpret_cast<T*>(w.place_of(i, l, address[l], N * sizeof(T), true));
    if (!waits && w.block().stores.may_have(p)) {
      // Makes earlier writes visible, so that they do not land after this one.
      w.block().stores.drain();
    }
    for (unsigned k = 0; k != N; ++k) {
      std::uint64_t const value = w.from(i.from[k])[l];
      if (waits) {
        w.block().stores.put(p + k, value, sizeof(T));
      } else {
        std::atomic_ref<T>(p[k]).store(number_in<T>(value), std::memory_order_relaxed);
      }
    }
  });
}

/// Gives each thread the number of another one, or nonsense if that one is at another instruction. @param Other
/// returns the source thread, and false if there is none
template <auto Other>
void shuffle(warp& w, instruction const& i, lane_mask mask) {
  constexpr u64 nonsense = 0xA5A5A5A5;
  lanes const from = w.from(i.from[0]);
  for_each_lane(mask, [&](unsigned l) {
    auto const limits = static_cast<unsigned>(w.from(i.from[2])[l]);
    unsigned const parts = limits >> 8 & 31;
    auto const [other, there] = Other(l, static_cast<unsigned>(w.from(i.from[1])[l]) & 31, parts, limits & 31);
    w.to(i.to[0])[l] = !there ? from[l] : (mask >> other & 1) != 0 ? from[other] : nonsense;
    if (i.to[1] != instruction::none) {
      w.to(i.to[1])[l] = there ? 1 : 0;
    }
  });
}
struct other_lane {
  unsigned which;
  bool there;
};
/// The highest thread of the part of the warp that contains `lane`.
unsigned last_of(unsigned lane, unsigned parts, unsigned limit) {
  return (lane & parts) | (limit & ~parts & 31);
}
other_lane lane_above(unsigned lane, unsigned by, unsigned parts, unsigned limit) {
  return {(lane + by) & 31, lane + by <= last_of(lane, parts, limit)};
}
other_lane lane_below(unsigned lane, unsigned by, unsigned parts, unsigned limit) {
  return {(lane - by) & 31, static_cast<int>(lane - by) >= static_cast<int>(last_of(lane, parts, limit))};
}
other_lane lane_of_bits(unsigned lane, unsigned bits, unsigned parts, unsigned limit) {
  return {lane ^ bits, (lane ^ bits) <= last_of(lane, parts, limit)};
}
other_lane lane_of_number(unsigned lane, unsigned number, unsigned parts, unsigned limit) {
  unsigned const other = (lane & parts) | (number & ~parts & 31);
  return {other, other <= last_of(lane, parts, limit)};
}

template <class T>
void add_memory(operations& to, std::string const& type) {
  to["ld." + type] = load<T, 1>;
  to["st." + type] = store<T, 1>;
  to["ld.v2." + type] = load<T, 2>;
  to["st.v2." + type] = store<T, 2>;
  if constexpr (sizeof(T) <= 4) {
    to["ld.v4." + type] = load<T, 4>;
    to["st.v4." + type] = store<T, 4>;
  }
}
void add_memory(operations& to) {
  for (char const* width : {"8", "16", "32", "64"}) {
    for (char const* kind : {"b", "u", "s", "f"}) {
      std::string const type = std::string(kind) + width;
      switch (width[0]) {
        case '8':
          kind[0] == 's' ? add_memory<std::int8_t>(to, type) : add_memory<std::uint8_t>(to, type);
          break;
        case '1':
          kind[0] == 's' ? add_memory<std::int16_t>(to, type) : add_memory<std::uint16_t>(to, type);
          break;
        case '3':
          kind[0] == 's' ? add_memory<std::int32_t>(to, type) : add_memory<std::uint32_t>(to, type);
          break;
        default:
          add_memory<u64>(to, type);
      }
    }
  }
  for (char const* name : {"fence.sc.sys", "fence.acq_rel.sys", "membar.sys", "membar.gl"}) {
    to[name] = fence_of_all;
  }
}
void add_moves(operations& to) {
  for (char const* type : {"pred", "b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64"}) {
    to[std::string("mov.") + type] = move;
    to[std::string("selp.") + type] = select;
  }
  to["mov.b32.pack2"] = pack<2, 16>;
  to["mov.b64.pack2"] = pack<2, 32>;
  to["mov.b64.pack4"] = pack<4, 16>;
  to["mov.b32.unpack2"] = unpack<2, 16>;
  to["mov.b64.unpack2"] = unpack<2, 32>;
  to["mov.b64.unpack4"] = unpack<4, 16>;
  // Conversions leave an address as it is: every address space except shared memory has addresses of its own.
  for (char const* name : {"cvta.to.global.u64", "cvta.global.u64", "cvta.param.u64", "cvta.to.param.u64"}) {
    to[name] = move;
  }
}
void add_knowledge(operations& to) {
  using s = block_state;
  using u32 = std::uint32_t;
  to["%tid.x"] = of_thread<[](s const& b, u32 t) -> u32 { return t % b.threads.x; }>;
  to["%tid.y"] = of_thread<[](s const& b, u32 t) -> u32 { return t / b.threads.x % b.threads.y; }>;
  to["%tid.z"] = of_thread<[](s const& b, u32 t) -> u32 { return t / b.threads.x / b.threads.y; }>;
  to["%ntid.x"] = of_thread<[](s const& b, u32) -> u32 { return b.threads.x; }>;
  to["%ntid.y"] = of_thread<[](s const& b, u32) -> u32 { return b.threads.y; }>;
  to["%ntid.z"] = of_thread<[](s const& b, u32) -> u32 { return b.threads.z; }>;
  to["%ctaid.x"] = of_thread<[](s const& b, u32) -> u32 { return b.place.x; }>;
  to["%ctaid.y"] = of_thread<[](s const& b, u32) -> u32 { return b.place.y; }>;
  to["%ctaid.z"] = of_thread<[](s const& b, u32) -> u32 { return b.place.z; }>;
  to["%nctaid.x"] = of_thread<[](s const& b, u32) -> u32 { return b.grid.x; }>;
  to["%nctaid.y"] = of_thread<[](s const& b, u32) -> u32 { return b.grid.y; }>;
  to["%nctaid.z"] = of_thread<[](s const& b, u32) -> u32 { return b.grid.z; }>;
  to["%laneid"] = of_thread<[](s const&, u32 t) -> u32 { return t % warp_size; }>;
  to["%globaltimer"] = clock_of_all;
}

}  // namespace

void add_accesses(operations& to) {
  add_memory(to);
  add_moves(to);
  add_knowledge(to);
  to["shfl.sync.bfly.b32"] = shuffle<lane_of_bits>;
  to["shfl.sync.idx.b32"] = shuffle<lane_of_number>;
  to["shfl.sync.down.b32"] = shuffle<lane_above>;
  to["shfl.sync.up.b32"] = shuffle<lane_below>;
}

}  // namespace emulated_gpu
