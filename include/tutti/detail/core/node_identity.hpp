// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/descriptor.hpp>

#include <string>
#include <sys/stat.h>

namespace tutti::detail {

/// Numbers of a file that no other file of this kernel has; nothing if there is none.
template <class = void>
[[nodiscard]] std::string file_identity(char const* name) {
  struct stat about {};
  return ::stat(name, &about) == 0 ? ' ' + std::to_string(about.st_dev) + ':' + std::to_string(about.st_ino) : "";
}

/// A text that is equal for processes which can share memory with each other, and differs otherwise: the
/// kernel that runs them, and the network that they see, for memory is handed over a local socket. So containers and
/// network namespaces of one machine are hosts of their own, unless they share the network namespace.
template <class = void>
[[nodiscard]] std::string node_identity() {
  std::string text;
  char boot[64] = {};
  descriptor const file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  if (auto const got = file ? ::read(file.get(), boot, sizeof boot) : 0; got > 0) {
    text.assign(boot, static_cast<std::size_t>(got) - (boot[got - 1] == '\n' ? 1U : 0U));
  }
  return text + file_identity("/proc/self/ns/net");
}

/// The same for threads of one process, among the processes of a node.
template <class = void>
[[nodiscard]] std::string process_identity() {
  return " process " + std::to_string(::getpid()) + file_identity("/proc/self/ns/pid");
}

}  // namespace tutti::detail
