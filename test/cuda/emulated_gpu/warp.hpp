// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernel.hpp"
#include "memory.hpp"
#include "store_buffer.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace emulated_gpu {

/// The warps that used a byte of shared memory since the block's last barrier. Threads of one warp may share it.
class shared_use {
 public:
  /// @returns true if there is no race: no other warp uses the byte, or none of them writes
  [[nodiscard]] bool note(std::uint32_t barriers, std::uint32_t by, bool writes) {
    if (barriers != barriers_) {
      *this = {};
      barriers_ = barriers;
    }
    bool const alone = (writer_ == none || writer_ == by) && (!writes || reader_ == none || reader_ == by);
    if (writes) {
      writer_ = by;
    } else {
      reader_ = reader_ == none || reader_ == by ? by : several;
    }
    return alone;
  }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;
  static constexpr std::uint32_t several = none - 1;

  std::uint32_t barriers_ = 0;
  std::uint32_t writer_ = none;
  std::uint32_t reader_ = none;
};

/// State shared by the threads of a block.
struct block_state {
  kernel const* code = nullptr;
  extent grid;
  extent threads;
  extent place;  ///< the block's index in the grid
  std::vector<std::byte> const* parameters = nullptr;
  std::vector<lanes> const* constants = nullptr;
  std::vector<std::byte> shared;
  std::vector<shared_use> uses;  ///< for each byte of shared memory
  std::uint32_t barriers = 0;    ///< barriers passed by all warps
  store_buffer stores;           ///< writes to device memory
  memory_map const* memory = nullptr;
  bool (*may_reach)(int from, int to) = nullptr;  ///< true if a device can access a peer's memory
  int device = 0;
  region known{};  ///< the region used last
  std::uint64_t version = 0;

  [[noreturn]] void fail_at(instruction const& i, std::string const& why) const {
    fail(code->name + ", block " + text(place) + ": " + why + ": " + code->lines[i.line]);
  }
  [[noreturn]] void fail_at(instruction const& i, std::uint32_t thread, std::string const& why) const {
    extent const of{thread % threads.x, thread / threads.x % threads.y, thread / threads.x / threads.y};
    fail_at(i, "thread " + text(of) + " uses " + why);
  }
  /// The host address of these bytes, which must be in one region.
  [[nodiscard]] std::byte* global(instruction const& i, std::uint32_t thread, std::uint64_t address,
                                  std::size_t bytes) {
    if (version != memory->version() || !known.has(address, bytes)) {
      version = memory->version();
      auto const found = memory->find(address, bytes);
      if (!found) {
        fail_at(i, thread, text(address, bytes) + ", where there is no memory of a device");
      }
      if (found->device != region::of_host && !may_reach(device, found->device)) {
        fail_at(i, thread,
                "memory of device " + std::to_string(found->device) + ", which device " + std::to_string(device) +
                    " does not reach");
      }
      known = *found;
    }
    return known.here + (address - known.first);
  }
  [[nodiscard]] std::byte* in_shared(instruction const& i, std::uint32_t thread, std::uint64_t address,
                                     std::size_t bytes, bool writes) {
    if (address > shared.size() || bytes > shared.size() - address) {
      fail_at(i, thread,
              text(address, bytes) + " of the block's " + std::to_string(shared.size()) + " bytes of shared memory");
    }
    for (std::size_t b = address; i.is_weak && b != address + bytes; ++b) {
      if (!uses[b].note(barriers, thread / warp_size, writes)) {
        fail_at(i, thread, "shared memory that another warp uses without a barrier in between");
      }
    }
    return shared.data() + address;
  }
  /// True for a parameter: parameters have host addresses.
  [[nodiscard]] bool is_parameter(std::uint64_t address, std::size_t bytes) const {
    auto const first = reinterpret_cast<std::uint64_t>(parameters->data());
    return address >= first && address + bytes <= first + parameters->size();
  }
  [[nodiscard]] static std::string text(extent const& e) {
    char numbers[48];
    std::snprintf(numbers, sizeof numbers, "(%u, %u, %u)", e.x, e.y, e.z);
    return numbers;
  }
  [[nodiscard]] static std::string text(std::uint64_t address, std::size_t bytes) {
    char hexadecimal[32];
    std::snprintf(hexadecimal, sizeof hexadecimal, "%#llx", static_cast<unsigned long long>(address));
    return std::to_string(bytes) + " bytes at " + hexadecimal;
  }
};

/// 32 threads of a block. Threads at the same instruction mostly run in step. After a divergent branch, the threads
/// that are behind run first, so that all reconverge where the text does. Every thread makes progress, even while
/// others spin. Sometimes a few run ahead, as CUDA permits.
class warp {
 public:
  enum class state : std::uint8_t { ended, waits, moves, idles };

  warp(block_state& of, std::uint32_t first_thread, std::uint32_t threads)
      : of_(of),
        first_(first_thread),
        all_(threads >= warp_size ? UINT32_MAX : (lane_mask{1} << threads) - 1),
        alive_(all_),
        registers_(of.code->registers) {
    for (lanes& r : registers_) {
      r.fill(0xA5A5A5A5A5A5A5A5);  // registers that were never written hold nonsense
    }
  }

  [[nodiscard]] lanes& to(std::uint32_t operand) { return registers_[operand]; }
  [[nodiscard]] lanes const& from(std::uint32_t operand) const {
    return operand < registers_.size() ? registers_[operand] : (*of_.constants)[operand - registers_.size()];
  }
  [[nodiscard]] block_state& block() const noexcept { return of_; }
  /// The number of a thread in the block.
  [[nodiscard]] std::uint32_t thread(unsigned lane) const noexcept { return first_ + lane; }

