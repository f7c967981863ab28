// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "registers.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

/// The registers of a card behind the AXI-Lite master of AMD's XDMA, mapped from its driver's /dev/xdma0_user.
///
/// Tests use a file instead of a card (docs/guide/proven.md).
class xdma_registers {
 public:
  /// A device file, and the offset of the registers in it, a multiple of 4096.
  struct place {
    std::string path = "/dev/xdma0_user";
    std::uint64_t offset = 0;
  };
  static constexpr std::size_t bytes = 4096;

  xdma_registers() = default;
  xdma_registers(xdma_registers const&) = delete;
  xdma_registers& operator=(xdma_registers const&) = delete;
  ~xdma_registers() { close(); }

  void open(place const& target) {
    close();
    int const fd = ::open(target.path.c_str(), O_RDWR | O_SYNC | O_CLOEXEC);
    if (fd < 0) {
      throw std::runtime_error(target.path + " cannot be opened (" + std::strerror(errno) +
                               "): is the card there, and its driver loaded (lsmod | grep xdma)?");
    }
    void* const mapping =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(target.offset));
    int const error = errno;
    ::close(fd);
    if (mapping == MAP_FAILED) {
      throw std::runtime_error(target.path + " cannot be mapped at " + std::to_string(target.offset) + ": " +
                               std::strerror(error));
    }
    at_ = static_cast<std::uint32_t volatile*>(mapping);
  }
  [[nodiscard]] std::uint32_t read(std::uint32_t address) const { return at_[address / 4]; }
  void write(std::uint32_t address, std::uint32_t value) { at_[address / 4] = value; }
  void close() noexcept {
    if (at_ != nullptr) {
      ::munmap(const_cast<std::uint32_t*>(std::exchange(at_, nullptr)), bytes);
    }
  }

 private:
  std::uint32_t volatile* at_ = nullptr;
};
static_assert(registers<xdma_registers>);
