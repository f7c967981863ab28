// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/error.hpp>
#include <tutti/extend/message.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/extend/transport.hpp>

#include <string>
#include <string_view>

namespace tutti::inline v0_1_0::detail::inline communicator {

/// The members of a transport that cold code calls, as pointers; see `any_transport`.
struct transport_calls {
  std::string_view name;
  bool calls_system = true;  ///< it makes system calls other than to wake a peer
  time_point (*now)(void const*) = nullptr;
  tutti::fault (*fault)(void*) = nullptr;
  void (*revoke)(void*, tutti::fault const&) = nullptr;
  void (*quiesce)(void*) = nullptr;
  void (*poll)(void*) = nullptr;
  void (*probe)(void*) = nullptr;
  int (*arm)(void*) = nullptr;
  void (*disarm)(void*) = nullptr;
  void (*wait_for_work)(void*, duration) = nullptr;  ///< null unless it `waits_for_work`
  bool (*query_wait)(void*, rank_type) = nullptr;    ///< null, like the next, unless it `reports_waits`
  wait_report (*reported_wait)(void const*, rank_type, std::uint32_t) = nullptr;
  aggregator_report (*report_aggregator)(void const*) = nullptr;      ///< null unless it `reports_aggregators`
  void (*announce_departure)(void*, tutti::fault const&) = nullptr;   ///< null unless it `announces_departure`
  bool (*is_delivered)(void const*) = nullptr;                        ///< null unless it knows
  std::string (*describe_address)(void const*, rank_type) = nullptr;  ///< null unless ranks have addresses
  void (*revoke_in_memory)(void*, tutti::fault const&) = nullptr;     ///< null, as the next, unless it has both
  tutti::fault (*fault_in_memory)(void const*) = nullptr;

  template <class Transport>
  [[nodiscard]] static constexpr transport_calls make() noexcept {
    using transport_type = Transport;
    transport_calls calls{
        .name = transport_type::name,
        .calls_system = !shields_cancellation<transport_type>,
        .now = [](void const* object) { return static_cast<transport_type const*>(object)->now(); },
        .fault = [](void* object) { return static_cast<transport_type*>(object)->fault(); },
        .revoke = [](void* object, tutti::fault const& cause) { static_cast<transport_type*>(object)->revoke(cause); },
        .quiesce = [](void* object) { static_cast<transport_type*>(object)->quiesce(); },
        .poll = [](void* object) { static_cast<transport_type*>(object)->poll(); },
        .probe = [](void* object) { static_cast<transport_type*>(object)->probe(); },
        .arm = [](void* object) { return static_cast<transport_type*>(object)->arm(); },
        .disarm = [](void* object) { static_cast<transport_type*>(object)->disarm(); }};
    if constexpr (waits_for_work<transport_type>) {
      calls.wait_for_work = [](void* object, duration limit) {
        static_cast<transport_type*>(object)->wait_for_work(limit);
      };
    }
    if constexpr (reports_waits<transport_type>) {
      calls.query_wait = [](void* object, rank_type peer) {
        return static_cast<transport_type*>(object)->query_wait(peer);
      };
      calls.reported_wait = [](void const* object, rank_type r, std::uint32_t lane) {
        return static_cast<transport_type const*>(object)->reported_wait(r, lane);
      };
    }
    if constexpr (reports_aggregators<transport_type>) {
      calls.report_aggregator = [](void const* object) {
        return static_cast<transport_type const*>(object)->report_aggregator();
      };
    }
    if constexpr (requires(transport_type const& value, rank_type r) { value.describe_address(r); }) {
      calls.describe_address = [](void const* object, rank_type r) {
        return static_cast<transport_type const*>(object)->describe_address(r);
      };
    }
    if constexpr (requires(transport_type const& value) { value.is_delivered(); }) {
      calls.is_delivered = [](void const* object) {
        return static_cast<transport_type const*>(object)->is_delivered();
      };
    }
    if constexpr (revokes_in_memory<transport_type>) {
      calls.revoke_in_memory = [](void* object, tutti::fault const& cause) {
        static_cast<transport_type*>(object)->revoke_in_memory(cause);
      };
      calls.fault_in_memory = [](void const* object) {
        return static_cast<transport_type const*>(object)->fault_in_memory();
      };
    }
    if constexpr (announces_departure<transport_type>) {
      calls.announce_departure = [](void* object, tutti::fault const& cause) {
        static_cast<transport_type*>(object)->announce_departure(cause);
      };
    }
    return calls;
  }
};

/// A transport with its type erased, for cold code: waiting, ending and failing of operations, and texts of errors.
/// Such code is compiled once for all transports. No message passes through it.
class any_transport {
 public:
  /// @pre `object` outlives this; it may be constructed later
  template <tutti::transport Transport>
  explicit any_transport(Transport& object) noexcept : any_transport(&object, calls_of<Transport>) {}
  any_transport(void* object, transport_calls const& calls) noexcept : object_(object), calls_(&calls) {}

