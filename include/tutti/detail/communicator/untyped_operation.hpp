// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/communicator/end_function.hpp>
#include <tutti/detail/core/dumps.hpp>
#include <tutti/detail/core/owner.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/message.hpp>
#include <tutti/extend/operation.hpp>
#include <tutti/extend/time.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string_view>
#include <utility>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline communicator {

class joint_operation;
class straggler_search;
class operation_pool;
struct rank_state;
enum class wait_outcome;
struct wait_target;

/// The lanes that an operation uses, a bit each.
struct lane_use {
  std::uint32_t flow_lanes = 0;  ///< lanes of its unfinished flows
  std::uint32_t start_lane = 0;  ///< the lane without which it cannot begin; 0 once a part has begun
};

/// The part of an operation that depends on no type: its link in the list of started operations, its call record,
/// waiting, failure, cancellation and deadline. Compiled once for all communicators, topologies and reductions. The
/// derived `segmented_operation` runs it.
///
/// A communicator lists its started operations in order of starting, and every call advances all of them: a peer may
/// need one while this rank waits for another.
///
/// docs/design/README.md tells its verbs apart (advance, complete, end). Three functions end it with an error, and all
/// fail the epoch:
///
///     end_with_fault       a fault of the transport, noticed by this rank or told by a peer
///     end_with_exception   an exception of the transport or of a user's reduction, on this rank
///     end_cancelled        this rank gave it up: by `cancel`, or because its thread was cancelled
class untyped_operation {
 public:
  /// Functions that depend on the communicator type: one table for each.
  struct functions {
    /// Advances the operation, and ends it if it is complete or has failed. Returns true if it has ended. Throws only
    /// the exception that unwinds a cancelled thread.
    bool (*advance)(untyped_operation&);
    /// Advances the segments; returns true when all are complete. @throws exceptions of transport and reduction
    bool (*advance_segments)(untyped_operation&);
    /// A number that changes with progress through memory.
    std::uint64_t (*progress)(untyped_operation const&) noexcept;
    /// Asks the transport if the awaited ranks are in the same call.
    void (*detect_mismatch)(untyped_operation&);
    /// Answers ranks that ask which ranks it waits for, and returns the first of the waits. `blocks`: the program waits
    /// for this operation.
    wait_report (*publish_wait)(untyped_operation&, bool blocks);
    /// True if no segment of it is running, and the next one waits for a lane or for the gate.
    bool (*is_queued)(untyped_operation const&) noexcept;
    /// A rank that it waits for, or no_rank.
    rank_type (*awaits)(untyped_operation const&) noexcept;
    /// The flow of a segment that is under way or begins next.
    flow (*current_flow)(untyped_operation const&) noexcept;
    /// The current step of the segment under way; 0 if there is none.
    std::uint32_t (*step_number)(untyped_operation const&) noexcept;
  };

  untyped_operation(untyped_operation const&) = delete;
  untyped_operation& operator=(untyped_operation const&) = delete;

  /// The call that the next run announces to its peers, to be written before `start`. Remains from run to run.
  [[nodiscard]] call& call_record() noexcept { return call_; }
  /// A label of an operator, and its number among the labels of the operator.
  struct numbered_label {
    std::uint32_t number = 0;
    char text[labelled_call::label_text] = {};

    /// Sets the next label: at most 31 bytes, without a part of a UTF-8 character, and without control characters.
    TUTTI_DECL void set(std::string_view source) noexcept;
  };
  [[nodiscard]] std::uint32_t label_number() const noexcept { return label_.number; }
  /// Sets the label of the next runs. Remains from run to run.
  TUTTI_DECL void set_label(numbered_label const& next) noexcept;
  /// Sets the deadline.
  void set_limit(duration limit) noexcept { limit_ = limit; }

