// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/error.hpp>
#include <tutti/extend/memory_source.hpp>
#include <tutti/extend/message.hpp>
#include <tutti/extend/operation.hpp>
#include <tutti/extend/time.hpp>

#include <concepts>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tutti::inline v0_1_0 {

/// Moves bytes between the members of one communicator. Used by one thread at a time.
///
/// Messages. The engine opens a flow (`begin`), sends and receives on it, and closes it (`end`) at the end; at most
/// one flow is open on a lane. A message is offered with `send` until all of its bytes are accepted - the transport
/// may take less, and part of a granule if that is long - and taken chunk by chunk, each of whole granules, with
/// `view` and `release`. The destination that is passed to `view` belongs to one message: the transport may write to
/// it at any time until the message is whole or there is a fault. Messages from one peer on one lane arrive in order;
/// different lanes never wait for each other. An accepted message is under way: it needs no further call on the
/// sending side except `poll`.
///
/// Calls. Both ends of a flow open it with a `call`; if the two differ, the receiver's `view` throws
/// error(failure::mismatch), which shows both and names the peer. On the transfer lane, which is opened once for all
/// messages, both ends must agree on the number of the flow.
///
/// Failure. `fault()` is cheap and is called while waiting. `probe()` probes: it costs system calls, is called every
/// few milliseconds of waiting, finds peers that are gone, and revokes the epoch itself. `revoke` makes the fault
/// known to every member; the first one takes precedence. It is named after ULFM's MPI_Comm_revoke, but carries a
/// fault, and the library calls it as soon as it finds one. After a fault `send` accepts nothing and `view` returns
/// nothing. `quiesce` is called after a fault, before the memory is freed. It returns once nothing accesses this
/// rank's memory any more: no peer, and no device on behalf of this rank or of a peer.
///
/// Waiting. `arm` returns a descriptor that becomes readable when there may be work; after `arm` the caller checks
/// once more, then sleeps on the descriptor, and calls `disarm`.
template <class T>
concept transport =
    requires(T& t, T const& c, rank_type peer, flow s, std::span<std::byte const> bytes, std::size_t granule,
             receive_request w, ticket k, call const& description, fault const& cause) {
      { T::name } -> std::convertible_to<std::string_view>;
      { c.rank() } -> std::same_as<rank_type>;
      { c.size() } -> std::same_as<rank_type>;
      { t.begin(s, description) } -> std::same_as<void>;
      { t.end(s) } -> std::same_as<void>;
      { t.send(peer, s, bytes, granule) } -> std::same_as<send_result>;
      { t.is_released(peer, s, k) } -> std::same_as<bool>;
      { t.view(peer, s, w) } -> std::same_as<chunk>;
      { t.release(peer, s) } -> std::same_as<void>;
      { t.poll() } -> std::same_as<void>;
      { t.arm() } -> std::same_as<int>;
      { t.disarm() } -> std::same_as<void>;
      { c.now() } -> std::same_as<time_point>;
      { t.fault() } -> std::same_as<tutti::fault>;
      { t.probe() } -> std::same_as<void>;
      { t.revoke(cause) } -> std::same_as<void>;
      { t.quiesce() } -> std::same_as<void>;
    };

/// A transport whose ranks on one host are threads of one process, and share memory; otherwise they are processes.
template <class T>
concept in_process = transport<T> && T::in_process;

namespace detail {

/// True for transports that shield their rare system calls from pthread_cancel themselves: to wake a peer, to read a
/// peer's memory, and to sleep. In calls on other transports a thread can be cancelled only where it waits.
template <class T>
inline constexpr bool shields_cancellation = requires { T::shields_cancellation; };

}  // namespace detail

/// A transport that can serve a part of a world: it names ranks in faults and errors by their numbers in the world, if
/// its rendezvous knows those.
template <class T>
concept names_world_ranks = transport<T> && T::names_world_ranks;

/// A transport that can detect a peer at the same flow with another call, even if no message ever arrives from there.
/// `detect_mismatch` is called now and then about the peer that is waited for, and throws as `view` does.
template <class T>
concept detects_mismatch = transport<T> && requires(T& t, rank_type peer, flow s) { t.detect_mismatch(peer, s); };

