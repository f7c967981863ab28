// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/core/descriptor.hpp>

#include <string>
#include <sys/stat.h>

namespace tutti {

/// A text that is equal for processes which can share memory with each other, and differs otherwise: the
/// kernel that runs them, the network that they see (their doorbells are sockets) and where their shared
/// memory lies. So containers and network namespaces of one machine are hosts of their own, unless they
/// share both.
template <class = void>
[[nodiscard]] std::string node_identity() {
  std::string text;
  char boot[64] = {};
  descriptor const file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  if (auto const got = file ? ::read(file.get(), boot, sizeof boot) : 0; got > 0) {
    text.assign(boot, static_cast<std::size_t>(got) - (boot[got - 1] == '\n' ? 1U : 0U));
  }
  for (char const* const name : {"/proc/self/ns/net", "/dev/shm"}) {
    struct stat about {};
    if (::stat(name, &about) == 0) {
      text += ' ' + std::to_string(about.st_dev) + ':' + std::to_string(about.st_ino);
    }
  }
  return text;
}

}  // namespace tutti
