// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "frame_queue.hpp"
#include "register_master.hpp"

#include <Vsumming_nic.h>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <verilated.h>

/// The Verilated device and its surroundings: a network that sends and takes frames beat by beat, and a host that
/// reads and writes registers.
class nic_model {
 public:
  /// `pause`: share of clocks in which the network offers no beat, and of those in which it takes none. `noise`:
  /// registers without a reset value begin with random values, which takes time for a large memory.
  explicit nic_model(double pause = 0, std::uint64_t seed = 1, bool noise = false)
      : context_(context(seed, noise)),
        top_(std::make_unique<Vsumming_nic>(context_.get())),
        pause_(static_cast<std::uint32_t>(pause * 4294967295.0)),
        random_(static_cast<std::mt19937::result_type>(seed)) {
    top_->s_axis_tvalid = 0;
    reset();
    step();
  }
  nic_model(nic_model const&) = delete;
  nic_model& operator=(nic_model const&) = delete;
  ~nic_model() { top_->final(); }

  /// Clocks since the start.
  [[nodiscard]] std::uint64_t clocks() const noexcept { return clocks_; }
  [[nodiscard]] std::uint64_t since_reset() const noexcept { return clocks_ - reset_; }
  /// Resets the device for some clocks. A frame that is leaving is cut off; one that is arriving continues afterwards
  /// as a frame. Returns the number of its bytes that were taken before.
  std::size_t reset() {
    top_->rst = 1;
    for (int i = 0; i < 8; ++i) {
      step();
    }
    top_->rst = 0;
    reset_ = clocks_;
    building_.size = 0;
    std::size_t const bytes_taken = position_;
    if (bytes_taken != 0) {
      input_.remove_front(bytes_taken);
    }
    position_ = 0;
    return bytes_taken;
  }

  // --- network

  /// Queues a frame for the device.
  void give(std::span<std::byte const> frame, bool bad = false) {
    if (frame.empty() || frame.size() > frame_queue::room) {
      throw std::invalid_argument("a frame of " + std::to_string(frame.size()) + " bytes");
    }
    auto& i = input_.push();
    i.size = frame.size();
    i.bad = bad;
    std::ranges::copy(frame, i.bytes.begin());
  }
  /// Number of frames that the device has taken.
  [[nodiscard]] std::uint64_t taken_frames() const noexcept { return taken_frames_; }
  /// The clock of the first beat of the last frame taken, or of the current one.
  [[nodiscard]] std::uint64_t start_clock() const noexcept { return start_clock_; }
  /// True if the device reports in this clock that it had no room for the last frame.
  [[nodiscard]] bool overflows() const noexcept { return top_->overflow != 0; }
  /// Makes the network take nothing from the device while `holds`.
  void hold(bool holds) noexcept { holds_ = holds; }
  /// Frames that the device has sent.
  [[nodiscard]] frame_queue& output() noexcept { return output_; }
  /// True if nothing is on its way to, in, or out of the device.
  [[nodiscard]] bool idle() const noexcept { return input_.empty() && is_empty(); }
  /// True if the device reports that it is empty.
  [[nodiscard]] bool is_empty() const noexcept { return top_->idle != 0; }
  /// Runs until the device is idle. @throws std::runtime_error if it is not after this many clocks
  void settle(std::uint64_t max_clocks = 1'000'000) {
    for (std::uint64_t const end = clocks_ + max_clocks; !idle();) {
      if (clocks_ == end) {
        throw std::runtime_error("the device is not idle after " + std::to_string(max_clocks) + " clocks");
      }
      step();
    }
  }