/// A transport that compares the length of each message with the one that its receiver expects: `view` throws
/// error(failure::mismatch) if they differ.
template <class T>
concept checks_lengths = transport<T> && T::checks_lengths;

/// A transport that carries wait reports, from which a rank follows the wait-for chain. `publish_wait` is called now
/// and then by a rank that waits: it answers all peers that have asked since. `query_wait` asks a peer, and returns
/// false while the peer cannot be reached yet. `reported_wait` is the last known report of a rank, this one included,
/// about a lane.
template <class T>
concept reports_waits =
    transport<T> && requires(T& t, T const& c, rank_type peer, std::uint32_t lane, wait_report const& w) {
      { t.publish_wait(w) } -> std::same_as<void>;
      { t.query_wait(peer) } -> std::same_as<bool>;
      { c.reported_wait(peer, lane) } -> std::same_as<wait_report>;
    };

/// A transport that can tell if a silent peer has left or died, as far as this rank knows. To be called every few
/// milliseconds of waiting.
template <class T>
concept notices_departure = transport<T> && requires(T& t, rank_type peer) {
  { t.has_left(peer) } -> std::same_as<bool>;
};

/// A transport that can tell if the next message of a peer on a lane has begun to arrive, so that a receiver may choose
/// among peers. `has_message` never waits, and a peer that has left without a message is no fault.
template <class T>
concept notices_messages = transport<T> && requires(T& t, rank_type peer, flow s) {
  { t.has_message(peer, s) } -> std::same_as<bool>;
};

/// A transport that can tell why a rank has left. `announce_departure` is the last call on a rank that leaves because
/// of a fault in another communicator: peers that miss this rank later report that fault instead of
/// `failure::peer_lost`. Messages that this rank has sent are still delivered.
template <class T>
concept announces_departure = transport<T> && requires(T& t, fault const& cause) {
  { t.announce_departure(cause) } -> std::same_as<void>;
};

/// A transport whose fault, or a part of it, is in memory that ranks share. `revoke_in_memory` does as `revoke` does,
/// at once for all ranks that share it, and `fault_in_memory` returns the fault there. Any thread may call both, at any
/// time in the life of the transport, and so may a signal handler.
template <class T>
concept revokes_in_memory = transport<T> && requires(T& t, T const& c, fault const& cause) {
  { t.revoke_in_memory(cause) } noexcept -> std::same_as<void>;
  { c.fault_in_memory() } noexcept -> std::same_as<tutti::fault>;
};

/// A transport whose receivers may read a message in the sender's memory: `shares(peer, flow, bytes)` is true if that
/// peer would.
template <class T>
concept shares_memory = requires(T const& t, rank_type peer, flow s, std::span<std::byte const> bytes) {
  { t.shares(peer, s, bytes) } -> std::same_as<bool>;
};

/// A transport whose ranks may work in each other's memory. `lend` is a `send` that also offers the receiver a place
/// for its result, if the transport supports it; the receiver's `give_back` of as many bytes to the same peer then
/// writes them there, and the sender's `view` returns that place. Otherwise both are `send`. In between, that memory
/// is the receiver's, even if `is_released` is true.
///
/// A receiver whose `view` shows the message may make the result in the sender's memory at once: `result_place` is the
/// address, or null. Results made there are given back from there.
///
/// @pre at most one message of a flow is lent to each peer at a time
template <class T>
concept lends = transport<T> && requires(T& t, rank_type peer, flow s, std::span<std::byte const> bytes,
                                         std::size_t granule, std::byte* back) {
  { t.lend(peer, s, bytes, granule, back) } -> std::same_as<send_result>;
  { t.give_back(peer, s, bytes, granule) } -> std::same_as<send_result>;
  { t.result_place(peer, s) } -> std::same_as<std::byte*>;
};

/// A transport that copies messages and can send one copy to several peers. `next_message` is called before the first
/// `send` of each message of a flow; `is_repeated` is true if the message has the bytes of the previous one on that
/// flow, perhaps to another peer.
template <class T>
concept reuses_copies = transport<T> && requires(T& t, flow s, bool is_repeated) {
  { t.next_message(s, is_repeated) } -> std::same_as<void>;
};

