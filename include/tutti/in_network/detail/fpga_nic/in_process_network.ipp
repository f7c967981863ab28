// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/error.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/in_network/detail/fpga_nic/in_process_network.hpp>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// A device as a program.
class in_process_switch final : public in_process_device {
 public:
  explicit in_process_switch(in_process_options const& o, std::optional<std::uint32_t> above = {})
      : seal_(o.seal), switch_(o.limits, o.seal, above) {}

  void take(std::uint32_t from, std::span<std::byte const> packet, in_process_network& net) override {
    switch_.take(from, packet, false, steady_now(), [&](std::uint32_t to, header const& h, auto payload) {
      std::array<std::byte, most_packet> bytes;
      net.answer(to, std::span(bytes).first(seal_.write(h, payload, bytes.data())));
    });
  }
  void settle(in_process_network&) override {}
  [[nodiscard]] counters counted() override { return switch_.counted(); }

 private:
  fpga_nic::seal seal_;
  rack_switch<std::uint32_t> switch_;
};

TUTTI_DECL in_process_network::in_process_network(unsigned ports, in_process_options const& options, std::size_t inbox)
    : options_(options),
      inbox_(inbox),
      random_(static_cast<std::mt19937::result_type>(options.seed)),
      boxes_(std::size_t{ports} + 1),
      devices_(std::size_t{options.racks} + 1) {
  for (std::size_t i = 1; i < boxes_.size(); ++i) {
    boxes_[i].waiting.room.resize(inbox);
    boxes_[i].bell = detail::descriptor([] { return ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); });
    if (!boxes_[i].bell) {
      throw error(failure::join, "cannot make an eventfd, by which a port sleeps: " + describe_errno(errno) +
                                     "; allow this process more descriptors (ulimit -n)");
    }
  }
  restart();
  for (unsigned i = 0; i < options.racks; ++i) {
    restart(rack(i));
  }
}

TUTTI_DECL void in_process_network::kill(address which) {
  held const lock(monitor_);
  device_at(which).reset();
}

TUTTI_DECL void in_process_network::restart(address which) {
  held const lock(monitor_);
  if (which != device) {
    device_at(which) = std::make_unique<in_process_switch>(options_, device);
  } else {
    device_at(which) =
        options_.device != nullptr ? options_.device(options_) : std::make_unique<in_process_switch>(options_);
  }
}

TUTTI_DECL void in_process_network::close_group() {
  held const lock(monitor_);
  has_group_ = false;
}

TUTTI_DECL counters in_process_network::counted(address which) {
  held const lock(monitor_);
  auto const& one = device_at(which);
  return one ? one->counted() : counters{};
}

TUTTI_DECL std::uint64_t in_process_network::lost() {
  held const lock(monitor_);
  return lost_;
}

TUTTI_DECL void in_process_network::carry(address from, datagrams& all) {
  held const lock(monitor_);
  for (std::size_t i = 0; i < all.count; ++i) {
    if (i + 1 < all.count && happens(options_.reordering)) {
      std::swap(all.room[i], all.room[i + 1]);
    }
    datagram const& p = all.room[i];
    if (happens(options_.loss)) {
      ++lost_;
      continue;
    }
    for (int copies = happens(options_.duplication) ? 2 : 1; copies > 0; --copies) {
      arrive(from, p.at, p.content());
    }
  }
  all.count = 0;
  pass_on();
  if (devices_[0]) {
    acting_ = device;
    devices_[0]->settle(*this);
  }
}

/// @pre this thread holds the monitor, as it does for the two below
TUTTI_DECL void in_process_network::arrive(address from, address to, std::span<std::byte const> packet) {
  if (to == group) {
    for (address one = 1; one < boxes_.size(); ++one) {
      bool const lost = one != from && (!has_group_ || happens(options_.loss));  // behind where the ways part
      lost_ += lost ? 1 : 0;
      if (one != from && !lost) {
        put(from, one, packet);
      }
    }
  } else if (!is_device(to)) {
    put(from, to, packet);
  } else if (auto const& one = device_at(to)) {
    acting_ = to;
    one->take(from, packet, *this);
  } else {
    ++lost_;
  }
}

/// What devices have sent each other arrives: not before the one that sends is done.
TUTTI_DECL void in_process_network::pass_on() {
  for (; !between_devices_.empty(); between_devices_.pop_front()) {
    crossing const& c = between_devices_.front();
    arrive(c.from, c.what.at, c.what.content());
  }
}

TUTTI_DECL void in_process_network::answer(address to, std::span<std::byte const> packet) {
  if (happens(options_.loss)) {
    ++lost_;
    return;
  }
  for (int copies = happens(options_.duplication) ? 2 : 1; copies > 0; --copies) {
    if (is_device(to)) {
      crossing& c = between_devices_.emplace_back();
      c.from = acting_;
      c.what.at = to;
      c.what.size = static_cast<std::uint16_t>(packet.size());
      std::ranges::copy(packet, c.what.bytes.begin());
    } else {
      put(acting_, to, packet);
    }
  }
}

TUTTI_DECL void in_process_network::put(address from, address to, std::span<std::byte const> packet) {
  bool const fits = to < boxes_.size() && packet.size() <= most_packet;
  datagram* const p = fits ? boxes_[to].waiting.next() : nullptr;
  if (p == nullptr) {
    ++lost_;
    return;
  }
  p->at = from;
  p->size = static_cast<std::uint16_t>(packet.size());
  std::ranges::copy(packet, p->bytes.begin());
  box& b = boxes_[to];
  if (b.waiting.count > 1 && happens(options_.reordering)) {
    std::swap(*p, b.waiting.room[b.waiting.count - 2]);
  }
  if (b.waiting.count == 1) {
    std::uint64_t const one = 1;
    std::ignore = ::write(b.bell.get(), &one, sizeof one);
  }
}

TUTTI_DECL void in_process_network::collect(address to, datagrams& empty) {
  held const lock(monitor_);
  box& b = boxes_[to];
  if (b.waiting.count != 0) {
    std::swap(b.waiting, empty);
    std::uint64_t count = 0;
    std::ignore = ::read(b.bell.get(), &count, sizeof count);
  }
}

}  // namespace tutti::detail::fpga_nic
