// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/extend/transport.hpp>

#include <cstddef>
#include <type_traits>

namespace tutti::inline v0_1_0::detail::inline engine {

/// A buffer of the engine for messages: from the transport if its device needs registration, otherwise from the heap.
template <class Transport>
class engine_memory {
 public:
  engine_memory() noexcept = default;
  engine_memory(engine_memory const&) = delete;
  engine_memory& operator=(engine_memory const&) = delete;
  ~engine_memory() { give(); }

  [[nodiscard]] std::byte* get() const noexcept { return bytes_; }
  /// Provides at least `bytes` bytes. Growing discards the contents.
  void reserve(Transport const& t, std::size_t bytes) {
    if (bytes <= capacity_) {
      return;
    }
    give();
    if constexpr (from_transport) {
      source_ = t.memory();
      bytes_ = static_cast<std::byte*>(source_->take(bytes));
    } else {
      bytes_ = new std::byte[bytes];
    }
    capacity_ = bytes;
  }

 private:
  static constexpr bool from_transport = provides_memory<Transport> && registers_memory<Transport>;
  struct heap {};

  void give() noexcept {
    if constexpr (from_transport) {
      if (bytes_ != nullptr) {
        source_->give(bytes_, capacity_);
      }
    } else {
      delete[] bytes_;
    }
    bytes_ = nullptr;
    capacity_ = 0;
  }

  [[no_unique_address]] std::conditional_t<from_transport, intrusive_pointer<memory_source>, heap> source_;
  std::byte* bytes_ = nullptr;
  std::size_t capacity_ = 0;
};

}  // namespace tutti::detail::engine
