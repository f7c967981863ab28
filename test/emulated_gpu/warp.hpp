// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "instruction.hpp"
#include "memory.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace emulated_gpu {

struct extent {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;

  [[nodiscard]] std::uint64_t all() const noexcept { return std::uint64_t{x} * y * z; }
};

/// What a kernel's text has besides numbers: values that are known when it is launched.
struct constant {
  enum class kind : std::uint8_t { number, parameter };
  kind what = kind::number;
  std::uint64_t value = 0;  ///< of a parameter: its offset
};

/// As it is run: a kernel of PTX.
struct kernel {
  std::string name;
  std::vector<instruction> code;
  std::vector<std::string> lines;  ///< of its text, for messages
  std::vector<constant> constants;
  std::uint32_t registers = 0;                                  ///< the first constants' number
  std::vector<std::pair<std::size_t, std::size_t>> parameters;  ///< offset and bytes of each
  std::size_t parameter_bytes = 0;
  std::size_t shared_bytes = 0;
  std::uint32_t most_threads = 1024;
};

/// What the threads of a block have in common.
struct block_state {
  kernel const* code = nullptr;
  extent grid;
  extent threads;
  extent place;  ///< of the block in the grid
  std::vector<std::byte> const* parameters = nullptr;
  std::vector<lanes> const* constants = nullptr;
  std::vector<std::byte> shared;
  memory_map const* memory = nullptr;
  std::uint64_t (*may_reach)(int from, int to) = nullptr;  ///< whether one device reaches the other's memory
  int device = 0;
  region known{};  ///< where memory was used last
  std::uint64_t version = 0;

  [[noreturn]] void fail_at(instruction const& i, std::string const& why) const {
    fail(code->name + ", block " + std::to_string(place.x) + ": " + why + ": " + code->lines[i.line]);
  }
  /// Where those bytes lie, which must be all in one piece of memory.
  [[nodiscard]] std::byte* global(instruction const& i, std::uint64_t address, std::size_t bytes) {
    if (address % bytes != 0) {
      fail_at(i, "an address that is no multiple of " + std::to_string(bytes));
    }
    if (version != memory->version() || !known.has(address, bytes)) {
      version = memory->version();
      auto const found = memory->find(address, bytes);
      if (!found) {
        char text[32];
        std::snprintf(text, sizeof text, "%#llx", static_cast<unsigned long long>(address));
        fail_at(i, std::to_string(bytes) + " bytes at " + text + ", where there is no memory of a device");
      }
      if (found->device != region::of_host && may_reach(device, found->device) == 0) {
        fail_at(i, "memory of device " + std::to_string(found->device) + ", which device " + std::to_string(device) +
                       " does not reach");
      }
      known = *found;
    }
    return known.here + (address - known.first);
  }
  [[nodiscard]] std::byte* in_shared(instruction const& i, std::uint64_t address, std::size_t bytes) {
    if (address > shared.size() || bytes > shared.size() - address || address % bytes != 0) {
      fail_at(i, "no place in the block's " + std::to_string(shared.size()) +
                     " bytes of shared memory: " + std::to_string(address));
    }
    return shared.data() + address;
  }
  /// Parameters lie where they lie for the host.
  [[nodiscard]] bool is_parameter(std::uint64_t address, std::size_t bytes) const {
    auto const first = reinterpret_cast<std::uint64_t>(parameters->data());
    return address >= first && address + bytes <= first + parameters->size();
  }
  [[nodiscard]] std::byte* parameter(instruction const& i, std::uint64_t address, std::size_t bytes) const {
    if (!is_parameter(address, bytes) || address % bytes != 0) {
      fail_at(i, "no place in the kernel's parameters");
    }
    return reinterpret_cast<std::byte*>(address);
  }
  /// An address of any of them, but shared memory.
  [[nodiscard]] std::byte* anywhere(instruction const& i, std::uint64_t address, std::size_t bytes) {
    return is_parameter(address, bytes) ? parameter(i, address, bytes) : global(i, address, bytes);
  }
};

/// 32 threads of a block. Those that are at the same place run in step; where they part, those that are behind go on
/// first, so they meet again where the text does.
class warp {
 public:
  enum class state : std::uint8_t { ended, waits, moves, idles };

