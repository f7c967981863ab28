// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/base/message.hpp>
#include <tutti/detail/communicator/any_transport.hpp>
#include <tutti/detail/communicator/relative.hpp>
#include <tutti/detail/communicator/untyped_operation.hpp>
#include <tutti/detail/core/cancellation.hpp>
#include <tutti/detail/core/flow_numbers.hpp>
#include <tutti/detail/core/fork_guard.hpp>
#include <tutti/detail/core/operations_page.hpp>
#include <tutti/detail/core/progress_list.hpp>
#include <tutti/detail/core/sole_user.hpp>
#include <tutti/detail/core/wait_policy.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/host_map.hpp>
#include <tutti/extend/member.hpp>
#include <tutti/extend/recorder.hpp>
#include <tutti/extend/secret.hpp>
#include <tutti/extend/trace.hpp>

#include <atomic>
#include <bit>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline communicator {

/// The memory layout of this build's processes: "64-bit little-endian". Processes of one layout can read each other's
/// messages on any processor.
[[nodiscard]] constexpr std::string_view machine_kind() noexcept {
  constexpr bool little = std::endian::native == std::endian::little;
  if constexpr (sizeof(void*) == 8) {
    return little ? "64-bit little-endian" : "64-bit big-endian";
  } else {
    return little ? "32-bit little-endian" : "32-bit big-endian";
  }
}

/// The text that a rank exchanges when a communicator is made: the name (rank 0's is used), a number that the process
/// gives to no other communicator, memory layout, available cores and process.
[[nodiscard]] TUTTI_DECL std::string introduction(std::string const& name, std::string const& role);

/// The part of a rank's communicator that does not depend on transport, extent and trace. It never moves.
struct rank_state : progress_entry {
  /// Functions that depend on those types; null if there is nothing to do.
  struct tracing {
    void (*record)(rank_state&, event const&) = nullptr;
    void (*incidents)(rank_state&) = nullptr;  ///< records arrivals refused by the transport since the last call
  };

  /// @param texts the introductions of all ranks
  /// @throws error(failure::join) if versions or memory layouts differ
  TUTTI_DECL rank_state(any_transport erased_transport, tracing trace, rank_type me, std::vector<rank_type> in_parent,
                        std::vector<std::string> const& texts);
  TUTTI_DECL ~rank_state();

  /// Begins a turn. Waits while another thread serves this communicator (`serve_idle`).
  [[nodiscard, gnu::always_inline]] sole_user::entry enter() noexcept {
    if (!calls_system) [[likely]] {
      return user.enter();
    }
    sole_user::entry const result = try_enter();
    if (result == sole_user::entry::conflict) [[unlikely]] {
      user.refuse_all();
    }
    return result;
  }
  /// Begins a turn like `enter`, but does not note a conflict. @pre calls_system
  [[nodiscard, gnu::always_inline]] sole_user::entry try_enter() noexcept {
    sole_user::entry const result = user.try_enter();
    return result == sole_user::entry::loan ? enter_after_loan() : result;
  }
  [[gnu::always_inline]] void claim() noexcept {
    if (progress_list::is_free(*this) ? !operations.empty() : !progress_list::is_of_this_thread(*this)) [[unlikely]] {
      progress_list::take(*this);
    }
  }
  /// Ends a turn. Returns false, and ends all operations, if another thread tried to begin one meanwhile.
  [[gnu::always_inline]] bool leave() noexcept {
    if (has_given_up) [[unlikely]] {
      end_given_up();
    }
    bool const is_sole = user.leave();
    if (!is_sole) [[unlikely]] {
      end_operations();
    }
    if (destroy != nullptr && !is_moving) [[unlikely]] {
      destroy(*this);
    }
    return is_sole;
  }
  /// Refuses a call from a reduction, which would run its own operation a second time, and one from a forked child,
  /// which would act as a second copy of the rank. @throws precondition_error
  [[gnu::always_inline]] void expect_callable() const {
    if (is_advancing || is_inherited()) [[unlikely]] {
      refuse_call();
    }
  }
  static constexpr char const* two_threads =
      "two threads use this communicator at the same time: let them take turns, or give each its own (tutti::dup)";

