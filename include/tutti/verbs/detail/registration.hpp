// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/owner.hpp>
#include <tutti/verbs/detail/device.hpp>

#include <cstddef>

namespace tutti::inline v0_1_0::detail::verbs {

/// Access rights of a registration. Memory that is only read may be read-only.
enum class access : int {
  local_read = 0,
  remote_read = IBV_ACCESS_REMOTE_READ,
  local_write = IBV_ACCESS_LOCAL_WRITE,
  remote_write = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE,
  full = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE
};

/// Registered memory: the device may access it during the lifetime of this object.
class registration {
 public:
  registration() noexcept = default;
  /// @throws error(failure::join) if the system refuses
  registration(device const& rdma_device, std::byte const* begin, std::size_t bytes, access a)
      // parentheses: not the macro
      : region_((ibv_reg_mr)(rdma_device.domain.get(), const_cast<std::byte*>(begin), bytes, static_cast<int>(a))) {
    if (!region_) {
      throw device_error(rdma_device.address, message({"cannot register ", bytes, " bytes with the device"}), errno);
    }
  }

  [[nodiscard]] std::uint32_t local_key() const noexcept { return region_->lkey; }
  [[nodiscard]] std::uint32_t remote_key() const noexcept { return region_->rkey; }
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(region_); }

 private:
  handle<ibv_mr, ibv_dereg_mr> region_;
};

/// A buffer of its own, aligned and registered.
class registered_memory {
 public:
  static constexpr std::size_t alignment = 64;

  registered_memory() noexcept = default;
  registered_memory(device const& rdma_device, std::size_t bytes)
      : memory_(bytes + alignment), size_(bytes), registration_(rdma_device, begin(), bytes, access::local_write) {}

  [[nodiscard]] std::byte* begin() const noexcept {
    std::uintptr_t const at = reinterpret_cast<std::uintptr_t>(memory_.get());
    return memory_.get() + (alignment - at % alignment) % alignment;
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint32_t key() const noexcept { return registration_.local_key(); }

 private:
  owned_array<std::byte> memory_;
  std::size_t size_ = 0;
  registration registration_;
};

}  // namespace tutti::detail::verbs
