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
  using steps = by_steps<payload_type>;

 public:
  /// Prepares tables and kernels, so that nothing is allocated or loaded later.
  launcher(Communicator const& world, Topology const& topology, Payload const&)
      : on_(&world.transport()), tables_(&on_->tables_of(topology, Op{})) {
    auto& driver = on_->driver();
    driver.template load<steps>();
    if constexpr (is_fused) {
      with_ranks([&]<rank_type N>(std::integral_constant<rank_type, N>) { driver.template load<fused<N>>(); });
    }
  }

  /// @param limit deadline, from the beginning of the operation
  /// @throws error if an earlier operation of this rank has no result
  void enqueue(Communicator const& world, Op const& op, Payload const& elements, call const& what, memories const& m,
               std::size_t count, duration limit, stream_type const& in) const {
    expect_results(world);
    if (count != 0) {
      expect_own("input", m.input);
      expect_own("output", m.output);
    }
    payload_type const payload = for_groups(elements);
    shared_places const places{.input_is_output = m.input != nullptr && m.input == m.output,
                               .work_is_output = m.work != nullptr && m.work == m.output};
    step_table const& table = tables_->of(root_of(op), places);
    std::size_t const bytes = count * payload.size_of(memory::output);
    std::uint32_t const groups = on_->groups_for(bytes);
    operation now{.table = table, .mine = m, .count = count, .what = what};
    if constexpr (is_fused) {
      bool put = false;
      with_ranks([&]<rank_type N>(std::integral_constant<rank_type, N>) {
        put = true;
        bool const in_one_hop = is_short(payload, count, groups);
        std::uint32_t const parts =
            in_one_hop || !on_->board().apart ? groups : parts_that_fit(payload, N, count, groups);
        now.number = on_->count(what, limit);
        launch(fused<N>{on_->board(), now, groups, parts, in_one_hop, elements.reduction}, groups, limit, in);
      });
      if (put) {
        return;
      }
    }
    std::uint32_t const parts = parts_of(payload, table, count, groups);
    now.number = on_->count(what, limit);
    launch(steps{on_->board(), now, groups, parts, payload}, groups, limit, in);
  }

 private:
  /// Checked for every call: memory may have been freed since, and another allocation have its address.
  void expect_own(char const* what, std::byte const* p) const {
    if (p != nullptr && !on_->driver().has(p)) [[unlikely]] {
      std::string const device = on_->driver().device();
      expects(false, "enqueue: the ", what, " is not in memory of this rank's device, ", device.c_str(),
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
  using fused = by_direct<R, N>;

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
    rank_type const n = on_->size();
    auto const if_it_is = [&]<rank_type N>(std::integral_constant<rank_type, N> of) {
      if (n == N) {
        f(of);
      }
    };
    constexpr rank_type known = known_ranks(static_cast<extent_type const*>(nullptr));
    if constexpr (known >= 2 && known <= most_ranks) {
      if_it_is(std::integral_constant<rank_type, known>{});
    } else if constexpr (known == dynamic) {
      if_it_is(std::integral_constant<rank_type, 2>{});
      if_it_is(std::integral_constant<rank_type, 4>{});
      if_it_is(std::integral_constant<rank_type, 8>{});
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
    std::uint32_t const fits = scratch_layout::parts(count, on_->size(), size, on_->board().area_bytes(), groups);
    return fits == groups && count * size * on_->size() <= std::size_t{256} << 10;
  }
  /// The number of parts of each block, so that a group's scratch memory has room for one part.
  [[nodiscard]] std::uint32_t parts_of(payload_type const& payload, step_table const& table, std::size_t count,
                                       std::uint32_t groups) const {
    if (!tables_->sends_snapshots() && !works_in_scratch && !on_->board().apart) {
      return groups;
    }
    return parts_that_fit(payload, table.blocks, count, groups);
  }
  [[nodiscard]] std::uint32_t parts_that_fit(payload_type const& payload, std::uint32_t blocks, std::size_t count,
                                             std::uint32_t groups) const {
    std::size_t size = 1;
    for (memory const each : {memory::input, memory::work, memory::output}) {
      size = payload.size_of(each) > size ? payload.size_of(each) : size;
    }
    std::size_t const room = on_->board().area_bytes();
    std::uint32_t const parts = scratch_layout::parts(count, blocks, size, room, groups);
    expects(parts != 0, "scratch_bytes leaves a group of threads ", room, " bytes, and a topology with ", blocks,
            " blocks of elements of ", size, " bytes needs more: raise the transport's option scratch_bytes");
    return parts;
  }
  template <class Kernel>
  void launch(Kernel const& kernel, std::uint32_t groups, duration limit, stream_type const& in) const {
    auto const ns = std::chrono::duration_cast<std::chrono::nanoseconds>(limit).count();
    on_->driver().launch(in, groups, kernel, limit == no_deadline ? UINT64_MAX : static_cast<std::uint64_t>(ns));
  }

  transport_type* on_;
  tables<driver_type> const* tables_;
};

}  // namespace tutti::detail::device
