// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/concept.hpp>
#include <tutti/collective/request.hpp>
#include <tutti/detail/communicator/access.hpp>
#include <tutti/detail/communicator/wait.hpp>
#include <tutti/detail/core/cancellation.hpp>
#include <tutti/detail/core/descriptor.hpp>
#include <tutti/extend/error.hpp>

#include <boost/asio/append.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <memory>
#include <sys/epoll.h>
#include <tuple>
#include <unistd.h>
#include <vector>

namespace tutti::inline v0_1_0 {

namespace detail {

/// An operation that is awaited through Asio.
struct awaited_operation {
  explicit awaited_operation(request&& started_operation) noexcept : operation(std::move(started_operation)) {}
  awaited_operation(awaited_operation const&) = delete;
  awaited_operation& operator=(awaited_operation const&) = delete;
  virtual ~awaited_operation() = default;
  /// Passes the result to the handler, which runs later.
  virtual void complete(std::exception_ptr cause) = 0;

  request operation;
};

template <class Handler>
struct handled_operation final : awaited_operation {
  handled_operation(request&& started_operation, Handler&& handler_to_call,
                    boost::asio::any_io_executor const& fallback)
      : awaited_operation(std::move(started_operation)),
        handler(std::move(handler_to_call)),
        work(boost::asio::get_associated_executor(handler, fallback)) {}

  ~handled_operation() override { operation = {}; }  // before the handler, which may own the buffers

  void complete(std::exception_ptr cause) override {
    boost::asio::get_associated_cancellation_slot(handler).clear();
    boost::asio::post(work.get_executor(), boost::asio::append(std::move(handler), cause));
  }

  Handler handler;
  boost::asio::executor_work_guard<boost::asio::associated_executor_t<Handler, boost::asio::any_io_executor>> work;
};

/// Returns a descriptor, to be owned by Asio, that is readable when `fd` is. Asio registers its descriptors again in a
/// child of fork (`notify_fork`), where the transport's own are closed; this one stays open there, and keeps nothing
/// else open.
[[nodiscard]] inline int watch_for_asio(int fd) {
  descriptor watch([] { return ::epoll_create1(EPOLL_CLOEXEC); });
  epoll_event readable{.events = EPOLLIN, .data = {.fd = fd}};
  if (!watch || ::epoll_ctl(watch.get(), EPOLL_CTL_ADD, fd, &readable) != 0) {
    throw error(failure::cancelled, "on_asio: cannot create an epoll descriptor: " + describe_errno(errno) +
                                        "; allow this process more descriptors (ulimit -n)");
  }
  return watch.release();
}

}  // namespace detail

/// Runs a communicator on an io_context: its operations may be awaited with any completion token. The thread that runs
/// the context is the communicator's thread. While there is no work it sleeps in the context, on the transport's
/// descriptor.
///
///     boost::asio::io_context io;
///     tutti::on_asio loop{world, io};
///     co_await sum.async(bucket, boost::asio::use_awaitable);
///
/// The completion signature is void(std::exception_ptr), so a failure reaches a coroutine or a future as a
/// tutti::error. Per-operation cancellation (any type) cancels the operation, as request::cancel does.
///
/// It must live as long as operations are awaited; its destructor cancels them. The initiating function starts the
/// operation, even with a deferred token: dropping such an operation cancels it.
///
/// A program may fork while operations are awaited, as Boost.Process does, and call `notify_fork`. They continue in
/// the parent. The child may run the io_context, too: there, their handlers are destroyed and not called.
///
/// Cost: a handler of Asio's for each awaited operation.
/// Thread safety: the thread that runs the context; one at a time.
template <group Communicator>
class on_asio {
 public:
  /// Serves the communicator on this io_context until it is destroyed.
  /// @throws precondition_error if another on_asio serves it
  on_asio(Communicator& world, boost::asio::io_context& io)
      : on_asio(world, boost::asio::any_io_executor(io.get_executor())) {}

  /// Serves the communicator on any executor.
  on_asio(Communicator& world, boost::asio::any_io_executor executor)
      : world_(world.alias()), readable_(executor), timer_(executor) {
    expects(state().companion == nullptr,
            "on_asio: this communicator has an on_asio already; use that one, or end it first");
    state().companion = this;
  }
  on_asio(on_asio const&) = delete;
  on_asio& operator=(on_asio const&) = delete;
  ~on_asio() {
    *alive_ = false;
    for (auto& pending_operation : waiting_) {
      pending_operation->operation.cancel();  // before the buffers are freed
    }
    state().companion = nullptr;
  }

  /// Awaits a request.
  template <boost::asio::completion_token_for<void(std::exception_ptr)> Token>
  auto async_wait(request operation, Token&& token) {
    return boost::asio::async_initiate<Token, void(std::exception_ptr)>(
        [this](auto handler, request started_operation) {
          using handler_type = std::decay_t<decltype(handler)>;
          auto slot = boost::asio::get_associated_cancellation_slot(handler);
          waiting_.push_back(std::make_unique<detail::handled_operation<handler_type>>(
              std::move(started_operation), std::move(handler), timer_.get_executor()));
          if (slot.is_connected()) {
            slot.assign(
                [this, alive = alive_, pending_operation = waiting_.back().get()](boost::asio::cancellation_type) {
                  std::shared_ptr<bool> is_alive;  // a reduction may destroy this loop and its handler
                  is_alive = alive;
                  on_asio* const loop = this;
                  if (*is_alive) {  // the slot is cleared before the operation is destroyed
                    pending_operation->operation.cancel();
                    if (*is_alive) {
                      loop->pump_soon();
                    }
                  }
                });
          }
          pump_soon();
        },
        token, std::move(operation));
  }

