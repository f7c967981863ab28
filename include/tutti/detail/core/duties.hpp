// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/inheritance.hpp>
#include <tutti/detail/core/owned.hpp>

#include <atomic>
#include <cstddef>
#include <poll.h>
#include <pthread.h>
#include <thread>
#include <utility>

namespace tutti::detail {

class duties;

/// A communicator on which a thread has started operations, as that thread sees it.
struct duty {
  bool (*move)(duty&) noexcept = nullptr;    ///< moves the operations on; false when there are none left
  int (*arm)(duty&) = nullptr;               ///< the descriptor to sleep on
  void (*disarm)(duty&) noexcept = nullptr;  ///< nobody sleeps on that any more
  void (*look)(duty&) noexcept = nullptr;    ///< finds out what nobody tells

  duty* next = nullptr;
  duty* previous = nullptr;
  bool armed = false;                ///< its thread sleeps on it
  std::atomic<duties*> of{nullptr};  ///< the thread that moves it on, if any does
  std::uint32_t generation = 0;      ///< of the process whose thread that is
};

/// The communicators that a thread moves on whenever it waits, or asks for progress, on any other one: those on
/// which it has started operations, and which no other thread has used since. A fiber counts as a thread.
///
/// A communicator is used by one thread at a time, but may be handed over with its operations under way. Then the
/// next thread `take`s it before it touches it, and the thread before, which may be about to move it on, lets go.
/// Everything that is done with duties is done under their lock, which only such another thread ever contends for.
/// One without operations is dropped when it is next come by, so that to start one again and again costs nothing.
class duties {
 public:
  duties() noexcept = default;
  duties(duties const&) = delete;
  duties& operator=(duties const&) = delete;
  /// The thread ends: nobody moves on what it has left, until somebody takes it.
  ~duties() {
    between_threads const lock;
    forget();
    if (current == this) {
      current = nullptr;
    }
  }

  /// Those of this thread that are not `own`; null if there are none.
  [[nodiscard]] static duties* besides(duty const& own) noexcept {
    duties* const mine = current;
    return mine != nullptr && mine->has_others(own) ? mine : nullptr;
  }

  /// Whether it is nobody's, or else this thread's.
  [[nodiscard]] static bool is_free(duty const& d) noexcept { return d.of.load(std::memory_order_acquire) == nullptr; }
  [[nodiscard]] static bool is_mine(duty const& d) noexcept { return d.of.load(std::memory_order_acquire) == current; }

  /// From now on it is this thread's.
  static void take(duty& d) noexcept {
    if (current == nullptr && over) {  // the thread ends, and what it destroys last is still used
      return leave(d);
    }
    if (current == nullptr) {
      current = &of_this_thread();
    }
    if (d.of.load(std::memory_order_acquire) != current) {
      leave(d);
      held const lock(*current);
      current->append(d);
    }
  }

  /// From now on it is nobody's. When this returns, no thread is about to move it on.
  static void leave(duty& d) noexcept {
    duties* of = d.of.load(std::memory_order_acquire);
    if (of == nullptr) {
      return;
    }
    if (d.generation != inheritance::generation()) {  // a thread of the parent's, which is not in this process
      return d.of.store(nullptr, std::memory_order_release);
    }
    if (of == current) {
      held const lock(*of);
      return of->drop(d);
    }
    between_threads const still_there;  // the other thread
    of = d.of.load(std::memory_order_acquire);
    if (of != nullptr) {
      of->lock();
      if (d.of.load(std::memory_order_relaxed) == of) {
        of->drop(d);
      }
      of->unlock();
    }
  }

  /// Moves all but `own` on, and drops what has nothing left to move. Not while it does so.
  void move(duty const& own) noexcept {
    if (depth_ == 0) {
      each(own, [this](duty& d) {
        if (!d.move(d)) {
          drop(d);
        }
      });
    }
  }
  void look(duty const& own) noexcept {
    each(own, [](duty& d) { d.look(d); });
  }
  void disarm(duty const& own) noexcept {
    each(own, [](duty& d) { awake(d); });
  }

  /// @throws std::bad_alloc when there are more than ever before
  void arm(duty const& own) {
    std::size_t count = 1;
    each(own, [&](duty&) { ++count; });
    if (count > capacity_) {
      handles_ = owned_array<::pollfd>(count);
      capacity_ = count;
    }
    armed_ = 1;
    each(own, [&](duty& d) {
      if (armed_ < count) {
        handles_[armed_++] = {.fd = d.arm(d), .events = POLLIN, .revents = 0};
        d.armed = true;
      }
    });
  }
  /// Until something arrives for one of those that are armed, or on `own`, or so much time has passed.
  void sleep(int own, int milliseconds) noexcept {
    handles_[0] = {.fd = own, .events = POLLIN, .revents = 0};
    ::poll(handles_.get(), armed_, milliseconds);
  }

