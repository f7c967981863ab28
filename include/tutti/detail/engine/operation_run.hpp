// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/communicator/access.hpp>
#include <tutti/detail/core/cancellation.hpp>
#include <tutti/detail/engine/unfinished.hpp>
#include <tutti/extend/trace.hpp>
#include <tutti/extend/transport.hpp>

namespace tutti::inline v0_1_0::detail {

/// How one run of one operation ends that comes to a good end: what of that depends on the communicator, and so is
/// compiled once for each. All else is its base's. What it consists of is known to an `execution`, which is made of
/// this one.
template <class Communicator>
class operation_run : public unfinished {
  using transport_type = typename Communicator::transport_type;

 public:
  TUTTI_COLD operation_run(Communicator& world, body const& of);

  [[nodiscard]] Communicator& world() noexcept { return world_; }

 protected:
  ~operation_run() = default;

  /// Waits for what has not come at once. @throws as finish
  void wait_for_the_rest(duration limit);
  /// All of its body has come, unless it ended otherwise. @throws error
  [[gnu::always_inline]] void conclude(waited how) {
    if (how != waited::done || spoilt()) [[unlikely]] {
      throw_explained();
    }
    complete();
  }

 private:
  /// Whether what has been done may be wrong: after a fault the ranks whose memory was read have it back, and do not
  /// wait for a reader that was stopped meanwhile.
  [[nodiscard]] bool spoilt() const noexcept {
    if constexpr (shares_memory<transport_type>) {
      return static_cast<bool>(transport_.fault());
    }
    return false;
  }
  void complete() {
    note_end();
    tutti::record(trace_,
                  [&] { return event{event_kind::complete, transport_.now(), number(), {}, 0, no_rank, 0, {}}; });
  }

  bool advance_quietly();

  Communicator world_;
  transport_type& transport_;  ///< of that communicator, as the next one
  typename Communicator::trace_type& trace_;
};

// Out of its class: where the instance is compiled apart, a unit does not look at what it would not inline.

template <class Communicator>
operation_run<Communicator>::operation_run(Communicator& world, body const& of)
    : unfinished(access::state(world), of, [](pending& p) { return static_cast<operation_run&>(p).advance_quietly(); }),
      world_(world.alias()),
      transport_(world.transport()),
      trace_(world.trace()) {}

template <class Communicator>
void operation_run<Communicator>::wait_for_the_rest(duration limit) {
  conclude(await_body(limit));
}

template <class Communicator>
bool operation_run<Communicator>::advance_quietly() {
  if (ended || in_step()) {
    return ended;
  }
  try {
    bool const done = !given_up && advance_body();
    if (given_up) [[unlikely]] {
      abandon_given_up();
    } else if (done && !spoilt()) {
      complete();
      ended = true;
    } else if (done || transport_.fault()) {
      abandon_by_fault();
    }
  } catch (...) {
    if (is_forced_unwind()) {
      abandon_given_up();
      throw;
    }
    abandon_by_exception();
  }
  return ended;
}

}  // namespace tutti::detail
