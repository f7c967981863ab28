// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

/// Device memory that several processes map, each at an address of its own: an address that is not translated points
/// to something else, or to nothing.
namespace models {

class exported_memory {
 public:
  [[nodiscard]] static std::byte* allocate(std::size_t bytes) {
    int const file = ::memfd_create("device", MFD_CLOEXEC);
    if (file < 0 || ::ftruncate(file, static_cast<off_t>(bytes)) != 0) {
      throw std::bad_alloc();
    }
    std::byte* const p = map(file, bytes);
    std::lock_guard const hold(lock());
    pieces()[p] = {file, bytes};
    return p;
  }
  /// Returns false if `p` is not of this memory. Freed by its owner, memory must not be touched any more by processes
  /// that map it.
  static bool free(std::byte* p) noexcept {
    std::lock_guard const hold(lock());
    auto const at = pieces().find(p);
    if (at == pieces().end()) {
      return false;
    }
    ::munmap(p, at->second.bytes);
    if (at->second.file >= 0) {
      static_cast<void>(::ftruncate(at->second.file, 0));
      ::close(at->second.file);
    }
    pieces().erase(at);
    return true;
  }
  [[nodiscard]] static std::string export_piece(std::byte* p) {
    std::lock_guard const hold(lock());
    piece const& entry = pieces().at(p);
    return std::to_string(::getpid()) + ' ' + std::to_string(entry.file) + ' ' + std::to_string(entry.bytes) + ' ' +
           std::to_string(reinterpret_cast<std::uintptr_t>(p));
  }
  [[nodiscard]] static std::byte* import_piece(std::string_view text) {
    std::string rest(text);
    auto const next = [&rest] {
      std::size_t const end = rest.find(' ');
      std::string const word = rest.substr(0, end);
      rest.erase(0, end == rest.npos ? end : end + 1);
      return word;
    };
    std::string const process = next();
    int const file = ::open(("/proc/" + process + "/fd/" + next()).c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) {
      throw std::runtime_error("process " + process + " has no such memory");
    }
    std::size_t const bytes = std::stoull(next());
    std::byte* const owner_address = reinterpret_cast<std::byte*>(std::stoull(next()));
    std::byte* p = map(file, bytes);
    if (p == owner_address) {  // must differ from the owner's address
      std::byte* const other = map(file, bytes);
      ::munmap(p, bytes);
      p = other;
    }
    ::close(file);
    std::lock_guard const hold(lock());
    pieces()[p] = {-1, bytes};
    return p;
  }
  /// The number of pieces of memory that are allocated or imported here.
  [[nodiscard]] static std::size_t count() {
    std::lock_guard const hold(lock());
    return pieces().size();
  }

 private:
  struct piece {
    int file;  ///< -1 if it is imported
    std::size_t bytes;
  };

  [[nodiscard]] static std::byte* map(int file, std::size_t bytes) {
    void* const p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (p == MAP_FAILED) {
      throw std::bad_alloc();
    }
    return static_cast<std::byte*>(p);
  }
  [[nodiscard]] static std::mutex& lock() {
    static std::mutex m;
    return m;
  }
  [[nodiscard]] static std::map<std::byte*, piece>& pieces() {
    static std::map<std::byte*, piece> registry;
    return registry;
  }
};

}  // namespace models
