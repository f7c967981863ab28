// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/in_network/detail/fpga_nic/commands.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace tutti::inline v0_1_0::detail::fpga_nic {

/// The weights of a training as one rank has them, and the gradients by which updates are to move them. Memory of the
/// user; weights stay as they are while an update is under way.
class own_weights {
 public:
  /// These are the weights from now on, on all ranks. @pre whole blocks
  void hold(std::span<std::byte const> all) noexcept {
    all_ = all;
    ++version_;
  }
  /// What updates contribute lies here from now on. @pre as many bytes as there are weights
  void push(std::span<std::byte const> gradients, float rate, float decay) noexcept {
    gradients_ = gradients;
    terms_ = {0, version_, std::bit_cast<std::uint32_t>(rate), std::bit_cast<std::uint32_t>(decay)};
  }
  /// Nothing is held any more.
  void let_go() noexcept { all_ = gradients_ = {}; }

  [[nodiscard]] std::size_t blocks() const noexcept { return all_.size() / block_bytes; }
  [[nodiscard]] std::uint32_t version() const noexcept { return version_; }
  /// @pre k < blocks()
  [[nodiscard]] std::span<std::byte const> block(std::uint32_t k) const noexcept {
    return all_.subspan(std::size_t{k} * block_bytes, block_bytes);
  }

  /// Whether these are gradients of whole blocks.
  [[nodiscard]] bool are_pushed(std::span<std::byte const> some) const noexcept {
    std::less_equal<> const not_after{};
    return not_after(gradients_.data(), some.data()) &&
           not_after(some.data() + some.size(), gradients_.data() + gradients_.size()) &&
           offset(some.data()) % block_bytes == 0 && some.size() % block_bytes == 0;
  }
  /// What is to be done with gradients that lie there. @pre are_pushed
  [[nodiscard]] update_terms terms_of(std::byte const* gradients) const noexcept {
    update_terms t = terms_;
    t.key = static_cast<std::uint32_t>(offset(gradients) / block_bytes);
    return t;
  }

 private:
  [[nodiscard]] std::size_t offset(std::byte const* gradients) const noexcept {
    return static_cast<std::size_t>(gradients - gradients_.data());
  }

  std::span<std::byte const> all_;
  std::span<std::byte const> gradients_;
  std::uint32_t version_ = 0;
  update_terms terms_{};
};

}  // namespace tutti::detail::fpga_nic