  /// Runs one clock.
  void step() {
    drive_input();
    host_.drive(*top_);
    top_->m_axis_tready = !holds_ && !pauses();
    top_->clk = 0;
    top_->eval();
    if (top_->rst == 0) {
      host_.sample(*top_);
    }
    bool const takes_beat = top_->s_axis_tvalid != 0 && top_->s_axis_tready != 0 && top_->rst == 0;
    if (top_->m_axis_tvalid != 0 && top_->m_axis_tready != 0 && top_->rst == 0) {
      take_output();
    }
    top_->clk = 1;
    top_->eval();
    if (takes_beat) {
      start_clock_ = position_ == 0 ? clocks_ : start_clock_;
      position_ += beat;
      if (position_ >= input_.front().size) {
        position_ = 0;
        input_.pop();
        ++taken_frames_;
      }
      top_->s_axis_tvalid = 0;
    }
    ++clocks_;
  }

  // --- registers

  [[nodiscard]] std::uint32_t read(std::uint32_t address) {
    finish({.read = address});
    return host_.value();
  }
  void write(std::uint32_t address, std::uint32_t value) {
    finish({.write = register_access::assignment{address, value}});
  }

  /// The host's side of the registers. Its accesses progress with the clocks.
  [[nodiscard]] register_master& host() noexcept { return host_; }
  /// Runs an access to its end.
  void finish(register_access const& a) {
    for (host_.start(a); host_.busy();) {
      step();
    }
  }

 private:
  static constexpr std::size_t beat = 64;  ///< in bytes

  [[nodiscard]] static std::unique_ptr<VerilatedContext> context(std::uint64_t seed, bool noise) {
    auto c = std::make_unique<VerilatedContext>();
    c->randReset(noise ? 2 : 0);
    c->randSeed(static_cast<int>(1 + seed % 0x7fffffff));
    return c;
  }

  [[nodiscard]] bool pauses() noexcept { return pause_ != 0 && random_() < pause_; }

  /// An offered beat stays until it is taken.
  void drive_input() {
    if (top_->s_axis_tvalid != 0 || input_.empty() || top_->rst != 0 || pauses()) {
      return;
    }
    auto const& f = input_.front();
    std::size_t const n = std::min(beat, f.size - position_);
    std::array<std::byte, beat> bytes{};
    std::copy_n(f.bytes.begin() + static_cast<std::ptrdiff_t>(position_), n, bytes.begin());
    std::memcpy(top_->s_axis_tdata.data(), bytes.data(), beat);
    top_->s_axis_tkeep = n == beat ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
    top_->s_axis_tlast = position_ + n == f.size;
    top_->s_axis_tuser = f.bad && position_ + n == f.size;
    top_->s_axis_tvalid = 1;
  }

  void take_output() {
    auto const n = static_cast<std::size_t>(__builtin_popcountll(top_->m_axis_tkeep));
    bool const is_last = top_->m_axis_tlast != 0;
    bool const contiguous =
        n != 0 && top_->m_axis_tkeep == (n == beat ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1);
    if (!contiguous || (!is_last && n != beat) || building_.size + n > frame_queue::room) {
      throw std::runtime_error("the device sent a beat that no frame has: keep " + std::to_string(top_->m_axis_tkeep) +
                               " after " + std::to_string(building_.size) + " bytes");
    }
    std::memcpy(building_.bytes.data() + building_.size, top_->m_axis_tdata.data(), n);
    building_.size += n;
    if (is_last) {
      auto& f = output_.push();
      f.size = building_.size;
      std::copy_n(building_.bytes.begin(), f.size, f.bytes.begin());
      building_.size = 0;
    }
  }

  std::unique_ptr<VerilatedContext> context_;
  std::unique_ptr<Vsumming_nic> top_;
  std::uint32_t pause_;
  std::mt19937 random_;
  std::uint64_t clocks_ = 0;
  std::uint64_t reset_ = 0;
  std::uint64_t taken_frames_ = 0;
  std::uint64_t start_clock_ = 0;
  register_master host_;
  bool holds_ = false;
  frame_queue input_;
  std::size_t position_ = 0;      ///< position in the first of these frames
  frame_queue::item building_{};  ///< a frame that is leaving
  frame_queue output_;
};
