// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../model/nic_model.hpp"
#include "../registers/device.hpp"
#include "../registers/model.hpp"
#include "oracle.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <optional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

/// What the device was verilated with; check.sh says it to both.
inline constexpr std::uint64_t tick_clocks = CHECK_TICK_CYCLES;
inline constexpr unsigned most_lease_ms = CHECK_LEASE_MS;
inline constexpr bool drops_when_full = CHECK_DROP_WHEN_FULL != 0;

inline constexpr frame::place own_place{{0x02, 0x74, 0x75, 0x74, 0x74, 0x69}, 0x0a4d0001, 7171};

/// The device and what it must be like, given the same frames at the same time: each frame that it sends is compared,
/// and in the end all that it has counted.
class bench {
 public:
  /// `pause`: how often the network pauses, on both sides. `holds`: now and then it takes nothing for long.
  bench(double pause, bool holds, std::uint64_t seed) : model_(pause, seed, true), holds_(holds), random_(seed) {
    registers_.open({model_});
    build_ = device::identify(registers_);
    device::enable(registers_, own_place);
    oracle_.emplace(build_, own_place, most_lease_ms);
  }

  [[nodiscard]] device::build const& built() const noexcept { return build_; }
  [[nodiscard]] std::uint64_t given() const noexcept { return given_; }
  /// Frames that are on their way to the device.
  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.size(); }

  void give(std::vector<std::byte> bytes, bool bad = false) {
    model_.give(bytes, bad);
    waiting_.push_back({std::move(bytes), bad});
    ++given_;
  }

  /// One clock. `got` is called with each frame that the device has sent.
  template <class Got>
  void step(Got const& got) {
    if (holds_ && --until_hold_ == 0) {
      is_held_ = !is_held_;
      model_.hold(is_held_);
      until_hold_ = 1 + random_() % (is_held_ ? 2000 : 6000);
    }
    std::uint64_t const taken = model_.taken();
    model_.step();
    if (!waiting_.empty() && ++since_progress_ == 100'000) {
      throw std::runtime_error("the device takes no frame any more");
    }
    if (model_.taken() != taken) {
      since_progress_ = 0;
      item const& i = waiting_.front();
      oracle_->take(i.bytes, i.bad, model_.overflows(), (model_.clocks() - 1 - reset_clocks) / tick_clocks);
      waiting_.pop_front();
    }
    for (; !model_.sent().empty(); model_.sent().pop()) {
      compare(model_.sent().front().content());
      got(model_.sent().front().content());
    }
  }
  void step() {
    step([](std::span<std::byte const>) {});
  }

  /// Lets all come out, and compares what is counted.
  device::counter_values finish() {
    holds_ = false;
    model_.hold(false);
    for (std::uint64_t i = 0; !waiting_.empty() || !model_.idle(); ++i) {
      if (i == 1'000'000) {
        throw std::runtime_error("the device does not become idle");
      }
      step();
    }
    if (!oracle_->expected().empty()) {
      throw std::runtime_error("the device has not sent a frame: " + text_of(oracle_->expected().front()));
    }
    auto const is = device::counted(registers_);
    auto const wanted = oracle_->counted();
    for (std::size_t k = 0; k != is.size(); ++k) {
      if (is[k] != wanted[k]) {
        throw std::runtime_error("the device has counted " + std::to_string(is[k]) + " of " +
                                 std::string(device::counter_names[k]) + ", not " + std::to_string(wanted[k]));
      }
    }
    return is;
  }

 private:
  static constexpr std::uint64_t reset_clocks = 8;  // of nic_model

  struct item {
    std::vector<std::byte> bytes;
    bool bad;
  };

  [[nodiscard]] static std::string text_of(std::span<std::byte const> bytes) {
    std::string text;
    for (std::byte const b : bytes.first(std::min<std::size_t>(bytes.size(), 96))) {
      std::array<char, 4> two;
      std::snprintf(two.data(), two.size(), "%02x ", static_cast<unsigned>(b));
      text += two.data();
    }
    return text + "(" + std::to_string(bytes.size()) + " bytes)";
  }
  void compare(std::span<std::byte const> is) {
    auto& expected = oracle_->expected();
    if (expected.empty()) {
      throw std::runtime_error("the device has sent a frame that was not to come: " + text_of(is));
    }
    if (!std::ranges::equal(is, expected.front())) {
      auto const at = std::ranges::mismatch(is, expected.front()).in1 - is.begin();
      throw std::runtime_error("frame " + std::to_string(compared_) + " differs at byte " + std::to_string(at) +
                               ":\n  is  " + text_of(is) + "\n  not " + text_of(expected.front()));
    }
    expected.pop_front();
    ++compared_;
  }

  nic_model model_;
  model_registers registers_;
  device::build build_;
  std::optional<oracle> oracle_;  // once the registers have been read
  std::deque<item> waiting_;
  bool holds_;
  bool is_held_ = false;
  std::uint64_t until_hold_ = 3000;
  std::mt19937_64 random_;
  std::uint64_t given_ = 0;
  std::uint64_t since_progress_ = 0;  // clocks
  std::uint64_t compared_ = 0;
};