  /// Advances started operations here and on all communicators in this thread's progress list.
  void advance() {
    advance_operations();
    if (progress_list* const other_entries = progress_list::current_unless_only(*this)) [[unlikely]] {
      other_entries->move(*this);
    }
  }
  /// Advances the operations started here that can progress; after a fault, all of them, since all end.
  void advance_operations() {
    if (std::size_t const count = operations.size(); count != 0) {
      if (operations.advance() != count && transport.fault()) [[unlikely]] {
        operations.advance_all();
      }
    }
  }
  /// Revokes the epoch if the world was aborted, by this rank or as it noticed elsewhere.
  [[gnu::always_inline]] void carry_out_abort() noexcept {
    if (is_aborted.load(std::memory_order_relaxed)) [[unlikely]] {
      kin->carry_out_abort();
    }
  }
  /// Fails the epoch, because peers would wait for an operation that this rank does not run.
  TUTTI_DECL void end_epoch() noexcept;
  /// Fails the epoch and ends all operations, since no thread may begin a turn any more.
  TUTTI_DECL void end_operations() noexcept;
  /// Ends the operations that a reduction, or a function at an end, has cancelled meanwhile.
  TUTTI_DECL void end_given_up() noexcept;
  /// Asks the transport for arrivals, then advances all operations. One thread at a time.
  TUTTI_DECL void poll();
  /// Looks for failed peers and deadlines, and answers ranks that ask which rank this one waits for, here and on all
  /// communicators of the progress list.
  TUTTI_DECL void probe();
  /// Reads and sends what is due on this communicator, unless a thread uses it or is to advance it: an abort comes in
  /// and goes out although the program has no call here. Called by a thread that waits on a relative. Returns false if
  /// what it has sent is still on its way.
  TUTTI_DECL bool serve_idle() noexcept;

  /// True in a forked child, which has a copy of this state.
  [[nodiscard]] bool is_inherited() const noexcept { return fork_guard::forked_since(fork_generation); }

  [[nodiscard]] rank_type size() const noexcept { return static_cast<rank_type>(members.size()); }
  /// The ranks that share a host, by host name.
  [[nodiscard]] TUTTI_DECL host_map hosts_by_name() const;

  /// "rank 2 (worker:1 on node7, pid 4242)", as a part of a message.
  [[nodiscard]] message_part words(rank_type r) const noexcept { return {append_rank, this, r}; }
  /// The error of an operation that a fault of this epoch ends.
  [[nodiscard]] TUTTI_DECL error explain(tutti::fault const& cause, labelled_call const& call_record,
                                         operation_number const& number, std::uint32_t step) const;
  /// An error of an operation of this rank, in the format of every tutti error.
  [[nodiscard]] TUTTI_DECL error report(failure kind, std::string_view text, labelled_call const& call_record,
                                        operation_number const& number, std::uint32_t step,
                                        std::vector<rank_type> at_fault) const;

  sole_user user;
  bool is_advancing = false;            ///< an operation is being advanced, and may be calling a user's reduction
  bool has_given_up = false;            ///< a reduction has given up an operation meanwhile
  std::atomic<bool> is_aborted{false};  ///< the world was aborted, and this transport may not know yet
  rank_type rank;
  std::uint32_t fork_generation = fork_guard::generation();  ///< fork generation of the process that made it
  operation_list operations;
  flow_numbers flows;
  transfer_numbers sends;
  transfer_numbers receives;
  transfer_numbers searches{1};  ///< receives from any rank, in order of starting
  rank_type next_sender = 0;     ///< rank at which the next search begins, so that ranks take turns
  record_owner record;
  recorder recent{record->operations()};
  any_transport transport;
  bool const calls_system = transport.calls_system();
  tracing trace_functions;
  std::string name;
  std::vector<rank_type> parent_ranks;  ///< empty: identical
  std::vector<member> members;
  bool is_oversubscribed;
  tutti::detail::wait_policy wait_policy;
  void* companion = nullptr;
  relative* kin = nullptr;  ///< its entry among the communicators of one world
  world_secret secret;      ///< handed on to the parts of the communicator, and to the world of its survivors

