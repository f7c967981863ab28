// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/number_text.hpp>
#include <tutti/detail/core/process_look.hpp>
#include <tutti/detail/core/standard_numbers.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tutti::inline v0_1_0::detail::inline core {

/// The first bytes of a file below /proc; empty if it cannot be read.
TUTTI_DECL std::string read_process_file(std::string const& path) {
  char text[4096];
  descriptor const file([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); });
  ssize_t const bytes = file ? ::read(file.get(), text, sizeof text) : -1;
  return std::string(text, bytes < 0 ? 0 : static_cast<std::size_t>(bytes));
}

TUTTI_DECL std::string process_folder(std::uint32_t pid) {
  return "/proc/" + std::to_string(pid);
}

TUTTI_DECL std::vector<std::uint32_t> numbers_in(std::string const& folder) {
  std::vector<std::uint32_t> numbers;
  standard_numbers const reservation;
  struct listing {
    DIR* folder;
    ~listing() {
      if (folder != nullptr) {
        ::closedir(folder);
      }
    }
  } const list{::opendir(folder.c_str())};
  while (dirent const* const entry = list.folder != nullptr ? ::readdir(list.folder) : nullptr) {
    if (std::uint32_t number = 0; read_number(std::string_view(entry->d_name), number)) {
      numbers.push_back(number);
    }
  }
  return numbers;
}

TUTTI_DECL thread_status status_of(std::uint32_t pid, std::uint32_t thread) {
  std::string folder = process_folder(pid) + "/task/" + std::to_string(thread);
  std::string text = read_process_file(folder + "/stat");
  if (text.empty()) {  // the thread has ended: the main thread stands for it
    folder = process_folder(pid);
    text = read_process_file(folder + "/stat");
  }
  thread_status status;
  auto const name_end = text.rfind(')');
  if (name_end == text.npos || name_end + 2 >= text.size()) {
    return status;
  }
  status.state = text[name_end + 2];
  status.channel = read_process_file(folder + "/wchan");
  std::string const times = read_process_file(folder + "/schedstat");
  static_cast<void>(read_number(std::string_view(times).substr(0, times.find(' ')), status.run_time_ns));
  return status;
}

TUTTI_DECL activity activity_of(thread_status const& first, thread_status const& second, duration interval) {
  auto const is_in = [&](auto... words) { return ((second.channel.find(words) != std::string::npos) || ...); };
  bool const has_run = second.run_time_ns - first.run_time_ns > static_cast<std::uint64_t>(interval.count()) / 4;
  switch (second.state) {
    case 'R':
      return activity::computes;
    case 'T':
      return activity::stopped;
    case 't':
      return activity::traced;
    case 'D':
      return activity::on_disk;
    case 'X':
    case 'Z':
      return activity::absent;
    default:
      return has_run                                                     ? activity::computes
             : is_in("futex")                                            ? activity::on_lock
             : is_in("io_schedule", "folio_wait", "nfs", "rpc_", "fuse") ? activity::on_disk
                                                                         : activity::sleeps;
  }
}

/// The number of a process as it sees itself, in its PID namespace.
TUTTI_DECL std::uint64_t number_in_own_space(std::uint32_t pid) {
  std::string const status = read_process_file(process_folder(pid) + "/status");
  auto const begin = status.find("\nNSpid:");
  auto const end = begin == status.npos ? begin : status.find('\n', begin + 1);
  if (end == status.npos) {
    return pid;
  }
  std::string_view const line(status.data() + begin, end - begin);
  std::uint64_t number = pid;
  static_cast<void>(read_number(line.substr(line.find_last_of("\t ") + 1), number));
  return number;
}

TUTTI_DECL mapped_page::mapped_page(std::uint32_t pid) {
  std::string const folder = process_folder(pid) + "/fd/";
  std::string const page_link = "/memfd:" + std::string(operations_page::file_name) + " (deleted)";
  for (std::uint32_t const number : numbers_in(folder)) {
    std::string const path = folder + std::to_string(number);
    char target[64];
    ssize_t const length = ::readlink(path.c_str(), target, sizeof target);
    if (length > 0 && std::string_view(target, static_cast<std::size_t>(length)) == page_link) {
      map(descriptor([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); }));
      if (memory_ != nullptr && memory_->pid.load() == number_in_own_space(pid)) {
        return;
      }
      unmap();  // a page of its parent, or of another version
    }
  }
}

TUTTI_DECL void mapped_page::map(descriptor const& file) {
  struct stat status {};
  // A file that cannot shrink cannot end this process by SIGBUS.
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      static_cast<std::uint64_t>(status.st_size) < sizeof(operations_page) ||
      (::fcntl(file.get(), F_GET_SEALS) & F_SEAL_SHRINK) == 0) {
    return;
  }
  void* const place = ::mmap(nullptr, sizeof(operations_page), PROT_READ, MAP_SHARED, file.get(), 0);
  if (place == MAP_FAILED) {
    return;
  }
  memory_ = static_cast<operations_page const*>(place);
  if (memory_->magic.load() != operations_page::magic_word ||
      memory_->layout.load() != operations_page::layout_number || memory_->bytes.load() != sizeof(operations_page)) {
    unmap();
  }
}

TUTTI_DECL void mapped_page::unmap() noexcept {
  if (memory_ != nullptr) {
    ::munmap(const_cast<operations_page*>(std::exchange(memory_, nullptr)), sizeof(operations_page));
  }
}

}  // namespace tutti::detail::core
