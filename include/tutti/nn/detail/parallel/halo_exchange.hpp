// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/request.hpp>
#include <tutti/collective/send_recv.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::nn::detail::inline parallel {

/// Ranks in a row, each of which swaps as many numbers with the one before it and the one behind it. The first has
/// none before it and the last none behind it: what it would receive from there stays zeros.
///
/// Cost: up to two messages each way, all under way at the same time.
template <class T, group Communicator>
class halo_exchange {
 public:
  /// Towards which end of the row of ranks.
  enum side : std::size_t { before, behind };

  /// @param count numbers of a message, the same on all ranks
  halo_exchange(Communicator& world, std::size_t count) : world_(world.alias()), send_(world), recv_(world) {
    for (side const s : {before, behind}) {
      out_[s].resize(count);
      in_[s].resize(count);
    }
  }

  [[nodiscard]] bool has(side s) const noexcept {
    return s == before ? world_.rank() != 0 : world_.rank() + 1 != world_.size();
  }

  /// To be written before start().
  [[nodiscard]] std::span<T> to(side s) noexcept { return out_[s]; }
  /// What that neighbour sent, after finish().
  [[nodiscard]] std::span<T const> from(side s) const noexcept { return in_[s]; }

  /// @param count numbers of each message, at most as many as it was made for
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
  std::array<request, 2> coming_;  // given up before what they write into goes
  std::array<request, 2> going_;
};

}  // namespace tutti::nn::detail::parallel