 private:
  [[noreturn, gnu::cold]] TUTTI_DECL void refuse_call() const;
  TUTTI_DECL void publish_record(std::string_view text_of_rank_0);
  [[nodiscard, gnu::cold]] TUTTI_DECL sole_user::entry enter_after_loan() noexcept;
  TUTTI_DECL bool move_on() noexcept;
  TUTTI_DECL void look_quietly() noexcept;
  TUTTI_DECL static void append_rank(std::string& text, void const* state, std::uint64_t number);
  TUTTI_DECL void append_circle(std::string& text, std::uint64_t circle) const;
  TUTTI_DECL void append_others_missing(std::string& text, rank_type culprit) const;
  TUTTI_DECL void append_deadline(std::string& text, tutti::fault const& cause) const;
  TUTTI_DECL void append_abort(std::string& text, tutti::fault const& cause) const;
  TUTTI_DECL void append_loss(std::string& text, tutti::fault const& cause) const;
  [[nodiscard]] TUTTI_DECL std::vector<rank_type> at_fault(tutti::fault const& cause) const;
};

/// Guards one call: at most one thread is inside a communicator at a time. Also takes over operations that another
/// thread started.
class call_guard {
 public:
  /// @throws precondition_error if another thread is in a call, or if a reduction or a forked child makes this one
  [[gnu::always_inline]] explicit call_guard(rank_state& state) : call_guard(state, state.enter()) {
    expects(entry_ != sole_user::entry::conflict, rank_state::two_threads);
    state_.claim();  // afterwards, no other thread advances operations here
    state_.expect_callable();
    state_.carry_out_abort();
  }
  call_guard(call_guard const&) = delete;
  call_guard& operator=(call_guard const&) = delete;
  [[gnu::always_inline]] ~call_guard() {
    if (entry_ == sole_user::entry::first) {
      static_cast<void>(state_.leave());
    }
    if (is_shielded_) [[unlikely]] {
      cancellation_shield::end();
    }
  }
  /// @throws precondition_error if another thread tried to make a call meanwhile
  [[gnu::always_inline]] void end() {
    if (std::exchange(entry_, sole_user::entry::again) == sole_user::entry::first) {
      expects(state_.leave(), rank_state::two_threads);
    }
  }

 private:
  /// Completes construction, so that the destructor runs if the call is refused.
  [[gnu::always_inline]] call_guard(rank_state& state, sole_user::entry entry) noexcept
      : state_(state), entry_(entry), is_shielded_(state.calls_system) {
    if (is_shielded_) [[unlikely]] {
      cancellation_shield::begin();
    }
  }

  rank_state& state_;
  sole_user::entry entry_;
  bool is_shielded_;
};

/// Keeps threads that wait on relatives from serving a communicator, where its thread acts outside a call_guard.
class exclusion {
 public:
  explicit exclusion(rank_state& state) noexcept
      : state_(state), is_first_(state.calls_system && state.try_enter() == sole_user::entry::first) {}
  exclusion(exclusion const&) = delete;
  exclusion& operator=(exclusion const&) = delete;
  ~exclusion() {
    if (is_first_) {
      static_cast<void>(state_.leave());
    }
  }

 private:
  rank_state& state_;
  bool is_first_;
};

/// Calls `prepare` between the operations of one call. If it throws, the epoch fails.
template <class F>
auto prepare_next(rank_state& state, F prepare) {
  try {
    return prepare();
  } catch (...) {
    state.end_epoch();
    throw;
  }
}

/// Marks that an operation is being advanced, which may call a user's reduction. No other operation of the communicator
/// is advanced meanwhile.
class advance_mark {
 public:
  explicit advance_mark(rank_state& state) noexcept : state_(state) { state_.is_advancing = true; }
  advance_mark(advance_mark const&) = delete;
  advance_mark& operator=(advance_mark const&) = delete;
  ~advance_mark() { state_.is_advancing = false; }

 private:
  rank_state& state_;
};

}  // namespace tutti::detail::communicator

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/communicator/rank_state.ipp>
#include <tutti/detail/communicator/relative.ipp>
#include <tutti/detail/communicator/untyped_operation.ipp>
#endif
