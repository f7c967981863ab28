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

/// The least kernel there is: what a driver must be able to launch.
struct empty_kernel {
  board on;
  template <thread_group G>
  constexpr bool run(G const&, std::uint32_t) const {
    return true;
  }
};

/// What a kind of device gives to one rank: memory, streams of work, and kernels in them.
///
///   - There are `devices()`; it is made of the number of one, which is its thread's device from then on.
///   - `allocate` gives memory of the device, which kernels of all ranks reach that `reach` each other's devices;
///     `allocate_for_all` memory of the host that kernels of all devices read and write while they run. Both are zero.
///     Any thread may `free` them. `upload` and `download` block.
///   - `has` says whether that is memory of the device. Cost: a look-up; it may be asked while a stream is captured.
///   - `device` names the very device; `groups` is how many groups of threads run on it at a time, whatever they run.
///   - `load<Kernel>` makes a kernel ready, so that no later `launch` of it waits for others to end. `launch` puts
///     `groups` groups into a stream, each of which runs `run_group(threads, kernel, group)`, after all that was
///     launched before, also in other streams; its waits are late after `limit` nanoseconds.
///   - `is_done` says whether all has run that is in a stream, and throws if some of it could not.
///   - `is_idle` says whether all has run that was launched, or never will, because the device has failed.
template <class D>
concept driver = requires(D& d, D const& c, typename D::stream_type const& s, std::string const& other, std::byte* to,
                          std::byte const* from, std::size_t bytes, empty_kernel const& k, std::uint32_t groups,
                          std::uint64_t limit) {
  { D::name } -> std::convertible_to<std::string_view>;
  { D::devices() } -> std::same_as<int>;
  requires std::constructible_from<D, int>;
  { c.allocate(bytes) } -> std::same_as<std::byte*>;
  { c.allocate_for_all(bytes) } -> std::same_as<std::byte*>;
  D::free(to);
  D::free_for_all(to);
  c.upload(to, from, bytes);
  c.download(to, from, bytes);
  { c.has(from) } -> std::same_as<bool>;
  { c.device() } -> std::same_as<std::string>;
  { c.groups() } -> std::same_as<std::uint32_t>;
  d.reach(other);
  c.template load<empty_kernel>();
  d.launch(s, groups, k, limit);
  { c.is_done(s) } -> std::same_as<bool>;
  { c.is_idle() } -> std::same_as<bool>;
};

/// A driver whose memory kernels of other processes reach.
///
///   - `allocate_to_export` gives memory as `allocate` does, and shares no pages with other memory; `exported` is what
///     another process needs to map it.
///   - `imported` maps it, at any address, on whatever device it is; `let_go` ends that. It is to be freed afterwards.
template <class D>
concept exports_memory = driver<D> && requires(D const& c, std::byte* mine, std::size_t bytes, std::string_view text) {
  { c.allocate_to_export(bytes) } -> std::same_as<std::byte*>;
  { c.exported(mine) } -> std::same_as<std::string>;
  { c.imported(text) } -> std::same_as<std::byte*>;
  c.let_go(mine);
};

}  // namespace tutti::detail::device
