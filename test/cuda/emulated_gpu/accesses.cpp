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
  lanes& destination = w.destination(i.destinations[0]);
  lanes const& source = w.source(i.sources[0]);
  for_each_lane(mask, [&](unsigned l) { destination[l] = source[l]; });
}
void select(warp& w, instruction const& i, lane_mask mask) {
  lanes& destination = w.destination(i.destinations[0]);
  lanes const& a = w.source(i.sources[0]);
  lanes const& b = w.source(i.sources[1]);
  lanes const& p = w.source(i.sources[2]);
  for_each_lane(mask, [&](unsigned l) { destination[l] = (p[l] & 1) != 0 ? a[l] : b[l]; });
}
/// Packs N numbers of `Bits` bits each into one register; `unpack` reverses it.
template <unsigned N, unsigned Bits>
void pack(warp& w, instruction const& i, lane_mask mask) {
  for_each_lane(mask, [&](unsigned l) {
    u64 bits = 0;
    for (unsigned k = 0; k != N; ++k) {
      bits |= (w.source(i.sources[k])[l] & ((u64{1} << Bits) - 1)) << (k * Bits);
    }
    w.destination(i.destinations[0])[l] = bits;
  });
}
template <unsigned N, unsigned Bits>
void unpack(warp& w, instruction const& i, lane_mask mask) {
  for_each_lane(mask, [&](unsigned l) {
    u64 const bits = w.source(i.sources[0])[l];
    for (unsigned k = 0; k != N; ++k) {
      w.destination(i.destinations[k])[l] = bits >> (k * Bits) & ((u64{1} << Bits) - 1);
    }
  });
}

/// The thread's own coordinates and sizes.
template <auto Property>
void read_property(warp& w, instruction const& i, lane_mask mask) {
  for_each_lane(mask, [&](unsigned l) { w.destination(i.destinations[0])[l] = Property(w.block(), w.thread(l)); });
}
void read_clock(warp& w, instruction const& i, lane_mask mask) {
  auto const since_epoch = std::chrono::steady_clock::now().time_since_epoch();
  auto const ns = static_cast<u64>(std::chrono::duration_cast<std::chrono::nanoseconds>(since_epoch).count());
  for_each_lane(mask, [&](unsigned l) { w.destination(i.destinations[0])[l] = ns; });
}

void fence(warp& w) {
  w.block().stores.drain();
  std::atomic_thread_fence(std::memory_order_seq_cst);
}
void run_fence(warp& w, instruction const&, lane_mask) {
  fence(w);
}
/// Loads N numbers; each is widened to 64 bits.
template <class T, unsigned N>
void load(warp& w, instruction const& i, lane_mask mask) {
  lanes const& address = w.source(i.address);
  for_each_lane(mask, [&](unsigned l) {
    T const* const p = reinterpret_cast<T const*>(w.host_address(i, l, address[l], N * sizeof(T), false));
    if (w.block().stores.may_have(p)) {
      w.block().stores.drain();
    }
    T values[N];
    for (unsigned k = 0; k != N; ++k) {
      values[k] = std::atomic_ref<T const>(p[k]).load(std::memory_order_relaxed);
    }
    for (unsigned k = 0; k != N; ++k) {
      using wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, u64>;
      w.destination(i.destinations[k])[l] = static_cast<u64>(static_cast<wide>(values[k]));
    }
  });
  if (i.fence_after) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
}
template <class T, unsigned N>
void store(warp& w, instruction const& i, lane_mask mask) {
  if (i.fence_before) {
    fence(w);
  }
  bool const is_buffered = i.is_weak && i.space != instruction::address_space::shared;
  lanes const& address = w.source(i.address);
  for_each_lane(mask, [&](unsigned l) {
    T* const p = reinterpret_cast<T*>(w.host_address(i, l, address[l], N * sizeof(T), true));
    if (!is_buffered && w.block().stores.may_have(p)) {
      // Makes earlier writes visible, so that they do not land after this one.
      w.block().stores.drain();
    }
    for (unsigned k = 0; k != N; ++k) {
      std::uint64_t const value = w.source(i.sources[k])[l];
      if (is_buffered) {
        w.block().stores.add(p + k, value, sizeof(T));
      } else {
        std::atomic_ref<T>(p[k]).store(number_in<T>(value), std::memory_order_relaxed);
      }
    }
  });
}

