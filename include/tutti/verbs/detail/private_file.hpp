// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/shared_memory/window_table.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <sys/mman.h>

namespace tutti::inline v0_1_0::detail::verbs {

/// Replaces the file of a basic_shared_arena where nothing is shared: ordinary memory, which the system provides when
/// it is first touched.
class private_file {
 public:
  [[nodiscard]] static std::byte* map(std::uint64_t, std::size_t bytes) noexcept {
    void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) {
      return nullptr;
    }
    ::madvise(at, bytes, MADV_HUGEPAGE);
    return static_cast<std::byte*>(at);
  }
  static void unmap(std::byte* base, std::size_t bytes) noexcept { ::munmap(base, bytes); }
  [[nodiscard]] static std::string commit(std::uint64_t, std::uint64_t) { return {}; }

  /// Address of the table of windows.
  [[nodiscard]] std::byte* base() noexcept { return table_; }

 private:
  alignas(64) std::byte table_[window_table::bytes(1)];
};

}  // namespace tutti::detail::verbs
