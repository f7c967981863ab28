// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/core/owned.hpp>
#include <tutti/extend/error.hpp>
#include <tutti/extend/message.hpp>
#include <tutti/extend/operation.hpp>
#include <tutti/extend/time.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string_view>
#include <vector>

namespace tutti::inline v0_1_0::detail::inline communicator {

class inquest;
class operation_pool;
struct rank_state;
enum class waited;
struct wait_target;

/// The lanes that an operation uses, a bit each.
struct lane_use {
  std::uint32_t held = 0;     ///< lanes of its flows that have not ended
  std::uint32_t awaited = 0;  ///< the lane without which it cannot begin; none once something of it has begun
};

/// An operation under way, as far as it depends on no type: its place among the operations of its communicator, what it
/// is, waiting for it, and how it fails, is given up or is late. Compiled once for all communicators, topologies and
/// reductions. `segmented_operation`, which is made of it, runs it.
///
/// A communicator keeps its started operations in a list, in order of starting, and moves them all on whenever it is
/// called: an operation that a peer needs must progress while this rank waits for another one.
class untyped_operation {
 public:
  /// Functions that depend on the type of the communicator: one table for each such type.
  struct functions {
    /// Moves it on, and ends it if it is complete or has failed; true if it has ended. Throws only what unwinds a
    /// cancelled thread.
    bool (*advance)(untyped_operation&);
    /// Moves its segments on; true when all are complete. @throws what a transport or a reduction throws
    bool (*advance_segments)(untyped_operation&);
    /// A number that changes as long as it moves through memory.
    std::uint64_t (*progress)(untyped_operation const&) noexcept;
    /// Asks whether the ranks that it waits for are at the same operation.
    void (*inquire)(untyped_operation&);
    /// Says to ranks that ask which ranks it waits for. `blocks`: the program waits for it, too.
    void (*say)(untyped_operation&, bool blocks);
    /// True if it waits for its turn: for operations of the same queue that were started before.
    bool (*is_queued)(untyped_operation const&) noexcept;
    /// A rank that it waits for, if any.
    rank_type (*awaits)(untyped_operation const&) noexcept;
    /// The flow of a segment that is under way, or would be next.
    flow (*current_flow)(untyped_operation const&) noexcept;
    /// The step of that segment.
    std::uint32_t (*step_number)(untyped_operation const&) noexcept;
  };

  untyped_operation(untyped_operation const&) = delete;
  untyped_operation& operator=(untyped_operation const&) = delete;

  /// The call that the next run tells its peers, to be written before it starts. It stays from one run to the next.
  [[nodiscard]] call& call_record() noexcept { return call_; }
  /// Sets how long it may take.
  void set_limit(duration limit) noexcept { limit_ = limit; }

  [[nodiscard]] bool has_ended() const noexcept { return has_ended_; }
  /// Moves it on; true when it has ended, well or not.
  [[nodiscard]] bool advance() { return functions_->advance(*this); }
  /// Moves everything on, and every few milliseconds looks whether a fault or the deadline ends it: for callers that
  /// test again and again.
  TUTTI_DECL void poll();
  /// Ends the operation when its time is up: for callers that never wait.
  TUTTI_DECL void check_deadline();
  /// Waits for as long as the caller likes, and the deadline allows; false if the limit came first.
  [[nodiscard]] TUTTI_DECL bool wait(duration limit);
  /// Throws what it ended with, if it failed.
  TUTTI_DECL void throw_failure() const;
  /// Ends it now, or after the step that it is in.
  TUTTI_DECL void cancel();
  /// Says to ranks that ask which rank it waits for. `blocks`: the program waits for it.
  TUTTI_DECL void say(bool blocks);

  /// Notes where its owner keeps the pointer to it.
  void set_owner(untyped_operation** place) noexcept { owner_.store(place, std::memory_order_relaxed); }
  /// Forgets its owner, which lets it go.
  void forget_owner() noexcept { owner_.store(nullptr, std::memory_order_release); }
  /// Takes itself from its owner, wherever that is by now.
  void leave_owner() noexcept {
    if (untyped_operation** const place = owner_.load(std::memory_order_relaxed)) {
      forget_owner();
      *place = nullptr;
    }
  }
  /// Goes back to its pool, for another start. @pre it is not under way, and no owner and no list has it
  inline void retire() noexcept;

 protected:
  /// @param pool where it is kept between two starts; null: it is only waited for by the call that starts it
  TUTTI_DECL untyped_operation(rank_state& rank, functions const& table, operation_pool* pool);
  TUTTI_DECL ~untyped_operation();

