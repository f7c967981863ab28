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

  tcp_limit(unsigned rank, board& state, sockets const& net)
      : rank_(rank), size_(static_cast<unsigned>(state.places.size())), net_(&net), steps_(rank, state) {}

  [[nodiscard]] unsigned rank() const noexcept { return rank_; }
  [[nodiscard]] unsigned size() const noexcept { return size_; }
  [[nodiscard]] std::int64_t messages() const noexcept { return -1; }
  void barrier() noexcept { steps_.meet(); }

  template <class Use>
  void prepare(work const& w, vectors const& v, Use const& use) {
    receive_buffer_.resize(w.count());
    if (w.op == operation::allreduce) {
      if (w.algorithm == "direct") {
        input_copy_.resize(w.count());
        return use([&] { direct(v); });
      }
      if (w.algorithm == "doubling" && std::has_single_bit(size_)) {
        return use([&] { doubling(v); });
      }
      if (w.algorithm == "ring" && w.count() >= size_) {
        return use([&] { ring(v); });
      }
      if (w.algorithm.starts_with("ping_pong") && size_ == 2) {
        return use([&, may_sleep = w.algorithm == "ping_pong_asleep"] { ping_pong(v, may_sleep); });
      }
    } else if (w.op == operation::broadcast) {
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
    std::size_t position = 0;

    bool move() {
      // Receives a piece at a time, which is summed while it is in the cache.
      ssize_t const n = left == 0 ? 0 : ::recv(socket, data + position, std::min(left, piece), MSG_DONTWAIT);
      check(n);
      position += static_cast<std::size_t>(std::max<ssize_t>(n, 0));
      left -= static_cast<std::size_t>(std::max<ssize_t>(n, 0));
      return n > 0;
    }
  };
  static constexpr std::size_t piece = std::size_t{256} << 10;

  static void check(ssize_t result) {
    if (result < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
      throw std::runtime_error("a connection broke");
    }
  }

  /// Spins, or yields if cores are oversubscribed, and sleeps in the end.
  void wait(unsigned& idle, std::span<pollfd> descriptors) const {
    if (++idle > (is_oversubscribed_ ? 1000U : 20000U)) {
      ::poll(descriptors.data(), descriptors.size(), 1000);
    } else if (is_oversubscribed_) {
      ::sched_yield();
    } else {
      // Pauses: polling holds the socket's lock, which arriving data needs.
      for (int i = 0; i < 16; ++i) {
        __builtin_ia32_pause();
      }
    }
  }

  /// Sends to one rank and receives into `buffer` from another at once. Writes the sum of `addend` and the received
  /// data to `sum`, unless this is null.
  void exchange(unsigned receiver, std::span<float const> message, unsigned sender, std::span<float> buffer, float* sum,
                float const* addend) {
    outgoing o{net_->socket(rank_, receiver), reinterpret_cast<char const*>(message.data()), message.size_bytes()};
    incoming i{net_->socket(rank_, sender), reinterpret_cast<char*>(buffer.data()), buffer.size_bytes()};
    std::size_t summed_floats = 0;
    for (unsigned idle = 0; o.left > 0 || i.left > 0;) {
      bool const has_sent = o.move();
      if (i.move()) {
        idle = 0;
        if (sum != nullptr) {
          std::size_t const arrived_floats = i.position / sizeof(float);
          add(sum + summed_floats, addend + summed_floats, buffer.data() + summed_floats,
              arrived_floats - summed_floats);
          summed_floats = arrived_floats;
        }
      } else if (has_sent) {
        idle = 0;
      } else {
        std::array<pollfd, 2> descriptors{pollfd{o.left > 0 ? o.socket : -1, POLLOUT, 0},
                                          pollfd{i.left > 0 ? i.socket : -1, POLLIN, 0}};
        wait(idle, descriptors);
      }
    }
  }

  void direct(vectors const& v) {
    float const* partial_sum = v.input.data();
    std::span<float const> message = v.input;
    if (size_ > 2) {  // the sum must not overwrite data still to be sent
      std::copy(v.input.begin(), v.input.end(), input_copy_.begin());
      message = input_copy_;
    }
    for (unsigned k = 1; k < size_; ++k) {
      if (size_ == 2) {
        exchange(1 - rank_, message, 1 - rank_, receive_buffer_, nullptr, nullptr);
        add(v.output.data(), partial_sum, receive_buffer_.data(), receive_buffer_.size());
      } else {
        exchange((rank_ + k) % size_, message, (rank_ + size_ - k) % size_, receive_buffer_, v.output.data(),
                 partial_sum);
      }
      partial_sum = v.output.data();
    }
  }

  void doubling(vectors const& v) {
    std::span<float const> partial_sum = v.input;
    for (unsigned distance = 1; distance < size_; distance *= 2) {
      exchange(rank_ ^ distance, partial_sum, rank_ ^ distance, receive_buffer_, nullptr, nullptr);
      add(v.output.data(), partial_sum.data(), receive_buffer_.data(), receive_buffer_.size());
      partial_sum = v.output;
    }
  }

  void ring(vectors const& v) {
    unsigned const next = (rank_ + 1) % size_;
    unsigned const previous = (rank_ + size_ - 1) % size_;
    auto const begin = [&](unsigned b) { return v.output.size() * b / size_; };
    auto const length = [&](unsigned b) { return begin(b + 1) - begin(b); };
    std::span<float const> source = v.input;
    for (unsigned k = 0; k + 1 < size_; ++k) {
      unsigned const send = (rank_ + size_ - k) % size_;
      unsigned const receive = (send + size_ - 1) % size_;
      exchange(next, source.subspan(begin(send), length(send)), previous,
               std::span(receive_buffer_).first(length(receive)), v.output.data() + begin(receive),
               v.input.data() + begin(receive));
      source = v.output;
    }
    for (unsigned k = 0; k + 1 < size_; ++k) {
      unsigned const send = (rank_ + 1 + size_ - k) % size_;
      unsigned const receive = (send + size_ - 1) % size_;
      exchange(next, v.output.subspan(begin(send), length(send)), previous,
               v.output.subspan(begin(receive), length(receive)), nullptr, nullptr);
    }
  }

  void ping_pong(vectors const& v, bool may_sleep) {
    if (rank_ == 1) {
      pass(v.input, {}, may_sleep);
      pass({}, v.output, may_sleep);
    } else {
      pass({}, receive_buffer_, may_sleep);
      add(v.output.data(), v.input.data(), receive_buffer_.data(), receive_buffer_.size());
      pass(v.output, {}, may_sleep);
    }
  }
  /// Moves data one way between two ranks; one of the spans is empty.
  void pass(std::span<float const> message, std::span<float> buffer, bool may_sleep) {
    outgoing o{net_->socket(rank_, 1 - rank_), reinterpret_cast<char const*>(message.data()), message.size_bytes()};
    incoming i{net_->socket(rank_, 1 - rank_), reinterpret_cast<char*>(buffer.data()), buffer.size_bytes()};
    while (o.left > 0 || i.left > 0) {
      if (!o.move() && !i.move() && may_sleep) {
        pollfd descriptor{o.socket, static_cast<short>(o.left > 0 ? POLLOUT : POLLIN), 0};
        ::poll(&descriptor, 1, 1000);
      }
    }
  }

  void pass_on(std::span<float> v, unsigned parent, std::vector<unsigned> const& children) {
    auto* const data = reinterpret_cast<char*>(v.data());
    incoming input{rank_ == 0 ? -1 : net_->socket(rank_, parent), data, rank_ == 0 ? 0 : v.size_bytes(), 0};
    input.position = v.size_bytes() - input.left;
    std::array<outgoing, 32> outputs;
    for (std::size_t c = 0; c < children.size(); ++c) {
      outputs[c] = {net_->socket(rank_, children[c]), data, 0};
    }
    for (unsigned idle = 0;;) {
      bool has_moved = input.move();
      bool is_complete = input.left == 0;
      std::array<pollfd, 33> descriptors{pollfd{input.left > 0 ? input.socket : -1, POLLIN, 0}};
      for (std::size_t c = 0; c < children.size(); ++c) {
        outputs[c].left = input.position - static_cast<std::size_t>(outputs[c].data - data);
        has_moved = outputs[c].move() || has_moved;
        is_complete = is_complete && outputs[c].left == 0;
        descriptors[c + 1] = {outputs[c].left > 0 ? outputs[c].socket : -1, POLLOUT, 0};
      }
      if (is_complete) {
        return;
      }
      idle = has_moved ? 0 : idle;
      if (!has_moved) {
        wait(idle, std::span(descriptors).first(children.size() + 1));
      }
    }
  }

  unsigned rank_;
  unsigned size_;
  bool is_oversubscribed_ = size_ > std::thread::hardware_concurrency();  // asked once, as asking opens a file
  sockets const* net_;
  steps steps_;
  std::vector<float> receive_buffer_;
  std::vector<float> input_copy_;
};

}  // namespace bench
