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

namespace tutti::inline v0_1_0 {

/// Rank r ends with the element-wise combination of the vectors of ranks 0 to r - 1. Rank 0 has no result: its memory
/// does not change.
///
///     tutti::exscan offset{world, tutti::doubling{}, tutti::sum<std::uint64_t>{}};
///     offset(lengths);                       // in place; rank 0 keeps its own elements
///     offset(mine, before);                  // out of place; rank 0's `before` is ignored, and may be empty
///     auto pending = offset.start(lengths);  // under way, until pending.wait()
///
/// Shape: every rank gives `count` elements, and all but rank 0 end with `count` elements; the output of rank 0 is
/// ignored. A result of rank r is lowered as one of r contributions: `mean` divides by r.
///
/// @pre the count is the same on all ranks; input and output are the same memory or do not overlap
/// @throws precondition_error if, on a rank other than 0, input and output differ in size or overlap in part
/// @throws error like all operations
///
/// Cost: the topology's schedule for op::exscan, where S is the bytes of all `count` accumulators; scratch memory of S
/// on rank 0 if the reduction lifts. A rank that runs ahead of the next one copies what it sends: up to 8 buffers of S.
/// Thread safety: as the communicator.
template <class Communicator, class Topology, class Reduction>
  requires runs<op::exscan, Communicator, Topology, Reduction>
class exscan : public operator_base<op::exscan, Communicator, Topology, Reduction>,
               public asynchronous<exscan<Communicator, Topology, Reduction>>,
               private detail::exscan_calls<Reduction> {
  using base = operator_base<op::exscan, Communicator, Topology, Reduction>;
  using calls = detail::exscan_calls<Reduction>;

 public:
  /// The element type of each rank's contribution.
  using contribution_type = contribution_t<Reduction>;
  /// The element type of the result.
  using value_type = typename Reduction::value_type;

  /// Constructs the operator; it runs any number of times. All ranks must give equal topologies.
  exscan(Communicator& world, Topology topology, Reduction reduction)
      : base(world, topology, {reduction}), payload_{reduction} {}

  /// Runs the operation; returns when this rank's part is done and its memory may be reused.
  void operator()(lasting_mutable_buffer_of<value_type> auto&& data)
    requires contributes_elements<Reduction>
  {
    auto const v = detail::elements_of<value_type>(data);
    this->run({}, payload_, call_record, memory(v, v), v.size());
  }

  /// Runs the operation; returns when this rank's part is done and its memory may be reused.
  void operator()(buffer_of<contribution_type> auto const& input, lasting_mutable_buffer_of<value_type> auto&& output) {
    auto const source = detail::elements_of<contribution_type>(input);
    this->run({}, payload_, call_record, memory(source, detail::elements_of<value_type>(output)), source.size());
  }

  /// Starts the operation and returns its request; the memory must stay valid and untouched until it is complete.
  [[nodiscard]] request start(lasting_mutable_buffer_of<value_type> auto&& data)
    requires contributes_elements<Reduction>
  {
    auto const v = detail::elements_of<value_type>(data);
    return this->launch({}, payload_, call_record, memory(v, v), v.size());
  }

  /// Starts the operation and returns its request; the memory must stay valid and untouched until it is complete.
  [[nodiscard]] request start(lasting_buffer_of<contribution_type> auto&& input,
                              lasting_mutable_buffer_of<value_type> auto&& output) {
    auto const source = detail::elements_of<contribution_type>(input);
    return this->launch({}, payload_, call_record, memory(source, detail::elements_of<value_type>(output)),
                        source.size());
  }

  using calls::operator();
  using calls::start;

 private:
  static constexpr call call_record =
      make_call(operation_kind::exscan, element_name<contribution_type>(), Reduction::name, Topology::name);

  detail::memories memory(std::span<contribution_type const> input, std::span<value_type> output) const {
    if (this->world().rank() == 0) {  // only sends
      std::byte const* const data = detail::bytes_of(input);
      return {.input = data,
              .work = detail::combining<Reduction>::work_fits_input ? const_cast<std::byte*>(data) : nullptr};
    }
    detail::expect_size("exscan: the output, like the input,", output.size(), input.size());
    expects(detail::same_or_apart(input, output),
            "exscan: input and output overlap; use the same memory for both, or separate memory");
    std::byte* const data = detail::bytes_of(output);
    return {.input = detail::bytes_of(input),
            .work = detail::combining<Reduction>::work_fits_output ? data : nullptr,
            .output = data};
  }

  detail::combining<Reduction> payload_;
};

template <class C, class... Rest>
exscan(C&&, Rest...)
    -> exscan<detail::given_communicator<C>, detail::given_topology<2, Rest...>, detail::given_reduction<Rest...>>;

}  // namespace tutti
