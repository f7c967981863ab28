// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/core/descriptor.hpp>
#include <tutti/core/error.hpp>
#include <tutti/core/types.hpp>

#include <string>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <utility>

namespace tutti {

/// 16 hexadecimal digits that no other world on this host has.
[[nodiscard]] inline std::string unique_text() {
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

/// Memory that several processes of this host map, with one lock per rank that tells whether the
/// process lives. It has a name only until `forget_name`, so that nothing stays behind later.
class shared_file {
 public:
  shared_file() noexcept = default;
  shared_file(shared_file const&) = delete;
  shared_file& operator=(shared_file const&) = delete;
  ~shared_file() {
    if (base_ != nullptr) {
      ::munmap(base_, size_);
    }
    forget_name();
  }

  /// Makes the file, of which the first `present` bytes have memory from the start: where it is short,
  /// this is an error now, and no SIGBUS later. The rest is address space until `commit`.
  void create(std::string name, std::size_t bytes, std::size_t present) {
    open_as(std::move(name), O_CREAT | O_EXCL);
    if (::ftruncate(file_.get(), static_cast<off_t>(bytes)) != 0) {
      throw error(failure::join, "shared memory cannot be made so large: " + describe_errno(errno) +
                                     "; make shared_memory_options::arena_bytes smaller, or start fewer ranks");
    }
    if (!commit(0, present)) {
      throw error(failure::join, "no room for " + std::to_string((present + 1048575) >> 20) +
                                     " MiB of shared memory: " + describe_errno(errno) +
                                     "; enlarge /dev/shm (docker: --shm-size), start fewer ranks, or make "
                                     "shared_memory_options::ring_bytes and chunk_bytes smaller");
    }
    map(bytes);
  }

  /// Gives memory to bytes [from, to). False, and errno says why, if there is not enough.
  [[nodiscard]] bool commit(std::size_t from, std::size_t to) noexcept {
    do {
      errno = ::posix_fallocate(file_.get(), static_cast<off_t>(from), static_cast<off_t>(to - from));
    } while (errno == EINTR);
    return errno == 0;
  }

  /// Maps the file that another process has made.
  void attach(std::string name) {
    open_as(std::move(name), 0);
    struct stat about {};
    if (::fstat(file_.get(), &about) != 0) {
      throw error(failure::join, "shared memory cannot be examined: " + describe_errno(errno));
    }
    map(static_cast<std::size_t>(about.st_size));
  }

  void forget_name() noexcept {
    if (!name_.empty()) {
      ::shm_unlink(name_.c_str());  // whoever comes first; the others find nothing
      name_.clear();
    }
  }

  [[nodiscard]] std::byte* base() const noexcept { return base_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// Says that this process lives: holds the lock of this rank as long as the file is open.
  ///
  /// The lock belongs to the open file, not to the process (F_OFD_SETLK), and the kernel drops it
  /// with the last descriptor of it. A child that is forked and does not exec keeps one.
  void lock(rank_type r) const {
    struct flock l = byte_of(r);
    if (::fcntl(file_.get(), F_OFD_SETLK, &l) != 0) {
      throw error(failure::join, "shared memory cannot be locked: " + describe_errno(errno));
    }
  }
  /// Whether the process of another rank holds its lock.
  [[nodiscard]] bool locked(rank_type r) const noexcept {
    struct flock l = byte_of(r);
    return ::fcntl(file_.get(), F_OFD_GETLK, &l) != 0 || l.l_type != F_UNLCK;
  }

 private:
  void open_as(std::string name, int flags) {
    file_.reset(::shm_open(name.c_str(), O_RDWR | O_CLOEXEC | flags, S_IRUSR | S_IWUSR));
    if (!file_) {
      std::string const action = flags != 0 ? "made" : "found: this rank seems to be on another host than rank 0";
      throw error(failure::join, "shared memory " + name + " cannot be " + action + " (" + describe_errno(errno) + ")");
    }
    name_ = std::move(name);
  }

  void map(std::size_t bytes) {
    void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
    if (at == MAP_FAILED) {
      throw error(failure::join, "no address space for " + std::to_string(bytes >> 20) + " MiB of shared memory (" +
                                     describe_errno(errno) +
                                     "); make shared_memory_options::arena_bytes smaller, or start fewer ranks");
    }
    base_ = static_cast<std::byte*>(at);
    size_ = bytes;
  }

  static struct flock byte_of(rank_type r) noexcept {
    struct flock l {};
    l.l_type = F_WRLCK;
    l.l_whence = SEEK_SET;
    l.l_start = static_cast<off_t>(r);
    l.l_len = 1;
    return l;
  }

  descriptor file_;
  std::string name_;
  std::byte* base_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace tutti
