// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../common/batch.hpp"
#include "limit_add.hpp"
#include "limit_board.hpp"
#include "limit_sockets.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <thread>
#include <vector>

namespace bench {

/// The fastest that TCP can be: the bytes of an algorithm in its dependent steps, without headers or matching. Data is
/// summed as it arrives.
///
///     direct    each rank sends its whole vector to all; in a broadcast, only the root
///     doubling  whole vectors, in log2 n exchanges
///     ring      blocks, in 2 (n - 1) exchanges
///     ping_pong, ping_pong_asleep
///               two ranks only: a vector there, the sum back; a waiting rank polls, or sleeps
///     chain     broadcast only: each rank passes on what arrives
///     tree      broadcast only: as chain, to the children of a binomial tree
class tcp_limit {
 public:
  static constexpr bool ranks_are_threads = true;

  tcp_limit(unsigned rank, board& shared, sockets const& net)
      : rank_(rank), size_(static_cast<unsigned>(shared.places.size())), net_(&net), steps_(rank, shared) {}

  [[nodiscard]] unsigned rank() const noexcept { return rank_; }
  [[nodiscard]] unsigned size() const noexcept { return size_; }
  [[nodiscard]] std::int64_t messages() const noexcept { return -1; }
  void barrier() noexcept { steps_.meet(); }

  template <class Use>
  void with(work const& w, vectors const& v, Use const& use) {
    arrived_.resize(w.count());
    if (w.op == operation::allreduce) {
      if (w.algorithm == "direct") {
        own_.resize(w.count());
        return use([&] { direct(v); });
      }
      if (w.algorithm == "doubling" && std::has_single_bit(size_)) {
        return use([&] { doubling(v); });
      }
      if (w.algorithm == "ring" && w.count() >= size_) {
        return use([&] { ring(v); });
      }
      if (w.algorithm.starts_with("ping_pong") && size_ == 2) {
        return use([&, asleep = w.algorithm == "ping_pong_asleep"] { ping_pong(v, asleep); });
      }
    } else {
      std::vector<unsigned> children;
      for (unsigned distance = 1; distance < size_; distance *= 2) {
        if (w.algorithm == "tree" && rank_ < distance && rank_ + distance < size_) {
          children.push_back(rank_ + distance);
        }
      }
      for (unsigned r = 1; r < size_; ++r) {
        if ((w.algorithm == "chain" && r == rank_ + 1) || (w.algorithm == "direct" && rank_ == 0)) {
          children.push_back(r);
        }
      }
      unsigned const parent = w.algorithm == "direct"  ? 0
                              : w.algorithm == "chain" ? rank_ - 1
                                                       : rank_ - std::bit_floor(rank_ == 0 ? 1 : rank_);
      if (w.algorithm == "tree" || w.algorithm == "chain" || w.algorithm == "direct") {
        return use([&, parent] { pass_on(v.output, parent, children); });
      }
    }
    throw not_offered(w);
  }

 private:
  /// Bytes to send over one connection.
  struct outgoing {
    int socket;
    char const* data;
    std::size_t left;

    /// True if bytes have moved.
    bool move() {
      ssize_t const n = left == 0 ? 0 : ::send(socket, data, left, MSG_DONTWAIT | MSG_NOSIGNAL);
      check(n);
      data += std::max<ssize_t>(n, 0);
      left -= static_cast<std::size_t>(std::max<ssize_t>(n, 0));
      return n > 0;
    }
  };
  struct incoming {
    int socket;
    char* data;
    std::size_t left;
    std::size_t got = 0;

    bool move() {
      // Receives a piece at a time, which is summed while it is in the cache.
      ssize_t const n = left == 0 ? 0 : ::recv(socket, data + got, std::min(left, piece), MSG_DONTWAIT);
      check(n);
      got += static_cast<std::size_t>(std::max<ssize_t>(n, 0));
      left -= static_cast<std::size_t>(std::max<ssize_t>(n, 0));
      return n > 0;
    }
  };
  static constexpr std::size_t piece = std::size_t{256} << 10;

  static void check(ssize_t moved) {
    if (moved < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
      throw std::runtime_error("a connection broke");
    }
  }

  /// Spins, or yields if cores are oversubscribed, and sleeps in the end.
  void wait(unsigned& idle, std::span<pollfd> on) const {
    if (++idle > (crowded_ ? 1000U : 20000U)) {
      ::poll(on.data(), on.size(), 1000);
    } else if (crowded_) {
      ::sched_yield();
    } else {
      // Pauses: polling holds the socket's lock, which arriving data needs.
      for (int i = 0; i < 16; ++i) {
        __builtin_ia32_pause();
      }
    }
  }

  /// Sends to one rank and receives into `in` from another at once. Writes the sum of `with` and the received data to
  /// `to_sum`, unless this is null.
  void exchange(unsigned to, std::span<float const> out, unsigned from, std::span<float> in, float* to_sum,
                float const* with) {
    outgoing o{net_->between(rank_, to), reinterpret_cast<char const*>(out.data()), out.size_bytes()};
    incoming i{net_->between(rank_, from), reinterpret_cast<char*>(in.data()), in.size_bytes()};
    std::size_t summed = 0;
    for (unsigned idle = 0; o.left > 0 || i.left > 0;) {
      bool const moved = o.move();
      if (i.move()) {
        idle = 0;
        if (to_sum != nullptr) {
          std::size_t const whole = i.got / sizeof(float);
          add(to_sum + summed, with + summed, in.data() + summed, whole - summed);
          summed = whole;
        }
      } else if (moved) {
        idle = 0;
      } else {
        std::array<pollfd, 2> on{pollfd{o.left > 0 ? o.socket : -1, POLLOUT, 0},
                                 pollfd{i.left > 0 ? i.socket : -1, POLLIN, 0}};
        wait(idle, on);
      }
    }
  }