 private:
  [[nodiscard]] detail::rank_state& state() const { return detail::access::state(world_); }

  /// Posts a call of `pump`, so that the initiating function returns first.
  void pump_soon() {
    if (!std::exchange(pumping_, true)) {
      boost::asio::post(timer_.get_executor(), [this, alive = alive_] {
        if (*alive) {
          pumping_ = false;
          pump();
        }
      });
    }
  }

  /// Advances all operations, completes the ended ones, and sleeps if others are left.
  void pump() {
    detail::cancellation_shield const shield(detail::cancellation_shield::points::silent);
    if (state().is_inherited()) {  // a forked child: the operations continue in the parent
      rest();
      waiting_.clear();
      return;
    }
    std::shared_ptr<bool> const alive = alive_;
    world_.poll();
    if (!*alive) {  // a reduction has destroyed it
      return;
    }
    complete();
    if (waiting_.empty()) {
      rest();
      return;
    }
    int const handle = [this] {
      detail::exclusion const turn(state());
      return world_.transport().arm();
    }();
    world_.poll();
    if (!*alive) {
      return;
    }
    if (std::any_of(waiting_.begin(), waiting_.end(), [](auto& w) { return w->operation.has_ended(); })) {
      disarm();
      pump_soon();
      return;
    }
    if (std::exchange(handle_, handle) != handle) {
      readable_.close();
      readable_.assign(detail::watch_for_asio(handle));
    }
    if (!std::exchange(is_armed_, true)) {
      readable_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                           [this, alive = alive_](boost::system::error_code) {
                             if (*alive) {
                               is_armed_ = false;
                               if (!state().is_inherited()) {
                                 detail::exclusion const turn(state());
                                 state().claim();
                                 disarm();
                               }
                               pump();
                             }
                           });
    }
    if (!std::exchange(is_timer_running_, true)) {
      timer_.expires_after(detail::between_looks);
      timer_.async_wait([this, alive = alive_](boost::system::error_code cause) {
        if (*alive) {
          is_timer_running_ = false;
          if (!cause && !state().is_inherited()) {
            std::shared_ptr<bool> is_alive;  // a reduction may destroy this loop and its handler
            is_alive = alive;
            state().probe();
            for (std::size_t i = 0; *is_alive && i < waiting_.size(); ++i) {
              waiting_[i]->operation.check_deadline();
            }
            if (!*is_alive) {
              return;
            }
          }
          pump();
        }
      });
    }
  }

  void disarm() {
    detail::exclusion const turn(state());
    world_.transport().disarm();
  }
  void rest() {
    timer_.cancel();
    if (is_armed_) {
      readable_.cancel();
    }
  }

  void complete() {
    for (std::size_t i = 0; i < waiting_.size();) {
      if (!waiting_[i]->operation.has_ended()) {
        ++i;
        continue;
      }
      auto const pending_operation = std::move(waiting_[i]);
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
      std::exception_ptr cause;
      try {
        pending_operation->operation.wait();
      } catch (...) {
        cause = std::current_exception();
      }
      pending_operation->complete(cause);
    }
  }

  Communicator world_;
  boost::asio::posix::stream_descriptor readable_;
  boost::asio::steady_timer timer_;
  std::vector<std::unique_ptr<detail::awaited_operation>> waiting_;
  int handle_ = -1;  ///< the transport's descriptor, which `readable_` watches
  bool is_armed_ = false;
  bool is_timer_running_ = false;
  bool pumping_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

/// Starts and awaits an operation: `op.async(arguments..., token)` calls op.start(arguments...).
/// @pre a tutti::on_asio exists for the operator's communicator
template <class Operator, class... Arguments>
  requires(sizeof...(Arguments) >= 1)
auto async_start(Operator& op, Arguments&&... arguments_and_token) {
  constexpr std::size_t last = sizeof...(Arguments) - 1;
  auto arguments = std::forward_as_tuple(std::forward<Arguments>(arguments_and_token)...);
  using communicator_type = std::remove_reference_t<decltype(op.world())>;
  auto* const loop = static_cast<on_asio<communicator_type>*>(detail::access::state(op.world()).companion);
  expects(loop != nullptr, "async: make a tutti::on_asio for this communicator first, and keep it");
  return [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    request operation = op.start(std::get<Index>(std::move(arguments))...);
    expects(detail::access::state(op.world()).companion == loop,
            "async: a reduction has ended the on_asio of this communicator; keep it until all operations have ended");
    return loop->async_wait(std::move(operation), std::get<last>(std::move(arguments)));
  }(std::make_index_sequence<last>());
}

}  // namespace tutti
