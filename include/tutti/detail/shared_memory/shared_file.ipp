// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/shared_memory/memory_left.hpp>
#include <tutti/detail/shared_memory/shared_file.hpp>
#include <tutti/extend/error.hpp>

#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>

namespace tutti::inline v0_1_0::detail::inline shared_memory {

TUTTI_DECL std::string unique_text() {
  std::uint64_t word = 0;
  if (::getrandom(&word, sizeof word, 0) != sizeof word) {
    word =
        static_cast<std::uint64_t>(steady_now().count()) * 0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(::getpid());
  }
  std::string text;
  for (int digit = 0; digit < 16; ++digit, word >>= 4) {
    text += "0123456789abcdef"[word & 15];
  }
  return text;
}

TUTTI_DECL std::size_t page_bytes() noexcept {
  return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

TUTTI_DECL shared_file::~shared_file() {
  if (base_ != nullptr) {
    unmap(base_, size_);
  }
}

TUTTI_DECL void shared_file::create(std::size_t bytes) {
  file_ = memory_file("tutti");
  if (!file_ || ::fcntl(file_.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
    throw error(failure::join,
                "cannot make shared memory: memfd_create, " + advise_on_errno(errno, "allow it, or use tcp"));
  }
  std::string reason = shortage(0, bytes);
  if (reason.empty() && ::ftruncate(file_.get(), static_cast<off_t>(bytes)) != 0) {
    reason = describe_errno(errno);
  }
  if (!reason.empty()) {
    refuse(bytes, reason);
  }
  map_all();
}

TUTTI_DECL void shared_file::reserve(std::uint64_t begin, std::uint64_t end) const {
  if (std::string const reason = commit(begin, end); !reason.empty()) {
    refuse(end - begin, reason);
  }
}

TUTTI_DECL void shared_file::refuse(std::uint64_t bytes, std::string const& reason) {
  throw error(failure::join, "cannot reserve " + std::to_string(bytes) + " bytes of shared memory: " + reason +
                                 "; start fewer ranks, or make shared_memory_options::ring_bytes and chunk_bytes "
                                 "smaller");
}

TUTTI_DECL void shared_file::adopt(descriptor file) {
  file_ = static_cast<descriptor&&>(file);
  map_all();
}

TUTTI_DECL std::string shared_file::identity(descriptor const& file) {
  struct stat status {};
  return ::fstat(file.get(), &status) != 0 ? "" : std::to_string(status.st_dev) + ':' + std::to_string(status.st_ino);
}

TUTTI_DECL std::string shared_file::shortage(std::uint64_t begin, std::uint64_t end) {
  // The kernel counts this memory as a file, and would end the process by a signal.
  if (rlimit limit{};
      ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && end > limit.rlim_cur) {
    return "this process may make files of " + std::to_string(limit.rlim_cur >> 10) +
           " KiB, and shared memory counts as a file: raise that limit (ulimit -f, LimitFSIZE=)";
  }
  constexpr std::uint64_t looks_from = std::uint64_t{1} << 20;  // less is not worth a check
  if (end - begin >= looks_from) {
    if (auto const left = memory_left::now();
        end - begin > left.bytes) {  // the kernel would kill a process to make room
      return std::string(left.limit) + " " + std::to_string(left.bytes >> 20) + " MiB";
    }
  }
  return "";
}

TUTTI_DECL std::string shared_file::commit(std::uint64_t begin, std::uint64_t end) const {
  if (std::string reason = shortage(begin, end); !reason.empty()) {
    return reason;
  }
  int code = EINTR;
  while (code == EINTR) {
    code = ::posix_fallocate(file_.get(), static_cast<off_t>(begin), static_cast<off_t>(end - begin));
  }
  return code == 0 ? "" : describe_errno(code);
}

TUTTI_DECL std::byte* shared_file::map(std::uint64_t begin, std::size_t bytes) const noexcept {
  static_assert(sizeof(off_t) == 8, "compile with -D_FILE_OFFSET_BITS=64");
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), static_cast<off_t>(begin));
  return at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at);
}

TUTTI_DECL void shared_file::unmap(std::byte* base, std::size_t bytes) noexcept {
  ::munmap(base, bytes);
}

TUTTI_DECL void shared_file::map_all() {
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) {
    throw error(failure::join, "cannot examine the shared memory of rank 0: " + describe_errno(errno) +
                                   "; start the ranks again, or use tcp");
  }
  size_ = static_cast<std::size_t>(status.st_size);
  base_ = map(0, size_);
  if (base_ == nullptr) {
    throw error(failure::join, "cannot map " + std::to_string(size_) +
                                   " bytes of shared memory: " + describe_errno(errno) +
                                   "; allow more address space (ulimit -v), start fewer ranks, or make "
                                   "shared_memory_options::ring_bytes and chunk_bytes smaller");
  }
}

}  // namespace tutti::detail::shared_memory
