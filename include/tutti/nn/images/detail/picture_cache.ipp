// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/nn/base/dataset.hpp>
#include <tutti/nn/images/detail/picture_cache.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <sys/mman.h>

namespace tutti::inline v0_1_0::nn::detail::inline images {

TUTTI_DECL picture_cache::picture_cache(std::size_t pictures, std::size_t bytes_each)
    : pictures_(pictures), bytes_each_(bytes_each) {
  if (pictures == 0) {
    return;
  }
  std::size_t const bytes = pictures * (bytes_each + sizeof(std::atomic<state>));
  void* const memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw data_error("the cache of decoded pictures cannot be made: expected " + std::to_string(bytes) +
                     " bytes of address space, found less; lower cache_bytes");
  }
  states_ = static_cast<std::atomic<state>*>(memory);
  std::uninitialized_value_construct_n(states_, pictures);
  pixels_ = static_cast<std::uint8_t*>(memory) + pictures * sizeof(std::atomic<state>);
}

TUTTI_DECL picture_cache::~picture_cache() {
  if (states_ != nullptr) {
    ::munmap(states_, pictures_ * (bytes_each_ + sizeof(std::atomic<state>)));
  }
}

TUTTI_DECL void picture_cache::publish(std::size_t i, std::span<std::uint8_t const> bytes) noexcept {
  std::ranges::copy(bytes, pixels_ + i * bytes_each_);
  states_[i].store(state::ready, std::memory_order_release);
}

}  // namespace tutti::nn::detail::images