  /// The host address that a thread's operand denotes.
  [[nodiscard]] std::byte* place_of(instruction const& i, unsigned lane, std::uint64_t base, std::size_t bytes,
                                    bool writes) {
    using room = instruction::room;
    std::uint64_t const address = base + static_cast<std::uint64_t>(i.offset);
    std::uint32_t const by = thread(lane);
    if (address % bytes != 0) {
      of_.fail_at(i, by, block_state::text(address, bytes) + ", which is no multiple of " + std::to_string(bytes));
    }
    if (i.where == room::shared) {
      return of_.in_shared(i, by, address & UINT32_MAX, bytes, writes);
    }
    if (i.where != room::global && of_.is_parameter(address, bytes)) {
      return reinterpret_cast<std::byte*>(address);
    }
    if (i.where == room::parameters) {
      of_.fail_at(i, by, "no place in the kernel's parameters");
    }
    return of_.global(i, by, address, bytes);
  }

  /// Runs about `budget` instructions.
  template <class Random>
  [[nodiscard]] state run(unsigned budget, Random& random) {
    if ((alive_ & ~waiting_ & ~meeting_ & ~rested_) == 0) {
      rested_ = 0;
    }
    if (random() % 8 == 0) {
      run_some_ahead(random);
    }
    while (true) {
      meet();
      lane_mask const able = alive_ & ~waiting_ & ~meeting_;
      lane_mask const ready = able & ~rested_;
      if (ready == 0) {
        return alive_ == 0 ? state::ended : able != 0 ? state::idles : state::waits;
      }
      std::uint32_t first = UINT32_MAX;
      std::uint32_t next = UINT32_MAX;  // the next instruction at which other threads are
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
  /// Fails unless whole warps wait at that barrier. Fails, too, if threads still wait for others of the warp: a
  /// deadlock.
  void expect_all_at(instruction const& barrier) const {
    if (meeting_ != 0) {
      instruction const& i = of_.code->code[places_[static_cast<unsigned>(std::countr_zero(meeting_))]];
      of_.fail_at(i, "threads of a warp wait for others of it, which wait at a barrier of the block or have ended");
    }
    if (alive_ != 0 && alive_ != all_) {
      of_.fail_at(barrier, "a barrier for some threads of a warp only; the others have ended");
    }
  }
  /// Lets all threads continue after the barrier.
  void pass() {
    for_each_lane(waiting_, [&](unsigned l) { ++places_[l]; });
    waiting_ = 0;
  }

 private:
  /// Runs some threads ahead: CUDA does not promise that threads run in step, or wait for each other.
  template <class Random>
  void run_some_ahead(Random& random) {
    lane_mask const ready = alive_ & ~waiting_ & ~meeting_;
    if (ready == 0) {
      return;
    }
    auto chosen = static_cast<unsigned>(random() % warp_size);
    while ((ready >> chosen & 1) == 0) {
      chosen = (chosen + 1) % warp_size;
    }
    std::uint32_t const at = places_[chosen];
    lane_mask const some = static_cast<lane_mask>(random() ^ random() << 16) | lane_mask{1} << chosen;
    lane_mask mask = 0;
    for_each_lane(ready & some, [&](unsigned l) { mask |= places_[l] == at ? lane_mask{1} << l : 0; });
    auto budget = static_cast<unsigned>(1 + random() % 64);
    static_cast<void>(run_together(mask, at, UINT32_MAX, budget));
  }
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
  /// The threads that a thread synchronises with: the members that have not ended.
  [[nodiscard]] lane_mask members(instruction const& i, unsigned lane) const {
    auto const all = static_cast<lane_mask>(from(i.members)[lane]);
    if ((all >> lane & 1) == 0) {
      of_.fail_at(i, first_ + lane, "a mask of threads in which it is not");
    }
    return all & alive_;
  }
  /// Releases groups of threads whose members have all arrived.
  void meet() {
    for (lane_mask left = meeting_; left != 0;) {
      auto const first = static_cast<unsigned>(std::countr_zero(left));
      instruction const& i = of_.code->code[places_[first]];
      lane_mask const all = members(i, first);
      left &= ~(lane_mask{1} << first);
      bool there = (all & meeting_) == all;
      for_each_lane(all & meeting_, [&](unsigned l) {
        if (places_[l] == places_[first] && members(i, l) != all) {
          of_.fail_at(i, "threads of a warp that meet have different masks of threads");
        }
        there = there && places_[l] == places_[first];
      });
      if (there) {
        if (i.run != nullptr) {
          i.run(*this, i, all);
        }
        for_each_lane(all, [&](unsigned l) { ++places_[l]; });
        meeting_ &= ~all;
        left &= ~all;
      }
    }
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
        rested_ |= mask;
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
            of_.fail_at(i, "a barrier for some threads of a warp only");
          }
          put(mask, at);
          waiting_ |= mask;
          return std::nullopt;
        case instruction::kind::meeting:
          put(on, at);
          put(mask & ~on, at + 1);
          meeting_ |= on;
          return std::nullopt;
        case instruction::kind::pause:
          put(mask, at + 1);
          rested_ |= mask;
          return std::nullopt;
      }
    }
  }

  block_state& of_;
  std::uint32_t first_;
  lane_mask all_;
  lane_mask alive_;
  lane_mask waiting_ = 0;  ///< at a barrier of the block
  lane_mask meeting_ = 0;  ///< at a synchronisation within the warp
  lane_mask rested_ = 0;   ///< had their turn, and run again when the others have had theirs
  std::array<std::uint32_t, warp_size> places_{};
  std::vector<lanes> registers_;
};

}  // namespace emulated_gpu
