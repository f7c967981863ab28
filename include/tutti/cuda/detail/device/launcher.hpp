// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/detail/device/kernels.hpp>
#include <tutti/cuda/detail/device/scratch_layout.hpp>
#include <tutti/cuda/detail/device/tables.hpp>
#include <tutti/cuda/detail/device/wait.hpp>
#include <tutti/detail/engine/device_launcher.hpp>
#include <tutti/detail/engine/payload.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/extent.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/topology/direct.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

namespace tutti::inline v0_1_0::detail::device {

/// Converts a payload of the engine to one for thread groups.
template <tutti::reduction R>
[[nodiscard]] constexpr group_combining<R> for_groups(combining<R> const& p) noexcept {
  return {p.reduction};
}
[[nodiscard]] constexpr group_moving for_groups(moving const& p) noexcept {
  return {p.element_bytes};
}

/// Enqueues one kind of operation in streams of a device.
template <class Communicator, class Topology, class Op, class Payload>
class launcher {
  using transport_type = typename Communicator::transport_type;
  using stream_type = typename transport_type::stream_type;
  using driver_type = std::remove_cvref_t<decltype(std::declval<transport_type&>().driver())>;
  using extent_type = std::remove_cvref_t<decltype(std::declval<Communicator const&>().extent())>;
  using payload_type = decltype(for_groups(std::declval<Payload const&>()));
  using steps = steps_kernel<payload_type>;

 public:
  /// Prepares tables and kernels, so that nothing is allocated or loaded later.
  launcher(Communicator const& world, Topology const& topology, Payload const&)
      : transport_(&world.transport()), tables_(&transport_->tables_of(topology, Op{})) {
    auto& driver = transport_->driver();
    driver.template load<steps>();
    if constexpr (is_fused) {
      with_ranks([&]<rank_type N>(std::integral_constant<rank_type, N>) { driver.template load<fused_for<N>>(); });
    }
  }

  /// @param limit deadline, from the beginning of the operation
  /// @throws error if an earlier operation of this rank has no result
  void enqueue(Communicator const& world, Op const& op, Payload const& elements, call const& call_record,
               memories const& buffers, std::size_t count, duration limit, stream_type const& stream) const {
    expect_results(world);
    if (count != 0) {
      expect_device_memory("input", buffers.input);
      expect_device_memory("output", buffers.output);
    }
    payload_type const payload = for_groups(elements);
    shared_places const places{.input_is_output = buffers.input != nullptr && buffers.input == buffers.output,
                               .work_is_output = buffers.work != nullptr && buffers.work == buffers.output};
    step_table const& table = tables_->table(root_of(op), places);
    std::size_t const bytes = count * payload.size_of(memory::output);
    std::uint32_t const groups = transport_->groups_for(bytes);
    operation next{.table = table, .buffers = buffers, .count = count, .call_record = call_record};
    if constexpr (is_fused) {
      bool is_launched = false;
      with_ranks([&]<rank_type N>(std::integral_constant<rank_type, N>) {
        is_launched = true;
        bool const in_one_hop = is_short(payload, count, groups);
        std::uint32_t const parts =
            in_one_hop || !transport_->board().apart ? groups : parts_that_fit(payload, N, count, groups);
        next.number = transport_->count(call_record, limit);
        launch(fused_for<N>{transport_->board(), next, groups, parts, in_one_hop, elements.reduction}, groups, limit,
               stream);
      });
      if (is_launched) {
        return;
      }
    }
    std::uint32_t const parts = parts_of(payload, table, count, groups);
    next.number = transport_->count(call_record, limit);
    launch(steps{transport_->board(), next, groups, parts, payload}, groups, limit, stream);
  }

 private:
  /// Checked for every call: memory may have been freed since, and another allocation have its address.
  void expect_device_memory(char const* memory_name, std::byte const* p) const {
    if (p != nullptr && !transport_->driver().has(p)) [[unlikely]] {
      std::string const device = transport_->driver().device();
      expects(false, "enqueue: the ", memory_name, " is not in memory of this rank's device, ", device.c_str(),
              "; make that device current and allocate it there (cudaMalloc, cuda::array)");
    }
  }