  /// Whatever runs on this thread now has duties of its own: how fibers take turns. Returns those before.
  static duties* change(duties* to) noexcept {
    duties* const before = current;
    current = to;
    return before;
  }

 private:
  /// Held while a thread ends, or reaches for what is another thread's: so that thread is there.
  class between_threads {
   public:
    between_threads() noexcept {
      while (busy.exchange(true, std::memory_order_acquire)) {
        std::this_thread::yield();
      }
    }
    between_threads(between_threads const&) = delete;
    between_threads& operator=(between_threads const&) = delete;
    ~between_threads() { busy.store(false, std::memory_order_release); }

    static constinit inline std::atomic<bool> busy{false};
  };

  /// By the thread itself, perhaps again while it holds them.
  class held {
   public:
    explicit held(duties& all) noexcept : all_(all) {
      if (all_.depth_++ == 0) {
        all_.lock();
      }
    }
    held(held const&) = delete;
    held& operator=(held const&) = delete;
    ~held() {
      if (--all_.depth_ == 0) {
        all_.unlock();
      }
    }

   private:
    duties& all_;
  };

  static duties& of_this_thread() {
    struct own : duties {
      ~own() { over = true; }
    };
    static thread_local own all;
    // A forked child is a copy of this thread alone, and the communicators are its parent's.
    static int const told = ::pthread_atfork(nullptr, nullptr, [] {
      between_threads::busy.store(false, std::memory_order_relaxed);
      if (current != nullptr) {
        current->locked_.store(false, std::memory_order_relaxed);
        current->forget();
      }
    });
    static_cast<void>(told);
    return all;
  }

  [[nodiscard]] bool has_others(duty const& own) const noexcept {
    duty const* const first = first_.load(std::memory_order_relaxed);
    return first != nullptr && (first != &own || last_.load(std::memory_order_relaxed) != &own);
  }

  template <class F>
  void each(duty const& own, F f) {
    held const lock(*this);
    for (duty* d = first_.load(std::memory_order_relaxed); d != nullptr;) {
      duty* const after = d->next;
      if (d != &own) {
        f(*d);
      }
      d = after;
    }
  }

  void lock() noexcept {
    while (locked_.exchange(true, std::memory_order_acquire)) {
      std::this_thread::yield();
    }
  }
  void unlock() noexcept { locked_.store(false, std::memory_order_release); }

  void append(duty& d) noexcept {
    duty* const last = last_.load(std::memory_order_relaxed);
    d.next = nullptr;
    d.previous = last;
    if (last != nullptr) {
      last->next = &d;
    } else {
      first_.store(&d, std::memory_order_relaxed);
    }
    last_.store(&d, std::memory_order_relaxed);
    d.generation = inheritance::generation();
    d.of.store(this, std::memory_order_release);
  }
  static void awake(duty& d) noexcept {
    if (std::exchange(d.armed, false)) {
      d.disarm(d);
    }
  }

  void drop(duty& d) noexcept {
    awake(d);
    if (d.previous != nullptr) {
      d.previous->next = d.next;
    } else {
      first_.store(d.next, std::memory_order_relaxed);
    }
    if (d.next != nullptr) {
      d.next->previous = d.previous;
    } else {
      last_.store(d.previous, std::memory_order_relaxed);
    }
    d.of.store(nullptr, std::memory_order_release);
  }
  void forget() noexcept {
    lock();
    for (duty* d = first_.load(std::memory_order_relaxed); d != nullptr; d = d->next) {
      d->of.store(nullptr, std::memory_order_release);
    }
    first_.store(nullptr, std::memory_order_relaxed);
    last_.store(nullptr, std::memory_order_relaxed);
    unlock();
  }

  static constinit inline thread_local duties* current = nullptr;
  static constinit inline thread_local bool over = false;  ///< the duties of this thread have ended

  std::atomic<duty*> first_{nullptr};
  std::atomic<duty*> last_{nullptr};
  std::atomic<bool> locked_{false};
  unsigned depth_ = 0;  ///< how often this thread holds the lock
  owned_array<::pollfd> handles_;
  std::size_t capacity_ = 0;
  std::size_t armed_ = 0;  ///< handles in use; the first is the waiting communicator's own
};

}  // namespace tutti::detail
