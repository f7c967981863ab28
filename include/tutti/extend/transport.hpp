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
/// Messages. The engine opens a flow (`begin`), sends and receives on it, and closes it (`end`)
/// when it is done with it; at most one flow is open on a lane. A message is offered with `send`
/// until all of its bytes are accepted - the transport may take less, and part of a granule if that is long -
/// and taken chunk by chunk, each of whole granules, with `view` and `release`. A place that is given to `view` is the
/// transport's to write to, at any time, until the message is whole or there is a fault: it is given to one message at
/// a time. On one lane from one peer messages arrive in the order sent; different lanes never wait for each other. An
/// accepted message is under way: it needs no further call on the sending side except `poll`.
///
/// Calls. Both ends of a flow opened it with a `call`; if the two differ, the receiving end's
/// `view` throws error(failure::mismatch) that shows both and names the peer. On the transfer lane,
/// which is opened once for all, the number of the flow is what both ends must agree on.
///
/// Failure. `fault()` is cheap and is asked while waiting. `look()` is dear (system calls) and is
/// asked every few milliseconds of waiting: it finds peers that are gone and revokes the epoch
/// itself. `revoke` makes the fault known to every member; the first one takes precedence. It is named after ULFM's
/// MPI_Comm_revoke, but carries a fault, and the library calls it as soon as one is found. After a fault
/// `send` accepts nothing and `view` returns nothing. `quiesce` returns when nothing works in this rank's memory any
/// more: no peer, and no device on behalf of this rank or of a peer. It is called after a fault, before the memory goes
/// away.
///
/// Waiting. `arm` returns a descriptor that becomes readable when there may be something to do;
/// after `arm` the caller looks once more, then sleeps on the descriptor, and calls `disarm`.
template <class T>
concept transport = requires(T& t, T const& c, rank_type peer, flow s, std::span<std::byte const> bytes,
                             std::size_t granule, wanted w, ticket k, call const& what, fault const& why) {
  { T::name } -> std::convertible_to<std::string_view>;
  { c.rank() } -> std::same_as<rank_type>;
  { c.size() } -> std::same_as<rank_type>;
  { t.begin(s, what) } -> std::same_as<void>;
  { t.end(s) } -> std::same_as<void>;
  { t.send(peer, s, bytes, granule) } -> std::same_as<sent>;
  { t.released(peer, s, k) } -> std::same_as<bool>;
  { t.view(peer, s, w) } -> std::same_as<chunk>;
  { t.release(peer, s) } -> std::same_as<void>;
  { t.poll() } -> std::same_as<void>;
  { t.arm() } -> std::same_as<int>;
  { t.disarm() } -> std::same_as<void>;
  { c.now() } -> std::same_as<time_point>;
  { t.fault() } -> std::same_as<tutti::fault>;
  { t.look() } -> std::same_as<void>;
  { t.revoke(why) } -> std::same_as<void>;
  { t.quiesce() } -> std::same_as<void>;
};

/// How the ranks of a transport are started on one host, and whether they share an address space.
template <class T>
concept in_process = transport<T> && T::in_process;

namespace detail {

/// Transports that hold pthread_cancel back by themselves where they make system calls, which is rare: to wake a peer,
/// to read a peer's memory, and while a rank sleeps. In calls on others a thread is not cancelled but where it waits.
template <class T>
inline constexpr bool only_wakes = requires { T::only_wakes; };

}  // namespace detail

/// A transport that can serve a part of a world: it names ranks in faults and errors by their numbers in
/// the world, if its rendezvous knows those.
template <class T>
concept known_by_world = transport<T> && T::known_by_world;

/// A transport that can find out whether a peer is at the same flow with another call, even if no
/// message ever comes from there. `inquire` is asked now and then about the peer that is waited for,
/// and throws as `view` does.
template <class T>
concept inquires = transport<T> && requires(T& t, rank_type peer, flow s) { t.inquire(peer, s); };

/// A transport through which a rank finds out what others wait for. A rank that waits says so now and then: `say`
/// answers all that have asked since. `ask` asks a peer, and is false as long as it cannot be reached yet. `said` is
/// what a rank, this one included, has last said about a lane, as far as it is known here.
template <class T>
concept answers = transport<T> && requires(T& t, T const& c, rank_type peer, std::uint32_t lane, wait_report const& w) {
  { t.say(w) } -> std::same_as<void>;
  { t.ask(peer) } -> std::same_as<bool>;
  { c.said(peer, lane) } -> std::same_as<wait_report>;
};

/// A transport that can tell of a peer from which no message is expected whether it has left, or died, as far as is
/// known here. To be asked every few milliseconds of waiting.
template <class T>
concept notices_departure = transport<T> && requires(T& t, rank_type peer) {
  { t.has_left(peer) } -> std::same_as<bool>;
};

/// A transport that tells why a rank has left. `excuse` is the last call before the transport ends, on a rank that
/// leaves because of a fault in another communicator: a peer that misses this rank from then on has that fault instead
/// of `failure::peer_lost`. What this rank has sent is delivered all the same.
template <class T>
concept excuses = transport<T> && requires(T& t, fault const& why) {
  { t.excuse(why) } -> std::same_as<void>;
};

/// A transport whose receivers may read a message where the sender has it: `shares(peer, flow, bytes)` says whether
/// that peer would.
template <class T>
concept shares_memory = requires(T const& t, rank_type peer, flow s, std::span<std::byte const> bytes) {
  { t.shares(peer, s, bytes) } -> std::same_as<bool>;
};