  template <class P>
  struct reduction_of {
    using type = void;
  };
  template <class R>
  struct reduction_of<combining<R>> {
    using type = R;
  };
  template <rank_type N, class R = typename reduction_of<Payload>::type>
  using fused_for = direct_kernel<R, N>;

  /// True if an allreduce by direct needs no steps: the number of ranks is known to the compiler, or is 2, 4 or 8.
  static constexpr bool is_fused = std::same_as<Op, op::allreduce> && std::same_as<Topology, direct>;

  /// True if some rank has no other memory for accumulators. Independent of the call's memories, as it must be equal
  /// on all ranks.
  static constexpr bool works_in_scratch = [] {
    if constexpr (std::same_as<Payload, moving>) {
      return false;
    } else {
      return !Payload::work_fits_output || std::same_as<Op, op::reduce> || std::same_as<Op, op::reduce_scatter>;
    }
  }();

  template <rank_type N>
  [[nodiscard]] static constexpr rank_type known_ranks(extent<N> const*) noexcept {
    return N;
  }
  template <class F>
  void with_ranks(F const& f) const {
    rank_type const n = transport_->size();
    auto const call_if_size = [&]<rank_type N>(std::integral_constant<rank_type, N> ranks) {
      if (n == N) {
        f(ranks);
      }
    };
    constexpr rank_type fixed_size = known_ranks(static_cast<extent_type const*>(nullptr));
    if constexpr (fixed_size >= 2 && fixed_size <= most_ranks) {
      call_if_size(std::integral_constant<rank_type, fixed_size>{});
    } else if constexpr (fixed_size == dynamic) {
      call_if_size(std::integral_constant<rank_type, 2>{});
      call_if_size(std::integral_constant<rank_type, 4>{});
      call_if_size(std::integral_constant<rank_type, 8>{});
    }
  }

  [[nodiscard]] static rank_type root_of(Op const& op) noexcept {
    if constexpr (requires { op.root; }) {
      return op.root;
    } else {
      return 0;
    }
  }
  /// True if reading all inputs is faster than a second wait: each rank then reads at most 256 KiB.
  [[nodiscard]] bool is_short(payload_type const& payload, std::size_t count, std::uint32_t groups) const noexcept {
    std::size_t const size = payload.size_of(memory::input);
    std::uint32_t const fits =
        scratch_layout::parts(count, transport_->size(), size, transport_->board().area_bytes(), groups);
    return fits == groups && count * size * transport_->size() <= std::size_t{256} << 10;
  }
  /// The number of parts of each block, so that a group's scratch memory has room for one part.
  [[nodiscard]] std::uint32_t parts_of(payload_type const& payload, step_table const& table, std::size_t count,
                                       std::uint32_t groups) const {
    if (!tables_->sends_snapshots() && !works_in_scratch && !transport_->board().apart) {
      return groups;
    }
    return parts_that_fit(payload, table.blocks, count, groups);
  }
  [[nodiscard]] std::uint32_t parts_that_fit(payload_type const& payload, std::uint32_t blocks, std::size_t count,
                                             std::uint32_t groups) const {
    std::size_t size = 1;
    for (memory const candidate : {memory::input, memory::work, memory::output}) {
      size = payload.size_of(candidate) > size ? payload.size_of(candidate) : size;
    }
    std::size_t const room = transport_->board().area_bytes();
    std::uint32_t const parts = scratch_layout::parts(count, blocks, size, room, groups);
    expects(parts != 0, "scratch_bytes leaves a group of threads ", room, " bytes, and a topology with ", blocks,
            " blocks of elements of ", size, " bytes needs more: raise the transport's option scratch_bytes");
    return parts;
  }
  template <class Kernel>
  void launch(Kernel const& kernel, std::uint32_t groups, duration limit, stream_type const& stream) const {
    auto const ns = std::chrono::duration_cast<std::chrono::nanoseconds>(limit).count();
    transport_->driver().launch(stream, groups, kernel,
                                limit == no_deadline ? UINT64_MAX : static_cast<std::uint64_t>(ns));
  }

  transport_type* transport_;
  tables<driver_type> const* tables_;
};

}  // namespace tutti::detail::device