  [[nodiscard]] bool has_ended() const noexcept { return has_ended_; }
  /// Advances the operation, and ends it if it is complete or has failed. Returns true if it has ended. Throws only the
  /// exception that unwinds a cancelled thread.
  [[nodiscard]] bool advance() { return advance_(*this); }
  /// Advances all operations, and every few milliseconds checks for faults and the deadline: for callers that test
  /// repeatedly. @throws precondition_error if the call is refused (`call_guard`)
  TUTTI_DECL void poll();
  /// Ends the operation after its deadline, for callers that never wait. @throws precondition_error as `poll`
  TUTTI_DECL void check_deadline();
  /// Waits until the operation ends or `limit` or the deadline passes; returns false if the limit came first. Errors of
  /// the operation are thrown by `throw_failure`. @throws precondition_error as `poll`
  [[nodiscard]] TUTTI_DECL bool wait(duration limit);
  /// @throws the exception with which the operation has ended, if it has failed
  TUTTI_DECL void throw_failure() const;
  /// Has `f` called with the error, or null, when the operation has ended; at once if it has. The deadline begins.
  /// @throws precondition_error like `poll`, and if there is a function already; std::bad_alloc
  template <class F>
  void on_end(F&& f) {
    expect_no_function();
    on_end_.set(std::forward<F>(f));
    observe();
  }
  /// Cancels the operation now, or, if a reduction of this communicator calls this, once the reduction has returned.
  TUTTI_DECL void cancel();
  /// Answers ranks that ask which rank it waits for, and notes the wait in the flight recorder. `blocks`: the program
  /// waits for this operation.
  TUTTI_DECL void publish_wait(bool blocks);

  /// Sets the address of the owner's pointer to this operation.
  void set_owner(untyped_operation** owner) noexcept { owner_.store(owner, std::memory_order_relaxed); }
  /// Clears the owner.
  void forget_owner() noexcept { owner_.store(nullptr, std::memory_order_release); }
  /// Clears the owner and the owner's pointer, wherever that has moved.
  void leave_owner() noexcept {
    if (untyped_operation** const owner = owner_.load(std::memory_order_relaxed)) {
      forget_owner();
      *owner = nullptr;
    }
  }
  /// Returns to the pool, for another start. @pre it is not under way, and in no list, and has no owner
  inline void retire() noexcept;

 protected:
  /// @param pool keeps the operation between two starts; null: only the call that starts it waits for it
  TUTTI_DECL untyped_operation(rank_state& state, functions const& table, operation_pool* pool);
  TUTTI_DECL ~untyped_operation();

  /// Clears the outcome of the last run, before another one.
  void open() {
    has_ended_ = false;
    is_given_up_ = false;
    is_watched_ = false;
    is_late_ = false;
    error_ = nullptr;
  }
  /// Sets the number of elements of this rank's block, for the error of ranks that pass different partitions.
  void set_own_block(std::size_t length) noexcept { own_block_ = length; }
  /// Fails the epoch: the operation cannot start, and peers would wait for this rank.
  TUTTI_DECL void withdraw();
  /// Waits until the segments are complete. @throws their exceptions; the operation has ended then
  [[nodiscard]] TUTTI_DECL wait_outcome wait_for_segments(duration limit);

  /// Ends the operation because this rank has given it up: peers get `failure::cancelled`, or the fault of another
  /// communicator of this world if that makes the rank leave.
  TUTTI_DECL void end_cancelled();
  /// Ends the operation with the fault of the epoch.
  TUTTI_DECL void end_with_fault();
  /// Ends the operation with the current exception, which names the operation afterwards if it is a tutti exception.
  /// @pre called from a handler
  TUTTI_DECL void end_with_exception();
  /// `end_with_fault`, and throws the error.
  [[noreturn]] TUTTI_DECL void throw_fault();
  /// `end_with_exception`, and throws the result.
  [[noreturn]] TUTTI_DECL void throw_exception();

 private:
  friend class joint_operation;
  friend class operation_list;
  friend class operation_pool;
  friend class operation_use;

  inline void retire_if_unused() noexcept;

  /// Takes the operation over from other threads. @throws precondition_error as `poll`, and if it has a function
  TUTTI_DECL void expect_no_function();
  /// Has the end of the operation call the function. @throws precondition_error as `poll`; the function is dropped then
  TUTTI_DECL void observe();
  TUTTI_DECL static bool advance_and_notify(untyped_operation& operation);
  TUTTI_DECL void notify() noexcept;

  [[nodiscard]] TUTTI_DECL std::uint32_t step_number() const noexcept;
  [[nodiscard]] TUTTI_DECL bool find_culprit();
  [[nodiscard]] TUTTI_DECL wait_outcome wait_or_find_culprit(wait_target const& target, duration limit);
  TUTTI_DECL void fail_epoch(tutti::fault const& cause);
  [[nodiscard]] TUTTI_DECL local_suspect find_suspect(error const& cause) const;
  TUTTI_DECL void end_with_error(error&& cause);
  TUTTI_DECL void end_with_error(std::exception_ptr exception, tutti::fault const& cause, char const* text);
  TUTTI_DECL void record_error(std::exception_ptr exception, char const* text);
  [[nodiscard]] TUTTI_DECL error make_error(failure kind, std::string_view text,
                                            std::vector<rank_type> const& at_fault) const;
  [[nodiscard]] TUTTI_DECL tutti::fault own_fault() const noexcept;

