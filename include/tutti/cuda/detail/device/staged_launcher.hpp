// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/cuda/detail/device/staging.hpp>
#include <tutti/detail/communicator/access.hpp>
#include <tutti/detail/communicator/untyped_operation.hpp>
#include <tutti/detail/core/owner.hpp>
#include <tutti/detail/engine/device_launcher.hpp>
#include <tutti/detail/engine/operation.hpp>
#include <tutti/extend/expects.hpp>
#include <tutti/extend/time.hpp>
#include <tutti/extend/topology.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace tutti::inline v0_1_0::detail::device {

/// Enqueues one kind of operation in streams of devices whose elements pass through host memory. Enqueued operations
/// belong to the engine, like started ones; the destructor waits for them.
template <class Communicator, class Topology, class Op, class Payload>
class staged_launcher {
  using transport_type = typename Communicator::transport_type;
  using stream_type = typename transport_type::stream_type;
  using driver_type = std::remove_cvref_t<decltype(std::declval<transport_type&>().driver())>;
  using operation_type = detail::operation<Communicator, Topology, Op, Payload>;

  struct staged_operation : operation_type {
    staged_operation(Communicator& world, Topology const& topology, Payload const& elements, operation_pool& pool)
        : operation_type(world, topology, elements, &pool), vector(world.transport().staging(), &pool) {
      this->segments_.set_gate(vector);
    }
    staged_vector<driver_type> vector;
  };
  struct resources {
    resources(Communicator const& parent, Topology const& t)
        : world(parent.alias()), topology(t), pool(new operation_pool([](untyped_operation& operation) noexcept {
            delete &static_cast<staged_operation&>(operation);
          })) {}
    resources(resources const&) = delete;
    resources& operator=(resources const&) = delete;
    ~resources() { world.transport().staging().finish(world, pool.get()); }
    Communicator world;  ///< outlives the members below, also in an assignment of operators
    Topology topology;
    owner<operation_pool, operation_pool::leave> pool;
  };

 public:
  staged_launcher(Communicator const& world, Topology const& topology, Payload const&)
      : resources_(new resources(world, topology)) {}

  /// @param limit deadline, from the time when the stream reaches the operation
  /// @throws error if an earlier operation of this rank has failed; precondition_error if the stream is being captured
  void enqueue(Communicator& world, Op const& op, Payload const& elements, call const& call_record,
               memories const& buffers, std::size_t count, duration limit, stream_type const& stream) {
    expects(!driver_type::is_captured(stream),
            "enqueue: this stream is being captured, but a graph cannot hold an operation that the host takes part in; "
            "enqueue after the capture, or use a transport of kernels alone, such as cuda::peers");
    auto& staging = world.transport().staging();
    staging.collect();
    staging.expect_results();
    progress_list::take(access::state(world));
    staged_operation& operation = take(world, elements);
    operation.set_limit(limit);
    try {
      operation.call_record() = call_record;
      operation.call_record().identity ^= is_staged;
      slot_layout const layout(elements);
      operation.vector.prepare(buffers, count, resources_->topology.blocks(op, world.extent()), layout,
                               input_range(op, world, count), output_range(op, world, count));
      operation.start({resources_->topology, 0}, op, elements, buffers, count, nullptr);
    } catch (...) {
      operation.retire();
      throw;
    }
    staging.append(operation.vector, operation);
    operation.enlist();
    try {
      staging.hold(operation.vector, stream);
    } catch (...) {
      operation.cancel();
      throw;
    }
    access::state(world).advance_operations();
  }

 private:
  /// Marks calls of this transport: ranks with host memory cut their vectors differently.
  static constexpr std::uint32_t is_staged = 0x57a6ed;

  /// Takes an idle operation of the pool, or makes one.
  [[nodiscard]] staged_operation& take(Communicator& world, Payload const& elements) {
    operation_pool& pool = *resources_->pool;
    untyped_operation* const idle = pool.take();
    return idle != nullptr ? static_cast<staged_operation&>(*idle)
                           : pool.adopt(new staged_operation(world, resources_->topology, elements, pool));
  }

  /// The elements of this rank's block.
  [[nodiscard]] static element_range local_block(Communicator const& world, std::size_t count) {
    return {block_begin(count, world.size(), world.rank()), block_begin(count, world.size(), world.rank() + 1)};
  }
  [[nodiscard]] static element_range input_range(Op const& op, Communicator const& world, std::size_t count) {
    if constexpr (std::same_as<Op, op::allgather>) {
      return local_block(world, count);
    } else if constexpr (std::same_as<Op, op::broadcast>) {
      return {0, world.rank() == op.root ? count : 0};
    } else {
      return {0, count};
    }
  }
  [[nodiscard]] static element_range output_range(Op const& op, Communicator const& world, std::size_t count) {
    if constexpr (std::same_as<Op, op::reduce_scatter>) {
      return local_block(world, count);
    } else if constexpr (std::same_as<Op, op::broadcast>) {
      return {0, world.rank() == op.root ? 0 : count};
    } else if constexpr (std::same_as<Op, op::reduce>) {
      return {0, world.rank() == op.root ? count : 0};
    } else {
      return {0, count};
    }
  }

  owner<resources> resources_;
};

}  // namespace tutti::detail::device
