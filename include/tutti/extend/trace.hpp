// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/message.hpp>
#include <tutti/extend/operation.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/extend/types.hpp>

#include <concepts>
#include <string_view>

namespace tutti::inline v0_1_0 {

/// What happened on this rank.
enum class event_kind : std::uint8_t {
  start,     ///< an operation was started; the text names it
  send,      ///< the transport began to take a message; the time is just before, the bytes are all of it
  receive,   ///< a message, or part of one, was taken from it
  fold,      ///< what arrived was combined
  finish,    ///< an accumulator or a contribution became part of the result
  complete,  ///< an operation is done
  fail,      ///< an operation failed; the text says why
  note,      ///< anything else worth knowing, e.g. that a connection was refused, and why
  enter,     ///< the rank begins to do something else than communicate; the text says what
  leave,     ///< and ends it
};

/// The word for it in pictures and reports.
[[nodiscard]] constexpr std::string_view name(event_kind kind) noexcept {
  constexpr std::string_view names[] = {"start",    "send", "receive", "fold",  "finish",
                                        "complete", "fail", "note",    "enter", "leave"};
  return names[static_cast<std::size_t>(kind)];
}

/// One event, as an engine or a transport reports it. What does not apply is left at its default.
struct event {
  event_kind kind = event_kind::note;  ///< what happened
  time_point time{};                   ///< on the transport's clock
  operation_number number{};           ///< of the operation, on its communicator
  flow on{};                           ///< which of its segments; of a start, the first
  std::uint32_t step = 0;              ///< the step of the schedule
  rank_type peer = no_rank;            ///< the other rank; no_rank: none
  std::size_t bytes = 0;               ///< how many bytes it is about
  std::string_view text{};             ///< valid during the call
};

/// Takes events. Called by the thread that uses the communicator, in order of happening.
///
/// `record` neither throws nor blocks: it is called on the data path. If `enabled` is false no event
/// is even made; nor while a member `on()` says so, if there is one.
template <class T>
concept tracer = std::movable<T> && requires(T& t, event const& e) {
  { T::enabled } -> std::convertible_to<bool>;
  { t.record(e) } noexcept -> std::same_as<void>;
};

/// Whether events are wanted. A tracer that can be switched off says so with `on()`.
template <tracer Trace>
[[nodiscard]] constexpr bool listens(Trace const& trace) noexcept {
  if constexpr (!Trace::enabled) {
    return false;
  } else if constexpr (requires { trace.on(); }) {
    return trace.on();
  } else {
    return true;
  }
}

/// Records `make()`, an event; does nothing at all if the tracer is disabled.
template <tracer Trace, class Make>
constexpr void record(Trace& trace, [[maybe_unused]] Make const& make) {
  if constexpr (Trace::enabled) {
    if (listens(trace)) {
      trace.record(make());
    }
  }
}

/// Records nothing.
///
/// Cost: nothing; it is empty, and no event is made for it.
/// Thread safety: any thread.
struct no_trace {
  /// True if anything is recorded; false costs nothing.
  static constexpr bool enabled = false;
  /// Records an event; called by the rank's own thread.
  constexpr void record(event const&) noexcept {}
};

}  // namespace tutti
