// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/expects.hpp>
#include <tutti/nn/base/settings.hpp>
#include <tutti/nn/detail/parameter_server/key_range.hpp>
#include <tutti/nn/detail/parameter_server/layout.hpp>
#include <tutti/nn/detail/parameter_server/message.hpp>
#include <tutti/nn/detail/parameter_server/piece.hpp>
#include <tutti/nn/detail/parameter_server/rates.hpp>
#include <tutti/nn/parameter_server/base/consistency.hpp>
#include <tutti/nn/parameter_server/base/figures.hpp>
#include <tutti/nn/parameter_server/base/regulariser.hpp>
#include <tutti/nn/schedule/batch_plan.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::nn::parameter_server::detail {

/// The weights of one server, in pieces, with their optimizers. Knows workers only by number, and counts the
/// staleness of their reads and pushes.
class shard {
 public:
  /// @param weights initial weights of the whole model
  /// @param memory state of an optimizer of the whole model; empty: initial state
  /// @param begin number of steps already made
  shard(layout const& layout, std::size_t server, consistency consistency, settings const& settings,
        batch_plan const& plan, regulariser extra, std::size_t workers, std::span<float const> weights,
        std::span<float const> memory, clock_value begin)
      : keys_(layout.shard(server)), rates_(settings, plan), begin_(begin) {
    for (std::size_t i = 0; i != layout.pieces(server).size(); ++i) {
      key_range const keys = layout.pieces(server)[i];
      pieces_.emplace_back(keys, layout.decay_exemptions(server)[i], weights.subspan(keys.begin, keys.size()), settings,
                           extra, workers, consistency.is_synchronous(),
                           memory.empty() ? memory : memory.subspan(keys.begin, keys.size()), begin);
    }
  }

  [[nodiscard]] key_range keys() const noexcept { return keys_; }
  [[nodiscard]] std::span<piece const> pieces() const noexcept { return pieces_; }
  /// The number of updates of the first piece since training began or was resumed.
  [[nodiscard]] std::uint64_t steps() const noexcept { return pieces_.front().updates() - begin_; }
  /// The number of updates of the first piece, including the ones before training was resumed.
  [[nodiscard]] clock_value clock() const noexcept { return pieces_.front().updates(); }
  [[nodiscard]] histogram const& lead() const noexcept { return lead_; }
  [[nodiscard]] histogram const& missed_updates() const noexcept { return missed_updates_; }

  /// The piece with these keys.
  /// @throws precondition_error if there is none
  [[nodiscard]] piece& find(key_range keys) {
    auto const position = std::ranges::find(pieces_, keys, [](auto const& piece) { return piece.keys(); });
    expects(position != pieces_.end(),
            "parameter server: gradients are pushed for whole pieces of the layout, not for keys ", keys.begin, " to ",
            keys.end);
    return *position;
  }
  /// Processes the gradient that has arrived in a piece's inbox.
  void push(piece& piece, std::size_t worker, message const& push) {
    piece.add_gradient(worker, push, rates_, missed_updates_);
  }

  /// True if a worker may read these keys.
  [[nodiscard]] bool can_read(std::size_t worker, key_range keys, clock_value need) const noexcept {
    return std::ranges::all_of(
        pieces_, [&](auto const& piece) { return !piece.keys().overlaps(keys) || piece.can_read(worker, need); });
  }
  /// Copies these keys for a worker at this clock.
  void read(std::size_t worker, key_range keys, clock_value clock, std::span<float> destination) {
    for (auto& piece : pieces_) {
      key_range const part = intersection(piece.keys(), keys);
      if (part.size() != 0) {
        std::ranges::copy(piece.weights().subspan(part.begin - piece.keys().begin, part.size()),
                          destination.subspan(part.begin - keys.begin, part.size()).begin());
        piece.read(worker, clock, lead_);
      }
    }
  }
  /// Copies the optimizer state of all pieces.
  void copy_memory(std::vector<float>& destination) {
    destination.clear();
    for (auto& piece : pieces_) {
      destination.insert(destination.end(), piece.memory().begin(), piece.memory().end());
    }
  }
  void drop(std::size_t worker) {
    for (auto& piece : pieces_) {
      piece.drop(worker, rates_);
    }
  }

 private:
  key_range keys_;
  rates rates_;
  clock_value begin_;
  std::vector<piece> pieces_;
  histogram lead_;
  histogram missed_updates_;
};

}  // namespace tutti::nn::parameter_server::detail