  /// The operation of a wait_target.
  static untyped_operation& self(void* p) noexcept { return *static_cast<untyped_operation*>(p); }

  TUTTI_DECL void watch(time_point now);
  TUTTI_DECL void note_wait(wait_report const& current) noexcept;
  TUTTI_DECL void detect_mismatch();
  TUTTI_DECL void detect_mismatch_quietly();
  TUTTI_DECL void end_parts(void (untyped_operation::*end)());

  functions const* functions_;
  bool (*advance_)(untyped_operation&);  ///< a member of `functions_`, or `advance_and_notify`
  operation_pool* pool_;
  untyped_operation* next_ = nullptr;  ///< link in a list or pool, or the next part of the same joint operation
  untyped_operation* previous_ = nullptr;
  untyped_operation* first_part_ = nullptr;          ///< first part of a joint operation
  std::atomic<untyped_operation**> owner_{nullptr};  ///< address of the owner's pointer; null: no owner
  std::atomic<std::uint32_t> users_{0};              ///< number of operation_use objects
  std::uint32_t list_turns_ = 0;                     ///< nested turns of the list that advance it
  bool is_watched_ = false;                          ///< the deadline is running
  bool is_late_ = false;                             ///< the search for the straggler has begun
  bool follows_ = false;                             ///< begins after the previous part of the joint operation

 protected:  // for segmented_operation
  bool is_listed_ = false;
  bool is_waiting_ = false;  ///< a message behind another one of its queue
  bool has_ended_ = false;
  bool is_given_up_ = false;  ///< cancelled by a reduction while an operation was being advanced; ends after that
  lane_use lanes_;
  std::uint64_t queue_ = 0;  ///< operations of one queue begin in order of starting
  rank_state& state_;
  labelled_call call_;
  operation_number number_;
  std::uint64_t recorded_at_ = 0;  ///< index of its record in the flight recorder
  std::uint64_t own_block_ = 0;    ///< elements of this rank's block, if the call has a partition

 private:
  numbered_label label_{.number = UINT32_MAX};  ///< at first with a number that no label has
  time_point watched_since_{};
  time_point last_look_{};
  struct {
    std::uint64_t place = UINT64_MAX;
    std::uint64_t peer_and_progress = 0;
    time_point begin{};
  } noted_wait_;  ///< in the flight recorder, by the steady clock
  duration limit_{};
  owner<straggler_search> search_;
  std::exception_ptr error_;  ///< error of a failed operation
  end_function on_end_;
};

/// Keeps an operation alive during a call of its request, although a reduction may move or destroy the request
/// meanwhile.
///
/// The last user, or the last turn of the list, retires an operation that has ended and has neither owner nor list.
/// That happens once: users reach it only through the owner, and turns through the list.
///
/// Another thread may be in a turn when a call of the request begins, which first takes the communicator over. So one
/// thread at a time writes `owner_` and `users_`, and the other may read them.
class operation_use {
 public:
  explicit operation_use(untyped_operation& operation) noexcept : operation_(operation) { begin(operation); }
  operation_use(operation_use const&) = delete;
  operation_use& operator=(operation_use const&) = delete;
  ~operation_use() { end(operation_); }

  /// Begins or ends a use that outlasts a block, as in a stream of a device.
  static void begin(untyped_operation& operation) noexcept { add(operation, 1); }
  static void end(untyped_operation& operation) noexcept {
    add(operation, -1);
    operation.retire_if_unused();
  }

 private:
  static void add(untyped_operation& operation, std::int32_t change) noexcept {
    operation.users_.store(operation.users_.load(std::memory_order_relaxed) + static_cast<std::uint32_t>(change),
                           std::memory_order_relaxed);
  }

  untyped_operation& operation_;
};

