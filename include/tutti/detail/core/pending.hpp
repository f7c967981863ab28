// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/message.hpp>
#include <tutti/extend/time.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tutti::inline v0_1_0::detail {

/// An operation that has been started and not yet been waited for. A communicator keeps its pending
/// operations in a list, in order of starting, and moves them all on whenever it is called: an
/// operation that a peer needs must progress while this rank waits for another one.
struct pending {
  bool (*advance)(pending&) = nullptr;               ///< moves on; true when it has ended, well or not
  void (*poll)(pending&) = nullptr;                  ///< moves on everything on its communicator
  void (*check_deadline)(pending&) = nullptr;        ///< ends it if it has been watched for too long
  void (*say)(pending&, bool blocks) = nullptr;      ///< which rank it waits for; and the program, too?
  bool (*wait)(pending&, duration limit) = nullptr;  ///< until it has ended; false if the limit came first
  void (*result)(pending&) = nullptr;                ///< throws what it ended with, if it failed
  void (*cancel)(pending&) = nullptr;                ///< ends it now
  void (*retire)(pending&) = nullptr;                ///< its request is gone: it may be reused or freed
  pending* next = nullptr;
  pending* previous = nullptr;
  std::uint64_t queue = 0;       ///< operations of one queue begin in turn
  std::uint32_t held = 0;        ///< the lanes that it has flows on which have not ended, a bit each
  std::uint32_t awaited = 0;     ///< the lane without which it cannot go on, for it has begun nothing; none if it has
  std::uint32_t list_turns = 0;  ///< how many turns of the list it is in, one within another
  std::atomic<pending**> request{nullptr};  ///< the pointer in its request; null once that has let it go
  std::atomic<std::uint32_t> users{0};      ///< see pending_use
  bool listed = false;
  bool ended = false;
  bool given_up = false;  ///< during a step, after which it ends
};

/// One use of an operation: a call of its request. The operation outlives it, though a reduction may move or destroy
/// the request meanwhile.
///
/// The last of its users, or of its turns in the list, retires an operation that has ended, has no request and is in no
/// list. It is retired once, since users come by the request, and turns by the list.
///
/// Another thread may be in a turn of the operation when a call of its request begins, which takes the communicator
/// over before it does anything else. So one thread at a time writes `request` and `users`, and the other one may read
/// them.
class pending_use {
 public:
  explicit pending_use(pending& p) noexcept : p_(p) { begin(p); }
  pending_use(pending_use const&) = delete;
  pending_use& operator=(pending_use const&) = delete;
  ~pending_use() { end(p_); }

  /// The same for a use that outlasts a block, such as that of a stream of a device.
  static void begin(pending& p) noexcept { add(p, 1); }
  static void end(pending& p) noexcept {
    add(p, -1);
    retire_if_unused(p);
  }
  static void retire_if_unused(pending& p) noexcept {
    if (p.request.load(std::memory_order_acquire) == nullptr && p.users.load(std::memory_order_relaxed) == 0 &&
        p.list_turns == 0 && p.ended && !p.listed) {
      p.retire(p);
    }
  }

 private:
  static void add(pending& p, std::int32_t n) noexcept {
    p.users.store(p.users.load(std::memory_order_relaxed) + static_cast<std::uint32_t>(n), std::memory_order_relaxed);
  }

  pending& p_;
};

/// The list of a communicator's pending operations.
class pending_list {
 public:
  /// The queue of all operations that have flows.
  static constexpr std::uint64_t collective = UINT64_MAX;

  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }

  void push_back(pending& p) noexcept {
    ++size_;
    others_ += p.queue == collective ? 0U : 1U;
    p.listed = true;
    p.next = nullptr;
    p.previous = last_;
    (last_ != nullptr ? last_->next : first_) = &p;
    last_ = &p;
  }

  void erase(pending& p) noexcept {
    if (!p.listed) {
      return;
    }
    --size_;
    others_ -= p.queue == collective ? 0U : 1U;
    p.listed = false;
    (p.previous != nullptr ? p.previous->next : first_) = p.next;
    (p.next != nullptr ? p.next->previous : last_) = p.previous;
    p.next = p.previous = nullptr;
  }

  /// Each says to ranks that ask which rank it waits for.
  void say() {
    for (pending* p = first_; p != nullptr; p = p->next) {
      p->say(*p, false);
    }
  }
  /// The program waits for `one`, and `one` for its turn, so for those of its queue that were started before it.
  void say_before(pending const& one) {
    for (pending* p = first_; p != nullptr && p != &one; p = p->next) {
      if (p->queue == one.queue) {
        p->say(*p, true);
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
    for (pending* p = first_; p != nullptr && (all || taken != all_lanes || others_ != 0);) {
      if (!all && (p->awaited & taken) != 0) {
        taken |= p->held;
        p = p->next;
        continue;
      }
      ++asked;
      turn const during(*p);
      bool const has_ended = p->advance(*p);
      pending* const after = p->listed ? p->next : first_;
      if (has_ended) {
        erase(*p);
      } else {
        taken |= p->held;
      }
      p = after;
    }
    return asked;
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  /// One turn of an operation, which outlives it.
  class turn {
   public:
    explicit turn(pending& p) noexcept : p_(p) { ++p_.list_turns; }
    turn(turn const&) = delete;
    turn& operator=(turn const&) = delete;
    ~turn() {
      --p_.list_turns;
      if (p_.ended) {
        pending_use::retire_if_unused(p_);
      }
    }

   private:
    pending& p_;
  };

  static constexpr std::uint32_t all_lanes = (1U << collective_lanes) - 1;

  pending* first_ = nullptr;
  pending* last_ = nullptr;
  std::size_t size_ = 0;
  std::size_t others_ = 0;  ///< of other queues than the collective one
};

}  // namespace tutti::detail