  warp(block_state& of, std::uint32_t first_thread, std::uint32_t threads)
      : of_(of),
        first_(first_thread),
        alive_(threads >= warp_size ? UINT32_MAX : (lane_mask{1} << threads) - 1),
        registers_(of.code->registers) {}

  [[nodiscard]] lanes& to(std::uint32_t operand) { return registers_[operand]; }
  [[nodiscard]] lanes const& from(std::uint32_t operand) const {
    return operand < registers_.size() ? registers_[operand] : (*of_.constants)[operand - registers_.size()];
  }
  [[nodiscard]] block_state& block() const noexcept { return of_; }
  /// Of the block's.
  [[nodiscard]] std::uint32_t thread(unsigned lane) const noexcept { return first_ + lane; }

  /// Runs about so many instructions.
  [[nodiscard]] state run(unsigned budget) {
    while (true) {
      lane_mask const ready = alive_ & ~waiting_;
      if (ready == 0) {
        return alive_ == 0 ? state::ended : state::waits;
      }
      std::uint32_t first = UINT32_MAX;
      std::uint32_t next = UINT32_MAX;  // where others are
      lane_mask mask = 0;
      for_each_lane(ready, [&](unsigned l) {
        if (places_[l] < first) {
          next = first;
          first = places_[l];
          mask = 0;
        } else if (places_[l] > first && places_[l] < next) {
          next = places_[l];
        }
        mask |= places_[l] == first ? lane_mask{1} << l : 0;
      });
      if (auto const ended = run_together(mask, first, next, budget)) {
        return *ended;
      }
    }
  }

  [[nodiscard]] lane_mask alive() const noexcept { return alive_; }
  [[nodiscard]] lane_mask waiting() const noexcept { return waiting_; }
  /// The barrier at which a thread waits.
  [[nodiscard]] std::uint32_t place(unsigned lane) const noexcept { return places_[lane]; }
  /// Lets all go on behind the barrier.
  void pass() {
    for_each_lane(waiting_, [&](unsigned l) { ++places_[l]; });
    waiting_ = 0;
  }

 private:
  [[nodiscard]] lane_mask guarded(instruction const& i, lane_mask mask) const {
    if (i.guard == instruction::none) {
      return mask;
    }
    lanes const& p = from(i.guard);
    lane_mask on = 0;
    for (unsigned l = 0; l != warp_size; ++l) {
      on |= static_cast<lane_mask>((p[l] & 1) != (i.unless ? 1U : 0U)) << l;
    }
    return mask & on;
  }
  void put(lane_mask mask, std::uint32_t place) {
    for_each_lane(mask, [&](unsigned l) { places_[l] = place; });
  }
  [[nodiscard]] std::optional<state> run_together(lane_mask mask, std::uint32_t at, std::uint32_t others,
                                                  unsigned& budget) {
    auto const& code = of_.code->code;
    while (true) {
      if (at >= others) {
        put(mask, at);
        return std::nullopt;
      }
      if (budget == 0) {
        put(mask, at);
        return state::moves;
      }
      --budget;
      instruction const& i = code[at];
      lane_mask const on = guarded(i, mask);
      switch (i.what) {
        case instruction::kind::compute:
          if (on != 0) {
            i.run(*this, i, on);
          }
          ++at;
          break;
        case instruction::kind::jump:
          if (on == mask) {
            at = i.target;
          } else if (on == 0) {
            ++at;
          } else {
            put(on, i.target);
            put(mask & ~on, at + 1);
            return std::nullopt;
          }
          break;
        case instruction::kind::leave:
          alive_ &= ~on;
          put(mask & ~on, at + 1);
          return std::nullopt;
        case instruction::kind::barrier:
        case instruction::kind::barrier_of_all:
          if (on != mask) {
            of_.fail_at(i, "a barrier for some threads only");
          }
          put(mask, at);
          waiting_ |= mask;
          return std::nullopt;
        case instruction::kind::shuffle:
          if (mask != alive_) {
            of_.fail_at(i, "threads of a warp exchange numbers, and some are elsewhere");
          }
          i.run(*this, i, on);
          ++at;
          break;
        case instruction::kind::pause:
          put(mask, at + 1);
          return state::idles;
      }
    }
  }

  block_state& of_;
  std::uint32_t first_;
  lane_mask alive_;
  lane_mask waiting_ = 0;
  std::array<std::uint32_t, warp_size> places_{};
  std::vector<lanes> registers_;
};

}  // namespace emulated_gpu
