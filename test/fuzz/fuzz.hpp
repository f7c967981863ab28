// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/allocator_interface.h>
#define TUTTI_FUZZ_COUNTS_MEMORY 1
#endif
#endif

/// Common parts of the fuzz targets: docs/design/fuzzing.md.
namespace fuzz {

/// Ends the program with a report unless a law holds for this input.
inline void expect(bool holds, char const* law) {
  if (!holds) {
    std::fprintf(stderr, "The input breaks a law: %s\n", law);
    std::abort();
  }
}

/// An input, read from its beginning. After its end there are zeros and empty texts.
class input {
 public:
  input(std::uint8_t const* data, std::size_t size) : rest_(reinterpret_cast<char const*>(data), size) {}

  [[nodiscard]] std::size_t size() const noexcept { return rest_.size(); }
  /// The next number of `bytes` bytes, the least significant first.
  std::uint64_t number(std::size_t bytes = 1) noexcept {
    std::uint64_t value = 0;
    std::size_t shift = 0;
    for (char const c : take(bytes)) {
      value |= std::uint64_t{static_cast<unsigned char>(c)} << shift;
      shift += 8;
    }
    return value;
  }
  /// The next number, reduced to one below `n`.
  std::size_t choice(std::size_t n) noexcept { return static_cast<std::size_t>(number(n <= 256 ? 1 : 4)) % n; }
  /// The next text: two bytes with its length, and its bytes.
  std::string_view text() noexcept { return take(static_cast<std::size_t>(number(2))); }
  /// All that is left.
  std::string_view rest() noexcept { return take(rest_.size()); }

 private:
  std::string_view take(std::size_t bytes) noexcept {
    std::string_view const part = rest_.substr(0, bytes);
    rest_.remove_prefix(part.size());
    return part;
  }

  std::string_view rest_;
};

/// Bounds the memory that is allocated while it exists. Counts only under the address sanitizer.
class memory_limit {
 public:
  explicit memory_limit(std::size_t bytes) noexcept {
#ifdef TUTTI_FUZZ_COUNTS_MEMORY
    [[maybe_unused]] static int const hooks = __sanitizer_install_malloc_and_free_hooks(
        [](void const volatile*, std::size_t size) {
          live += static_cast<std::ptrdiff_t>(size);
          peak = (std::max)(peak, live);
        },
        [](void const volatile* memory) {
          live -= memory == nullptr
                      ? 0
                      : static_cast<std::ptrdiff_t>(__sanitizer_get_allocated_size(const_cast<void const*>(memory)));
        });
#endif
    limit_ = static_cast<std::ptrdiff_t>(bytes);
    live = peak = 0;
  }
  memory_limit(memory_limit const&) = delete;
  memory_limit& operator=(memory_limit const&) = delete;
  ~memory_limit() {
    if (peak > limit_) {
      std::fprintf(stderr, "The input took %td bytes of memory, more than %td\n", peak, limit_);
      std::abort();
    }
  }

 private:
  static inline std::ptrdiff_t live = 0;
  static inline std::ptrdiff_t peak = 0;
  std::ptrdiff_t limit_;
};

}  // namespace fuzz
