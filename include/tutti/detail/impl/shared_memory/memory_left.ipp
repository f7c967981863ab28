// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/core/number_text.hpp>
#include <tutti/detail/shared_memory/memory_left.hpp>

#include <cstring>
#include <string_view>

namespace tutti::inline v0_1_0::detail {

/// One of the kernel's short files of words and numbers; empty if it cannot be read.
class kernel_file {
 public:
  static constexpr std::uint64_t none = UINT64_MAX;

  explicit kernel_file(std::string const& path) {
    descriptor const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    for (ssize_t got = file ? 1 : 0;
         got > 0 && size_<sizeof text_ - 1; size_ += got> 0 ? static_cast<std::size_t>(got) : 0) {
      got = ::read(file.get(), text_ + size_, sizeof text_ - 1 - size_);
    }
  }

  /// The number behind a word that begins a line; `none` if there is no such word, or no number.
  [[nodiscard]] std::uint64_t number(std::string_view word = "") const noexcept {
    for (char const* line = text_; *line != '\0'; ++line) {
      if (std::string_view(line).starts_with(word)) {
        char const* const digits = line + word.size() + std::strspn(line + word.size(), " ");
        std::uint64_t value = none;
        static_cast<void>(read_number(std::string_view(digits, std::strspn(digits, "0123456789")), value));
        return value;
      }
      line = std::strchr(line, '\n');
      if (line == nullptr) {
        break;
      }
    }
    return none;
  }

  [[nodiscard]] std::string_view text() const noexcept { return {text_, size_}; }

 private:
  char text_[8192] = {};
  std::size_t size_ = 0;
};

/// The files of a control group's memory, by version. Pages of files that are not in use count as free.
struct group_files {
  char const* limit;
  char const* used;
  char const* pages[2];  ///< in its `stat`
};
inline constexpr group_files groups_1{
    "limit_in_bytes", "usage_in_bytes", {"total_inactive_file ", "total_active_file "}};
inline constexpr group_files groups_2{"max", "current", {"inactive_file ", "active_file "}};

/// What one group may still be given. `group` is where it is, and how its files begin.
[[nodiscard]] TUTTI_DECL std::uint64_t left_in_group(std::string const& group, group_files const& names,
                                                     std::uint64_t swap) {
  using file = kernel_file;
  std::uint64_t limit = file(group + names.limit).number();
  std::uint64_t const used = file(group + names.used).number();
  if (limit == file::none || used == file::none) {
    return UINT64_MAX;
  }
  auto const add = [&limit](std::uint64_t bytes) { limit = limit > UINT64_MAX - bytes ? UINT64_MAX : limit + bytes; };
  file const stat(group + "stat");
  for (char const* const pages : names.pages) {
    std::uint64_t const bytes = stat.number(pages);
    add(bytes == file::none ? 0 : bytes);
  }
  if (std::uint64_t const swapped = file(group + "swap.current").number(); swapped != file::none) {
    std::uint64_t const most = file(group + "swap.max").number();
    std::uint64_t const left = most > swapped ? most - swapped : 0;
    add(left < swap ? left : swap);
  }
  return limit > used ? limit - used : 0;
}

TUTTI_DECL std::uint64_t left_in_groups(std::string const& groups, std::string const& mounted, std::uint64_t swap) {
  std::uint64_t least = UINT64_MAX;
  auto const up_from = [&](std::string const& root, std::string path, group_files const& names) {
    for (;; path.resize(path.rfind('/'))) {
      std::uint64_t const left = left_in_group(root + path + "/memory.", names, swap);
      least = left < least ? left : least;
      if (path.find('/') == std::string::npos) {
        return;
      }
    }
  };
  kernel_file const list(groups);
  for (std::string_view rest = list.text(); !rest.empty();) {  // "number:controllers:/path"
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(line.size() == rest.size() ? line.size() : line.size() + 1);
    line.remove_prefix(line.find(':') + 1);
    std::string_view const controllers = line.substr(0, line.find(':'));
    std::string const path(line.substr(line.find(':') + 1));
    if (controllers.empty()) {
      up_from(mounted, path, groups_2);
      up_from(mounted + "/unified", path, groups_2);
    } else if (controllers == "memory") {
      up_from(mounted + "/memory", path, groups_1);
    }
  }
  return least;
}

TUTTI_DECL memory_left memory_left::now() {
  kernel_file const host("/proc/meminfo");
  std::uint64_t const available = host.number("MemAvailable:");
  std::uint64_t const free_swap = host.number("SwapFree:");
  constexpr std::uint64_t none = kernel_file::none;
  std::uint64_t const swap = free_swap == none ? 0 : free_swap * 1024;
  memory_left left;
  if (available != none) {
    left = {available * 1024 + swap, "this host has"};
  }
  if (std::uint64_t const in_groups = left_in_groups("/proc/self/cgroup", "/sys/fs/cgroup", swap);
      in_groups < left.bytes) {
    left = {in_groups, "the memory limit of this process's container (cgroup) leaves"};
  }
  return left;
}

}  // namespace tutti::detail
