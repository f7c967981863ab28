// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/number_text.hpp>
#include <tutti/detail/core/descriptor.hpp>

#include <array>
#include <fcntl.h>
#include <unistd.h>

namespace tutti::inline v0_1_0::nn::detail::inline report {

/// The resident memory of this process in bytes; 0 if the system does not report it.
[[nodiscard]] inline double resident_bytes() noexcept {
  tutti::detail::descriptor const file([] { return ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC); });
  std::array<char, 128> text{};
  auto const length = ::read(file.get(), text.data(), text.size() - 1);
  if (length <= 0) {
    return 0;
  }
  tutti::detail::word_reader words(std::string_view(text.data(), static_cast<std::size_t>(length)));
  words.word();  // skips the virtual size
  auto const pages = words.number<unsigned long>();
  return static_cast<double>(pages) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

}  // namespace tutti::nn::detail::report
