// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/request.hpp>
#include <tutti/collective/send_recv.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline parallel {

/// Exchanges equally many numbers between each rank and its neighbours before and behind it. The first rank has no
/// neighbour before it and the last none behind it: their halos there stay zeros.
///
/// Cost: up to two messages each way, all concurrently.
template <class T, group Communicator>
class halo_exchange {
 public:
  /// The direction of a neighbour in the order of ranks.
  enum side : std::size_t { previous, next };

  /// @param count size of a message, equal on all ranks
  halo_exchange(Communicator& world, std::size_t count) : world_(world.alias()), send_(world), recv_(world) {
    for (side const direction : {previous, next}) {
      send_buffers_[direction].resize(count);
      receive_buffers_[direction].resize(count);
    }
  }

  [[nodiscard]] bool has(side direction) const noexcept {
    return direction == previous ? world_.rank() != 0 : world_.rank() + 1 != world_.size();
  }

  /// The message to that neighbour, written before start().
  [[nodiscard]] std::span<T> send_buffer(side direction) noexcept { return send_buffers_[direction]; }
  /// The message from that neighbour, valid after finish().
  [[nodiscard]] std::span<T const> receive_buffer(side direction) const noexcept { return receive_buffers_[direction]; }

  /// @param count size of each message, at most that of the constructor
  void start(std::size_t count) {
    for (side const direction : {previous, next}) {
      if (has(direction)) {
        receives_[direction] = recv_.start(std::span(receive_buffers_[direction]).first(count), neighbour(direction));
        sends_[direction] =
            send_.start(std::span<T const>(send_buffers_[direction]).first(count), neighbour(direction));
      }
    }
  }

  void finish() {
    for (side const direction : {previous, next}) {
      receives_[direction].wait();
      sends_[direction].wait();
    }
  }

 private:
  [[nodiscard]] rank_type neighbour(side direction) const noexcept {
    return direction == previous ? world_.rank() - 1 : world_.rank() + 1;
  }

  Communicator world_;
  send<Communicator> send_;
  recv<Communicator> recv_;
  std::array<std::vector<T>, 2> send_buffers_;
  std::array<std::vector<T>, 2> receive_buffers_;
  std::array<request, 2> receives_;  // destroyed before the buffers that they use
  std::array<request, 2> sends_;
};

}  // namespace tutti::nn::detail::parallel
