// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/error.hpp>
#include <tutti/in_network/detail/udp/in_process_medium.hpp>

#include <algorithm>
#include <cerrno>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

namespace tutti::inline v0_1_0::detail::udp {

TUTTI_DECL in_process_medium::in_process_medium(unsigned ports, medium_options const& options, std::size_t inbox,
                                                unsigned devices)
    : options_(options),
      inbox_(inbox),
      random_(static_cast<std::mt19937::result_type>(options.seed)),
      boxes_(std::size_t{ports} + 1),
      devices_(devices) {
  for (std::size_t i = 1; i < boxes_.size(); ++i) {
    boxes_[i].waiting.room.resize(inbox);
    boxes_[i].bell = detail::descriptor([] { return ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); });
    if (!boxes_[i].bell) {
      throw error(failure::join, "cannot make an eventfd, by which a port sleeps: " + describe_errno(errno) +
                                     "; allow this process more descriptors (ulimit -n)");
    }
  }
}

TUTTI_DECL void in_process_medium::close_group() {
  held const lock(monitor_);
  has_group_ = false;
}

TUTTI_DECL std::uint64_t in_process_medium::lost() {
  held const lock(monitor_);
  return lost_;
}

TUTTI_DECL void in_process_medium::carry(address from, datagrams& all) {
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
TUTTI_DECL void in_process_medium::arrive(address from, address to, std::span<std::byte const> packet) {
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

/// Delivers packets between devices, not before the device that sends is done.
TUTTI_DECL void in_process_medium::pass_on() {
  for (; !between_devices_.empty(); between_devices_.pop_front()) {
    crossing const& c = between_devices_.front();
    arrive(c.from, c.what.at, c.what.content());
  }
}

TUTTI_DECL void in_process_medium::answer(address to, std::span<std::byte const> packet) {
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

TUTTI_DECL void in_process_medium::put(address from, address to, std::span<std::byte const> packet) {
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

TUTTI_DECL void in_process_medium::collect(address to, datagrams& empty) {
  held const lock(monitor_);
  box& b = boxes_[to];
  if (b.waiting.count != 0) {
    std::swap(b.waiting, empty);
    std::uint64_t count = 0;
    std::ignore = ::read(b.bell.get(), &count, sizeof count);
  }
}

}  // namespace tutti::detail::udp
