// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/pending.hpp>

#include <cstddef>

namespace tutti::inline v0_1_0::detail {

/// The places of an operator's started operations, reused; it lives as long as the operator or any request.
class place_pool {
 public:
  explicit place_pool(void (*destroy)(pending&) noexcept) noexcept : destroy_(destroy) {}
  place_pool(place_pool const&) = delete;
  place_pool& operator=(place_pool const&) = delete;
  ~place_pool() {
    while (pending* const p = idle_) {
      idle_ = p->next;
      destroy_(*p);
    }
  }

  /// The operator has gone.
  struct leave {
    void operator()(place_pool* p) const noexcept {
      p->orphaned_ = true;
      p->end_if_unused();
    }
  };

  /// A place that is idle, or none.
  [[nodiscard]] pending* take() noexcept {
    pending* const p = idle_;
    if (p != nullptr) {
      idle_ = p->next;
      p->next = nullptr;
      ++running_;
    }
    return p;
  }
  /// Another place is its own from now on, and running.
  template <class Place>
  [[nodiscard]] Place& adopt(Place* p) noexcept {
    ++running_;
    return *p;
  }
  void give_back(pending& p) noexcept {
    p.next = idle_;
    idle_ = &p;
    --running_;
    end_if_unused();
  }

 private:
  void end_if_unused() noexcept {
    if (orphaned_ && running_ == 0) {
      delete this;
    }
  }

  void (*destroy_)(pending&) noexcept;
  pending* idle_ = nullptr;
  std::size_t running_ = 0;
  bool orphaned_ = false;
};

}  // namespace tutti::detail
