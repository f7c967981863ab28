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
  [[nodiscard]] bool note(std::uint32_t barriers, std::uint32_t warp_number, bool writes) {
    if (barriers != barriers_) {
      *this = {};
      barriers_ = barriers;
    }
    bool const has_no_race =
        (writer_ == none || writer_ == warp_number) && (!writes || reader_ == none || reader_ == warp_number);
    if (writes) {
      writer_ = warp_number;
    } else {
      reader_ = reader_ == none || reader_ == warp_number ? warp_number : many_warps;
    }
    return has_no_race;
  }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;
  static constexpr std::uint32_t many_warps = none - 1;

  std::uint32_t barriers_ = 0;
  std::uint32_t writer_ = none;
  std::uint32_t reader_ = none;
};

/// State shared by the threads of a block.
struct block_state {
  kernel const* code = nullptr;
  extent grid;
  extent threads;
  extent index;  ///< the block's index in the grid
  std::vector<std::byte> const* parameters = nullptr;
  std::vector<lanes> const* constants = nullptr;
  std::vector<std::byte> shared_memory;
  std::vector<shared_use> uses;  ///< for each byte of shared memory
  std::uint32_t barriers = 0;    ///< barriers passed by all warps
  store_buffer stores;           ///< writes to device memory
  memory_map const* memory = nullptr;
  bool (*can_reach)(int device_number, int peer) = nullptr;  ///< true if a device can access a peer's memory
  int device = 0;
  region last_region{};  ///< the region used last
  std::uint64_t version = 0;