/// A transport whose ranks may work in each other's memory. `lend` is a `send` that also says where the
/// receiver may write what it makes of the message, if the transport can let it; the receiver's `give_back`
/// of as many bytes to the same peer then writes them there, and the sender's `view` returns that very place.
/// Where it cannot, both are `send`. Between the two that memory is the receiver's.
///
/// A receiver that has the message before it by `view` may make the result at its place at once: `home`
/// says where that is, or null. Such bytes are given back from there.
///
/// @pre of one flow at most one message is lent to a peer at a time
template <class T>
concept lends = transport<T> && requires(T& t, rank_type peer, flow s, std::span<std::byte const> bytes,
                                         std::size_t granule, std::byte* back) {
  { t.lend(peer, s, bytes, granule, back) } -> std::same_as<sent>;
  { t.give_back(peer, s, bytes, granule) } -> std::same_as<sent>;
  { t.home(peer, s) } -> std::same_as<std::byte*>;
};

/// A transport that copies what it sends and can send the copy to several peers. `next_message` is called before
/// the first `send` of each message of a flow, and says whether it holds the same bytes as the message
/// before on that flow, whichever peer that was for.
template <class T>
concept repeats = transport<T> && requires(T& t, flow s, bool same) {
  { t.next_message(s, same) } -> std::same_as<void>;
};

/// A transport with helpers, which combine what ranks send them, or multicast it. `take_part` is called by all ranks
/// for each helper of a flow, before any message of it to or from the helper, so that all number them alike.
/// `does` says what can be asked of a helper; other operations run without. `missing` is a rank whose part a helper
/// still waits for, as far as it is known here, or no_rank.
///
/// What a helper gives at one place of a message it has made of what was sent at that place, by this rank and by
/// others. So the result may be put where the contribution was, and a transport may go on reading a contribution, and
/// send it again, until it has put the result there: `send` may take all of a message to a helper at once, with no
/// ticket.
template <class T>
concept helps = transport<T> && requires(T& t, flow s, rank_type helper, helper_part const& mine) {
  requires std::bool_constant<(T::does(network_operation::none), true)>::value;
  { T::does(mine.operation) } -> std::same_as<bool>;
  { t.take_part(s, mine) } -> std::same_as<void>;
  { t.missing(helper, s) } -> std::same_as<rank_type>;
};

/// Whether a helper can be asked now, and is worth it; alike on all ranks. A transport that may be without one, or
/// whose helper serves others, says so by `bool has_helper() const`.
template <transport T>
[[nodiscard]] constexpr bool has_helper([[maybe_unused]] T const& t) {
  if constexpr (!helps<T>) {
    return false;
  } else if constexpr (requires { t.has_helper(); }) {
    return t.has_helper();
  } else {
    return true;
  }
}

/// What a helper waits for, as it has said: how it is called, and the ranks whose part it lacks.
struct helper_report {
  /// The name of the helper.
  std::string name{};
  /// A rank whose part a helper still waits for, as far as it is known here; or no_rank.
  std::vector<rank_type> missing{};
};

/// A transport that knows of all ranks that a helper waits for, for errors.
template <class T>
concept reports_helpers = helps<T> && requires(T const& t) {
  { t.waits_for() } -> std::same_as<helper_report>;
};

/// A transport that does the arithmetic itself: virtual time, device memory, payloads that do not
/// exist. `compute(bytes, f)` stands for running f, which reads `bytes` bytes.
template <class T>
concept computes = transport<T> && requires(T& t, std::size_t bytes, void (*f)()) { t.compute(bytes, f); };

/// A transport that waits by itself, because real time means nothing to it: `rest` returns when there
/// may be something to do, or when `limit` has passed on its own clock. Nothing spins, or sleeps on
/// its descriptor.
template <class T>
concept rests = transport<T> && requires(T& t, duration limit) { t.rest(limit); };

/// A transport that has memory of its own, which its peers read without a copy: tutti::allocator takes
/// buffers from it.
template <class T>
concept provides_memory = transport<T> && requires(T const& t) {
  { t.memory() } -> std::same_as<counted<memory_source>>;
};

/// A transport whose device has to know the memory that it works in: that of an adopted source it is told of once.
template <class T>
concept registers_memory = transport<T> && requires(T& t, counted<memory_source> s) {
  { t.adopt(s) } -> std::same_as<void>;
};

/// A transport whose ranks have devices: operations are put into a stream of the device, of type `stream_type`.
template <class T>
concept has_devices = transport<T> && requires { typename T::stream_type; };

/// A transport whose ranks have devices, from which elements are copied to host memory, sent, and copied back. A `gate`
/// lets the segments of such an operation begin, and is told of their end.
template <class T>
concept stages_devices = has_devices<T> && requires { typename T::gate; };

/// A transport whose ranks have devices, the kernels of which work in each other's memory.
template <class T>
concept maps_devices = has_devices<T> && !stages_devices<T>;

/// What a transport may be told when it is opened: its `options`, if it has any.
template <class Transport>
struct options_of {
  /// None.
  struct type {};
};
/// Of a transport that has options.
template <class Transport>
  requires requires { typename Transport::options; }
struct options_of<Transport> {
  /// Those options.
  using type = typename Transport::options;
};

/// Opens a transport from a rendezvous, with its options if it has any.
template <class Transport, class Meet>
[[nodiscard]] Transport open_transport(Meet& meet, typename options_of<Transport>::type const& o) {
  if constexpr (std::constructible_from<Transport, Meet&, decltype(o)>) {
    return Transport(meet, o);
  } else {
    return Transport(meet);
  }
}

}  // namespace tutti