  void direct(vectors const& v) {
    float const* mine = v.input.data();
    std::span<float const> own = v.input;
    if (size_ > 2) {  // the sum must not overwrite data still to be sent
      std::copy(v.input.begin(), v.input.end(), own_.begin());
      own = own_;
    }
    for (unsigned k = 1; k < size_; ++k) {
      if (size_ == 2) {
        exchange(1 - rank_, own, 1 - rank_, arrived_, nullptr, nullptr);
        add(v.output.data(), mine, arrived_.data(), arrived_.size());
      } else {
        exchange((rank_ + k) % size_, own, (rank_ + size_ - k) % size_, arrived_, v.output.data(), mine);
      }
      mine = v.output.data();
    }
  }

  void doubling(vectors const& v) {
    std::span<float const> mine = v.input;
    for (unsigned distance = 1; distance < size_; distance *= 2) {
      exchange(rank_ ^ distance, mine, rank_ ^ distance, arrived_, nullptr, nullptr);
      add(v.output.data(), mine.data(), arrived_.data(), arrived_.size());
      mine = v.output;
    }
  }

  void ring(vectors const& v) {
    unsigned const next = (rank_ + 1) % size_;
    unsigned const before = (rank_ + size_ - 1) % size_;
    auto const begin = [&](unsigned b) { return v.output.size() * b / size_; };
    auto const length = [&](unsigned b) { return begin(b + 1) - begin(b); };
    std::span<float const> from = v.input;
    for (unsigned k = 0; k + 1 < size_; ++k) {
      unsigned const send = (rank_ + size_ - k) % size_;
      unsigned const receive = (send + size_ - 1) % size_;
      exchange(next, from.subspan(begin(send), length(send)), before, std::span(arrived_).first(length(receive)),
               v.output.data() + begin(receive), v.input.data() + begin(receive));
      from = v.output;
    }
    for (unsigned k = 0; k + 1 < size_; ++k) {
      unsigned const send = (rank_ + 1 + size_ - k) % size_;
      unsigned const receive = (send + size_ - 1) % size_;
      exchange(next, v.output.subspan(begin(send), length(send)), before,
               v.output.subspan(begin(receive), length(receive)), nullptr, nullptr);
    }
  }

  void ping_pong(vectors const& v, bool asleep) {
    if (rank_ == 1) {
      pass(v.input, {}, asleep);
      pass({}, v.output, asleep);
    } else {
      pass({}, arrived_, asleep);
      add(v.output.data(), v.input.data(), arrived_.data(), arrived_.size());
      pass(v.output, {}, asleep);
    }
  }
  /// Moves data one way between two ranks; one of the spans is empty.
  void pass(std::span<float const> out, std::span<float> in, bool asleep) {
    outgoing o{net_->between(rank_, 1 - rank_), reinterpret_cast<char const*>(out.data()), out.size_bytes()};
    incoming i{net_->between(rank_, 1 - rank_), reinterpret_cast<char*>(in.data()), in.size_bytes()};
    while (o.left > 0 || i.left > 0) {
      if (!o.move() && !i.move() && asleep) {
        pollfd on{o.socket, static_cast<short>(o.left > 0 ? POLLOUT : POLLIN), 0};
        ::poll(&on, 1, 1000);
      }
    }
  }

  void pass_on(std::span<float> v, unsigned parent, std::vector<unsigned> const& children) {
    auto* const data = reinterpret_cast<char*>(v.data());
    incoming in{rank_ == 0 ? -1 : net_->between(rank_, parent), data, rank_ == 0 ? 0 : v.size_bytes(), 0};
    in.got = v.size_bytes() - in.left;
    std::array<outgoing, 32> out;
    for (std::size_t c = 0; c < children.size(); ++c) {
      out[c] = {net_->between(rank_, children[c]), data, 0};
    }
    for (unsigned idle = 0;;) {
      bool moved = in.move();
      bool over = in.left == 0;
      std::array<pollfd, 33> on{pollfd{in.left > 0 ? in.socket : -1, POLLIN, 0}};
      for (std::size_t c = 0; c < children.size(); ++c) {
        out[c].left = in.got - static_cast<std::size_t>(out[c].data - data);
        moved = out[c].move() || moved;
        over = over && out[c].left == 0;
        on[c + 1] = {out[c].left > 0 ? out[c].socket : -1, POLLOUT, 0};
      }
      if (over) {
        return;
      }
      idle = moved ? 0 : idle;
      if (!moved) {
        wait(idle, std::span(on).first(children.size() + 1));
      }
    }
  }

  unsigned rank_;
  unsigned size_;
  bool crowded_ = size_ > std::thread::hardware_concurrency();  // asked once, as asking opens a file
  sockets const* net_;
  steps steps_;
  std::vector<float> arrived_;
  std::vector<float> own_;
};

}  // namespace bench
