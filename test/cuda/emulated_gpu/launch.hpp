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
  block(block_state const& of, std::uint32_t seed) : of_(std::make_unique<block_state>(of)), order_(seed) {
    of_->shared.assign(of_->code->shared_bytes,
                       // The pattern makes memory that was never written read as nonsense.
                       std::byte{0xA5});
    of_->uses.resize(of_->code->shared_bytes);
    auto const threads = static_cast<std::uint32_t>(of_->threads.all());
    for (std::uint32_t first = 0; first < threads; first += warp_size) {
      warps_.push_back(std::make_unique<warp>(*of_, first, threads - first));
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
      of_->stores.drain();
      return state::ended;
    }
    if (!moves && !idles) {
      meet();
      return state::moves;
    }
    return moves ? state::moves : state::idles;
  }

 private:
  /// Completes a barrier at which all warps wait. Fails if they are at different barriers.
  void meet() {
    auto const for_all = [&](auto const& f) {
      for (auto const& w : warps_) {
        for_each_lane(w->waiting(), [&](unsigned l) { f(*w, l); });
      }
    };
    std::uint32_t at = UINT32_MAX;
    for_all([&](warp& w, unsigned l) {
      if (at != UINT32_MAX && w.place(l) != at) {
        of_->fail_at(of_->code->code[at], "threads of a block wait at different barriers, the other one is line " +
                                              std::to_string(w.place(l)) + " of the kernel, and this one " +
                                              std::to_string(at));
      }
      at = w.place(l);
    });
    for (auto const& w : warps_) {
      w->expect_all_at(of_->code->code[at == UINT32_MAX ? 0 : at]);
    }
    instruction const& i = of_->code->code[at];
    if (i.what == instruction::kind::barrier_of_all) {
      bool all = true;
      for_all([&](warp& w, unsigned l) { all = all && (w.from(i.from[0])[l] & 1) != 0; });
      for_all([&](warp& w, unsigned l) { w.to(i.to[0])[l] = all ? 1 : 0; });
    }
    for (auto const& w : warps_) {
      w->pass();
    }
    ++of_->barriers;
  }

  std::unique_ptr<block_state> of_;
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
      std::uint64_t const value =
          c.what == constant::kind::number ? c.value : reinterpret_cast<std::uint64_t>(parameters_.data()) + c.value;
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

  [[nodiscard]] std::uint64_t blocks() const noexcept { return grid_.all(); }
  [[nodiscard]] block make_block(std::uint64_t number, std::uint32_t seed, block_state const& where) const {
    block_state s = state_;
    s.place = {static_cast<std::uint32_t>(number % grid_.x), static_cast<std::uint32_t>(number / grid_.x % grid_.y),
               static_cast<std::uint32_t>(number / grid_.x / grid_.y)};
    s.memory = where.memory;
    s.may_reach = where.may_reach;
    s.device = where.device;
    return block(s, seed);
  }

 private:
  extent grid_;
  std::vector<std::byte> parameters_;
  std::vector<lanes> constants_;
  block_state state_;
};

}  // namespace emulated_gpu
