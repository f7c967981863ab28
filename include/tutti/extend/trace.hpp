// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/message.hpp>
#include <tutti/extend/operation.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/extend/types.hpp>

#include <concepts>
#include <string_view>

namespace tutti::inline v0_1_0 {

/// The kinds of events on a rank.
enum class event_kind : std::uint8_t {
  start,  ///< an operation was started; the text names it
  send,   ///< the transport began to take a message; the time is just before, the bytes are those of the whole message
  receive,   ///< a message, or a part of one, was received
  fold,      ///< arriving elements were combined
  finish,    ///< an accumulator or a contribution became part of the result
  complete,  ///< an operation is done
  fail,      ///< an operation failed; the text says why
  note,      ///< anything else worth knowing, e.g. the reason why a connection was refused
  enter,     ///< begin of work other than communication; the text names it
  leave,     ///< end of such work
};

/// The word for an event in pictures and reports.
[[nodiscard]] constexpr std::string_view name(event_kind kind) noexcept {
  constexpr std::string_view names[] = {"start",    "send", "receive", "fold",  "finish",
                                        "complete", "fail", "note",    "enter", "leave"};
  return names[static_cast<std::size_t>(kind)];
}

/// One event, as an engine or a transport reports it. Members that do not apply keep their defaults.
struct event {
  event_kind kind = event_kind::note;  ///< kind
  time_point time{};                   ///< time on the transport's clock
  operation_number number{};           ///< number of the operation in its communicator
  tutti::flow flow{};                  ///< flow of the segment; for `start`, of the first segment
  std::uint32_t step = 0;              ///< step of the schedule
  rank_type peer = no_rank;            ///< other rank; no_rank: none
  std::size_t bytes = 0;               ///< number of bytes
  std::string_view text{};             ///< further words; valid during the call
};

/// Receives events, from the thread that uses the communicator, in the order in which they happen.
///
/// `record` is on the data path, so it neither throws nor blocks. No event is made if `is_enabled` is false, or while
/// an optional member `is_on()` returns false.
template <class T>
concept tracer = std::movable<T> && requires(T& t, event const& e) {
  { T::is_enabled } -> std::convertible_to<bool>;
  { t.record(e) } noexcept -> std::same_as<void>;
};

/// True if the tracer records at present. A tracer that can be switched off has a member `is_on()`.
template <tracer Trace>
[[nodiscard]] constexpr bool listens(Trace const& trace) noexcept {
  if constexpr (!Trace::is_enabled) {
    return false;
  } else if constexpr (requires { trace.is_on(); }) {
    return trace.is_on();
  } else {
    return true;
  }
}

/// Records the event that `make()` returns; does nothing at all if the tracer is disabled.
template <tracer Trace, class Make>
constexpr void record(Trace& trace, [[maybe_unused]] Make const& make) {
  if constexpr (Trace::is_enabled) {
    if (listens(trace)) {
      trace.record(make());
    }
  }
}

/// The tracer that records nothing.
///
/// Cost: nothing; it is empty, and no event is made for it.
/// Thread safety: any thread.
struct no_trace {
  /// False, so that tracing costs nothing.
  static constexpr bool is_enabled = false;
  /// Does nothing.
  constexpr void record(event const&) noexcept {}
};

}  // namespace tutti