/// A transport with in-network aggregators (`aggregators`), which combine or multicast messages. All ranks call
/// `join_aggregation` for each aggregator of a flow, before any message of the flow to or from it, so that all number
/// them alike. `supports` is true for the operations that an aggregator supports; other operations run without.
/// `missing` is a rank that an aggregator still waits for, as far as this rank knows, or no_rank.
///
/// The result at one offset of a message is made of the contributions at that offset, from this rank and others. So
/// the result may overwrite the contribution, and a transport may read and resend a contribution until the result has
/// arrived there: `send` may take all of a message to an aggregator at once, without a ticket.
template <class T>
concept aggregates = transport<T> && requires(T& t, flow s, rank_type aggregator, aggregation_part const& part) {
  requires std::bool_constant<(T::supports(network_operation::none), true)>::value;
  { T::supports(part.operation) } -> std::same_as<bool>;
  { t.join_aggregation(s, part) } -> std::same_as<void>;
  { t.missing(aggregator, s) } -> std::same_as<rank_type>;
};

/// True if an in-network aggregator is available and worth using; equal on all ranks. A transport that may lack one,
/// or shares it with others, declares `bool has_aggregator() const`.
template <transport T>
[[nodiscard]] constexpr bool has_aggregator([[maybe_unused]] T const& t) {
  if constexpr (!aggregates<T>) {
    return false;
  } else if constexpr (requires { t.has_aggregator(); }) {
    return t.has_aggregator();
  } else {
    return true;
  }
}

/// The state of an in-network aggregator that waits.
struct aggregator_report {
  /// The name of the aggregator.
  std::string name{};
  /// The ranks whose contribution it lacks.
  std::vector<rank_type> missing{};
};

/// A transport that knows all ranks that an in-network aggregator waits for, for errors.
template <class T>
concept reports_aggregators = aggregates<T> && requires(T const& t) {
  { t.report_aggregator() } -> std::same_as<aggregator_report>;
};

/// A transport that does the arithmetic itself: virtual time, device memory, simulated payloads. `compute(bytes, f)`
/// stands for a call of f, which reads `bytes` bytes.
template <class T>
concept computes = transport<T> && requires(T& t, std::size_t bytes, void (*f)()) { t.compute(bytes, f); };

/// A transport that waits by itself, in virtual time: `wait_for_work` returns when there may be work, or when `limit`
/// has passed on its own clock. The engine neither spins nor sleeps on its descriptor.
template <class T>
concept waits_for_work = transport<T> && requires(T& t, duration limit) { t.wait_for_work(limit); };

/// A transport that provides memory that peers read without a copy: tutti::allocator allocates from it.
template <class T>
concept provides_memory = transport<T> && requires(T const& t) {
  { t.memory() } -> std::same_as<intrusive_pointer<memory_source>>;
};

/// A transport whose device needs registration of memory: `adopt` registers the memory of another source, once.
template <class T>
concept registers_memory = transport<T> && requires(T& t, intrusive_pointer<memory_source> s) {
  { t.adopt(s) } -> std::same_as<void>;
};

/// A transport whose ranks have devices: operations are enqueued in a device's stream, of type `stream_type`.
template <class T>
concept has_devices = transport<T> && requires { typename T::stream_type; };

/// A transport whose ranks have devices, and which copies elements to host memory, sends them, and copies them back. A
/// `gate` lets the segments of such an operation begin, and is told of their end.
template <class T>
concept stages_devices = has_devices<T> && requires { typename T::gate; };

/// A transport whose ranks have devices, and whose kernels work in each other's memory.
template <class T>
concept maps_devices = has_devices<T> && !stages_devices<T>;

/// The options of a transport; empty if it has none.
template <class Transport>
struct options_of {
  /// The empty options.
  struct type {};
};
/// The options of a transport that has some.
template <class Transport>
  requires requires { typename Transport::options; }
struct options_of<Transport> {
  /// The type `options` of the transport.
  using type = typename Transport::options;
};

/// Opens a transport from a rendezvous, with options if it has any.
template <class Transport, class Meet>
[[nodiscard]] Transport open_transport(Meet& meet, typename options_of<Transport>::type const& o) {
  if constexpr (std::constructible_from<Transport, Meet&, decltype(o)>) {
    return Transport(meet, o);
  } else {
    return Transport(meet);
  }
}

}  // namespace tutti
