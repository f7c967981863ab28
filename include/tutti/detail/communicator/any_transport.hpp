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
  aggregator_report (*report_aggregator)(void const*) = nullptr;     ///< null unless it `reports_aggregators`
  void (*announce_departure)(void*, tutti::fault const&) = nullptr;  ///< null unless it `announces_departure`
  std::string (*place_of)(void const*, rank_type) = nullptr;         ///< null unless ranks have addresses

  template <class Transport>
  [[nodiscard]] static constexpr transport_calls of() noexcept {
    using t = Transport;
    transport_calls c{.name = t::name,
                      .now = [](void const* p) { return static_cast<t const*>(p)->now(); },
                      .fault = [](void* p) { return static_cast<t*>(p)->fault(); },
                      .revoke = [](void* p, tutti::fault const& why) { static_cast<t*>(p)->revoke(why); },
                      .quiesce = [](void* p) { static_cast<t*>(p)->quiesce(); },
                      .poll = [](void* p) { static_cast<t*>(p)->poll(); },
                      .probe = [](void* p) { static_cast<t*>(p)->probe(); },
                      .arm = [](void* p) { return static_cast<t*>(p)->arm(); },
                      .disarm = [](void* p) { static_cast<t*>(p)->disarm(); }};
    if constexpr (waits_for_work<t>) {
      c.wait_for_work = [](void* p, duration limit) { static_cast<t*>(p)->wait_for_work(limit); };
    }
    if constexpr (reports_waits<t>) {
      c.query_wait = [](void* p, rank_type peer) { return static_cast<t*>(p)->query_wait(peer); };
      c.reported_wait = [](void const* p, rank_type r, std::uint32_t lane) {
        return static_cast<t const*>(p)->reported_wait(r, lane);
      };
    }
    if constexpr (reports_aggregators<t>) {
      c.report_aggregator = [](void const* p) { return static_cast<t const*>(p)->report_aggregator(); };
    }
    if constexpr (requires(t const& one, rank_type r) { one.place_of(r); }) {
      c.place_of = [](void const* p, rank_type r) { return static_cast<t const*>(p)->place_of(r); };
    }
    if constexpr (announces_departure<t>) {
      c.announce_departure = [](void* p, tutti::fault const& why) { static_cast<t*>(p)->announce_departure(why); };
    }
    return c;
  }
};

/// A transport with its type erased, for cold code: waiting, ending and failing of operations, and texts of errors.
/// Such code is compiled once for all transports. No message passes through it.
class any_transport {
 public:
  /// @pre `of` outlives this; it may be constructed later
  template <tutti::transport Transport>
  explicit any_transport(Transport& of) noexcept : any_transport(&of, calls_of<Transport>) {}
  any_transport(void* of, transport_calls const& calls) noexcept : of_(of), calls_(&calls) {}

  [[nodiscard]] std::string_view name() const noexcept { return calls_->name; }
  [[nodiscard]] time_point now() const { return calls_->now(of_); }
  [[nodiscard]] tutti::fault fault() const { return calls_->fault(of_); }
  void revoke(tutti::fault const& why) const { calls_->revoke(of_, why); }
  void quiesce() const { calls_->quiesce(of_); }
  void poll() const { calls_->poll(of_); }
  void probe() const { calls_->probe(of_); }
  [[nodiscard]] int arm() const { return calls_->arm(of_); }
  void disarm() const { calls_->disarm(of_); }

  [[nodiscard]] bool waits_itself() const noexcept { return calls_->wait_for_work != nullptr; }
  void wait_for_work(duration limit) const { calls_->wait_for_work(of_, limit); }

  [[nodiscard]] bool answers() const noexcept { return calls_->query_wait != nullptr; }
  [[nodiscard]] bool query_wait(rank_type peer) const { return calls_->query_wait(of_, peer); }
  [[nodiscard]] wait_report reported_wait(rank_type r, std::uint32_t lane) const {
    return calls_->reported_wait(of_, r, lane);
  }

  /// The ranks that its in-network aggregators wait for; empty if it knows of none.
  [[nodiscard]] aggregator_report report_aggregator() const {
    return calls_->report_aggregator == nullptr ? aggregator_report{} : calls_->report_aggregator(of_);
  }
  /// The address of a rank, and the time for which connecting to it has failed; empty if it has no address.
  [[nodiscard]] std::string place_of(rank_type r) const {
    return calls_->place_of == nullptr ? std::string() : calls_->place_of(of_, r);
  }
  /// Tells peers, if the transport can, the fault that makes this rank leave.
  void announce_departure(tutti::fault const& why) const {
    if (calls_->announce_departure != nullptr) {
      calls_->announce_departure(of_, why);
    }
  }

 private:
  template <class Transport>
  static constexpr transport_calls calls_of = transport_calls::of<Transport>();

  void* of_;
  transport_calls const* calls_;
};

}  // namespace tutti::detail::communicator
