// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/descriptor.hpp>

#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

namespace tutti::inline v0_1_0::nn::detail {

/// How much of this process' memory is in the machine's; 0 where the system does not say.
[[nodiscard]] inline double resident_bytes() noexcept {
  tutti::detail::descriptor const file(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
  std::array<char, 128> text{};
  auto const length = ::read(file.get(), text.data(), text.size() - 1);
  if (length <= 0) {
    return 0;
  }
  char* next = nullptr;
  (void)std::strtoull(text.data(), &next, 10);  // what it has asked for
  return static_cast<double>(std::strtoull(next, nullptr, 10)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

}  // namespace tutti::nn::detail
