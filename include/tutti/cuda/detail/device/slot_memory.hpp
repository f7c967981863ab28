// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/detail/device/stager.hpp>
#include <tutti/extend/memory_source.hpp>

#include <cstddef>
#include <new>
#include <span>

namespace tutti::inline v0_1_0::detail::device {

/// One zeroed piece of host memory that a device copies from and to. A memory_source only so that transports can
/// register the memory once; it allocates nothing.
template <stager D>
class slot_memory : public memory_source {
 public:
  /// @throws the stager's errors
  slot_memory(D const& driver, std::size_t bytes)
      : memory_source([](memory_source&, std::size_t) -> void* { throw std::bad_alloc(); },
                      [](memory_source&, void*, std::size_t) noexcept {},
                      [](memory_source& s) noexcept { delete static_cast<slot_memory*>(&s); },
                      [](memory_source& s, void const* p) { return static_cast<slot_memory&>(s).piece_around(p); }),
        piece_(driver.allocate_for_all(bytes), bytes) {}

  [[nodiscard]] std::byte* data() const noexcept { return piece_.data(); }

 private:
  ~slot_memory() { D::free_for_all(piece_.data()); }

  [[nodiscard]] std::span<std::byte const> piece_around(void const* p) const noexcept {
    auto const* const address = static_cast<std::byte const*>(p);
    bool const is_inside = address >= piece_.data() && address < piece_.data() + piece_.size();
    return is_inside ? std::span<std::byte const>(piece_) : std::span<std::byte const>();
  }

  std::span<std::byte> piece_;
};

}  // namespace tutti::detail::device
