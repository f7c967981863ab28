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
      port_inboxes_(std::size_t{ports} + 1),
      devices_(devices) {
  for (std::size_t i = 1; i < port_inboxes_.size(); ++i) {
    port_inboxes_[i].packets.storage.resize(inbox);
    port_inboxes_[i].event = detail::descriptor([] { return ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); });
    if (!port_inboxes_[i].event) {
      throw error(failure::join, "cannot make an eventfd for a port: " + describe_errno(errno) +
                                     "; allow this process more descriptors (ulimit -n)");
    }
  }
}

TUTTI_DECL void in_process_medium::close_group() {
  monitor_lock const lock(monitor_);
  has_group_ = false;
}

TUTTI_DECL std::uint64_t in_process_medium::lost_count() {
  monitor_lock const lock(monitor_);
  return lost_count_;
}

TUTTI_DECL void in_process_medium::carry(address source, datagrams& batch) {
  monitor_lock const lock(monitor_);
  for (std::size_t i = 0; i < batch.count; ++i) {
    if (i + 1 < batch.count && draw(options_.reordering)) {
      std::swap(batch.storage[i], batch.storage[i + 1]);
    }
    datagram const& p = batch.storage[i];
    if (draw(options_.loss)) {
      ++lost_count_;
      continue;
    }
    for (int copies = draw(options_.duplication) ? 2 : 1; copies > 0; --copies) {
      route(source, p.at, p.content());
    }
  }
  batch.count = 0;
  route_between_devices();
  if (devices_[0]) {
    active_device_ = device;
    devices_[0]->settle(*this);
  }
}

/// @pre this thread holds the monitor, also for the two functions below
TUTTI_DECL void in_process_medium::route(address source, address destination, std::span<std::byte const> packet) {
  if (destination == group) {
    for (address port = 1; port < port_inboxes_.size(); ++port) {
      // Each path of the group loses packets of its own.
      bool const is_lost = port != source && (!has_group_ || draw(options_.loss));
      lost_count_ += is_lost ? 1 : 0;
      if (port != source && !is_lost) {
        deliver(source, port, packet);
      }
    }
  } else if (!is_device(destination)) {
    deliver(source, destination, packet);
  } else if (auto const& receiver = device_at(destination)) {
    active_device_ = destination;
    receiver->take(source, packet, *this);
  } else {
    ++lost_count_;
  }
}

/// Delivers packets between devices, after the sending device has returned.
TUTTI_DECL void in_process_medium::route_between_devices() {
  for (; !between_devices_.empty(); between_devices_.pop_front()) {
    device_packet const& entry = between_devices_.front();
    route(entry.source, entry.packet.at, entry.packet.content());
  }
}

TUTTI_DECL void in_process_medium::answer(address destination, std::span<std::byte const> packet) {
  if (draw(options_.loss)) {
    ++lost_count_;
    return;
  }
  for (int copies = draw(options_.duplication) ? 2 : 1; copies > 0; --copies) {
    if (is_device(destination)) {
      device_packet& entry = between_devices_.emplace_back();
      entry.source = active_device_;
      entry.packet.at = destination;
      entry.packet.size = static_cast<std::uint16_t>(packet.size());
      std::ranges::copy(packet, entry.packet.bytes.begin());
    } else {
      deliver(active_device_, destination, packet);
    }
  }
}

TUTTI_DECL void in_process_medium::deliver(address source, address destination, std::span<std::byte const> packet) {
  bool const fits = destination < port_inboxes_.size() && packet.size() <= max_packet;
  datagram* const p = fits ? port_inboxes_[destination].packets.next() : nullptr;
  if (p == nullptr) {
    ++lost_count_;
    return;
  }
  p->at = source;
  p->size = static_cast<std::uint16_t>(packet.size());
  std::ranges::copy(packet, p->bytes.begin());
  port_inbox& inbox = port_inboxes_[destination];
  if (inbox.packets.count > 1 && draw(options_.reordering)) {
    std::swap(*p, inbox.packets.storage[inbox.packets.count - 2]);
  }
  if (inbox.packets.count == 1) {
    std::uint64_t const increment = 1;
    std::ignore = ::write(inbox.event.get(), &increment, sizeof increment);
  }
}

TUTTI_DECL void in_process_medium::collect(address destination, datagrams& empty) {
  monitor_lock const lock(monitor_);
  port_inbox& inbox = port_inboxes_[destination];
  if (inbox.packets.count != 0) {
    std::swap(inbox.packets, empty);
    std::uint64_t count = 0;
    std::ignore = ::read(inbox.event.get(), &count, sizeof count);
  }
}

}  // namespace tutti::detail::udp
