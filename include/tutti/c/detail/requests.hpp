// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/c.h>
#include <tutti/c/detail/failures.hpp>
#include <tutti/collective/request.hpp>
#include <tutti/extend/time.hpp>

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

  /// Advances the operation. Returns true if it has ended. @throws its error
  [[nodiscard]] virtual bool test() = 0;
  /// Waits for this time, or until the deadline of the operation if it is negative. Returns true if it has ended.
  /// @throws its error
  [[nodiscard]] virtual bool wait(tutti::duration limit) = 0;
  /// Has `end` called when the operation has ended.
  virtual void on_end(std::unique_ptr<tutti_request> self, tutti_end end, void* context) = 0;
  /// Ends the world, unless the operation has ended.
  virtual void cancel() noexcept = 0;
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

  bool test() override { return pending_.test(); }
  bool wait(duration limit) override {
    if (limit < duration::zero()) {
      pending_.wait();
      return true;
    }
    return pending_.wait_for(limit);
  }
  void on_end(std::unique_ptr<tutti_request> self, tutti_end end, void* context) override {
    struct notice {
      std::unique_ptr<tutti_request> owned_request;
      list& observed_requests;
      direct_request* place;
      tutti_end end;
      void* context;
    };
    observed_requests_.insert(this);
    pending_.on_end([notice = std::make_unique<notice>(notice{std::move(self), observed_requests_, this, end,
                                                              context})](std::exception_ptr const& cause) noexcept {
      notice->observed_requests.erase(notice->place);
      call(notice->end, notice->context, cause);
    });
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
