// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/detail/fpga_nic/commands.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// One rank's copy of the weights, and the gradients of updates. Both are the user's memory; weights are not modified
/// while an update is under way.
class local_weights {
 public:
  /// Declares the weights of all ranks. @pre whole blocks
  void set_weights(std::span<std::byte const> weights) noexcept {
    weights_ = weights;
    ++version_;
  }
  /// Sets the memory that updates take gradients from. @pre as many bytes as there are weights
  void set_gradients(std::span<std::byte const> gradients, float rate, float decay) noexcept {
    gradients_ = gradients;
    terms_ = {0, version_, std::bit_cast<std::uint32_t>(rate), std::bit_cast<std::uint32_t>(decay)};
  }
  void release() noexcept { weights_ = gradients_ = {}; }

  [[nodiscard]] std::size_t blocks() const noexcept { return weights_.size() / block_bytes; }
  [[nodiscard]] std::uint32_t version() const noexcept { return version_; }
  /// @pre k < blocks()
  [[nodiscard]] std::span<std::byte const> block(std::uint32_t k) const noexcept {
    return weights_.subspan(std::size_t{k} * block_bytes, block_bytes);
  }

  /// True if these are gradients of whole blocks.
  [[nodiscard]] bool are_gradients(std::span<std::byte const> gradients) const noexcept {
    std::less_equal<> const not_after{};
    return not_after(gradients_.data(), gradients.data()) &&
           not_after(gradients.data() + gradients.size(), gradients_.data() + gradients_.size()) &&
           offset(gradients.data()) % block_bytes == 0 && gradients.size() % block_bytes == 0;
  }
  /// The terms of an update with these gradients. @pre are_gradients
  [[nodiscard]] update_terms terms_of(std::byte const* gradients) const noexcept {
    update_terms t = terms_;
    t.key = static_cast<std::uint32_t>(offset(gradients) / block_bytes);
    return t;
  }

 private:
  [[nodiscard]] std::size_t offset(std::byte const* gradients) const noexcept {
    return static_cast<std::size_t>(gradients - gradients_.data());
  }

  std::span<std::byte const> weights_;
  std::span<std::byte const> gradients_;
  std::uint32_t version_ = 0;
  update_terms terms_{};
};

}  // namespace tutti::detail::fpga_nic
