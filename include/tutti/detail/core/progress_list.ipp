// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/cancellation.hpp>
#include <tutti/detail/core/fork_guard.hpp>
#include <tutti/detail/core/progress_list.hpp>

#include <pthread.h>
#include <sched.h>
#include <utility>

namespace tutti::inline v0_1_0::detail::inline core {

/// Held while a thread ends, or while another thread accesses its list: so the list still exists.
class progress_list::handover_lock {
 public:
  handover_lock() noexcept {
    while (busy.exchange(true, std::memory_order_acquire)) {
      ::sched_yield();
    }
  }
  handover_lock(handover_lock const&) = delete;
  handover_lock& operator=(handover_lock const&) = delete;
  ~handover_lock() { busy.store(false, std::memory_order_release); }

  static constinit inline std::atomic<bool> busy{false};
};

/// The lock of a list, for its own thread; recursive.
class progress_list::list_lock {
 public:
  explicit list_lock(progress_list& list) noexcept : list_(list) {
    if (list_.depth_++ == 0) {
      list_.lock();
    }
  }
  list_lock(list_lock const&) = delete;
  list_lock& operator=(list_lock const&) = delete;
  ~list_lock() {
    if (--list_.depth_ == 0) {
      list_.unlock();
    }
  }

 private:
  progress_list& list_;
};

TUTTI_DECL progress_list::~progress_list() {
  handover_lock const lock;
  forget();
  if (current == this) {
    current = nullptr;
  }
}

TUTTI_DECL void progress_list::take_over(progress_entry& entry) noexcept {
  if (current == nullptr && is_destroyed) {  // the thread ends; its last destructors still use the entry
    return leave(entry);
  }
  if (current == nullptr) {
    current = &of_this_thread();
  }
  if (entry.list.load(std::memory_order_acquire) != current) {
    leave(entry);
    list_lock const lock(*current);
    current->append(entry);
  }
}

TUTTI_DECL void progress_list::leave(progress_entry& entry) noexcept {
  progress_list* list = entry.list.load(std::memory_order_acquire);
  if (list == nullptr) {
    return;
  }
  if (entry.generation != fork_guard::generation()) {  // a thread of the parent, not of this process
    return entry.list.store(nullptr, std::memory_order_release);
  }
  if (list == current) {
    list_lock const lock(*list);
    return list->drop(entry);
  }
  handover_lock const handover;  // keeps the other thread's list alive
  list = entry.list.load(std::memory_order_acquire);
  if (list != nullptr) {
    list->lock();
    if (entry.list.load(std::memory_order_relaxed) == list) {
      list->drop(entry);
    }
    list->unlock();
  }
}

template <class F>
void progress_list::for_each(progress_entry const& caller, F action) {
  cancellation_shield const shield(cancellation_shield::points::silent);
  list_lock const lock(*this);
  walk position{first_.load(std::memory_order_relaxed), walks_};
  walks_ = &position;
  while (progress_entry* const entry = position.next) {
    position.next = entry->next;
    if (entry != &caller) {
      action(*entry);
    }
  }
  walks_ = position.outer;
}

TUTTI_DECL void progress_list::move(progress_entry const& caller) noexcept {
  if (depth_ == 0) {
    for_each(caller, [this](progress_entry& entry) {
      entry.is_moving = true;
      bool const has_work = entry.move(entry);
      entry.is_moving = false;
      if (!has_work) {
        drop(entry);
      }
      if (entry.destroy != nullptr) [[unlikely]] {
        entry.destroy(entry);
      }
    });
  }
}
TUTTI_DECL void progress_list::look(progress_entry const& caller) noexcept {
  for_each(caller, [](progress_entry& entry) {
    bool const was_moving = std::exchange(entry.is_moving, true);  // a look may end operations, and with them handles
    entry.look(entry);
    entry.is_moving = was_moving;
    if (entry.destroy != nullptr && !was_moving) [[unlikely]] {
      entry.destroy(entry);
    }
  });
}
TUTTI_DECL void progress_list::disarm(progress_entry const& caller) noexcept {
  for_each(caller, disarm_entry);
}

TUTTI_DECL void progress_list::arm(progress_entry const& caller) {
  std::size_t count = 1;
  for_each(caller, [&](progress_entry&) { ++count; });
  if (count > capacity_) {
    handles_ = owned_array<::pollfd>(count);
    capacity_ = count;
  }
  handle_count_ = 1;
  for_each(caller, [&](progress_entry& entry) {
    if (handle_count_ < count) {
      handles_[handle_count_++] = {.fd = entry.arm(entry), .events = POLLIN, .revents = 0};
      entry.is_armed = true;
    }
  });
}
TUTTI_DECL void progress_list::sleep(int caller_handle, int milliseconds) noexcept {
  handles_[0] = {.fd = caller_handle, .events = POLLIN, .revents = 0};
  ::poll(handles_.get(), handle_count_, milliseconds);
}

TUTTI_DECL progress_list* progress_list::exchange_current(progress_list* list) noexcept {
  progress_list* const previous = current;
  current = list;
  return previous;
}

TUTTI_DECL progress_list& progress_list::of_this_thread() {
  struct thread_list : progress_list {
    ~thread_list() { is_destroyed = true; }
  };
  static thread_local thread_list list;
  // A forked child has a copy of this thread only, and the communicators are its parent's.
  static int const registration = ::pthread_atfork(nullptr, nullptr, [] {
    handover_lock::busy.store(false, std::memory_order_relaxed);
    if (current != nullptr) {
      current->is_locked_.store(false, std::memory_order_relaxed);
      current->forget();
    }
  });
  static_cast<void>(registration);
  return list;
}

TUTTI_DECL void progress_list::lock() noexcept {
  while (is_locked_.exchange(true, std::memory_order_acquire)) {
    ::sched_yield();
  }
}
TUTTI_DECL void progress_list::unlock() noexcept {
  is_locked_.store(false, std::memory_order_release);
}

TUTTI_DECL void progress_list::append(progress_entry& entry) noexcept {
  progress_entry* const last = last_.load(std::memory_order_relaxed);
  entry.next = nullptr;
  entry.previous = last;
  if (last != nullptr) {
    last->next = &entry;
  } else {
    first_.store(&entry, std::memory_order_relaxed);
  }
  last_.store(&entry, std::memory_order_relaxed);
  entry.generation = fork_guard::generation();
  entry.list.store(this, std::memory_order_release);
}
TUTTI_DECL void progress_list::disarm_entry(progress_entry& entry) noexcept {
  if (std::exchange(entry.is_armed, false)) {
    entry.disarm(entry);
  }
}

TUTTI_DECL void progress_list::drop(progress_entry& entry) noexcept {
  disarm_entry(entry);
  for (walk* open_walk = walks_; open_walk != nullptr; open_walk = open_walk->outer) {
    open_walk->next = open_walk->next == &entry ? entry.next : open_walk->next;
  }
  if (entry.previous != nullptr) {
    entry.previous->next = entry.next;
  } else {
    first_.store(entry.next, std::memory_order_relaxed);
  }
  if (entry.next != nullptr) {
    entry.next->previous = entry.previous;
  } else {
    last_.store(entry.previous, std::memory_order_relaxed);
  }
  entry.list.store(nullptr, std::memory_order_release);
}
TUTTI_DECL void progress_list::forget() noexcept {
  lock();
  for (progress_entry* entry = first_.load(std::memory_order_relaxed); entry != nullptr;) {
    progress_entry* const next = entry->next;
    entry->list.store(nullptr, std::memory_order_release);  // another thread may take it from now on
    entry = next;
  }
  first_.store(nullptr, std::memory_order_relaxed);
  last_.store(nullptr, std::memory_order_relaxed);
  for (walk* open_walk = walks_; open_walk != nullptr; open_walk = open_walk->outer) {
    open_walk->next = nullptr;
  }
  unlock();
}

}  // namespace tutti::detail::core
