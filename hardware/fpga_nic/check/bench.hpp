// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../model/nic_model.hpp"
#include "../registers/device.hpp"
#include "../registers/model.hpp"
#include "oracle.hpp"
#include "room.hpp"

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

/// Parameters that the device was verilated with; check.sh defines them for both.
inline constexpr std::uint64_t tick_clocks = CHECK_TICK_CYCLES;
inline constexpr unsigned max_lease_ms = CHECK_LEASE_MS;
inline constexpr bool drops_when_full = CHECK_DROP_WHEN_FULL != 0;
inline constexpr std::size_t buffer_beats = CHECK_BUFFER_BEATS;
inline constexpr std::uint64_t time_at_reset = CHECK_TIME_AT_RESET;

inline constexpr frame::place own_place{{0x02, 0x74, 0x75, 0x74, 0x74, 0x69}, 0x0a4d0001, 7171};

/// The device and its model, given equal frames at equal times. Compares each frame that the device sends, and in the
/// end all counters.
class bench {
 public:
  /// `pause`: share of clocks in which the network pauses, on both sides. `holds`: the network sometimes accepts
  /// nothing for a long time.
  bench(double pause, bool holds, std::uint64_t seed) : model_(pause, seed, true), holds_(holds), random_(seed) {
    registers_.open({model_});
    build_ = device::identify(registers_);
    begin();
  }

  [[nodiscard]] device::build const& build() const noexcept { return build_; }
  [[nodiscard]] std::uint64_t frames_given() const noexcept { return frames_given_; }
  /// Number of frames on their way to the device.
  [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.size(); }

  void give(std::vector<std::byte> bytes, bool bad = false) {
    model_.give(bytes, bad);
    waiting_.push_back({std::move(bytes), bad});
    ++frames_given_;
  }

  /// Enables or disables the device while frames arrive. Takes effect some clocks later.
  void set_enabled(bool value) {
    if (!model_.host().busy()) {
      access({.write = register_access::assignment{device::at::control, value ? 1U : 0U}, .read = any_counter()});
    }
  }
  [[nodiscard]] bool is_enabled() const noexcept { return switches_.empty() ? is_enabled_ : switches_.back().enables; }
  /// Resets the device, whatever it contains, and sets its address again.
  void reset() {
    while (model_.host().busy()) {
      step();
    }
    if (std::size_t const bytes_taken = model_.reset(); bytes_taken != 0) {
      auto& f = waiting_.front().bytes;
      f.erase(f.begin(), f.begin() + static_cast<std::ptrdiff_t>(bytes_taken));
    }
    begin();
  }

  /// Runs one clock. Calls `receive` with each frame that the device has sent.
  template <class Receive>
  void step(Receive const& receive) {
    if (holds_ && --until_hold_ == 0) {
      is_held_ = !is_held_;
      model_.hold(is_held_);
      until_hold_ = 1 + random_() % (is_held_ ? 2000 : 6000);
    }
    if (!model_.host().busy() && random_() % 256 == 0) {
      access({.read = any_counter()});
    }
    std::uint64_t const taken_frames = model_.taken_frames();
    std::uint64_t const start_clock = model_.start_clock();
    bool const was_busy = model_.host().busy();
    bool const had_written = model_.host().has_written();
    model_.step();
    if (!waiting_.empty() && ++since_progress_ == 100'000) {
      throw std::runtime_error("the device takes no frame any more");
    }
    if (model_.start_clock() != start_clock) {
      may_lack_room_ = room_.may_lack() || model_.since_reset() == 1;  // the first clock after a reset has no room
    }
    if (model_.taken_frames() != taken_frames) {
      arrive();
    } else if (model_.overflows()) {
      throw std::runtime_error("the device lacks room for a frame that has not come");
    }
    if (writes_ && model_.host().has_written() && !had_written && writes_->address == device::at::control) {
      switches_.push_back({model_.clocks() - 1, writes_->value != 0});
    }
    if (was_busy && !model_.host().busy()) {
      check_access();
    }
    hand_over();
    for (; !model_.output().empty(); model_.output().pop()) {
      compare(model_.output().front().content());
      receive(model_.output().front().content());
    }
    if (model_.is_empty() && receptions_.empty()) {
      room_.clear();
    }
  }
  void step() {
    step([](std::span<std::byte const>) {});
  }

  /// Drains the device, and compares its counters.
  device::counter_values finish() {
    holds_ = false;
    model_.hold(false);
    for (std::uint64_t i = 0; !waiting_.empty() || !receptions_.empty() || !model_.idle() || model_.host().busy();
         ++i) {
      if (i == 1'000'000) {
        throw std::runtime_error("the device does not become idle");
      }
      step();
    }
    if (!oracle_->expected().empty()) {
      throw std::runtime_error("the device has not sent a frame: " + text_of(oracle_->expected().front().bytes));
    }
    auto const actual = device::read_counters(registers_);
    auto const expected = oracle_->counts();
    for (std::size_t k = 0; k != actual.size(); ++k) {
      if (actual[k] != expected[k]) {
        throw std::runtime_error("the device has counted " + std::to_string(actual[k]) + " of " +
                                 std::string(device::counter_names[k]) + ", not " + std::to_string(expected[k]));
      }
    }
    return actual;
  }

 private:
  struct item {
    std::vector<std::byte> bytes;
    bool bad;
  };
  /// A received frame that the model handles some clocks later; until then the device may be disabled.
  struct reception {
    item frame;
    oracle::arrival circumstances;
    std::uint64_t start_clock;
  };
  struct control_write {
    std::uint64_t clock;
    bool enables;
  };
  /// Register access that runs the clock meanwhile.
  class stepping_registers {
   public:
    struct place {
      bench& owner;
    };

