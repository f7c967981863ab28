// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <models/host_device.hpp>
#include <tutti/cuda/detail/device/staged_launcher.hpp>
#include <tutti/cuda/detail/device/staged_transport.hpp>
#include <tutti/cuda/detail/device/staged_wait.hpp>
#include <tutti/cuda/detail/device/stager.hpp>
#include <tutti/device_span.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

/// A device on the host whose elements are copied through host memory: threads make the copies, late, and the host
/// cannot read its addresses.
namespace models {

/// The bit that marks an address as the device's: a host that dereferences it ends by a signal.
inline constexpr std::uintptr_t of_device = std::uintptr_t{1} << 62;

template <class T>
[[nodiscard]] tutti::device_span<T> in_device(std::vector<T>& v) {
  return {reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(v.data()) | of_device), v.size()};
}
template <class T>
[[nodiscard]] tutti::device_span<T const> in_device(std::vector<T> const& v) {
  return {reinterpret_cast<T const*>(reinterpret_cast<std::uintptr_t>(v.data()) | of_device), v.size()};
}

class host_stager {
 public:
  static constexpr std::string_view name = "host_staged";
  using stream_type = device_stream;

  /// The upper bound of the turns that a copying thread waits, drawn for each copy; 0 for no delay.
  static inline std::atomic<unsigned> lateness = 0;
  static inline std::atomic<std::size_t> copies = 0;       ///< copies made
  static inline std::atomic<std::size_t> live_pieces = 0;  ///< pieces that have not been freed
  static inline std::atomic<bool> refuses = false;         ///< streams cannot be held
  static inline std::atomic<bool> fails = false;           ///< queries fail: all devices have failed

  [[nodiscard]] static int devices() { return 2; }
  explicit host_stager(int number) : draw_(static_cast<unsigned>(number)) {}

  class mark {
   public:
    void set(stream_type const& s) {
      is_passed_ = std::make_shared<std::atomic<bool>>(false);
      s.enqueue([p = is_passed_] { p->store(true); });
    }
    [[nodiscard]] bool has_passed() const {
      expect_device();
      return is_passed_->load();
    }

   private:
    std::shared_ptr<std::atomic<bool>> is_passed_;
  };

  [[nodiscard]] std::byte* allocate_for_all(std::size_t bytes) const {
    ++live_pieces;
    auto* const p = static_cast<std::byte*>(::operator new(bytes, std::align_val_t(256)));
    std::memset(p, 0, bytes);
    return p;
  }
  /// Waits for all streams, as CUDA may.
  static void free_for_all(std::byte* p) noexcept {
    while (device_stream::process == ::getpid() && device_stream::under_way != 0) {
      std::this_thread::yield();
    }
    --live_pieces;
    ::operator delete(p, std::align_val_t(256));
  }
  [[nodiscard]] static bool is_captured(stream_type const& s) { return s.records(); }
  void hold(stream_type const& s, std::uint64_t* word, std::uint64_t value) {
    if (refuses) {
      throw std::runtime_error("a stream cannot be held");
    }
    s.enqueue([=] {
      while (static_cast<std::int64_t>(std::atomic_ref(*word).load(std::memory_order_acquire) - value) < 0) {
        std::this_thread::sleep_for(std::chrono::microseconds(20));  // a device polls, too, but occupies no core
      }
    });
  }
  void download(std::byte* destination, std::byte const* source, std::size_t bytes) {
    copy(down_, destination, host(source), bytes);
  }
  void upload(std::byte* destination, std::byte const* source, std::size_t bytes) {
    copy(up_, host(destination), source, bytes);
  }
  void signal_downloads(std::uint64_t* word, std::uint64_t value) { tell(down_, word, value); }
  void signal_uploads(std::uint64_t* word, std::uint64_t value) { tell(up_, word, value); }
  [[nodiscard]] bool is_done(stream_type const& s) const {
    expect_device();
    return s.is_done();
  }
  [[nodiscard]] bool is_idle() const { return down_.is_done() && up_.is_done(); }
  void finish() const {
    while (!is_idle()) {
      std::this_thread::yield();
    }
  }

 private:
  static void expect_device() {
    if (fails) {
      throw std::runtime_error("the device has failed");
    }
  }
  template <class Byte>
  [[nodiscard]] static Byte* host(Byte* p) {
    auto const at = reinterpret_cast<std::uintptr_t>(p);
    if ((at & of_device) == 0) {
      throw std::logic_error("an address of the host is given for one of the device");
    }
    return reinterpret_cast<Byte*>(at & ~of_device);
  }
  void copy(device_stream const& stream, std::byte* destination, std::byte const* source, std::size_t bytes) {
    unsigned const limit = lateness;
    unsigned const turns = limit == 0 ? 0 : static_cast<unsigned>(draw_() % limit);
    stream.enqueue([=] {
      for (unsigned i = 0; i != turns; ++i) {
        std::this_thread::yield();
      }
      std::memcpy(destination, source, bytes);
      ++copies;
    });
  }
  static void tell(device_stream const& stream, std::uint64_t* word, std::uint64_t value) {
    stream.enqueue([=] { std::atomic_ref(*word).store(value, std::memory_order_release); });
  }

  std::minstd_rand draw_;
  device_stream down_;
  device_stream up_;
};
static_assert(device::stager<host_stager>);

template <class Host>
using host_staged = device::staged_transport<Host, host_stager>;

}  // namespace models
