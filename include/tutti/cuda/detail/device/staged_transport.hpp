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

/// Options of a rank in a world whose device memory passes through host memory. Equal on all ranks except `device` and
/// `slot_count`.
template <class Host>
struct staged_options {
  typename options_of<Host>::type host{};  ///< options of the underlying transport
  /// The number of this rank's device, which may differ between ranks. Negative: ranks take them in turns.
  int device = -1;
  /// Bytes of host memory for one part of a vector.
  std::size_t slot_bytes = std::size_t{1} << 20;
  /// The number of slots, and so of parts that are copied or sent at the same time.
  std::uint32_t slot_count = 8;
};

/// A rank's objects on its device. Destroyed after Host, like `peers_memory`: streams of other ranks on this device
/// may be held until those ranks hear that this one has left.
template <stager D>
class staged_memory {
 protected:
  std::unique_ptr<D> driver_;
  std::unique_ptr<device::staging<D>> staging_;
};

/// Ranks that have a device, or share one, and whose elements are copied to host memory, sent by Host, and copied
/// back.
template <tutti::transport Host, stager D>
  requires(!waits_for_work<Host>)
class staged_transport : private staged_memory<D>, public over_host<Host> {
  using base = over_host<Host>;
  using storage = staged_memory<D>;
  using base::host_;
  using storage::driver_;
  using storage::staging_;

 public:
  static constexpr std::string_view name = D::name;
  using stream_type = typename D::stream_type;
  using gate = staged_vector<D>;
  using options = staged_options<Host>;
  using base::rank;
  using base::size;

  /// Collective over the members of the rendezvous.
  /// @throws error(failure::join) if Host cannot be opened, a rank has no device, or no host memory for it, or ranks
  ///         have different `slot_bytes`
  template <rendezvous M>
  explicit staged_transport(M& meet, options const& settings = {}) : base(meet, settings.host) {
    auto const sizes = agree(name, meet, [&] {
      expects(settings.slot_bytes % 64 == 0 && settings.slot_bytes != 0, "slot_bytes must be a multiple of 64, not ",
              settings.slot_bytes);
      expects(settings.slot_count != 0, "slot_count must be 1 or more, not 0");
      device_ = device_for<D>(rank(), settings.device);
      driver_ = std::make_unique<D>(device_);
      staging_ = std::make_unique<device::staging<D>>(*driver_, settings.slot_count, settings.slot_bytes);
      if constexpr (registers_memory<Host>) {
        host_.adopt(staging_->memory());
      }
      timer_ = descriptor([] { return ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK); });
      expects(static_cast<bool>(timer_), "cannot create a timer: ", describe_errno(errno),
              "; allow this process more descriptors (ulimit -n)");
      return std::to_string(settings.slot_bytes);
    });
    for (rank_type r = 0; r != size(); ++r) {
      if (sizes[r] != sizes[0]) {
        throw error(failure::join, std::string(name) + ": rank " + std::to_string(r) + " has slot_bytes = " + sizes[r] +
                                       ", and rank 0 has " + sizes[0] + "; give all ranks the same")
            .set_ranks(rank(), {r});
      }
    }
  }

  // --- for operators

  [[nodiscard]] D& driver() noexcept { return *driver_; }
  /// The number of the device, also in parts of this world.
  [[nodiscard]] int device_number() const noexcept { return device_; }
  [[nodiscard]] device::staging<D>& staging() noexcept { return *staging_; }

  // --- failure

  void probe() {
    host_.probe();
    staging_->meet_deadlines();
  }
  /// Does as Host does; afterwards nothing is copied between host and device, and all streams continue.
  void quiesce() {
    host_.quiesce();
    staging_->stop();
  }

  // --- messages

  void begin(flow s, call const& call_record) { host_.begin(s, call_record); }
  void end(flow s) { host_.end(s); }
  [[nodiscard]] send_result send(rank_type peer, flow s, std::span<std::byte const> bytes, std::size_t granule) {
    return host_.send(peer, s, bytes, granule);
  }
  [[nodiscard]] bool is_released(rank_type peer, flow s, ticket k) { return host_.is_released(peer, s, k); }
  [[nodiscard]] chunk view(rank_type peer, flow s, receive_request const& w) { return host_.view(peer, s, w); }
  [[nodiscard]] bool has_message(rank_type peer, flow s)
    requires notices_messages<Host>
  {
    return host_.has_message(peer, s);
  }
  void release(rank_type peer, flow s) { host_.release(peer, s); }
  [[nodiscard]] bool has_left(rank_type peer)
    requires notices_departure<Host>
  {
    return host_.has_left(peer);
  }
  void poll() { host_.poll(); }
  /// Limits a sleep while a word is awaited that a device writes, as no descriptor signals that.
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
