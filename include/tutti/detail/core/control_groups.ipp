// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/number_text.hpp>
#include <tutti/detail/core/control_groups.hpp>
#include <tutti/detail/core/descriptor.hpp>

#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace tutti::inline v0_1_0::detail::inline core {

TUTTI_DECL kernel_file::kernel_file(std::string const& path) {
  descriptor const file([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); });
  ssize_t byte_count = file ? 1 : 0;
  while (byte_count > 0 && size_ < sizeof text_ - 1) {
    byte_count = ::read(file.get(), text_ + size_, sizeof text_ - 1 - size_);
    size_ += byte_count > 0 ? static_cast<std::size_t>(byte_count) : 0;
  }
}

TUTTI_DECL std::uint64_t kernel_file::number(std::string_view word) const noexcept {
  for (char const* line = text_; *line != '\0'; ++line) {
    if (std::string_view(line).starts_with(word)) {
      char const* const digits = line + word.size() + std::strspn(line + word.size(), " ");
      std::uint64_t value = no_number;
      static_cast<void>(read_number(std::string_view(digits, std::strspn(digits, "0123456789")), value));
      return value;
    }
    line = std::strchr(line, '\n');
    if (line == nullptr) {
      break;
    }
  }
  return no_number;
}

/// Visits the group at `path` below `root`, and the enclosing ones.
TUTTI_DECL void visit_up(std::string const& root, std::string path, int version, group_visit const& visit) {
  for (;; path.resize(path.rfind('/'))) {
    visit.call(visit.visitor, root + path + '/', version);
    if (path.find('/') == std::string::npos) {
      return;
    }
  }
}

TUTTI_DECL void for_each_group(std::string const& groups, std::string const& mount_point, std::string_view controller,
                               group_visit const& visit) {
  kernel_file const list(groups);
  for (std::string_view rest = list.text(); !rest.empty();) {  // "number:controllers:/path"
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(line.size() == rest.size() ? line.size() : line.size() + 1);
    line.remove_prefix(line.find(':') + 1);
    std::string const controllers(line.substr(0, line.find(':')));
    std::string const path(line.substr(line.find(':') + 1));
    if (controllers.empty()) {
      visit_up(mount_point, path, 2, visit);
      visit_up(mount_point + "/unified", path, 2, visit);
    } else if ((',' + controllers + ',').find(',' + std::string(controller) + ',') != std::string::npos) {
      visit_up(mount_point + '/' + controllers, path, 1, visit);
    }
  }
}

}  // namespace tutti::detail::core