  /// Forgets how the last run ended: another one starts.
  void open() {
    has_ended_ = false;
    is_given_up_ = false;
    is_watched_ = false;
    is_late_ = false;
    error_ = nullptr;
  }
  /// Fails the epoch: the operation cannot start, and the other ranks would wait for this one.
  TUTTI_DECL void withdraw();
  /// Waits until its segments are complete. @throws what they throw; the operation has ended then
  [[nodiscard]] TUTTI_DECL waited wait_for_segments(duration limit);

  /// Ends it after the step during which it was given up.
  TUTTI_DECL void abandon_given_up();
  /// Ends it with the fault of the epoch.
  TUTTI_DECL void abandon_by_fault();
  [[noreturn]] TUTTI_DECL void throw_explained();
  /// Ends it with the exception that is being handled.
  TUTTI_DECL void abandon_by_exception();
  [[noreturn]] TUTTI_DECL void throw_current();

 private:
  friend class operation_list;
  friend class operation_pool;
  friend class operation_use;

  inline void retire_if_unused() noexcept;

  [[nodiscard]] TUTTI_DECL std::uint32_t step_number() const noexcept;
  [[nodiscard]] TUTTI_DECL bool find_culprit();
  [[nodiscard]] TUTTI_DECL waited wait_or_find_culprit(wait_target const& what, duration limit);
  TUTTI_DECL void abandon(error&& with);
  TUTTI_DECL void abandon(std::exception_ptr why, tutti::fault const& told, char const* text);
  [[nodiscard]] TUTTI_DECL error placed(failure kind, std::string_view text,
                                        std::vector<rank_type> const& at_fault) const;
  [[nodiscard]] TUTTI_DECL tutti::fault own_fault() const noexcept;

  /// The operation of a wait_target.
  static untyped_operation& self(void* p) noexcept { return *static_cast<untyped_operation*>(p); }

  TUTTI_DECL void watch(time_point now);
  TUTTI_DECL void inquire();
  TUTTI_DECL void inquire_quietly();

  functions const* functions_;
  operation_pool* pool_;
  untyped_operation* next_ = nullptr;  ///< in the list, or the pool, that it is in
  untyped_operation* previous_ = nullptr;
  std::atomic<untyped_operation**> owner_{nullptr};  ///< the pointer in its owner; null once that has let it go
  std::atomic<std::uint32_t> users_{0};              ///< see operation_use
  std::uint32_t list_turns_ = 0;                     ///< number of turns of the list that it is in, one within another
  bool is_watched_ = false;                          ///< the deadline counts
  bool is_late_ = false;                             ///< the inquest has begun

 protected:  // for segmented_operation
  bool is_listed_ = false;
  bool has_ended_ = false;
  bool is_given_up_ = false;  ///< during a step, after which it ends
  lane_use lanes_;
  std::uint64_t queue_ = 0;  ///< operations of one queue begin in turn
  rank_state& rank_;
  call call_;
  operation_number number_;
  std::uint64_t recorded_at_ = 0;  ///< its place among the recent operations

 private:
  time_point watched_since_{};
  time_point looked_{};
  duration limit_{};
  owned<inquest> inquest_;
  std::exception_ptr error_;  ///< what it ended with, if it failed
};

/// One use of an operation: a call of its request. The operation outlives it, though a reduction may move or destroy
/// the request meanwhile.
///
/// The last of its users, or of its turns in the list, retires an operation that has ended, has no owner and is in no
/// list. It is retired once, since users come by the owner, and turns by the list.
///
/// Another thread may be in a turn of the operation when a call of its request begins, which takes the communicator
/// over before it does anything else. So one thread at a time writes `owner_` and `users_`, and the other one may
/// read them.
class operation_use {
 public:
  explicit operation_use(untyped_operation& one) noexcept : operation_(one) { begin(one); }
  operation_use(operation_use const&) = delete;
  operation_use& operator=(operation_use const&) = delete;
  ~operation_use() { end(operation_); }

  /// Begins or ends a use that outlasts a block, such as that of a stream of a device.
  static void begin(untyped_operation& one) noexcept { add(one, 1); }
  static void end(untyped_operation& one) noexcept {
    add(one, -1);
    one.retire_if_unused();
  }

 private:
  static void add(untyped_operation& one, std::int32_t n) noexcept {
    one.users_.store(one.users_.load(std::memory_order_relaxed) + static_cast<std::uint32_t>(n),
                     std::memory_order_relaxed);
  }

