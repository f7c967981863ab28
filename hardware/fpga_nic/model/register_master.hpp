// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

/// A register access of the host: a write, a read, or both; with the clocks that each channel waits.
struct register_access {
  struct assignment {
    std::uint32_t address = 0;
    std::uint32_t value = 0;
  };
  std::optional<assignment> write{};
  std::optional<std::uint32_t> read{};
  unsigned address_waits = 0;       ///< for a write
  unsigned data_waits = 0;          ///< for a write
  unsigned read_address_waits = 0;  ///< for a read
  unsigned answer_waits = 0;        ///< on both sides, once the answer is there
};

/// The host's side of AXI-Lite, one access at a time, clock by clock. Checks that the device obeys the protocol.
class register_master {
 public:
  /// @pre !busy()
  void start(register_access const& a) noexcept {
    access_ = a;
    address_left_ = data_left_ = answer_left_ = a.write.has_value();
    read_address_left_ = value_left_ = a.read.has_value();
    clock_ = answer_shown_ = value_shown_ = 0;
  }
  [[nodiscard]] bool busy() const noexcept { return answer_left_ || value_left_; }
  /// The value that was read.
  [[nodiscard]] std::uint32_t value() const noexcept { return value_; }

  /// Drives the host's signals before a clock.
  template <class Top>
  void drive(Top& t) const {
    t.s_axil_awvalid = address_left_ && clock_ >= access_.address_waits;
    t.s_axil_wvalid = data_left_ && clock_ >= access_.data_waits;
    t.s_axil_arvalid = read_address_left_ && clock_ >= access_.read_address_waits;
    t.s_axil_bready = answer_left_ && answer_shown_ >= access_.answer_waits;
    t.s_axil_rready = value_left_ && value_shown_ >= access_.answer_waits;
    if (access_.write) {
      t.s_axil_awaddr = static_cast<std::uint16_t>(access_.write->address);
      t.s_axil_wdata = access_.write->value;
      t.s_axil_wstrb = 15;
    }
    t.s_axil_araddr = static_cast<std::uint16_t>(access_.read.value_or(0));
  }
  /// Samples the device's signals in a clock, before its edge. @throws std::runtime_error
  template <class Top>
  void sample(Top const& t) {
    bool const awaits_write = access_.write && !address_left_ && !data_left_ && answer_left_;
    bool const awaits_read = access_.read && !read_address_left_ && value_left_;
    if ((t.s_axil_bvalid != 0 && !awaits_write) || (t.s_axil_rvalid != 0 && !awaits_read)) {
      fail("answers what was not asked");
    }
    if ((answer_shown_ != 0 && t.s_axil_bvalid == 0) ||
        (value_shown_ != 0 && (t.s_axil_rvalid == 0 || t.s_axil_rdata != value_))) {
      fail("takes an answer back, or changes it");
    }
    if (t.s_axil_bvalid != 0) {
      ++answer_shown_;
      answer_left_ = t.s_axil_bready == 0;
      expect_ok(t.s_axil_bresp);
    }
    if (t.s_axil_rvalid != 0) {
      ++value_shown_;
      value_ = t.s_axil_rdata;
      value_left_ = t.s_axil_rready == 0;
      expect_ok(t.s_axil_rresp);
    }
    answer_shown_ = answer_left_ ? answer_shown_ : 0;
    value_shown_ = value_left_ ? value_shown_ : 0;
    address_left_ = address_left_ && !(t.s_axil_awvalid != 0 && t.s_axil_awready != 0);
    data_left_ = data_left_ && !(t.s_axil_wvalid != 0 && t.s_axil_wready != 0);
    read_address_left_ = read_address_left_ && !(t.s_axil_arvalid != 0 && t.s_axil_arready != 0);
    if (busy() && ++clock_ == 1000) {
      fail("does not answer");
    }
  }
  /// True if a write has been taken, and not been answered yet.
  [[nodiscard]] bool has_written() const noexcept { return access_.write && !address_left_ && !data_left_; }

 private:
  void expect_ok(std::uint32_t answer) const {
    if (answer != 0) {
      fail("refuses");
    }
  }
  [[noreturn]] void fail(char const* fault) const {
    std::string text = std::string("the device ") + fault + ": ";
    text += access_.write ? "write of register " + std::to_string(access_.write->address) + " " : "";
    text += access_.read ? "read of register " + std::to_string(*access_.read) : "";
    throw std::runtime_error(text);
  }

  register_access access_{};
  bool address_left_ = false;
  bool data_left_ = false;
  bool answer_left_ = false;
  bool read_address_left_ = false;
  bool value_left_ = false;
  unsigned clock_ = 0;
  unsigned answer_shown_ = 0;  ///< in clocks
  unsigned value_shown_ = 0;
  std::uint32_t value_ = 0;
};
