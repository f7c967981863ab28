// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "warp.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace emulated_gpu {

/// A block of a launched kernel. Its warps run in random order, a few instructions at a time.
class block {
 public:
  block(block_state const& initial, std::uint32_t seed) : state_(std::make_unique<block_state>(initial)), order_(seed) {
    state_->shared_memory.assign(state_->code->shared_bytes,
                                 // The pattern makes memory that was never written read as nonsense.
                                 std::byte{0xA5});
    state_->uses.resize(state_->code->shared_bytes);
    auto const threads = static_cast<std::uint32_t>(state_->threads.volume());
    for (std::uint32_t first = 0; first < threads; first += warp_size) {
      warps_.push_back(std::make_unique<warp>(*state_, first, threads - first));
    }
  }

  enum class state : std::uint8_t { ended, moves, idles };
  /// Runs each warp for a while. @returns `idles` if all of them only waited
  [[nodiscard]] state run() {
    std::shuffle(warps_.begin(), warps_.end(), order_);
    bool moves = false;
    bool alive = false;
    bool idles = false;
    for (auto const& w : warps_) {
      switch (w->run(static_cast<unsigned>(500 + order_() % 4000), order_)) {
        case warp::state::moves:
          moves = alive = true;
          break;
        case warp::state::idles:
          idles = alive = true;
          break;
        case warp::state::waits:
          alive = true;
          break;
        case warp::state::ended:
          break;
      }
    }
    if (!alive) {
      state_->stores.drain();
      return state::ended;
    }
    if (!moves && !idles) {
      complete_barrier();
      return state::moves;
    }
    return moves ? state::moves : state::idles;
  }

 private:
  /// Completes a barrier at which all warps wait. Fails if they are at different barriers.
  void complete_barrier() {
    auto const for_each_waiting = [&](auto const& f) {
      for (auto const& w : warps_) {
        for_each_lane(w->waiting(), [&](unsigned l) { f(*w, l); });
      }
    };
    std::uint32_t pc = UINT32_MAX;
    for_each_waiting([&](warp& w, unsigned l) {
      if (pc != UINT32_MAX && w.pc(l) != pc) {
        state_->fail_at(state_->code->code[pc],
                        "threads of a block wait at different barriers, the other one is line " +
                            std::to_string(w.pc(l)) + " of the kernel, and this one " + std::to_string(pc));
      }
      pc = w.pc(l);
    });
    for (auto const& w : warps_) {
      w->expect_all_at(state_->code->code[pc == UINT32_MAX ? 0 : pc]);
    }
    instruction const& i = state_->code->code[pc];
    if (i.kind == instruction::kind_type::barrier_and) {
      bool conjunction = true;
      for_each_waiting([&](warp& w, unsigned l) { conjunction = conjunction && (w.source(i.sources[0])[l] & 1) != 0; });
      for_each_waiting([&](warp& w, unsigned l) { w.destination(i.destinations[0])[l] = conjunction ? 1 : 0; });
    }
    for (auto const& w : warps_) {
      w->pass_barrier();
    }
    ++state_->barriers;
  }

  std::unique_ptr<block_state> state_;
  std::vector<std::unique_ptr<warp>> warps_;
  std::minstd_rand order_;
};

/// A kernel with its arguments.
class launch {
 public:
  launch(kernel const& k, extent grid, extent threads, void** arguments) : grid_(grid) {
    parameters_.resize(std::max<std::size_t>(k.parameter_bytes, 1));
    for (std::size_t p = 0; p != k.parameters.size(); ++p) {
      std::memcpy(parameters_.data() + k.parameters[p].first, arguments[p], k.parameters[p].second);
    }
    for (constant const& c : k.constants) {
      std::uint64_t const value = c.kind == constant::kind_type::number
                                      ? c.value
                                      : reinterpret_cast<std::uint64_t>(parameters_.data()) + c.value;
      constants_.emplace_back().fill(value);
    }
    state_.code = &k;
    state_.grid = grid;
    state_.threads = threads;
    state_.parameters = &parameters_;
    state_.constants = &constants_;
  }
  launch(launch const&) = delete;
  launch& operator=(launch const&) = delete;

  [[nodiscard]] std::uint64_t blocks() const noexcept { return grid_.volume(); }
  [[nodiscard]] block make_block(std::uint64_t number, std::uint32_t seed, block_state const& context) const {
    block_state s = state_;
    s.index = {static_cast<std::uint32_t>(number % grid_.x), static_cast<std::uint32_t>(number / grid_.x % grid_.y),
               static_cast<std::uint32_t>(number / grid_.x / grid_.y)};
    s.memory = context.memory;
    s.can_reach = context.can_reach;
    s.device = context.device;
    return block(s, seed);
  }

 private:
  extent grid_;
  std::vector<std::byte> parameters_;
  std::vector<lanes> constants_;
  block_state state_;
};

}  // namespace emulated_gpu
