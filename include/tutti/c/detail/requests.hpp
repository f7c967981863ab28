// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/c.h>
#include <tutti/c/detail/failures.hpp>
#include <tutti/collective/request.hpp>
#include <tutti/detail/core/fork_guard.hpp>
#include <tutti/extend/time.hpp>

#include <cstdint>
#include <exception>
#include <memory>
#include <set>
#include <utility>

/// A started operation.
struct tutti_request {
  tutti_request() = default;
  tutti_request(tutti_request const&) = delete;
  tutti_request& operator=(tutti_request const&) = delete;
  virtual ~tutti_request() = default;

  /// True if the operation has ended. Advances nothing.
  [[nodiscard]] virtual bool has_ended() const noexcept = 0;
  /// Advances the operation. Returns true if it has ended. @throws its error
  [[nodiscard]] virtual bool test() = 0;
  /// Waits for this time, or until the deadline of the operation if it is negative. Returns true if it has ended.
  /// @throws its error
  [[nodiscard]] virtual bool wait(tutti::duration limit) = 0;
  /// Has `end` called when the operation has ended, and destroys this object then. If it throws, the object remains.
  virtual void on_end(tutti_end end, void* context) = 0;
  /// Fails the communicator, unless the operation has ended.
  virtual void cancel() noexcept = 0;

  /// True in a process that has forked from the one which started the operation.
  [[nodiscard]] bool is_inherited() const noexcept {
    return fork_generation_ != tutti::detail::fork_guard::generation();
  }

 private:
  std::uint32_t fork_generation_ = tutti::detail::fork_guard::generation();
};

namespace tutti::inline v0_1_0::detail::c {

/// Calls a function of the program with the error of an operation, or null.
inline void call(tutti_end end, void* context, std::exception_ptr const& cause) noexcept {
  tutti_error error;
  int const kind = cause ? describe(&error, cause) : describe(&error, TUTTI_OK, "");
  end(context, kind, &error);
}

/// An operation that calls on its world advance.
class direct_request final : public tutti_request {
 public:
  /// The requests of a world that have a function, so that it can cancel them before it ends.
  using list = std::set<direct_request*>;

  direct_request(list& observed_requests, request&& pending) noexcept
      : observed_requests_(observed_requests), pending_(std::move(pending)) {}

  bool has_ended() const noexcept override { return pending_.has_ended(); }
  bool test() override { return pending_.test(); }
  bool wait(duration limit) override {
    if (limit < duration::zero()) {
      pending_.wait();
      return true;
    }
    return pending_.wait_for(limit);
  }
  void on_end(tutti_end end, void* context) override {
    struct notice {
      std::unique_ptr<direct_request> owned_request;
      tutti_end end;
      void* context;
    };
    auto own_notice = std::make_unique<notice>(notice{nullptr, end, context});
    observed_requests_.insert(this);
    own_notice->owned_request.reset(this);
    try {
      pending_.on_end([place = own_notice.get()](std::exception_ptr const& cause) noexcept {
        std::unique_ptr<notice> const last(place);
        last->owned_request->observed_requests_.erase(last->owned_request.get());
        call(last->end, last->context, cause);
      });
    } catch (...) {
      static_cast<void>(own_notice->owned_request.release());
      observed_requests_.erase(this);
      throw;
    }
    static_cast<void>(own_notice.release());  // the function destroys it, and may have done so
  }
  void cancel() noexcept override {
    try {
      pending_.cancel();
    } catch (...) {  // another thread is inside the world, which has failed by that
    }
  }

 private:
  list& observed_requests_;
  request pending_;
};

}  // namespace tutti::detail::c