/// Gives each thread the number of another one, or nonsense if that one is at another instruction. @param Source
/// returns the source thread, and false if there is none
template <auto Source>
void shuffle(warp& w, instruction const& i, lane_mask mask) {
  constexpr u64 nonsense = 0xA5A5A5A5;
  lanes const source = w.source(i.sources[0]);
  for_each_lane(mask, [&](unsigned l) {
    auto const limits = static_cast<unsigned>(w.source(i.sources[2])[l]);
    unsigned const segment = limits >> 8 & 31;
    auto const [lane, is_valid] =
        Source(l, static_cast<unsigned>(w.source(i.sources[1])[l]) & 31, segment, limits & 31);
    w.destination(i.destinations[0])[l] = !is_valid ? source[l] : (mask >> lane & 1) != 0 ? source[lane] : nonsense;
    if (i.destinations[1] != instruction::none) {
      w.destination(i.destinations[1])[l] = is_valid ? 1 : 0;
    }
  });
}
struct source_lane {
  unsigned number;
  bool is_valid;
};
/// The highest thread of the part of the warp that contains `lane`.
unsigned last_lane(unsigned lane, unsigned segment, unsigned limit) {
  return (lane & segment) | (limit & ~segment & 31);
}
source_lane lane_above(unsigned lane, unsigned distance, unsigned segment, unsigned limit) {
  return {(lane + distance) & 31, lane + distance <= last_lane(lane, segment, limit)};
}
source_lane lane_below(unsigned lane, unsigned distance, unsigned segment, unsigned limit) {
  return {(lane - distance) & 31,
          static_cast<int>(lane - distance) >= static_cast<int>(last_lane(lane, segment, limit))};
}
source_lane lane_by_xor(unsigned lane, unsigned bits, unsigned segment, unsigned limit) {
  return {lane ^ bits, (lane ^ bits) <= last_lane(lane, segment, limit)};
}
source_lane lane_by_index(unsigned lane, unsigned number, unsigned segment, unsigned limit) {
  unsigned const other = (lane & segment) | (number & ~segment & 31);
  return {other, other <= last_lane(lane, segment, limit)};
}

template <class T>
void add_memory(operations& table, std::string const& type) {
  table["ld." + type] = load<T, 1>;
  table["st." + type] = store<T, 1>;
  table["ld.v2." + type] = load<T, 2>;
  table["st.v2." + type] = store<T, 2>;
  if constexpr (sizeof(T) <= 4) {
    table["ld.v4." + type] = load<T, 4>;
    table["st.v4." + type] = store<T, 4>;
  }
}
void add_memory(operations& table) {
  for (char const* width : {"8", "16", "32", "64"}) {
    for (char const* kind : {"b", "u", "s", "f"}) {
      std::string const type = std::string(kind) + width;
      switch (width[0]) {
        case '8':
          kind[0] == 's' ? add_memory<std::int8_t>(table, type) : add_memory<std::uint8_t>(table, type);
          break;
        case '1':
          kind[0] == 's' ? add_memory<std::int16_t>(table, type) : add_memory<std::uint16_t>(table, type);
          break;
        case '3':
          kind[0] == 's' ? add_memory<std::int32_t>(table, type) : add_memory<std::uint32_t>(table, type);
          break;
        default:
          add_memory<u64>(table, type);
      }
    }
  }
  for (char const* name : {"fence.sc.sys", "fence.acq_rel.sys", "membar.sys", "membar.gl"}) {
    table[name] = run_fence;
  }
}
void add_moves(operations& table) {
  for (char const* type : {"pred", "b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64"}) {
    table[std::string("mov.") + type] = move;
    table[std::string("selp.") + type] = select;
  }
  table["mov.b32.pack2"] = pack<2, 16>;
  table["mov.b64.pack2"] = pack<2, 32>;
  table["mov.b64.pack4"] = pack<4, 16>;
  table["mov.b32.unpack2"] = unpack<2, 16>;
  table["mov.b64.unpack2"] = unpack<2, 32>;
  table["mov.b64.unpack4"] = unpack<4, 16>;
  // Conversions leave an address as it is: every address space except shared memory has addresses of its own.
  for (char const* name : {"cvta.to.global.u64", "cvta.global.u64", "cvta.param.u64", "cvta.to.param.u64"}) {
    table[name] = move;
  }
}
void add_special_registers(operations& table) {
  using s = block_state;
  using u32 = std::uint32_t;
  table["%tid.x"] = read_property<[](s const& b, u32 t) -> u32 { return t % b.threads.x; }>;
  table["%tid.y"] = read_property<[](s const& b, u32 t) -> u32 { return t / b.threads.x % b.threads.y; }>;
  table["%tid.z"] = read_property<[](s const& b, u32 t) -> u32 { return t / b.threads.x / b.threads.y; }>;
  table["%ntid.x"] = read_property<[](s const& b, u32) -> u32 { return b.threads.x; }>;
  table["%ntid.y"] = read_property<[](s const& b, u32) -> u32 { return b.threads.y; }>;
  table["%ntid.z"] = read_property<[](s const& b, u32) -> u32 { return b.threads.z; }>;
  table["%ctaid.x"] = read_property<[](s const& b, u32) -> u32 { return b.index.x; }>;
  table["%ctaid.y"] = read_property<[](s const& b, u32) -> u32 { return b.index.y; }>;
  table["%ctaid.z"] = read_property<[](s const& b, u32) -> u32 { return b.index.z; }>;
  table["%nctaid.x"] = read_property<[](s const& b, u32) -> u32 { return b.grid.x; }>;
  table["%nctaid.y"] = read_property<[](s const& b, u32) -> u32 { return b.grid.y; }>;
  table["%nctaid.z"] = read_property<[](s const& b, u32) -> u32 { return b.grid.z; }>;
  table["%laneid"] = read_property<[](s const&, u32 t) -> u32 { return t % warp_size; }>;
  table["%globaltimer"] = read_clock;
}

}  // namespace

void add_accesses(operations& table) {
  add_memory(table);
  add_moves(table);
  add_special_registers(table);
  table["shfl.sync.bfly.b32"] = shuffle<lane_by_xor>;
  table["shfl.sync.idx.b32"] = shuffle<lane_by_index>;
  table["shfl.sync.down.b32"] = shuffle<lane_above>;
  table["shfl.sync.up.b32"] = shuffle<lane_below>;
}

}  // namespace emulated_gpu