/// The operations that were started on a communicator and have not ended: collective ones in order of starting, and
/// messages between two ranks. The first message of a pair and direction can progress, and the others wait for it.
class operation_list {
 public:
  /// The queue of all collective operations.
  static constexpr std::uint64_t collective = UINT64_MAX;

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Adds an operation. `may_begin`: no earlier message of its queue is under way.
  void push_back(untyped_operation& operation, bool may_begin = true) noexcept {
    ++size_;
    operation.is_listed_ = true;
    operation.is_waiting_ = !may_begin;
    chain_of(operation).push_back(operation);
  }

  /// Removes an operation, if it is in the list. Returns a message that may begin now, or null.
  untyped_operation* erase(untyped_operation& operation) noexcept {
    if (!operation.is_listed_) {
      return nullptr;
    }
    --size_;
    operation.is_listed_ = false;
    chain_of(operation).erase(operation);
    return operation.queue_ == collective || operation.is_waiting_ ? nullptr : end_wait(operation.queue_);
  }

  /// Lets the first waiting message of a queue progress, after the end of the one before it. Returns it, or null.
  untyped_operation* end_wait(std::uint64_t queue) noexcept {
    untyped_operation* next = waiting_messages_.first;
    while (next != nullptr && next->queue_ != queue) {
      next = next->next_;
    }
    if (next != nullptr) {
      waiting_messages_.erase(*next);
      next->is_waiting_ = false;
      messages_.push_back(*next);
    }
    return next;
  }

  /// Answers ranks that ask which rank each operation waits for.
  void publish_wait() {
    for_each([](untyped_operation& operation) { operation.publish_wait(false); });
  }
  /// Checks the deadlines of operations with a function at the end. If one ends, its function may end others, so the
  /// rest is checked at the next look.
  void check_deadlines() {
    for (chain const* const operations : {&collectives_, &messages_, &waiting_messages_}) {
      for (untyped_operation* operation = operations->first; operation != nullptr;) {
        turn const current_turn(*operation);
        if (operation->on_end_) {
          operation->check_deadline();
        }
        operation = operation->is_listed_ ? operation->next_ : nullptr;
      }
    }
  }
  /// Reports the earlier operations in the queue of `last`, and such parts of joint ones, as blocking the program: it
  /// waits for `last`, and `last` for them.
  void say_before(untyped_operation const& last) {
    bool is_before = true;
    for_each([&](untyped_operation& operation) {
      is_before = is_before && &operation != &last;
      if (is_before && operation.queue_ == last.queue_) {
        operation.publish_wait(true);
      }
      for (untyped_operation* part = is_before ? operation.first_part_ : nullptr; part != nullptr; part = part->next_) {
        if (part->queue_ == last.queue_) {
          part->publish_wait(true);
        }
      }
    });
  }

  /// Advances once every operation that can progress, and removes ended ones. Returns how many were advanced. A
  /// collective operation that has not begun cannot progress while an earlier one holds its lane: so at most one a
  /// lane is advanced, and one message of each pair and direction.
  std::size_t advance() {
    std::size_t count = 0;
    std::uint32_t busy_lanes = 0;
    for (untyped_operation* operation = collectives_.first; operation != nullptr && busy_lanes != all_lanes;) {
      if ((operation->lanes_.start_lane & busy_lanes) != 0) {
        busy_lanes |= operation->lanes_.flow_lanes;
        operation = operation->next_;
        continue;
      }
      ++count;
      operation = advance(*operation, collectives_, busy_lanes);
    }
    if (messages_.first != nullptr) {
      count += advance_all(messages_);
    }
    return count;
  }
  /// Advances every operation, as after a fault, which ends all.
  void advance_all() {
    for (chain const* const operations : {&collectives_, &messages_, &waiting_messages_}) {
      static_cast<void>(advance_all(*operations));
    }
  }

 private:
  /// Keeps an operation alive during its turn.
  class turn {
   public:
    explicit turn(untyped_operation& operation) noexcept : operation_(operation) { ++operation_.list_turns_; }
    turn(turn const&) = delete;
    turn& operator=(turn const&) = delete;
    ~turn() {
      --operation_.list_turns_;
      if (operation_.has_ended_) {
        operation_.retire_if_unused();
      }
    }

   private:
    untyped_operation& operation_;
  };

