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
  enum side : std::size_t { before, behind };

  /// @param count size of a message, equal on all ranks
  halo_exchange(Communicator& world, std::size_t count) : world_(world.alias()), send_(world), recv_(world) {
    for (side const s : {before, behind}) {
      out_[s].resize(count);
      in_[s].resize(count);
    }
  }

  [[nodiscard]] bool has(side s) const noexcept {
    return s == before ? world_.rank() != 0 : world_.rank() + 1 != world_.size();
  }

  /// The message to that neighbour, written before start().
  [[nodiscard]] std::span<T> to(side s) noexcept { return out_[s]; }
  /// The message from that neighbour, valid after finish().
  [[nodiscard]] std::span<T const> from(side s) const noexcept { return in_[s]; }

  /// @param count size of each message, at most that of the constructor
  void start(std::size_t count) {
    for (side const s : {before, behind}) {
      if (has(s)) {
        coming_[s] = recv_.start(std::span(in_[s]).first(count), neighbour(s));
        going_[s] = send_.start(std::span<T const>(out_[s]).first(count), neighbour(s));
      }
    }
  }

  void finish() {
    for (side const s : {before, behind}) {
      coming_[s].wait();
      going_[s].wait();
    }
  }

 private:
  [[nodiscard]] rank_type neighbour(side s) const noexcept {
    return s == before ? world_.rank() - 1 : world_.rank() + 1;
  }

  Communicator world_;
  send<Communicator> send_;
  recv<Communicator> recv_;
  std::array<std::vector<T>, 2> out_;
  std::array<std::vector<T>, 2> in_;
  std::array<request, 2> coming_;  // destroyed before the buffers that they use
  std::array<request, 2> going_;
};

}  // namespace tutti::nn::detail::parallel
