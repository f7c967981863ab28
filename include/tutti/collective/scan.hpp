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

/// Rank r ends with the element-wise combination of the vectors of ranks 0 to r.
///
///     tutti::scan running{world, tutti::doubling{}, tutti::sum<float>{}};
///     running(values);                       // in place
///     running(mine, sums);                   // out of place
///     auto pending = running.start(values);  // under way, until pending.wait()
///
/// Shape: every rank gives `count` elements, and ends with `count` elements. A result of rank r is lowered as one of
/// r + 1 contributions: `mean` divides by r + 1.
///
/// @pre the count is the same on all ranks; input and output are the same memory or do not overlap
/// @throws precondition_error if input and output differ in size, or overlap in part
/// @throws error like all operations
///
/// Cost: the topology's schedule for op::scan, where S is the bytes of all `count` accumulators. A
/// rank that runs ahead of the next one copies what it sends: up to 8 buffers of S.
/// Thread safety: as the communicator.
template <class Communicator, class Topology, class Reduction>
  requires runs<op::scan, Communicator, Topology, Reduction>
class scan : public operator_base<op::scan, Communicator, Topology, Reduction>,
             public asynchronous<scan<Communicator, Topology, Reduction>>,
             private detail::scan_calls<Reduction> {
  using base = operator_base<op::scan, Communicator, Topology, Reduction>;
  using calls = detail::scan_calls<Reduction>;

 public:
  /// The element type of each rank's contribution.
  using contribution_type = contribution_t<Reduction>;
  /// The element type of the result.
  using value_type = typename Reduction::value_type;

  /// Constructs the operator; it runs any number of times. All ranks must give equal topologies.
  scan(Communicator& world, Topology topology, Reduction reduction)
      : base(world, topology, {reduction}), payload_{reduction} {}

  /// Runs the operation; returns when this rank's part is done and its memory may be reused.
  void operator()(lasting_mutable_buffer_of<value_type> auto&& data)
    requires contributes_elements<Reduction>
  {
    auto const v = detail::elements_of<value_type>(data);
    this->run({}, payload_, call_record, in_place(v), v.size());
  }

  /// Runs the operation; returns when this rank's part is done and its memory may be reused.
  void operator()(buffer_of<contribution_type> auto const& input, lasting_mutable_buffer_of<value_type> auto&& output) {
    auto const source = detail::elements_of<contribution_type>(input);
    this->run({}, payload_, call_record, apart(source, detail::elements_of<value_type>(output)), source.size());
  }

  /// Starts the operation and returns its request; the memory must stay valid and untouched until it is complete.
  [[nodiscard]] request start(lasting_mutable_buffer_of<value_type> auto&& data)
    requires contributes_elements<Reduction>
  {
    auto const v = detail::elements_of<value_type>(data);
    return this->launch({}, payload_, call_record, in_place(v), v.size());
  }

  /// Starts the operation and returns its request; the memory must stay valid and untouched until it is complete.
  [[nodiscard]] request start(lasting_buffer_of<contribution_type> auto&& input,
                              lasting_mutable_buffer_of<value_type> auto&& output) {
    auto const source = detail::elements_of<contribution_type>(input);
    return this->launch({}, payload_, call_record, apart(source, detail::elements_of<value_type>(output)),
                        source.size());
  }

  using calls::operator();
  using calls::start;

 private:
  static constexpr call call_record =
      make_call(operation_kind::scan, element_name<contribution_type>(), Reduction::name, Topology::name);

  static detail::memories in_place(std::span<value_type> v) noexcept {
    std::byte* const data = detail::bytes_of(v);
    return {.input = data, .work = detail::combining<Reduction>::work_fits_output ? data : nullptr, .output = data};
  }
  static detail::memories apart(std::span<contribution_type const> input, std::span<value_type> output) {
    detail::expect_size("scan: the output, like the input,", output.size(), input.size());
    expects(detail::same_or_apart(input, output),
            "scan: input and output overlap; use the same memory for both, or separate memory");
    std::byte* const data = detail::bytes_of(output);
    return {.input = detail::bytes_of(input),
            .work = detail::combining<Reduction>::work_fits_output ? data : nullptr,
            .output = data};
  }

  detail::combining<Reduction> payload_;
};

template <class C, class... Rest>
scan(C&&, Rest...)
    -> scan<detail::given_communicator<C>, detail::given_topology<2, Rest...>, detail::given_reduction<Rest...>>;

}  // namespace tutti
