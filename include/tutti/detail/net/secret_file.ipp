// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/net/proof.hpp>
#include <tutti/detail/net/secret_file.hpp>
#include <tutti/extend/error.hpp>

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

namespace tutti::inline v0_1_0::detail::inline net {

TUTTI_DECL descriptor open_secret_file(std::string const& path) {
  descriptor file([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); });
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) {
    throw error(failure::join, "the secret file '" + path + "' cannot be read: " +
                                   advise_on_errno(errno, "name a file that this process can read"));
  }
  auto const refuse = [&path](char const* reason, std::string const& remedy) {
    throw error(failure::join, "the secret file '" + path + "' is not safe: " + reason + "; " + remedy);
  };
  bool const is_roots = status.st_uid == 0;
  std::string const narrow = "let only its owner read it (chmod 600 '" + path + "'), and make another secret";
  if (!S_ISREG(status.st_mode)) {
    refuse("it is not a regular file", "name a file that holds one line of text");
  }
  if (status.st_uid != ::geteuid() && !is_roots) {
    refuse("it belongs to another user", "name a file of your own");
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    refuse("other users may write it", narrow);
  }
  if ((status.st_mode & S_IROTH) != 0 || ((status.st_mode & S_IRGRP) != 0 && !is_roots)) {
    refuse("other users may read it", narrow);
  }
  return file;
}

TUTTI_DECL world_secret read_secret_file(std::string const& path) {
  descriptor const file = open_secret_file(path);
  struct buffer {
    std::array<char, 4097> bytes{};
    ~buffer() { ::explicit_bzero(bytes.data(), bytes.size()); }
  } text;
  std::size_t size = 0;
  for (ssize_t count = 1; count != 0 && size < text.bytes.size();) {
    count = ::read(file.get(), text.bytes.data() + size, text.bytes.size() - size);
    if (count < 0 && errno != EINTR) {
      throw error(failure::join, "the secret file '" + path + "' cannot be read: " +
                                     advise_on_errno(errno, "name a file that this process can read"));
    }
    size += count > 0 ? static_cast<std::size_t>(count) : 0;
  }
  if (size == text.bytes.size()) {
    throw error(failure::join,
                "the secret file '" + path + "' is longer than 4096 bytes; name a file that holds one line of text");
  }
  while (size != 0 && (text.bytes[size - 1] == '\n' || text.bytes[size - 1] == '\r')) {
    --size;
  }
  return make_secret(std::string_view(text.bytes.data(), size), "the secret file '" + path + "'");
}

}  // namespace tutti::detail::net
