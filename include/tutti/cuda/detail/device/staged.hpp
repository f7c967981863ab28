// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/detail/device/agreement.hpp>
#include <tutti/cuda/detail/device/stager.hpp>
#include <tutti/cuda/detail/device/staging.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/transport/over_host.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/rendezvous.hpp>
#include <tutti/extend/transport.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <sys/timerfd.h>

namespace tutti::inline v0_1_0::detail::device {

/// How a rank takes part in a world whose device memory goes through host memory. All ranks give the same, but for the
/// device and the number of slots.
template <class Host>
struct staged_options {
  typename options_of<Host>::type host{};  ///< of the transport that it stands on
  /// The number of this rank's device, which may differ from rank to rank. Negative: ranks take them in turns.
  int device = -1;
  /// Bytes of host memory that a part of a vector goes through.
  std::size_t slot_bytes = std::size_t{1} << 20;
  /// How many of these there are: parts that are copied or sent at the same time.
  std::uint32_t slot_count = 8;
};

/// What a rank has on its device. It is destroyed after Host, as `peers_memory` is: streams of other ranks on
/// this device may be held until those ranks hear that this one has left.
template <stager D>
class staged_memory {
 protected:
  std::unique_ptr<D> driver_;
  std::unique_ptr<device::staging<D>> staging_;
};

/// Ranks with a device each, or a share of one, whose elements are copied to host memory, sent by Host, and copied
/// back.
template <tutti::transport Host, stager D>
  requires(!rests<Host>)
class staged : private staged_memory<D>, public over_host<Host> {
  using base = over_host<Host>;
  using there = staged_memory<D>;
  using base::host_;
  using there::driver_;
  using there::staging_;

 public:
  static constexpr std::string_view name = D::name;
  using stream_type = typename D::stream_type;
  using gate = staged_vector<D>;
  using options = staged_options<Host>;
  using base::rank;
  using base::size;

  /// Collective over the members of the rendezvous.
  /// @throws error(failure::join) if Host cannot be opened, a rank has no device, or no host memory for it, or ranks
  ///         give different `slot_bytes`
  template <rendezvous M>
  explicit staged(M& meet, options const& o = {}) : base(meet, o.host) {
    auto const all = agree(name, meet, [&] {
      expects(o.slot_bytes % 64 == 0 && o.slot_bytes != 0, "slot_bytes must be a multiple of 64, not ", o.slot_bytes);
      expects(o.slot_count != 0, "slot_count must be 1 or more, not 0");
      device_ = device_for<D>(rank(), o.device);
      driver_ = std::make_unique<D>(device_);
      staging_ = std::make_unique<device::staging<D>>(*driver_, o.slot_count, o.slot_bytes);
      if constexpr (registers_memory<Host>) {
        host_.adopt(staging_->memory());
      }
      timer_ = descriptor([] { return ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK); });
      expects(static_cast<bool>(timer_), "cannot create a timer: ", describe_errno(errno),
              "; allow this process more descriptors (ulimit -n)");
      return std::to_string(o.slot_bytes);
    });
    for (rank_type r = 0; r != size(); ++r) {
      if (all[r] != all[0]) {
        throw error(failure::join, std::string(name) + ": rank " + std::to_string(r) + " has slot_bytes = " + all[r] +
                                       ", and rank 0 has " + all[0] + "; give all ranks the same")
            .between(rank(), {r});
      }
    }
  }

  // --- for operators

  [[nodiscard]] D& driver() noexcept { return *driver_; }
  /// The number of its device: also for parts of this world.
  [[nodiscard]] int device_number() const noexcept { return device_; }
  [[nodiscard]] device::staging<D>& staging() noexcept { return *staging_; }

  // --- failure

  void look() {
    host_.look();
    staging_->meet_deadlines();
  }
  /// As Host's; then nothing is copied between host and device any more, and all streams go on.
  void quiesce() {
    host_.quiesce();
    staging_->stop();
  }

  // --- messages

  void begin(flow s, call const& what) { host_.begin(s, what); }
  void end(flow s) { host_.end(s); }
  [[nodiscard]] sent send(rank_type peer, flow s, std::span<std::byte const> bytes, std::size_t granule) {
    return host_.send(peer, s, bytes, granule);
  }
  [[nodiscard]] bool released(rank_type peer, flow s, ticket k) { return host_.released(peer, s, k); }
  [[nodiscard]] chunk view(rank_type peer, flow s, wanted const& w) { return host_.view(peer, s, w); }
  void release(rank_type peer, flow s) { host_.release(peer, s); }
  [[nodiscard]] bool has_left(rank_type peer)
    requires notices_departure<Host>
  {
    return host_.has_left(peer);
  }
  void poll() { host_.poll(); }
  /// A device writes words, which no descriptor tells of: where one is waited for, a sleep is short.
  [[nodiscard]] int arm() {
    if (!staging_->awaits_device()) {
      return host_.arm();
    }
    constexpr itimerspec once{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = 50'000}};
    ::timerfd_settime(timer_.get(), 0, &once, nullptr);
    return this->arm_with(timer_.get());
  }

 private:
  int device_ = 0;
  descriptor timer_;
};

}  // namespace tutti::detail::device
