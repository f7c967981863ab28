// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/collective/asynchronous.hpp>
#include <tutti/collective/concept.hpp>
#include <tutti/collective/operator_base.hpp>
#include <tutti/collective/request.hpp>
#include <tutti/detail/collective/arguments.hpp>
#include <tutti/detail/engine/payload.hpp>
#include <tutti/detail/engine/refusals.hpp>
#include <tutti/detail/engine/regions.hpp>
#include <tutti/extend/device_span.hpp>

namespace tutti::inline v0_1_0 {

/// The root ends with the combination of all ranks' vectors; the vectors of other ranks do not change.
///
///     tutti::reduce total{world, tutti::binary_tree{}, tutti::sum<double>{}};
///     total(data, 0);            // in place at the root
///     total(mine, result, 0);    // result is used at the root only, and may be empty elsewhere
///
/// Shape: every rank gives `count` elements; the root ends with `count`; the outputs of other ranks are ignored.
///
/// @pre count and root are the same on all ranks; the root's input and output are the same memory or do not overlap
/// @throws precondition_error if the root is no rank, or its input and output differ in size or overlap in part
/// @throws error like all operations
///
/// Cost: the topology's schedule for op::reduce, where S is the bytes of all `count` accumulators; scratch memory of S
/// on ranks that forward partial results.
/// Thread safety: as the communicator.
template <class Communicator, class Topology, class Reduction>
  requires runs<op::reduce, Communicator, Topology, Reduction>
class reduce : public operator_base<op::reduce, Communicator, Topology, Reduction>,
               public asynchronous<reduce<Communicator, Topology, Reduction>>,
               private detail::reduce_calls<Reduction> {
  using base = operator_base<op::reduce, Communicator, Topology, Reduction>;
  using calls = detail::reduce_calls<Reduction>;

 public:
  /// The element type of each rank's contribution.
  using contribution_type = contribution_t<Reduction>;
  /// The element type of the result.
  using value_type = typename Reduction::value_type;

  /// Constructs the operator; it runs any number of times. All ranks must give equal topologies.
  reduce(Communicator& world, Topology topology, Reduction reduction)
      : base(world, topology, {reduction}), payload_{reduction} {}

  /// Runs the operation; returns when this rank's part is done and its memory may be reused.
  void operator()(lasting_mutable_buffer_of<value_type> auto&& data, rank_type root)
    requires contributes_elements<Reduction>
  {
    auto const v = detail::elements_of<value_type>(data);
    this->run(operation_to(root), payload_, call_record, memory(v, v, root), v.size());
  }
  /// Runs the operation; returns when this rank's part is done and its memory may be reused.
  void operator()(buffer_of<contribution_type> auto const& input, lasting_mutable_buffer_of<value_type> auto&& output,
                  rank_type root) {
    auto const source = detail::elements_of<contribution_type>(input);
    this->run(operation_to(root), payload_, call_record, memory(source, detail::elements_of<value_type>(output), root),
              source.size());
  }
  /// Starts the operation and returns its request; the memory must stay valid and untouched until it is complete.
  [[nodiscard]] request start(lasting_mutable_buffer_of<value_type> auto&& data, rank_type root)
    requires contributes_elements<Reduction>
  {
    auto const v = detail::elements_of<value_type>(data);
    return this->launch(operation_to(root), payload_, call_record, memory(v, v, root), v.size());
  }
  /// Starts the operation and returns its request; the memory must stay valid and untouched until it is complete.
  [[nodiscard]] request start(lasting_buffer_of<contribution_type> auto&& input,
                              lasting_mutable_buffer_of<value_type> auto&& output, rank_type root) {
    auto const source = detail::elements_of<contribution_type>(input);
    return this->launch(operation_to(root), payload_, call_record,
                        memory(source, detail::elements_of<value_type>(output), root), source.size());
  }

  /// Enqueues the operation in a stream of a device, after all earlier work there. The device owns the memory until
  /// it has run; `tutti::cuda::wait` reports a failure. See <tutti/cuda/peers.hpp> and
  /// <tutti/cuda/staged_transport.hpp>.
  /// @throws precondition_error like on host memory, and if the transport lacks scratch memory for the schedule
  template <class Stream>
    requires detail::enqueues<Communicator, Topology, op::reduce, Stream> && contributes_elements<Reduction>
  void enqueue(device_span<value_type> data, rank_type root, Stream const& stream) {
    auto const v = data.elements();
    this->launch_in_stream(operation_to(root), payload_, call_record, memory(v, v, root), v.size(), stream);
  }
  /// Enqueues the operation in a stream of a device, after all earlier work there. The device owns the memory until
  /// it has run; `tutti::cuda::wait` reports a failure. See <tutti/cuda/peers.hpp> and
  /// <tutti/cuda/staged_transport.hpp>.
  /// @throws precondition_error like on host memory, and if the transport lacks scratch memory for the schedule
  template <class Stream>
    requires detail::enqueues<Communicator, Topology, op::reduce, Stream>
  void enqueue(device_span<contribution_type const> input, device_span<value_type> output, rank_type root,
               Stream const& stream) {
    this->launch_in_stream(operation_to(root), payload_, call_record, memory(input.elements(), output.elements(), root),
                           input.size(), stream);
  }

  using calls::operator();
  using calls::start;
  void enqueue(...) = delete;  // takes device memory of the reduction's type, a root and a stream, over cuda::peers

 private:
  static constexpr call call_record =
      make_call(operation_kind::reduce, element_name<contribution_type>(), Reduction::name, Topology::name);

  [[nodiscard]] op::reduce operation_to(rank_type root) const {
    detail::expect_root("reduce", root, this->world().size());
    return {root};
  }

  detail::memories memory(std::span<contribution_type const> input, std::span<value_type> output,
                          rank_type root) const {
    if (this->world().rank() != root) {
      return {.input = detail::bytes_of(input)};
    }
    detail::expect_size("reduce: the output of the root, like its input,", output.size(), input.size());
    expects(detail::same_or_apart(input, output),
            "reduce: input and output overlap; use the same memory for both, or separate memory");
    std::byte* const data = detail::bytes_of(output);
    return {.input = detail::bytes_of(input),
            .work = detail::combining<Reduction>::work_fits_output ? data : nullptr,
            .output = data};
  }

  detail::combining<Reduction> payload_;
};

template <class C, class... Rest>
reduce(C&&, Rest...)
    -> reduce<detail::given_communicator<C>, detail::given_topology<2, Rest...>, detail::given_reduction<Rest...>>;

}  // namespace tutti
