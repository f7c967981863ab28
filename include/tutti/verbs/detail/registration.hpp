// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/owned.hpp>
#include <tutti/verbs/detail/device.hpp>

#include <cstddef>

namespace tutti::inline v0_1_0::detail::verbs {

/// What a device may do with memory that is registered. Memory that may only be read is registered for reading only.
enum class access : int {
  read_here = 0,
  read_by_peers = IBV_ACCESS_REMOTE_READ,
  written_here = IBV_ACCESS_LOCAL_WRITE,
  written_by_peers = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE,
  all = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE
};

/// Memory that a device may work in, for as long as this lives. After the end no device does.
class registration {
 public:
  registration() noexcept = default;
  /// @throws error(failure::join) if the system refuses
  registration(device const& d, std::byte const* begin, std::size_t bytes, access a)
      : region_((ibv_reg_mr)(d.domain.get(), const_cast<std::byte*>(begin), bytes, static_cast<int>(a))) {  // no macro
    if (!region_) {
      throw device_error(d.at, message({"cannot register ", bytes, " bytes with the device"}), errno);
    }
  }

  [[nodiscard]] std::uint32_t local_key() const noexcept { return region_->lkey; }
  [[nodiscard]] std::uint32_t remote_key() const noexcept { return region_->rkey; }
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(region_); }

 private:
  handle<ibv_mr, ibv_dereg_mr> region_;
};

/// Memory of one's own, aligned and registered.
class registered_memory {
 public:
  static constexpr std::size_t alignment = 64;

  registered_memory() noexcept = default;
  registered_memory(device const& d, std::size_t bytes)
      : memory_(bytes + alignment), size_(bytes), with_(d, begin(), bytes, access::written_here) {}

  [[nodiscard]] std::byte* begin() const noexcept {
    std::uintptr_t const at = reinterpret_cast<std::uintptr_t>(memory_.get());
    return memory_.get() + (alignment - at % alignment) % alignment;
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint32_t key() const noexcept { return with_.local_key(); }

 private:
  owned_array<std::byte> memory_;
  std::size_t size_ = 0;
  registration with_;
};

}  // namespace tutti::detail::verbs
