// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/linkage.hpp>
#include <tutti/nn/base/parameter_range.hpp>
#include <tutti/nn/detail/parameter_server/key_range.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace tutti::inline v0_1_0::nn::parameter_server::detail {

/// The divisibility of layers between two servers.
enum class layer_division { divisible, whole };

/// The keys of each server, and the pieces in which they are sent.
///
/// Servers hold contiguous shards of nearly equal size. A cut moves to the border of a layer if one is within an
/// eighth of a shard; otherwise it divides the layer. Layers, or their parts, are the pieces, the unit of pushes,
/// pulls and updates.
class layout {
 public:
  /// @param ranges parameters of each layer, in order and without gaps
  /// @param division whole: cuts only at borders of layers, for optimizers that need whole layers
  layout(std::vector<parameter_range> const& ranges, std::size_t servers,
         layer_division division = layer_division::divisible);

  [[nodiscard]] std::size_t servers() const noexcept { return first_piece_.size() - 1; }
  [[nodiscard]] std::size_t keys() const noexcept { return shard_begins_.back(); }
  /// The keys of server k.
  [[nodiscard]] key_range shard(std::size_t k) const noexcept { return {shard_begins_[k], shard_begins_[k + 1]}; }
  /// All pieces, in the order of keys.
  [[nodiscard]] std::span<key_range const> pieces() const noexcept { return pieces_; }
  /// The pieces of server k.
  [[nodiscard]] std::span<key_range const> pieces(std::size_t k) const noexcept {
    return std::span(pieces_).subspan(first_piece_[k], first_piece_[k + 1] - first_piece_[k]);
  }
  /// The number of last keys of each piece of server k that weight decay leaves alone.
  [[nodiscard]] std::span<std::size_t const> decay_exemptions(std::size_t k) const noexcept {
    return std::span(decay_exemptions_).subspan(first_piece_[k], first_piece_[k + 1] - first_piece_[k]);
  }
  /// The server with this key.
  [[nodiscard]] std::size_t server_of(std::size_t key) const noexcept;

 private:
  /// The beginning of shard k. Every shard has at least one key, or one layer.
  [[nodiscard]] std::size_t shard_begin(std::vector<parameter_range> const& ranges, std::size_t k, std::size_t servers,
                                        std::size_t keys, layer_division division) const noexcept;

  std::vector<std::size_t> shard_begins_;  // beginnings of the shards, and the end of the last one
  std::vector<key_range> pieces_;
  std::vector<std::size_t> decay_exemptions_;  // number of last keys of each piece without weight decay
  std::vector<std::size_t> first_piece_;       // index of each server's first piece
};

}  // namespace tutti::nn::parameter_server::detail

#ifndef TUTTI_SEPARATE_COMPILATION
#include <tutti/nn/detail/parameter_server/layout.ipp>
#endif
