// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/cancellation.hpp>
#include <tutti/detail/core/duties.hpp>
#include <tutti/detail/core/inheritance.hpp>

#include <pthread.h>
#include <sched.h>
#include <utility>

namespace tutti::inline v0_1_0::detail::inline core {

/// Held while a thread ends, or while another thread accesses its list: so the list still exists.
class duties::between_threads {
 public:
  between_threads() noexcept {
    while (busy.exchange(true, std::memory_order_acquire)) {
      ::sched_yield();
    }
  }
  between_threads(between_threads const&) = delete;
  between_threads& operator=(between_threads const&) = delete;
  ~between_threads() { busy.store(false, std::memory_order_release); }

  static constinit inline std::atomic<bool> busy{false};
};

/// The lock of a list, for its own thread; recursive.
class duties::held {
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

TUTTI_DECL duties::~duties() {
  between_threads const lock;
  forget();
  if (current == this) {
    current = nullptr;
  }
}

TUTTI_DECL void duties::take_over(duty& d) noexcept {
  if (current == nullptr && over) {  // the thread ends; its last destructors still use d
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

TUTTI_DECL void duties::leave(duty& d) noexcept {
  duties* of = d.of.load(std::memory_order_acquire);
  if (of == nullptr) {
    return;
  }
  if (d.generation != inheritance::generation()) {  // a thread of the parent, not of this process
    return d.of.store(nullptr, std::memory_order_release);
  }
  if (of == current) {
    held const lock(*of);
    return of->drop(d);
  }
  between_threads const still_there;  // keeps the other thread's list alive
  of = d.of.load(std::memory_order_acquire);
  if (of != nullptr) {
    of->lock();
    if (d.of.load(std::memory_order_relaxed) == of) {
      of->drop(d);
    }
    of->unlock();
  }
}

template <class F>
void duties::each(duty const& own, F f) {
  uncancelled const throughout(uncancelled::points::none);
  held const lock(*this);
  walk at{first_.load(std::memory_order_relaxed), walks_};
  walks_ = &at;
  while (duty* const d = at.next) {
    at.next = d->next;
    if (d != &own) {
      f(*d);
    }
  }
  walks_ = at.outer;
}

TUTTI_DECL void duties::move(duty const& own) noexcept {
  if (depth_ == 0) {
    each(own, [this](duty& d) {
      d.moving = true;
      bool const moves_on = d.move(d);
      d.moving = false;
      if (!moves_on) {
        drop(d);
      }
      if (d.destroy != nullptr) [[unlikely]] {
        d.destroy(d);
      }
    });
  }
}
TUTTI_DECL void duties::look(duty const& own) noexcept {
  each(own, [](duty& d) { d.look(d); });
}
TUTTI_DECL void duties::disarm(duty const& own) noexcept {
  each(own, awake);
}

TUTTI_DECL void duties::arm(duty const& own) {
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
TUTTI_DECL void duties::sleep(int own, int milliseconds) noexcept {
  handles_[0] = {.fd = own, .events = POLLIN, .revents = 0};
  ::poll(handles_.get(), armed_, milliseconds);
}

TUTTI_DECL duties* duties::change(duties* to) noexcept {
  duties* const before = current;
  current = to;
  return before;
}

TUTTI_DECL duties& duties::of_this_thread() {
  struct own : duties {
    ~own() { over = true; }
  };
  static thread_local own all;
  // A forked child has a copy of this thread only, and the communicators are its parent's.
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

TUTTI_DECL void duties::lock() noexcept {
  while (locked_.exchange(true, std::memory_order_acquire)) {
    ::sched_yield();
  }
}
TUTTI_DECL void duties::unlock() noexcept {
  locked_.store(false, std::memory_order_release);
}

TUTTI_DECL void duties::append(duty& d) noexcept {
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
TUTTI_DECL void duties::awake(duty& d) noexcept {
  if (std::exchange(d.armed, false)) {
    d.disarm(d);
  }
}

TUTTI_DECL void duties::drop(duty& d) noexcept {
  awake(d);
  for (walk* w = walks_; w != nullptr; w = w->outer) {
    w->next = w->next == &d ? d.next : w->next;
  }
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
TUTTI_DECL void duties::forget() noexcept {
  lock();
  for (duty* d = first_.load(std::memory_order_relaxed); d != nullptr; d = d->next) {
    d->of.store(nullptr, std::memory_order_release);
  }
  first_.store(nullptr, std::memory_order_relaxed);
  last_.store(nullptr, std::memory_order_relaxed);
  for (walk* w = walks_; w != nullptr; w = w->outer) {
    w->next = nullptr;
  }
  unlock();
}

}  // namespace tutti::detail::core
