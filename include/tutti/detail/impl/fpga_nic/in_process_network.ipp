// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/fpga_nic/in_process_network.hpp>
#include <tutti/error.hpp>
#include <tutti/time.hpp>

#include <algorithm>
#include <cerrno>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

namespace tutti::detail::fpga_nic {

TUTTI_DECL in_process_network::in_process_network(unsigned ports, in_process_options const& options, std::size_t inbox)
    : options_(options),
      inbox_(inbox),
      random_(static_cast<std::mt19937::result_type>(options.seed)),
      boxes_(std::size_t{ports} + 1) {
  for (std::size_t i = 1; i < boxes_.size(); ++i) {
    boxes_[i].waiting.room.resize(inbox);
    boxes_[i].bell.reset(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
    if (!boxes_[i].bell) {
      throw error(failure::join, "cannot make an eventfd, by which a port sleeps: " + describe_errno(errno));
    }
  }
  restart();
}

TUTTI_DECL void in_process_network::kill() {
  held const lock(monitor_);
  device_.reset();
}

TUTTI_DECL void in_process_network::restart() {
  held const lock(monitor_);
  device_.emplace(options_.limits, options_.seal);
}

TUTTI_DECL counters in_process_network::counted() {
  held const lock(monitor_);
  return device_ ? device_->counted() : counters{};
}

TUTTI_DECL std::uint64_t in_process_network::lost() {
  held const lock(monitor_);
  return lost_;
}

TUTTI_DECL void in_process_network::carry(address from, parcels& all) {
  held const lock(monitor_);
  for (std::size_t i = 0; i < all.count; ++i) {
    if (i + 1 < all.count && happens(options_.reordering)) {
      std::swap(all.room[i], all.room[i + 1]);
    }
    parcel const& p = all.room[i];
    if (happens(options_.loss)) {
      ++lost_;
      continue;
    }
    for (int copies = happens(options_.duplication) ? 2 : 1; copies > 0; --copies) {
      arrive(from, p);
    }
  }
  all.count = 0;
}

/// @pre this thread holds the monitor, as it does for the two below
TUTTI_DECL void in_process_network::arrive(address from, parcel const& p) {
  if (p.at != device) {
    if (p.at >= boxes_.size()) {
      ++lost_;
      return;
    }
    box& b = boxes_[p.at];
    parcel* const to = b.waiting.next();
    if (to != nullptr) {
      to->at = from;
      to->size = p.size;
      std::copy_n(p.bytes.data(), p.size, to->bytes.data());
    }
    ring(b, to);
  } else if (device_) {
    device_->take(
        from, p.content(), false, steady_now(),
        [&](address to, header const& h, std::span<std::byte const> payload) { put(device, to, h, payload); });
  } else {
    ++lost_;
  }
}

TUTTI_DECL void in_process_network::put(address from, address to, header const& h, std::span<std::byte const> payload) {
  if (happens(options_.loss)) {
    ++lost_;
    return;
  }
  box& b = boxes_[to];
  for (int copies = happens(options_.duplication) ? 2 : 1; copies > 0; --copies) {
    parcel* const p = b.waiting.next();
    if (p != nullptr) {
      p->at = from;
      p->size = static_cast<std::uint16_t>(options_.seal.write(h, payload, p->bytes.data()));
    }
    ring(b, p);
  }
}

/// A packet has come, or there was no room for it.
TUTTI_DECL void in_process_network::ring(box& b, parcel* p) {
  if (p == nullptr) {
    ++lost_;
    return;
  }
  if (b.waiting.count > 1 && happens(options_.reordering)) {
    std::swap(*p, b.waiting.room[b.waiting.count - 2]);
  }
  if (b.waiting.count == 1) {
    std::uint64_t const one = 1;
    std::ignore = ::write(b.bell.get(), &one, sizeof one);
  }
}

TUTTI_DECL void in_process_network::collect(address to, parcels& empty) {
  held const lock(monitor_);
  box& b = boxes_[to];
  if (b.waiting.count != 0) {
    std::swap(b.waiting, empty);
    std::uint64_t count = 0;
    std::ignore = ::read(b.bell.get(), &count, sizeof count);
  }
}

}  // namespace tutti::detail::fpga_nic
