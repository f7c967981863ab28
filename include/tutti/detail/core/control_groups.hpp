// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/descriptor.hpp>
#include <tutti/detail/core/number_text.hpp>

#include <cstdint>
#include <cstring>
#include <string>
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

/// Calls `visit(folder, version)` for each control group that limits this process by a controller: its own and those
/// around it, of both versions. `groups` is the kernel's list of them, `mounted` the folder where they are.
template <class Visit>
void for_each_group(std::string const& groups, std::string const& mounted, std::string_view controller, Visit&& visit) {
  auto const up_from = [&](std::string const& root, std::string path, int version) {
    for (;; path.resize(path.rfind('/'))) {
      visit(root + path + '/', version);
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
    std::string const controllers(line.substr(0, line.find(':')));
    std::string const path(line.substr(line.find(':') + 1));
    if (controllers.empty()) {
      up_from(mounted, path, 2);
      up_from(mounted + "/unified", path, 2);
    } else if ((',' + controllers + ',').find(',' + std::string(controller) + ',') != std::string::npos) {
      up_from(mounted + '/' + controllers, path, 1);
    }
  }
}

}  // namespace tutti::detail
