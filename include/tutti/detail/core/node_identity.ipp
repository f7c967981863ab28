// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/core/node_identity.hpp>
#include <tutti/extend/error.hpp>

#include <sys/stat.h>

namespace tutti::inline v0_1_0::detail::inline core {

TUTTI_DECL std::string file_identity(char const* name) {
  struct stat status {};
  return ::stat(name, &status) == 0 ? ' ' + std::to_string(status.st_dev) + ':' + std::to_string(status.st_ino) : "";
}

TUTTI_DECL std::string node_identity() {
  std::string text;
  char boot[64] = {};
  descriptor const file([] { return ::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC); });
  if (!file && out_of_resources(errno)) {  // else this host would be taken for another one
    throw error(failure::join, "cannot find out which host this is: " + advise_on_errno(errno));
  }
  if (auto const byte_count = file ? ::read(file.get(), boot, sizeof boot) : 0; byte_count > 0) {
    text.assign(boot, static_cast<std::size_t>(byte_count) - (boot[byte_count - 1] == '\n' ? 1U : 0U));
  }
  return text + file_identity("/proc/self/ns/net");
}

TUTTI_DECL std::string process_identity() {
  return " process " + std::to_string(::getpid()) + file_identity("/proc/self/ns/pid");
}

}  // namespace tutti::detail::core