  untyped_operation& operation_;
};

/// The list of the operations that have been started on a communicator and have not ended.
class operation_list {
 public:
  /// The queue of all operations that have flows.
  static constexpr std::uint64_t collective = UINT64_MAX;

  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  void push_back(untyped_operation& one) noexcept {
    ++size_;
    others_ += one.queue_ == collective ? 0U : 1U;
    one.is_listed_ = true;
    one.next_ = nullptr;
    one.previous_ = last_;
    (last_ != nullptr ? last_->next_ : first_) = &one;
    last_ = &one;
  }

  void erase(untyped_operation& one) noexcept {
    if (!one.is_listed_) {
      return;
    }
    --size_;
    others_ -= one.queue_ == collective ? 0U : 1U;
    one.is_listed_ = false;
    (one.previous_ != nullptr ? one.previous_->next_ : first_) = one.next_;
    (one.next_ != nullptr ? one.next_->previous_ : last_) = one.previous_;
    one.next_ = one.previous_ = nullptr;
  }

  /// Says to ranks that ask which rank each operation waits for.
  void say() {
    for (untyped_operation* one = first_; one != nullptr; one = one->next_) {
      one->say(false);
    }
  }
  /// Says that the program waits for those of the queue of `last` that were started before it: it waits for `last`,
  /// and `last` for its turn.
  void say_before(untyped_operation const& last) {
    for (untyped_operation* one = first_; one != nullptr && one != &last; one = one->next_) {
      if (one->queue_ == last.queue_) {
        one->say(true);
      }
    }
  }

  /// Moves on once every operation that can move, and drops those that have ended. An operation of which nothing has
  /// begun cannot, while one before it has a flow on its lane: so at most as many are asked as there are lanes, and
  /// messages between two ranks. After a fault all end, so `all` are asked. Returns how many were asked.
  ///
  /// A turn may erase and retire others, since it may call a reduction or a tracer of the user. So the next one is
  /// found after the turn; where that erased its own operation, the walk begins again.
  std::size_t advance(bool all = false) {
    std::size_t asked = 0;
    std::uint32_t taken = 0;
    for (untyped_operation* one = first_; one != nullptr && (all || taken != all_lanes || others_ != 0);) {
      if (!all && (one->lanes_.awaited & taken) != 0) {
        taken |= one->lanes_.held;
        one = one->next_;
        continue;
      }
      ++asked;
      turn const during(*one);
      bool const has_ended = one->advance();
      untyped_operation* const after = one->is_listed_ ? one->next_ : first_;
      if (has_ended) {
        erase(*one);
      } else {
        taken |= one->lanes_.held;
      }
      one = after;
    }
    return asked;
  }

 private:
  /// One turn of an operation, which outlives it.
  class turn {
   public:
    explicit turn(untyped_operation& one) noexcept : operation_(one) { ++operation_.list_turns_; }
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

  static constexpr std::uint32_t all_lanes = (1U << collective_lanes) - 1;

  untyped_operation* first_ = nullptr;
  untyped_operation* last_ = nullptr;
  std::size_t size_ = 0;
  std::size_t others_ = 0;  ///< of other queues than the collective one
};

/// The operations that an operator has started, reused. It lives as long as the operator or any request.
class operation_pool {
 public:
  explicit operation_pool(void (*destroy)(untyped_operation&) noexcept) noexcept : destroy_(destroy) {}
  operation_pool(operation_pool const&) = delete;
  operation_pool& operator=(operation_pool const&) = delete;
  ~operation_pool() {
    while (untyped_operation* const one = idle_) {
      idle_ = one->next_;
      destroy_(*one);
    }
  }

  /// Ends a pool whose operator has gone, once none of its operations is under way.
  struct leave {
    void operator()(operation_pool* p) const noexcept {
      p->is_orphaned_ = true;
      p->end_if_unused();
    }
  };

  /// An operation that is idle, or none.
  [[nodiscard]] untyped_operation* take() noexcept {
    untyped_operation* const one = idle_;
    if (one != nullptr) {
      idle_ = one->next_;
      one->next_ = nullptr;
      ++running_;
    }
    return one;
  }
  /// Adds an operation that is under way.
  template <class Operation>
  [[nodiscard]] Operation& adopt(Operation* one) noexcept {
    ++running_;
    return *one;
  }
  void give_back(untyped_operation& one) noexcept {
    one.next_ = idle_;
    idle_ = &one;
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