  [[nodiscard]] std::string_view name() const noexcept { return calls_->name; }
  [[nodiscard]] bool calls_system() const noexcept { return calls_->calls_system; }
  [[nodiscard]] time_point now() const { return calls_->now(object_); }
  [[nodiscard]] tutti::fault fault() const { return calls_->fault(object_); }
  void revoke(tutti::fault const& cause) const { calls_->revoke(object_, cause); }
  void quiesce() const { calls_->quiesce(object_); }
  void poll() const { calls_->poll(object_); }
  void probe() const { calls_->probe(object_); }
  [[nodiscard]] int arm() const { return calls_->arm(object_); }
  void disarm() const { calls_->disarm(object_); }

  [[nodiscard]] bool waits_itself() const noexcept { return calls_->wait_for_work != nullptr; }
  void wait_for_work(duration limit) const { calls_->wait_for_work(object_, limit); }

  [[nodiscard]] bool answers() const noexcept { return calls_->query_wait != nullptr; }
  [[nodiscard]] bool query_wait(rank_type peer) const { return calls_->query_wait(object_, peer); }
  [[nodiscard]] wait_report reported_wait(rank_type r, std::uint32_t lane) const {
    return calls_->reported_wait(object_, r, lane);
  }

  /// The ranks that its in-network aggregators wait for; empty if it knows of none.
  [[nodiscard]] aggregator_report report_aggregator() const {
    return calls_->report_aggregator == nullptr ? aggregator_report{} : calls_->report_aggregator(object_);
  }
  /// The address of a rank, and the time for which connecting to it has failed; empty if it has no address.
  [[nodiscard]] std::string describe_address(rank_type r) const {
    return calls_->describe_address == nullptr ? std::string() : calls_->describe_address(object_, r);
  }
  /// True if all that this rank has sent has arrived at its peers' systems, as far as the transport knows.
  [[nodiscard]] bool is_delivered() const { return calls_->is_delivered == nullptr || calls_->is_delivered(object_); }
  /// Makes a fault known at once to the ranks that share memory with this one. Async-signal-safe.
  void revoke_in_memory(tutti::fault const& cause) const noexcept {
    if (calls_->revoke_in_memory != nullptr) {
      calls_->revoke_in_memory(object_, cause);
    }
  }
  /// The fault that these ranks know; empty if there are none. Async-signal-safe.
  [[nodiscard]] tutti::fault fault_in_memory() const noexcept {
    return calls_->fault_in_memory == nullptr ? tutti::fault{} : calls_->fault_in_memory(object_);
  }
  /// Tells peers, if the transport can, the fault that makes this rank leave.
  void announce_departure(tutti::fault const& cause) const {
    if (calls_->announce_departure != nullptr) {
      calls_->announce_departure(object_, cause);
    }
  }

 private:
  template <class Transport>
  static constexpr transport_calls calls_of = transport_calls::make<Transport>();

  void* object_;
  transport_calls const* calls_;
};

}  // namespace tutti::detail::communicator
