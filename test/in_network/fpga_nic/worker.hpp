// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/time.hpp>
#include <tutti/in_network/detail/fpga_nic/commands.hpp>
#include <tutti/in_network/detail/udp/port.hpp>
#include <tutti/in_network/detail/udp/seal.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace packets {

namespace nic = tutti::detail::fpga_nic;

/// A minimal member of a job: sums a vector with the others, in rank order, through a device. It repeats packets
/// without an answer. If the device has forgotten it, it joins again and supplies the results that it has.
template <nic::port Port>
class worker {
 public:
  static constexpr std::size_t elements = nic::max_payload / sizeof(float);
  static constexpr std::uint16_t window = 16;

  worker(Port& port, typename Port::address device, unsigned number, unsigned workers, std::uint32_t count,
         nic::seal seal = {}, std::uint32_t nonce = 0x1234, tutti::duration patience = std::chrono::milliseconds(2),
         nic::rack_position place = {}, unsigned first = 0)
      : port_(&port),
        device_(device),
        number_(static_cast<std::uint8_t>(number)),
        workers_(static_cast<std::uint8_t>(workers)),
        nonce_(nonce),
        patience_(patience),
        place_(place),
        first_(first),
        seal_(seal),
        send_times_(count),
        has_result_(count),
        result_(count * elements) {}

  /// Element i of worker w's contribution.
  static float value(unsigned w, std::size_t i) { return 1.F / static_cast<float>(w + 2) + static_cast<float>(i % 97); }
  /// The sum over all workers in rank order.
  static std::vector<float> expected(unsigned workers, std::uint32_t count) {
    std::vector<float> sum(count * elements);
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i] = value(0, i);
      for (unsigned w = 1; w < workers; ++w) {
        sum[i] += value(w, i);
      }
    }
    return sum;
  }

  [[nodiscard]] bool is_done() const { return remaining() == 0; }
  [[nodiscard]] std::size_t remaining() const {
    return static_cast<std::size_t>(std::ranges::count(has_result_, false));
  }
  [[nodiscard]] std::vector<float> const& result() const { return result_; }
  [[nodiscard]] unsigned joins() const { return joins_; }
  [[nodiscard]] bool has_failed() const { return has_failed_; }

  /// Handles received packets, and sends due ones.
  void step() {
    while (port_->drain([&](auto const&, std::span<std::byte const> bytes, bool) { take(bytes); }) != 0) {
    }
    auto const now = tutti::steady_now();
    if (slots_ == 0) {
      join(now);
    } else {
      contribute(now);
    }
    port_->flush();
  }

 private:
  void join(tutti::time_point now) {
    if (now - join_time_ < patience_) {
      return;
    }
    join_time_ = now;
    std::array<std::byte, nic::terms::bytes + nic::rack_position::bytes> terms;
    nic::write(nic::terms{10'000, window}, terms.data());
    nic::write(place_, terms.data() + nic::terms::bytes);
    nic::header h = head(nic::kind::join, 0);
    h.operation = tutti::network_operation::none;
    h.fingerprint = proof_;
    h.flags = static_cast<std::uint16_t>(h.flags | (place_.exists() ? nic::flag::of_racks : 0));
    h.length = static_cast<std::uint16_t>(nic::terms::bytes + (place_.exists() ? nic::rack_position::bytes : 0));
    port_->send(device_, h, std::span(terms).first(h.length));
  }

  void contribute(tutti::time_point now) {
    std::uint32_t const count = static_cast<std::uint32_t>(has_result_.size());
    std::uint32_t const front = static_cast<std::uint32_t>(std::ranges::find(has_result_, false) - has_result_.begin());
    std::uint32_t const oldest = front > 2U * slots_ ? front - 2U * slots_ : 0;
    for (std::uint32_t q = oldest; q < std::min(count, front + slots_); ++q) {
      bool const may_send = q < slots_ || has_result_[q - slots_];
      bool const is_due = now - send_times_[q] >= patience_;
      if (has_result_[q] ? is_due && joins_ > 1 : is_due && may_send) {
        send_times_[q] = now;
        nic::header h = head(has_result_[q] ? nic::kind::supply : nic::kind::contribute, q);
        std::array<float, elements> x;
        for (std::size_t i = 0; i < elements; ++i) {
          x[i] = has_result_[q] ? result_[q * elements + i] : value(first_ + number_, q * elements + i);
        }
        h.length = nic::max_payload;
        port_->send(device_, h, std::as_bytes(std::span(x)));
      }
    }
  }

  void take(std::span<std::byte const> bytes) {
    nic::packet p;
    if (seal_.read(bytes, p) != nic::reading::good || p.head.job != nonce_) {
      has_failed_ = true;
      return;
    }
    nic::header const& h = p.head;
    if (h.kind == nic::kind::grant) {
      joins_ += slots_ == 0 ? 1 : 0;
      slots_ = std::min(window, nic::read_terms(p.payload).slot_count);
    } else if (h.kind == nic::kind::result && h.sequence < has_result_.size() && !has_result_[h.sequence]) {
      has_failed_ = has_failed_ || h.worker != number_ || h.length != nic::max_payload;
      std::memcpy(result_.data() + h.sequence * elements, p.payload.data(), p.payload.size());
      has_result_[h.sequence] = true;
    } else if (h.kind == nic::kind::refuse) {
      auto const reason = nic::read_refusal(p.payload);
      has_failed_ = has_failed_ || (reason != nic::refusal::unknown && reason != nic::refusal::late);
      if (nic::asks_for_proof(h, reason)) {
        join_time_ = proof_ == h.fingerprint ? join_time_ : tutti::time_point{};
        proof_ = h.fingerprint;
      } else if (reason == nic::refusal::unknown) {
        slots_ = 0;
      }
    }
  }

  [[nodiscard]] nic::header head(nic::kind k, std::uint32_t q) const {
    nic::header h;
    h.kind = k;
    h.operation = tutti::network_operation::sum_float32;
    h.job = nonce_;
    h.sequence = q;
    h.fingerprint = 7;
    h.slot = static_cast<std::uint16_t>(slots_ == 0 ? 0 : q % slots_);
    h.worker = number_;
    h.workers = workers_;
    h.flags = static_cast<std::uint16_t>(nic::flag::in_rank_order | (slots_ == 0 ? 0 : q / slots_ % 2));
    return h;
  }

  Port* port_;
  typename Port::address device_;
  std::uint8_t number_;
  std::uint8_t workers_;
  std::uint32_t nonce_;
  tutti::duration patience_;
  nic::rack_position place_;
  unsigned first_;  ///< first worker of its rack
  nic::seal seal_;
  std::uint16_t slots_ = 0;  ///< 0: not joined
  unsigned joins_ = 0;
  std::uint32_t proof_ = 0;  ///< proof that the device demanded in a join
  bool has_failed_ = false;
  tutti::time_point join_time_{};
  std::vector<tutti::time_point> send_times_;
  std::vector<bool> has_result_;
  std::vector<float> result_;
};

/// Runs workers of one thread in turn until all have finished, and calls `after_turn` after each turn. False after 20
/// seconds.
template <class Workers, class AfterTurn>
[[nodiscard]] bool finish(Workers&& workers, AfterTurn after_turn) {
  auto const deadline = tutti::steady_now() + std::chrono::seconds(20);
  while (!std::ranges::all_of(workers, [](auto const& w) { return w.is_done(); })) {
    if (tutti::steady_now() > deadline) {
      return false;
    }
    for (auto& w : workers) {
      w.step();
    }
    after_turn();
  }
  return true;
}

}  // namespace packets
