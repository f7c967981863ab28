// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/message.hpp>
#include <tutti/nn/detail/checkpoint/folder_lock.hpp>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <sys/random.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace tutti::inline v0_1_0::nn::detail::inline checkpoint {

/// The contents of the file of a lock.
inline constexpr std::size_t lock_text_size = 512;
using lock_text = std::array<char, lock_text_size>;

inline std::string read_lock(int file) {
  lock_text text{};
  ssize_t const size = ::pread(file, text.data(), text.size() - 1, 0);
  return {text.data(), static_cast<std::size_t>(size < 0 ? 0 : size)};
}

TUTTI_DECL folder_owner folder_owner::draw(std::optional<std::array<std::uint64_t, 2>> training) {
  std::array<std::uint64_t, 3> numbers{};
  if (::getrandom(numbers.data(), sizeof numbers, 0) != sizeof numbers) {  // on no system after its start
    throw checkpoint_error("the system gives no random numbers: " + tutti::detail::describe_errno(errno));
  }
  return {training.value_or(std::array{numbers[0], numbers[1]}), numbers[2]};
}

TUTTI_DECL folder_lock::folder_lock(std::filesystem::path file)
    : name_(std::move(file)), file_([&] { return ::open(name_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666); }) {
  if (!file_) {
    throw checkpoint_error(name_.string() + " cannot be opened: " + tutti::detail::describe_errno(errno));
  }
  struct flock request {};
  request.l_type = F_WRLCK;
  request.l_whence = SEEK_SET;
  is_held_ = ::fcntl(file_.get(), F_OFD_SETLK, &request) == 0 || (errno != EAGAIN && errno != EACCES);
}

TUTTI_DECL std::string folder_lock::holder() const {
  std::string const text = read_lock(file_.get());
  auto const begin = text.find("process ");
  return begin == text.npos ? "a process that has just begun" : text.substr(begin, text.find('\n', begin) - begin);
}

TUTTI_DECL void folder_lock::write(folder_owner const& owner) const {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  std::string text =
      tutti::detail::message({"training ", owner.training[0], " ", owner.training[1], " ", owner.run, "\nprocess ",
                              static_cast<std::uint64_t>(::getpid()), " on host ", host.data(), "\n"});
  text.resize(lock_text_size - 1, '\n');
  if (::pwrite(file_.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()) ||
      ::fsync(file_.get()) != 0) {
    throw checkpoint_error(name_.string() + " cannot be written: " + tutti::detail::describe_write_error(errno));
  }
}

TUTTI_DECL std::optional<folder_owner> folder_lock::read(std::filesystem::path const& file) {
  tutti::detail::descriptor const lock([&] { return ::open(file.c_str(), O_RDONLY | O_CLOEXEC); });
  std::string const text = lock ? read_lock(lock.get()) : std::string();
  constexpr std::string_view beginning = "training ";
  if (!text.starts_with(beginning)) {
    return std::nullopt;
  }
  folder_owner owner;
  char const* position = text.data() + beginning.size();
  for (std::uint64_t* const number : {&owner.training[0], &owner.training[1], &owner.run}) {
    auto const [end, problem] = std::from_chars(position, text.data() + text.size(), *number);
    if (problem != std::errc{} || end == text.data() + text.size()) {
      return std::nullopt;
    }
    position = end + 1;
  }
  return owner;
}

}  // namespace tutti::nn::detail::checkpoint