    void open(place const& target) noexcept { bench_ = &target.owner; }
    [[nodiscard]] std::uint32_t read(std::uint32_t address) {
      bench_->finish_access({.read = address});
      return bench_->model_.host().value();
    }
    void write(std::uint32_t address, std::uint32_t value) {
      bench_->finish_access({.write = register_access::assignment{address, value}});
    }
    void close() noexcept { bench_ = nullptr; }

   private:
    bench* bench_ = nullptr;
  };
  void finish_access(register_access const& a) {
    for (access(a); model_.host().busy();) {
      step();
    }
  }

  /// Clocks between the first beat of a frame and the check of its address.
  static constexpr std::uint64_t clocks_until_check = 3;

  void begin() {
    oracle_.emplace(build_, own_place, max_lease_ms);
    room_.clear();
    receptions_.clear();
    switches_.clear();
    is_enabled_ = false;
    last_values_ = {};
    stepping_registers registers;
    registers.open({*this});
    device::enable(registers, own_place);
  }

  void arrive() {
    since_progress_ = 0;
    bool const is_dropped = model_.overflows();
    if (is_dropped && !(drops_when_full && may_lack_room_)) {
      throw std::runtime_error("the device has dropped frame " + std::to_string(frames_given_ - waiting_.size()) +
                               ", for which it had room");
    }
    std::uint64_t const now = time_at_reset + (model_.since_reset() - 1) / tick_clocks;
    receptions_.push_back({std::move(waiting_.front()), {.is_dropped = is_dropped, .now = now}, model_.start_clock()});
    waiting_.pop_front();
  }
  void hand_over() {
    for (; !receptions_.empty() && receptions_.front().start_clock + clocks_until_check < model_.clocks();
         receptions_.pop_front()) {
      reception& a = receptions_.front();
      for (; !switches_.empty() && switches_.front().clock < a.start_clock + clocks_until_check;
           switches_.pop_front()) {
        is_enabled_ = switches_.front().enables;
      }
      a.circumstances.is_bad = a.frame.bad;
      a.circumstances.is_enabled = is_enabled_;
      if (auto const length = oracle_->take(handled_frames_, a.frame.bytes, a.circumstances)) {
        room_.add_packet(handled_frames_, *length);
      }
      ++handled_frames_;
    }
  }

  /// Begins an access whose channels come in any order.
  void access(register_access a) {
    auto const wait = [&] { return random_() % 2 == 0 ? 0U : static_cast<unsigned>(random_() % 6); };
    a.address_waits = wait();
    a.data_waits = wait();
    a.read_address_waits = wait();
    a.answer_waits = wait();
    reads_ = a.read;
    writes_ = a.write;
    model_.host().start(a);
  }
  [[nodiscard]] std::uint32_t any_counter() {
    return device::at::counters + 4 * static_cast<std::uint32_t>(random_() % (2 * device::counter_names.size()));
  }
  /// Checks that a counter read while frames arrive is between its last value and the right one.
  void check_access() {
    if (!reads_ || (*reads_ - device::at::counters) % 8 != 0) {
      return;
    }
    std::uint32_t const k = (*reads_ - device::at::counters) / 8;
    std::uint64_t const value = model_.host().value();
    if (value < last_values_[k]) {
      throw std::runtime_error("the device has counted " + std::to_string(value) + " of " +
                               std::string(device::counter_names[k]) + " after " + std::to_string(last_values_[k]));
    }
    last_values_[k] = value;
  }

  [[nodiscard]] static std::string text_of(std::span<std::byte const> bytes) {
    std::string text;
    for (std::byte const b : bytes.first(std::min<std::size_t>(bytes.size(), 96))) {
      std::array<char, 4> two;
      std::snprintf(two.data(), two.size(), "%02x ", static_cast<unsigned>(b));
      text += two.data();
    }
    return text + "(" + std::to_string(bytes.size()) + " bytes)";
  }
  void compare(std::span<std::byte const> actual) {
    auto& expected = oracle_->expected();
    if (expected.empty()) {
      throw std::runtime_error("the device has sent a frame that was not to come: " + text_of(actual));
    }
    oracle::answer const& answer = expected.front();
    if (!std::ranges::equal(actual, answer.bytes)) {
      auto const position = std::ranges::mismatch(actual, answer.bytes).in1 - actual.begin();
      throw std::runtime_error("frame " + std::to_string(compared_frames_) + " differs at byte " +
                               std::to_string(position) + ":\n  is  " + text_of(actual) + "\n  not " +
                               text_of(answer.bytes));
    }
    room_.release_packets(answer.number, answer.has_elements);
    expected.pop_front();
    ++compared_frames_;
  }

  nic_model model_;
  model_registers registers_;
  device::build build_;
  std::optional<oracle> oracle_;  // empty until the registers have been read
  std::deque<item> waiting_;
  std::deque<reception> receptions_;
  room room_{buffer_beats};
  bool may_lack_room_ = false;            // at the start of the current frame
  std::uint64_t handled_frames_ = 0;      // frames that the model has handled
  bool is_enabled_ = true;                // for the next frame of the model
  std::deque<control_write> switches_{};  // later switches
  std::optional<std::uint32_t> reads_;    // value of a read access under way
  std::optional<register_access::assignment> writes_;
  device::counter_values last_values_{};
  bool holds_;
  bool is_held_ = false;
  std::uint64_t until_hold_ = 3000;
  std::mt19937_64 random_;
  std::uint64_t frames_given_ = 0;
  std::uint64_t since_progress_ = 0;  // in clocks
  std::uint64_t compared_frames_ = 0;
};
