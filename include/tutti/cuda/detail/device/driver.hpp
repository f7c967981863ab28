// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/detail/device/board.hpp>
#include <tutti/cuda/detail/device/thread_group.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tutti::inline v0_1_0::detail::device {

/// The smallest kernel that a driver must be able to launch.
struct empty_kernel {
  device::board board;
  template <thread_group G>
  constexpr bool run(G const&, std::uint32_t) const {
    return true;
  }
};

/// A device as one rank uses it: memory, streams of work, and kernels in them.
///
/// - There are `devices()`; a driver is constructed with the number of one, which becomes current in its thread.
/// - `allocate` returns device memory, accessible to kernels of all ranks that `reach` each other's devices;
///   `allocate_for_all` returns host memory that kernels of all devices read and write while they run. Both are
///   zeroed. Any thread may `free` them. `upload` and `download` block.
/// - `has` is true for memory of the device. Cost: a look-up; allowed while a stream is captured.
/// - `device` identifies the physical device; `groups` is the number of thread groups that run on it at the same time,
///   for every kernel.
/// - `load<Kernel>` prepares a kernel, so that no later `launch` of it waits for others to end. `launch` enqueues
///   `groups` groups after all earlier launches, even in other streams. Each runs `run_group(threads, kernel, group)`;
///   its waits are late after `limit` nanoseconds.
/// - `is_done` is true if everything in a stream has run; it throws if some of it failed.
/// - `is_idle` is true if all launches have run, or never will because the device has failed.
template <class D>
concept driver = requires(D& d, D const& c, typename D::stream_type const& s, std::string const& other,
                          std::byte* destination, std::byte const* source, std::size_t bytes, empty_kernel const& k,
                          std::uint32_t groups, std::uint64_t limit) {
  { D::name } -> std::convertible_to<std::string_view>;
  { D::devices() } -> std::same_as<int>;
  requires std::constructible_from<D, int>;
  { c.allocate(bytes) } -> std::same_as<std::byte*>;
  { c.allocate_for_all(bytes) } -> std::same_as<std::byte*>;
  D::free(destination);
  D::free_for_all(destination);
  c.upload(destination, source, bytes);
  c.download(destination, source, bytes);
  { c.has(source) } -> std::same_as<bool>;
  { c.device() } -> std::same_as<std::string>;
  { c.groups() } -> std::same_as<std::uint32_t>;
  d.reach(other);
  c.template load<empty_kernel>();
  d.launch(s, groups, k, limit);
  { c.is_done(s) } -> std::same_as<bool>;
  { c.is_idle() } -> std::same_as<bool>;
};

/// A driver whose memory is accessible to kernels of other processes.
///
/// - `allocate_to_export` is like `allocate`, but shares no pages with other memory; `export_memory` returns a
///   text with which another process maps it.
/// - `import_memory` maps it, at any address, on any device; `unmap` unmaps it. The memory is freed only afterwards.
template <class D>
concept exports_memory =
    driver<D> && requires(D const& c, std::byte* memory, std::size_t bytes, std::string_view text) {
      { c.allocate_to_export(bytes) } -> std::same_as<std::byte*>;
      { c.export_memory(memory) } -> std::same_as<std::string>;
      { c.import_memory(text) } -> std::same_as<std::byte*>;
      c.unmap(memory);
    };

}  // namespace tutti::detail::device
