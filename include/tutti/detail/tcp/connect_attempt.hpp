// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/net/socket.hpp>
#include <tutti/detail/tcp/hello.hpp>
#include <tutti/detail/tcp/tuning.hpp>
#include <tutti/detail/tcp/waiter.hpp>
#include <tutti/transport/tcp_options.hpp>

#include <span>

namespace tutti::detail::net {

/// An attempt to connect to a peer that listens: connect, say hello, read the answer.
class connect_attempt {
 public:
  enum class state {
    idle,  ///< before the next attempt
    under_way,
    answered,  ///< `answer` has come
    crossed,   ///< the peer connects to us
    lost,      ///< the peer is gone
  };

  /// `doubt`: how long attempts are repeated where nobody listens.
  connect_attempt(waiter& w, address const& to, hello const& mine, tcp_options const& o, duration doubt)
      : waiter_(w),
        to_(to),
        mine_(mine),
        patience_(o.connect),
        silence_(o.silence),
        doubt_(doubt),
        begin_(steady_now()) {}
  connect_attempt(connect_attempt const&) = delete;
  connect_attempt& operator=(connect_attempt const&) = delete;
  ~connect_attempt() { close(); }

  [[nodiscard]] state now() const noexcept { return state_; }
  /// The whole greeting is in the hands of the peer's system.
  [[nodiscard]] bool delivered() const noexcept {
    return said_ == sizeof mine_ && socket_ && queued(socket_.get(), SIOCOUTQ) == 0;
  }
  /// The peer may know of this attempt: some of the greeting is on its way.
  [[nodiscard]] bool said() const noexcept { return state_ == state::under_way && said_ != 0; }
  /// Why the last attempt could not even begin: an errno of want of descriptors or memory, 0 if it could.
  [[nodiscard]] int starved() const noexcept { return starved_; }
  [[nodiscard]] hello const& answer() const noexcept { return answer_; }
  [[nodiscard]] descriptor take() noexcept {
    waiter_.remove(socket_.get());
    return std::move(socket_);
  }
  /// The peer has asked to wait for its own connection.
  void wait_for_peer() noexcept {
    close();
    state_ = state::crossed;
  }

  /// Goes as far as it can.
  void advance() {
    if (state_ == state::idle && starved_ == 0 && steady_now() < next_) {
      return waiter_.wake_at(next_);
    }
    if (state_ == state::idle) {
      tried_ = steady_now();
      socket_ = begin_connect(to_);
      said_ = heard_ = 0;
      state_ = state::under_way;
      starved_ = !socket_ && out_of_resources(errno) ? errno : 0;
      if (starved_ != 0) {
        state_ = state::idle;
        return waiter_.wake_at(steady_now() + std::chrono::milliseconds(100));
      }
      if (!socket_) {
        return fail(errno);
      }
      waiter_.add(socket_.get(), waiter::what::connect_attempt, mine_.to, true);
    }
    if (state_ != state::under_way) {
      return;
    }
    if (said_ != sizeof mine_) {
      moved const m = write_some(socket_.get(), std::as_bytes(std::span(&mine_, 1)).subspan(said_));
      said_ += m.bytes;
      if (m.state == io::closed && errno != ENOTCONN) {
        return fail(errno);
      }
      if (m.state != io::done) {
        return expire();
      }
      if (int const code = connect_error(socket_.get()); code != 0) {
        return fail(code);  // connected to itself
      }
      waiter_.change(socket_.get(), waiter::what::connect_attempt, mine_.to, false);
    }
    moved const m = read_some(socket_.get(), std::as_writable_bytes(std::span(&answer_, 1)).subspan(heard_));
    heard_ += m.bytes;
    if (m.state == io::done) {
      state_ = state::answered;
    } else if (m.state == io::closed) {
      fail(errno);
    } else {
      expire();
    }
  }

 private:
  static constexpr duration one_attempt = std::chrono::seconds(1);

  /// A host that answers nothing is gone. One that has a connection made answers for a process that is stopped.
  ///
  /// Where no connection is made the system asks less and less often, and would miss that a listener with a full queue
  /// has room again: another attempt asks at once. An attempt of which the peer may know has no other beside it.
  void expire() {
    time_point const now = steady_now();
    bool const unheard = said_ == 0;
    if (unheard ? now - begin_ > patience_ : silent(socket_.get(), silence_)) {
      close();
      state_ = state::lost;
    } else if (unheard && now - tried_ >= one_attempt) {
      close();
      state_ = state::idle;
      waiter_.wake_at(now);
    } else if (unheard) {
      waiter_.wake_at(std::min(begin_ + patience_, tried_ + one_attempt));
    }
  }

  /// Nobody listens where the peer has listened: it is gone, and it may have left because of a fault that this rank
  /// has yet to hear of. Everything else may pass.
  void fail(int code) {
    close();
    time_point const now = steady_now();
    first_failure_ = failures_ == 0 ? now : first_failure_;
    ++failures_;
    bool const gone = code == ECONNREFUSED && now - first_failure_ >= doubt_;
    bool const hopeless = failures_ > 4 && now - first_failure_ > patience_;
    state_ = gone || hopeless ? state::lost : state::idle;
    duration const pause = std::chrono::milliseconds(1) * (1 << std::min(failures_, 8));
    next_ = now + pause;
    waiter_.wake_at(next_);
  }

  void close() noexcept {
    if (socket_) {
      waiter_.remove(socket_.get());
      socket_.reset();
    }
  }

  waiter& waiter_;
  address to_;
  hello mine_;
  duration patience_;
  duration silence_;
  duration doubt_;
  time_point begin_;
  time_point tried_{};  ///< when this attempt began
  int starved_ = 0;
  descriptor socket_;
  state state_ = state::idle;
  hello answer_;
  std::size_t said_ = 0;
  std::size_t heard_ = 0;
  int failures_ = 0;
  time_point first_failure_{};
  time_point next_{};
};

}  // namespace tutti::detail::net
