// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/bootstrap/concept.hpp>

#include <condition_variable>
#include <mutex>

namespace tutti::models {

/// Where n threads of one process meet.
class thread_meeting {
 public:
  explicit thread_meeting(rank_type n) : texts_(n) {}
  [[nodiscard]] rank_type size() const noexcept { return static_cast<rank_type>(texts_.size()); }

  std::vector<std::string> exchange(rank_type me, std::string_view mine) {
    std::unique_lock lock(guard_);
    texts_[me] = mine;
    std::size_t const round = round_;
    if (++arrived_ == texts_.size()) {
      arrived_ = 0;
      ++round_;
      result_ = texts_;
      changed_.notify_all();
    } else {
      changed_.wait(lock, [&] { return round_ != round; });
    }
    return result_;  // nobody can finish the next round before this thread has joined it
  }

 private:
  std::mutex guard_;
  std::condition_variable changed_;
  std::vector<std::string> texts_;
  std::vector<std::string> result_;
  std::size_t arrived_ = 0;
  std::size_t round_ = 0;
};

/// One thread's side of it: a rendezvous without sockets, files or deadline.
class thread_rendezvous {
 public:
  thread_rendezvous(thread_meeting& place, rank_type rank) : place_(&place), rank_(rank) {}
  [[nodiscard]] rank_type rank() const noexcept { return rank_; }
  [[nodiscard]] rank_type size() const noexcept { return place_->size(); }
  std::vector<std::string> exchange(std::string_view mine) { return place_->exchange(rank_, mine); }

 private:
  thread_meeting* place_;
  rank_type rank_;
};

static_assert(rendezvous<thread_rendezvous>);

}  // namespace tutti::models