  /// A list through the links of operations.
  struct chain {
    void push_back(untyped_operation& operation) noexcept {
      operation.next_ = nullptr;
      operation.previous_ = last;
      (last != nullptr ? last->next_ : first) = &operation;
      last = &operation;
    }
    void erase(untyped_operation& operation) noexcept {
      (operation.previous_ != nullptr ? operation.previous_->next_ : first) = operation.next_;
      (operation.next_ != nullptr ? operation.next_->previous_ : last) = operation.previous_;
      operation.next_ = operation.previous_ = nullptr;
    }

    untyped_operation* first = nullptr;
    untyped_operation* last = nullptr;
  };

  [[nodiscard]] chain& chain_of(untyped_operation const& operation) noexcept {
    return operation.queue_ == collective ? collectives_ : operation.is_waiting_ ? waiting_messages_ : messages_;
  }
  template <class F>
  void for_each(F f) {
    for (chain const* const operations : {&collectives_, &messages_, &waiting_messages_}) {
      for (untyped_operation* operation = operations->first; operation != nullptr; operation = operation->next_) {
        f(*operation);
      }
    }
  }

  /// Advances one operation, and removes it if it has ended. Returns the next one.
  ///
  /// A turn may call a user's reduction or tracer, which may erase and retire other operations. So the next one is
  /// determined after the turn; if its own operation was erased, the walk begins again.
  [[gnu::always_inline]] untyped_operation* advance(untyped_operation& operation, chain const& operations,
                                                    std::uint32_t& busy_lanes) {
    turn const current_turn(operation);
    bool const has_ended = operation.advance();
    untyped_operation* next = operation.is_listed_ ? operation.next_ : operations.first;
    if (has_ended) {
      untyped_operation* const message = erase(operation);
      next = next != nullptr ? next : message;
    } else {
      busy_lanes |= operation.lanes_.flow_lanes;
    }
    return next;
  }
  std::size_t advance_all(chain const& operations) {
    std::size_t count = 0;
    std::uint32_t busy_lanes = 0;
    for (untyped_operation* operation = operations.first; operation != nullptr; ++count) {
      operation = advance(*operation, operations, busy_lanes);
    }
    return count;
  }

  static constexpr std::uint32_t all_lanes = (1U << collective_lanes) - 1;

  chain collectives_;
  chain messages_;  ///< messages that may be under way: at least the first of each queue
  chain waiting_messages_;
  std::size_t size_ = 0;
};

/// The reused operations of an operator. Lives as long as the operator or any request.
class operation_pool {
 public:
  explicit operation_pool(void (*destroy)(untyped_operation&) noexcept) noexcept : destroy_(destroy) {}
  operation_pool(operation_pool const&) = delete;
  operation_pool& operator=(operation_pool const&) = delete;
  ~operation_pool() {
    while (untyped_operation* const operation = idle_) {
      idle_ = operation->next_;
      destroy_(*operation);
    }
  }

  /// Deletes the pool of a destroyed operator as soon as none of its operations is under way.
  struct leave {
    void operator()(operation_pool* pool) const noexcept {
      pool->is_orphaned_ = true;
      pool->end_if_unused();
    }
  };

  /// Takes an idle operation, or null.
  [[nodiscard]] untyped_operation* take() noexcept {
    untyped_operation* const operation = idle_;
    if (operation != nullptr) {
      idle_ = operation->next_;
      operation->next_ = nullptr;
      ++running_;
    }
    return operation;
  }
  /// Adds an operation that is under way.
  template <class Operation>
  [[nodiscard]] Operation& adopt(Operation* operation) noexcept {
    ++running_;
    return *operation;
  }
  void give_back(untyped_operation& operation) noexcept {
    operation.next_ = idle_;
    idle_ = &operation;
    --running_;
    end_if_unused();
  }

 private:
  void end_if_unused() noexcept {
    if (is_orphaned_ && running_ == 0) {
      delete this;
    }
  }

  void (*destroy_)(untyped_operation&) noexcept;
  untyped_operation* idle_ = nullptr;
  std::size_t running_ = 0;
  bool is_orphaned_ = false;
};

inline void untyped_operation::retire() noexcept {
  pool_->give_back(*this);
}
inline void untyped_operation::retire_if_unused() noexcept {
  if (owner_.load(std::memory_order_acquire) == nullptr && users_.load(std::memory_order_relaxed) == 0 &&
      list_turns_ == 0 && has_ended_ && !is_listed_) {
    retire();
  }
}

}  // namespace tutti::detail::communicator

// A rank's state has a list of operations, and their members need that state: its header includes their definitions.
#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/communicator/rank_state.hpp>
#endif
