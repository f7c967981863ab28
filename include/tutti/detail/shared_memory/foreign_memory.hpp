// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/detail/shared_memory/mail_segment.hpp>
#include <tutti/detail/shared_memory/sleep_barrier.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/extend/types.hpp>

#include <atomic>
#include <concepts>
#include <cstdint>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

/// A reference to a function that tells if a rank has died. A rank that left in order has not.
class death_check {
 public:
  template <class F>
    requires(!std::same_as<F, death_check>)
  death_check(F const& f) noexcept
      : object_(&f), call_([](void const* object, rank_type r) { return (*static_cast<F const*>(object))(r); }) {}

  [[nodiscard]] bool operator()(rank_type r) const { return call_(object_, r); }

 private:
  void const* object_;
  bool (*call_)(void const*, rank_type);
};

/// Guards memory in which other ranks work. Without a fault, tickets tell when a message was read, and loans when they
/// were returned; after a fault the owner of the memory waits until no rank touches it.
///
/// Each rank has a mark that names whose memory it touches. A rank that touches memory sets its mark, then checks for a
/// fault; a rank that takes its memory back sets the fault, then checks the marks. Each has a fence between the store
/// and the load, so at least one of the two sees the other.
///
/// Used by one thread at a time. Only `quiesce` waits.
class foreign_memory {
 public:
  foreign_memory(mail_segment const& segment, rank_type self) noexcept : segment_(segment), self_(self) {}

  /// Begins to read, or to read and write, memory of `owner`; calls nest. Returns false after a fault: it is not
  /// allowed then.
  [[nodiscard]] bool start_touching(rank_type owner, bool writes) noexcept {
    std::uint32_t const owner_code = touching_ == 0 || owner == (mark_ & owners) - 1 ? owner + 1 : owners;
    std::uint32_t const mark = (touching_ == 0 ? 0U : mark_ & writing) | owner_code | (writes ? writing : 0U);
    if (touching_ == 0 || mark_ != mark) {
      mark_ = mark;
      own_mark().store(mark, std::memory_order_relaxed);
      store_load_fence();
      if (segment_.fault().load(std::memory_order_relaxed) != 0) {
        touch_no_more();
        return false;
      }
    }
    ++touching_;
    return true;
  }
  /// Ends one `start_touching`.
  void stop_touching() noexcept {
    if (touching_ != 0 && --touching_ == 0) {
      own_mark().store(0, std::memory_order_release);
    }
  }
  /// Ends all of them.
  void touch_no_more() noexcept {
    touching_ = 0;
    own_mark().store(0, std::memory_order_release);
  }

  /// Returns when no living peer touches this rank's memory, nor will. That takes a moment, unless a peer was stopped
  /// while it did, by a signal or a debugger. A reader is waited for until `readers_until`, a writer until it continues
  /// or dies: otherwise it could write to memory that is in other use.
  /// @pre there is a fault
  TUTTI_DECL void quiesce(death_check const& has_died, time_point readers_until) noexcept;

 private:
  /// A mark: the number of the owner plus one, or `owners` if there are several; with a bit if the memory is written
  /// to.
  static constexpr std::uint32_t owners = UINT32_MAX >> 1;
  static constexpr std::uint32_t writing = owners + 1;

  [[nodiscard]] std::atomic<std::uint32_t>& own_mark() noexcept { return segment_.member(self_).touching; }

  mail_segment segment_;
  std::uint32_t touching_ = 0;  ///< open start_touching calls
  std::uint32_t mark_ = 0;      ///< last mark set
  rank_type self_;
};

}  // namespace tutti::detail::shared_memory

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/detail/shared_memory/foreign_memory.ipp>
#endif