  [[noreturn]] void fail_at(instruction const& i, std::string const& message) const {
    fail(code->name + ", block " + text(index) + ": " + message + ": " + code->lines[i.line]);
  }
  [[noreturn]] void fail_at(instruction const& i, std::uint32_t thread, std::string const& use) const {
    extent const thread_index{thread % threads.x, thread / threads.x % threads.y, thread / threads.x / threads.y};
    fail_at(i, "thread " + text(thread_index) + " uses " + use);
  }
  /// The host address of these bytes, which must be in one region.
  [[nodiscard]] std::byte* global_address(instruction const& i, std::uint32_t thread, std::uint64_t address,
                                          std::size_t bytes) {
    if (version != memory->version() || !last_region.has(address, bytes)) {
      version = memory->version();
      auto const match = memory->find(address, bytes);
      if (!match) {
        fail_at(i, thread, text(address, bytes) + ", where there is no memory of a device");
      }
      if (match->device != region::no_device && !can_reach(device, match->device)) {
        fail_at(i, thread,
                "memory of device " + std::to_string(match->device) + ", which device " + std::to_string(device) +
                    " does not reach");
      }
      last_region = *match;
    }
    return last_region.host_address + (address - last_region.first);
  }
  [[nodiscard]] std::byte* shared_address(instruction const& i, std::uint32_t thread, std::uint64_t address,
                                          std::size_t bytes, bool writes) {
    if (address > shared_memory.size() || bytes > shared_memory.size() - address) {
      fail_at(
          i, thread,
          text(address, bytes) + " of the block's " + std::to_string(shared_memory.size()) + " bytes of shared memory");
    }
    for (std::size_t b = address; i.is_weak && b != address + bytes; ++b) {
      if (!uses[b].note(barriers, thread / warp_size, writes)) {
        fail_at(i, thread, "shared memory that another warp uses without a barrier in between");
      }
    }
    return shared_memory.data() + address;
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

  warp(block_state& parent, std::uint32_t first_thread, std::uint32_t threads)
      : block_(parent),
        first_(first_thread),
        whole_(threads >= warp_size ? UINT32_MAX : (lane_mask{1} << threads) - 1),
        alive_(whole_),
        registers_(parent.code->registers) {
    for (lanes& r : registers_) {
      r.fill(0xA5A5A5A5A5A5A5A5);  // registers that were never written hold nonsense
    }
  }

  [[nodiscard]] lanes& destination(std::uint32_t operand) { return registers_[operand]; }
  [[nodiscard]] lanes const& source(std::uint32_t operand) const {
    return operand < registers_.size() ? registers_[operand] : (*block_.constants)[operand - registers_.size()];
  }
  [[nodiscard]] block_state& block() const noexcept { return block_; }
  /// The number of a thread in the block.
  [[nodiscard]] std::uint32_t thread(unsigned lane) const noexcept { return first_ + lane; }

  /// The host address that a thread's operand denotes.
  [[nodiscard]] std::byte* host_address(instruction const& i, unsigned lane, std::uint64_t base, std::size_t bytes,
                                        bool writes) {
    using space = instruction::address_space;
    std::uint64_t const address = base + static_cast<std::uint64_t>(i.offset);
    std::uint32_t const number = thread(lane);
    if (address % bytes != 0) {
      block_.fail_at(i, number,
                     block_state::text(address, bytes) + ", which is no multiple of " + std::to_string(bytes));
    }
    if (i.space == space::shared) {
      return block_.shared_address(i, number, address & UINT32_MAX, bytes, writes);
    }
    if (i.space != space::global && block_.is_parameter(address, bytes)) {
      return reinterpret_cast<std::byte*>(address);
    }
    if (i.space == space::parameters) {
      block_.fail_at(i, number, "no place in the kernel's parameters");
    }
    return block_.global_address(i, number, address, bytes);
  }

  /// Runs about `budget` instructions.
  template <class Random>
  [[nodiscard]] state run(unsigned budget, Random& random) {
    if ((alive_ & ~waiting_ & ~syncing_ & ~resting_) == 0) {
      resting_ = 0;
    }
    if (random() % 8 == 0) {
      run_ahead(random);
    }
    while (true) {
      complete_syncs();
      lane_mask const runnable = alive_ & ~waiting_ & ~syncing_;
      lane_mask const ready = runnable & ~resting_;
      if (ready == 0) {
        return alive_ == 0 ? state::ended : runnable != 0 ? state::idles : state::waits;
      }
      std::uint32_t first = UINT32_MAX;
      std::uint32_t next = UINT32_MAX;  // the next instruction at which other threads are
      lane_mask mask = 0;
      for_each_lane(ready, [&](unsigned l) {
        if (pcs_[l] < first) {
          next = first;
          first = pcs_[l];
          mask = 0;
        } else if (pcs_[l] > first && pcs_[l] < next) {
          next = pcs_[l];
        }
        mask |= pcs_[l] == first ? lane_mask{1} << l : 0;
      });
      if (auto const result = run_together(mask, first, next, budget)) {
        return *result;
      }
    }
  }

  [[nodiscard]] lane_mask alive() const noexcept { return alive_; }
  [[nodiscard]] lane_mask waiting() const noexcept { return waiting_; }
  /// The barrier at which a thread waits.
  [[nodiscard]] std::uint32_t pc(unsigned lane) const noexcept { return pcs_[lane]; }
  /// Fails unless whole warps wait at that barrier. Fails, too, if threads still wait for others of the warp: a
  /// deadlock.
  void expect_all_at(instruction const& barrier) const {
    if (syncing_ != 0) {
      instruction const& i = block_.code->code[pcs_[static_cast<unsigned>(std::countr_zero(syncing_))]];
      block_.fail_at(i, "threads of a warp wait for others of it, which wait at a barrier of the block or have ended");
    }
    if (alive_ != 0 && alive_ != whole_) {
      block_.fail_at(barrier, "a barrier for some threads of a warp only; the others have ended");
    }
  }
  /// Lets all threads continue after the barrier.
  void pass_barrier() {
    for_each_lane(waiting_, [&](unsigned l) { ++pcs_[l]; });
    waiting_ = 0;
  }

 private:
  /// Runs some threads ahead: CUDA does not promise that threads run in step, or wait for each other.
  template <class Random>
  void run_ahead(Random& random) {
    lane_mask const ready = alive_ & ~waiting_ & ~syncing_;
    if (ready == 0) {
      return;
    }
    auto leader = static_cast<unsigned>(random() % warp_size);
    while ((ready >> leader & 1) == 0) {
      leader = (leader + 1) % warp_size;
    }
    std::uint32_t const pc = pcs_[leader];
    lane_mask const subset = static_cast<lane_mask>(random() ^ random() << 16) | lane_mask{1} << leader;
    lane_mask mask = 0;
    for_each_lane(ready & subset, [&](unsigned l) { mask |= pcs_[l] == pc ? lane_mask{1} << l : 0; });
    auto budget = static_cast<unsigned>(1 + random() % 64);
    static_cast<void>(run_together(mask, pc, UINT32_MAX, budget));
  }
  [[nodiscard]] lane_mask apply_guard(instruction const& i, lane_mask mask) const {
    if (i.guard == instruction::none) {
      return mask;
    }
    lanes const& p = source(i.guard);
    lane_mask active = 0;
    for (unsigned l = 0; l != warp_size; ++l) {
      active |= static_cast<lane_mask>((p[l] & 1) != (i.is_guard_negated ? 1U : 0U)) << l;
    }
    return mask & active;
  }
  void set_pc(lane_mask mask, std::uint32_t pc) {
    for_each_lane(mask, [&](unsigned l) { pcs_[l] = pc; });
  }
  /// The threads that a thread synchronises with: the members that have not ended.
  [[nodiscard]] lane_mask members(instruction const& i, unsigned lane) const {
    auto const group = static_cast<lane_mask>(source(i.members)[lane]);
    if ((group >> lane & 1) == 0) {
      block_.fail_at(i, first_ + lane, "a mask of threads in which it is not");
    }
    return group & alive_;
  }
  /// Releases groups of threads whose members have all arrived.
  void complete_syncs() {
    for (lane_mask remaining = syncing_; remaining != 0;) {
      auto const first = static_cast<unsigned>(std::countr_zero(remaining));
      instruction const& i = block_.code->code[pcs_[first]];
      lane_mask const group = members(i, first);
      remaining &= ~(lane_mask{1} << first);
      bool is_complete = (group & syncing_) == group;
      for_each_lane(group & syncing_, [&](unsigned l) {
        if (pcs_[l] == pcs_[first] && members(i, l) != group) {
          block_.fail_at(i, "threads of a warp that meet have different masks of threads");
        }
        is_complete = is_complete && pcs_[l] == pcs_[first];
      });
      if (is_complete) {
        if (i.run != nullptr) {
          i.run(*this, i, group);
        }
        for_each_lane(group, [&](unsigned l) { ++pcs_[l]; });
        syncing_ &= ~group;
        remaining &= ~group;
      }
    }
  }
  [[nodiscard]] std::optional<state> run_together(lane_mask mask, std::uint32_t pc, std::uint32_t limit,
                                                  unsigned& budget) {
    auto const& code = block_.code->code;
    while (true) {
      if (pc >= limit) {
        set_pc(mask, pc);
        return std::nullopt;
      }
      if (budget == 0) {
        set_pc(mask, pc);
        resting_ |= mask;
        return state::moves;
      }
      --budget;
      instruction const& i = code[pc];
      lane_mask const active = apply_guard(i, mask);
      switch (i.kind) {
        case instruction::kind_type::compute:
          if (active != 0) {
            i.run(*this, i, active);
          }
          ++pc;
          break;
        case instruction::kind_type::jump:
          if (active == mask) {
            pc = i.target;
          } else if (active == 0) {
            ++pc;
          } else {
            set_pc(active, i.target);
            set_pc(mask & ~active, pc + 1);
            return std::nullopt;
          }
          break;
        case instruction::kind_type::leave:
          alive_ &= ~active;
          set_pc(mask & ~active, pc + 1);
          return std::nullopt;
        case instruction::kind_type::barrier:
        case instruction::kind_type::barrier_and:
          if (active != mask) {
            block_.fail_at(i, "a barrier for some threads of a warp only");
          }
          set_pc(mask, pc);
          waiting_ |= mask;
          return std::nullopt;
        case instruction::kind_type::warp_sync:
          set_pc(active, pc);
          set_pc(mask & ~active, pc + 1);
          syncing_ |= active;
          return std::nullopt;
        case instruction::kind_type::pause:
          set_pc(mask, pc + 1);
          resting_ |= mask;
          return std::nullopt;
      }
    }
  }

  block_state& block_;
  std::uint32_t first_;
  lane_mask whole_;
  lane_mask alive_;
  lane_mask waiting_ = 0;                       ///< at a barrier of the block
  lane_mask syncing_ = 0;                       ///< at a synchronisation within the warp
  lane_mask resting_ = 0;                       ///< had their turn, and run again when the others have had theirs
  std::array<std::uint32_t, warp_size> pcs_{};  ///< program counters: indices of instructions
  std::vector<lanes> registers_;
};

}  // namespace emulated_gpu
